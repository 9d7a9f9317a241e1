"""The reader of formulas in one given finite state.

It shares no code with the readers for Z3, so it can show their mistakes.  Z3's counterexamples are
evaluated again here; explored states are evaluated only here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from itertools import product
from typing import Any, TypeAlias

from attrs import evolve, field, frozen

from joinproto.prove import logic
from joinproto.prove.layer import Step
from joinproto.prove.miniscope import miniscoped

Element: TypeAlias = Hashable
Rows: TypeAlias = frozenset[tuple[Element, ...]]
Env: TypeAlias = dict[logic.Var, Element]
Test: TypeAlias = Callable[["Structure", Env], bool]


@frozen
class Structure:
    """A state: the elements of each sort, the rows of each relation, and the functions' values."""

    elements: Mapping[logic.Sort, tuple[Element, ...]]
    rows: Mapping[logic.Relation, Rows]
    values: Mapping[logic.Function, Mapping[Element, Element]] = field(factory=dict)

    def holds(self, formula: logic.Formula, env: Mapping[logic.Var, Element] | None = None) -> bool:
        """Return whether the formula holds in this state; `env` has its free variables."""
        return compiled(formula)(self, dict(env or {}))

    def holds_for_step(self, formula: logic.Formula, after: Structure) -> bool:
        """Return whether a claim holds for a step from this state to `after`."""
        return _compile(miniscoped(formula), after)(self, {})

    def since(self, earlier: Structure) -> Callable[[logic.Relation], Rows]:
        """Return a function that gives the rows of a relation that `earlier` does not have."""
        return lambda relation: self.rows[relation] - earlier.rows[relation]

    def rows_of(
        self, relation: logic.Relation, of: tuple[logic.Var, ...], formula: logic.Formula, env: Env
    ) -> Rows:
        """Return the values of the variables `of` for which `formula` holds."""
        test = compiled(formula)
        rows = product(*(self.elements[var.sort] for var in of))
        return frozenset(
            row for row in rows if test(self, {**env, **dict(zip(of, row, strict=True))})
        )

    def allows(self, step: Step, env: Env) -> bool:
        """Return whether all guards of the step hold."""
        return all(compiled(guard.formula)(self, env) for guard in step.guards)

    def after(self, step: Step, env: Env) -> Structure:
        """Return the state after the step; the guards are not checked."""
        changed = {
            relation: self.rows_of(relation, update.of, update.formula, env)
            for relation, update in step.updates.items()
        }
        return evolve(self, rows={**self.rows, **changed})


_COMPILED: dict[int, tuple[logic.Formula, Test]] = {}


def compiled(formula: logic.Formula) -> Test:
    """Return the formula as a function, which is made once for each formula object."""
    known = _COMPILED.get(id(formula))
    if known is None or known[0] is not formula:
        known = _COMPILED[id(formula)] = (formula, _compile(miniscoped(formula), None))
    return known[1]


def _term(term: logic.Term) -> Callable[[Structure, Env], Any]:
    if isinstance(term, logic.Application):
        inner, function = _term(term.argument), term.function
        return lambda state, env: state.values[function][inner(state, env)]
    return lambda _, env: env[term]


def _compile(formula: logic.Formula, after: Structure | None) -> Test:
    match formula:
        case logic.Atom(relation, terms):
            if all(isinstance(term, logic.Var) for term in terms):
                return lambda state, env: tuple([env[t] for t in terms]) in state.rows[relation]  # type: ignore[index]  # all are variables
            read = [_term(term) for term in terms]
            return lambda state, env: tuple([f(state, env) for f in read]) in state.rows[relation]
        case logic.Same(left, right):
            one, other = _term(left), _term(right)
            return lambda state, env: bool(one(state, env) == other(state, env))
        case logic.Not(inner):
            test = _compile(inner, after)
            return lambda state, env: not test(state, env)
        case logic.And(parts):
            tests = [_compile(part, after) for part in parts]
            return lambda state, env: all(test(state, env) for test in tests)
        case logic.Or(parts):
            tests = [_compile(part, after) for part in parts]
            return lambda state, env: any(test(state, env) for test in tests)
        case logic.Every(var, body):
            test = _compile(body, after)
            return lambda state, env: all(
                test(state, {**env, var: element}) for element in state.elements[var.sort]
            )
        case logic.Some(var, body):
            test = _compile(body, after)
            return lambda state, env: any(
                test(state, {**env, var: element}) for element in state.elements[var.sort]
            )
        case logic.After(inner) if after is not None:
            test = _compile(inner, None)
            return lambda _, env: test(after, env)
    raise TypeError(f"structure.py has no case for {formula!r}")
