"""The reader of formulas for any number of elements: it translates them to Z3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import z3

from joinproto.prove import logic
from joinproto.prove.layer import Step, Update

Env = Mapping[logic.Var, Any]


class Reader:
    """The translation for one query: each sort, relation and function is declared once."""

    def __init__(self) -> None:
        self.context = z3.Context()
        self._sorts: dict[logic.Sort, Any] = {}
        self._declared: dict[Any, Any] = {}
        self._count = 0

    def copied(self) -> Reader:
        """Return a reader with its own context; terms of this reader can be translated to it."""
        reader = Reader()
        # Z3 identifies a sort by a number in its context, so sorts are copied, not declared anew.
        reader._sorts = {sort: one.translate(reader.context) for sort, one in self._sorts.items()}
        reader._count = self._count
        return reader

    def sort(self, sort: logic.Sort) -> Any:
        if sort not in self._sorts:
            self._sorts[sort] = z3.DeclareSort(sort.name, self.context)
        return self._sorts[sort]

    def relation(self, relation: logic.Relation) -> Any:
        if relation not in self._declared:
            sorts = [self.sort(sort) for sort in relation.sorts]
            name = f"{relation.name}@0"  # no function has such a name
            self._declared[relation] = z3.Function(name, *sorts, z3.BoolSort(self.context))
        return self._declared[relation]

    def function(self, function: logic.Function) -> Any:
        if function not in self._declared:
            self._declared[function] = z3.Function(
                function.name, self.sort(function.of), self.sort(function.gives)
            )
        return self._declared[function]

    def constant(self, var: logic.Var) -> Any:
        """Return a constant of the variable's sort with a new name."""
        self._count += 1
        return z3.Const(f"{var.name}!{self._count}", self.sort(var.sort))

    def constants(self, variables: tuple[logic.Var, ...]) -> dict[logic.Var, Any]:
        return {var: self.constant(var) for var in variables}

    def term(self, term: logic.Term, env: Env) -> Any:
        if isinstance(term, logic.Application):
            return self.function(term.function)(self.term(term.argument, env))
        return env[term]

    def read(
        self,
        formula: logic.Formula,
        env: Env,
        *,
        step: tuple[Step, Env] | None = None,
        after: tuple[Step, Env] | None = None,
    ) -> Any:
        """Return the formula for Z3.

        `step`: read the formula in the state after this step with these parameters.  `after`: the
        step that `After` refers to, in a claim about steps.
        """

        def inner_of(part: logic.Formula, env: Env = env) -> Any:
            return self.read(part, env, step=step, after=after)

        match formula:
            case logic.Atom(relation, terms):
                found = [self.term(term, env) for term in terms]
                if step is not None and relation in step[0].updates:
                    return self._updated(step[0].updates[relation], found, step[1])
                return self.relation(relation)(*found)
            case logic.Same(left, right):
                return self.term(left, env) == self.term(right, env)
            case logic.Not(inner):
                return z3.Not(inner_of(inner))
            case logic.And(parts):
                read = [inner_of(part) for part in parts]
                return z3.And(*read) if read else z3.BoolVal(True, self.context)
            case logic.Or(parts):
                read = [inner_of(part) for part in parts]
                return z3.Or(*read) if read else z3.BoolVal(False, self.context)
            case logic.Every(var, body) | logic.Some(var, body):
                bound = self.constant(var)
                quantifier = z3.ForAll if isinstance(formula, logic.Every) else z3.Exists
                return quantifier([bound], inner_of(body, {**env, var: bound}))
            case logic.After(inner) if after is not None:
                return self.read(inner, env, step=after)
        raise TypeError(f"to_z3.py has no case for {formula!r}")

    def _updated(self, update: Update, terms: list[Any], params: Env) -> Any:
        return self.read(update.formula, {**params, **dict(zip(update.of, terms, strict=True))})
