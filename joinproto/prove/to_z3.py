"""Translation of formulas to Z3, for any number of elements: the reader of `logic.py` for Z3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from joinproto.prove import logic
from joinproto.prove.layer import Step, Update

Env = Mapping[logic.Var, Any]


class Reader:
    """Names of one query: each sort, relation and function is declared once.

    `state`: which state's relations are meant; a search over several steps has several.
    """

    def __init__(self) -> None:
        self.context = z3.Context()
        self._sorts: dict[logic.Sort, Any] = {}
        self._declared: dict[Any, Any] = {}
        self._count = 0

    def copied(self) -> Reader:
        """Return a reader in a context of its own, in which the terms that this one read can be
        used.
        """
        reader = Reader()
        # A sort is known by its number in a context, so it is copied and not declared again.
        reader._sorts = {sort: one.translate(reader.context) for sort, one in self._sorts.items()}
        reader._count = self._count
        return reader

    def sort(self, sort: logic.Sort) -> Any:
        if sort not in self._sorts:
            self._sorts[sort] = z3.DeclareSort(sort.name, self.context)
        return self._sorts[sort]

    def relation(self, relation: logic.Relation, state: int = 0) -> Any:
        key = (relation, 0 if relation.rigid else state)
        if key not in self._declared:
            sorts = [self.sort(sort) for sort in relation.sorts]
            name = f"{relation.name}@{key[1]}"
            self._declared[key] = z3.Function(name, *sorts, z3.BoolSort(self.context))
        return self._declared[key]

    def function(self, function: logic.Function) -> Any:
        if function not in self._declared:
            self._declared[function] = z3.Function(
                function.name, self.sort(function.of), self.sort(function.gives)
            )
        return self._declared[function]

    def constant(self, var: logic.Var) -> Any:
        """Return a constant of the variable's sort that nothing else is called."""
        self._count += 1
        return z3.Const(f"{var.name}!{self._count}", self.sort(var.sort))

    def constants(self, variables: tuple[logic.Var, ...]) -> dict[logic.Var, Any]:
        return {var: self.constant(var) for var in variables}

    def term(self, term: logic.Term, env: Env) -> Any:
        if isinstance(term, logic.Value):
            return self.function(term.function)(self.term(term.argument, env))
        return env[term]

    def read(
        self,
        formula: logic.Formula,
        env: Env,
        *,
        state: int = 0,
        step: tuple[Step, Env] | None = None,
    ) -> Any:
        """Return the formula for Z3.

        `step`: read `formula` in the state that this step, with these parameters, leads to.
        """
        match formula:
            case logic.Atom(relation, terms):
                found = [self.term(term, env) for term in terms]
                if step is not None and relation in step[0].updates:
                    return self._updated(step[0].updates[relation], found, step[1], state)
                return self.relation(relation, state)(*found)
            case logic.Same(left, right):
                return self.term(left, env) == self.term(right, env)
            case logic.Not(inner):
                return z3.Not(self.read(inner, env, state=state, step=step))
            case logic.And(parts):
                read = [self.read(part, env, state=state, step=step) for part in parts]
                return z3.And(*read) if read else z3.BoolVal(True, self.context)
            case logic.Or(parts):
                read = [self.read(part, env, state=state, step=step) for part in parts]
                return z3.Or(*read) if read else z3.BoolVal(False, self.context)
            case logic.Every(var, body):
                bound = self.constant(var)
                return z3.ForAll(
                    [bound], self.read(body, {**env, var: bound}, state=state, step=step)
                )
            case logic.Some(var, body):
                bound = self.constant(var)
                return z3.Exists(
                    [bound], self.read(body, {**env, var: bound}, state=state, step=step)
                )
        raise TypeError(f"no meaning for {formula!r}: teach it to to_z3.py")

    def read_step_claim(self, formula: logic.Formula, step: Step, params: Env, env: Env) -> Any:
        """Return a claim about a step: `After` means the state that `step` leads to."""
        match formula:
            case logic.After(inner):
                return self.read(inner, env, step=(step, params))
            case logic.Not(inner):
                return z3.Not(self.read_step_claim(inner, step, params, env))
            case logic.And(parts):
                return z3.And(*[self.read_step_claim(p, step, params, env) for p in parts])
            case logic.Or(parts):
                return z3.Or(*[self.read_step_claim(p, step, params, env) for p in parts])
            case logic.Every(var, body):
                bound = self.constant(var)
                inside = self.read_step_claim(body, step, params, {**env, var: bound})
                return z3.ForAll([bound], inside)
        return self.read(formula, env)

    def _updated(self, update: Update, terms: list[Any], params: Env, state: int) -> Any:
        env = {**params, **dict(zip(update.of, terms, strict=True))}
        return self.read(update.formula, env, state=state)
