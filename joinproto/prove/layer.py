"""A layer: states, named steps with guards, an invariant in named conjuncts, and claims.

A step has parameters, guards over the state before it, and for each relation that it changes a
formula over that state, which defines the relation after the step.  Other relations do not change.
So the state after a step can be computed, and a formula about the state after a step can be turned
into a formula about the state before.  A proof needs no second copy of the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import and_

from attrs import evolve, field, frozen

from joinproto.errors import UsageProblem
from joinproto.prove.logic import Formula, Function, Relation, Sort, Term, Var, same


@frozen
class Guard:
    """A condition of a step."""

    name: str
    formula: Formula


@frozen
class Update:
    """A change of a relation: it holds of the row `of` after the step if `formula` holds before."""

    of: tuple[Var, ...]
    formula: Formula


def gains(relation: Relation, *row: Term) -> dict[Relation, Update]:
    """Return the update after which the relation also holds of this row."""
    of, equals_row = _matching(relation, row)
    return {relation: Update(of, relation(*of) | equals_row)}


def loses(relation: Relation, *row: Term | None) -> dict[Relation, Update]:
    """Return the update after which the relation holds of no row like `row`.

    None in `row` stands for any element.
    """
    of, equals_row = _matching(relation, row)
    return {relation: Update(of, relation(*of) & ~equals_row)}


def _matching(relation: Relation, row: tuple[Term | None, ...]) -> tuple[tuple[Var, ...], Formula]:
    """Return variables for a row of the relation, and the formula that they are equal to `row`."""
    of = tuple(Var(f"its {at}", sort) for at, sort in enumerate(relation.sorts))
    pairs = zip(of, row, strict=True)
    return of, reduce(and_, [same(one, term) for one, term in pairs if term is not None])


@frozen
class Step:
    """A step.  `about`: the event in words, with the rule of the protocol."""

    name: str
    about: str
    params: tuple[Var, ...]
    guards: tuple[Guard, ...]
    updates: Mapping[Relation, Update]

    def without(self, guard: str) -> Step:
        """Return the step with one guard less."""
        return evolve(self, guards=tuple(one for one in self.guards if one.name != guard))


@frozen
class Conjunct:
    """A part of the invariant.  `why`: an error that would be possible without it."""

    name: str
    formula: Formula
    why: str


@frozen
class Claim:
    """A claim.  `formula` must hold in every state or, if `is_step`, for every step."""

    name: str
    about: str
    formula: Formula
    is_step: bool = False


@frozen(kw_only=True, eq=False)
class Layer:
    """A layer.

    `axioms`: formulas by name; they use only rigid relations.  All other relations hold of no row
    in the initial state.  `assumes`: the assumptions in words, for the page and the report.
    `lively`: a formula for a useful state; some state of the invariant must satisfy it.

    Two layers are equal only if they are one object, so that a layer can be the key of a cache.
    """

    name: str
    about: str
    sorts: tuple[Sort, ...]
    relations: tuple[Relation, ...]
    functions: tuple[Function, ...] = ()
    axioms: Mapping[str, Formula]
    steps: tuple[Step, ...]
    conjuncts: tuple[Conjunct, ...]
    claims: tuple[Claim, ...]
    lively: Formula
    assumes: tuple[str, ...] = field(default=())

    @property
    def changing(self) -> tuple[Relation, ...]:
        return tuple(one for one in self.relations if not one.rigid)

    def step(self, name: str) -> Step:
        return next(one for one in self.steps if one.name == name)

    def without(self, conjunct: str) -> Layer:
        """Return the layer with one conjunct less."""
        return evolve(self, conjuncts=tuple(one for one in self.conjuncts if one.name != conjunct))

    def dropping(self, step: str, guard: str) -> Layer:
        """Return the layer in which one step has one guard less."""
        if guard not in [one.name for one in self.step(step).guards]:
            raise UsageProblem(
                f"step {step} has no guard {guard!r}",
                next="use one of its guards: "
                + ", ".join(one.name for one in self.step(step).guards),
            )
        steps = tuple(one.without(guard) if one.name == step else one for one in self.steps)
        return evolve(self, steps=steps)
