"""The obligations of a layer, and their proofs.

    the invariant holds at the beginning; each step keeps each conjunct; each claim follows
    some state of the invariant is lively, and each step can be taken in some state

The obligations of the first line are proved when Z3 finds no state against them, those of the
second when Z3 finds a state.  `unknown` is a failure.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import Any

import z3
from attrs import frozen

from joinproto.prove.counterexample import Counterexample, to_structure, values_of
from joinproto.prove.layer import Claim, Conjunct, Layer, Step, Update
from joinproto.prove.logic import FALSE, Var
from joinproto.prove.printed import Answer
from joinproto.prove.script import Script, Verdict
from joinproto.prove.small import smallest
from joinproto.prove.to_z3 import Reader

HASTY, PATIENT = 10_000_000, 40_000_000
"""Z3's resource limit for one question, at the first and at the last attempt.

The unit is Z3's own, about a million for each second, so that the answer does not depend on the
machine's load.  Most questions need a thousandth of the limit.
"""


class Kind(Enum):
    """The kind of an obligation: the statement about its subject or step."""

    BEGINS = "holds at the beginning"
    KEEPS = "is kept"
    FOLLOWS = "follows"
    POSSIBLE = "is possible"


@frozen
class Obligation:
    """One obligation.

    `step`: None if the obligation is about the initial state, a claim that must follow, or the
    lively state.  `subject`: a conjunct or a claim; None means that the step, or without a step the
    lively state, must be possible.
    """

    layer: Layer
    kind: Kind
    step: Step | None = None
    subject: Conjunct | Claim | None = None

    @property
    def words(self) -> str:
        name = "" if self.subject is None else self.subject.name
        step = "" if self.step is None else f"“{self.step.name}”"
        worth = "the invariant has a state worth something"
        said = {
            Kind.BEGINS: f"{name} holds at the beginning",
            Kind.KEEPS: f"{step} keeps {name}",
            Kind.FOLLOWS: f"{name} follows from the invariant",
            Kind.POSSIBLE: f"{step} is possible" if step else worth,
        }
        return f"{self.layer.name}: {said[self.kind]}"


@frozen
class Outcome:
    """The outcome of an obligation.

    `against`: a state that shows that the obligation fails.  `query`: the question to Z3, so that
    another solver can be asked, too.
    """

    obligation: Obligation
    result: Answer
    seconds: float
    query: Query
    against: Counterexample | None = None

    @property
    def is_proved(self) -> bool:
        return self.result == "proved"


def obligations(layer: Layer, claims: tuple[Claim, ...] | None = None) -> Iterator[Obligation]:
    """Yield all obligations.  `claims`: the layer's claims that are wanted; None means all."""
    yield Obligation(layer, Kind.POSSIBLE)
    for step in layer.steps:
        yield Obligation(layer, Kind.POSSIBLE, step)
    for conjunct in layer.conjuncts:
        yield Obligation(layer, Kind.BEGINS, None, conjunct)
    for step in layer.steps:
        for conjunct in layer.conjuncts:
            yield Obligation(layer, Kind.KEEPS, step, conjunct)
    for claim in layer.claims if claims is None else claims:
        if claim.is_step:
            for step in layer.steps:
                yield Obligation(layer, Kind.KEEPS, step, claim)
        else:
            yield Obligation(layer, Kind.FOLLOWS, None, claim)


def discharge(obligation: Obligation, *, small: bool = True) -> Outcome:
    """Ask Z3, and return the outcome.  `small`: if the obligation fails, look for a small state
    against it.
    """
    began = time.process_time()
    query = Query.of(obligation)
    found = query.check(HASTY)
    against = None
    if found == z3.unknown:
        # For some questions Z3 tries ever larger states, although there is a small one.
        against = query.smallest()
        found = query.check(PATIENT) if against is None else z3.sat
    seconds = time.process_time() - began
    if found == z3.unknown:
        return Outcome(obligation, "unknown", seconds, query)
    if obligation.kind is Kind.POSSIBLE:
        return Outcome(obligation, "proved" if found == z3.sat else "fails", seconds, query)
    if found == z3.unsat:
        return Outcome(obligation, "proved", seconds, query)
    if against is None and small:
        against = query.smallest()
    if against is None:
        against = query.counterexample(query.solver.model())
    return Outcome(obligation, "fails", seconds, query, against)


@frozen
class Query:
    """A question to Z3: is there a state, with a step, that is against the obligation?"""

    obligation: Obligation
    reader: Reader
    solver: Any
    params: dict[Var, Any]

    @classmethod
    def of(cls, obligation: Obligation) -> Query:
        """Return the question; `sat` is a failure, unless a step or a state must be possible."""
        layer, step, subject = obligation.layer, obligation.step, obligation.subject
        given, axioms, invariant = _premises(layer)
        reader = given.copied()
        solver = z3.Solver(ctx=reader.context)
        for formula in axioms if obligation.kind is Kind.BEGINS else axioms + invariant:
            solver.add(formula.translate(reader.context))
        params = reader.constants(step.params) if step is not None else {}
        for guard in step.guards if step is not None else ():
            solver.add(reader.read(guard.formula, params))
        taken = initial_step(layer) if obligation.kind is Kind.BEGINS else step
        leads = None if taken is None else (taken, params)
        match subject:
            case Claim(formula=formula):
                solver.add(z3.Not(reader.read(formula, {}, after=leads)))
            case Conjunct(formula=formula):
                solver.add(z3.Not(reader.read(formula, {}, step=leads)))
            case None if step is None:
                solver.add(reader.read(layer.lively, {}))
        return cls(obligation, reader, solver, params)

    @property
    def script(self) -> Script:
        """Return the question in a form that any solver reads."""
        obligation = self.obligation
        expected: Verdict = "sat" if obligation.kind is Kind.POSSIBLE else "unsat"
        return Script.of(self.solver, obligation.words, expected)

    def check(self, effort: int) -> Any:
        self.solver.set("rlimit", effort)
        return self.solver.check()

    def smallest(self) -> Counterexample | None:
        """Return a counterexample with few elements; None if none was found."""
        one = self.obligation
        is_beginning = one.kind is Kind.BEGINS
        step = initial_step(one.layer) if is_beginning else one.step
        return smallest(one.layer, step, one.subject, begins=is_beginning)

    def counterexample(self, model: Any) -> Counterexample:
        """Return the state that the model describes, and the step that is taken in it."""
        layer, step = self.obligation.layer, self.obligation.step
        before = to_structure(model, self.reader, layer)
        if self.obligation.kind is Kind.BEGINS:
            return Counterexample(before, initial_step(layer))
        values = values_of(model, self.reader, layer, self.params)
        return Counterexample(before, step, tuple(values.items()))


@lru_cache(maxsize=1)
def _premises(layer: Layer) -> tuple[Reader, list[Any], list[Any]]:
    """Return the premises of a layer's obligations: the axioms and the invariant, read once."""
    reader = Reader()
    for sort in layer.sorts:
        reader.sort(sort)
    axioms = [reader.read(axiom, {}) for axiom in layer.axioms.values()]
    return reader, axioms, [reader.read(one.formula, {}) for one in layer.conjuncts]


def initial_step(layer: Layer) -> Step:
    """Return the step that leads from any state to the initial state."""
    updates = {}
    for relation in layer.changing:
        of = tuple(Var(f"i{at}", sort) for at, sort in enumerate(relation.sorts))
        updates[relation] = Update(of, FALSE)
    return Step("begin", "the initial state", (), (), updates)
