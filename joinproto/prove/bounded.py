"""Runs from the initial state, which Z3 finds in the relations of the proofs.

A rule is left out of a relation, and Z3 looks for the shortest run that breaks a claim.  Such a run
shows that the rule is needed, and why.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import z3
from attrs import field, frozen

from joinproto.prove.finite import Cells, Finite
from joinproto.prove.layer import Claim, Layer, Step
from joinproto.prove.logic import Relation, Sort, Var
from joinproto.prove.structure import Element, Rows, Structure

STEPS_MAX = 12
"""The most steps of a run; with three electors such a search takes about 20 seconds."""


StepChoice: TypeAlias = list[tuple[Step, Any, Mapping[Var, Any]]]
"""Each step with the bit that says whether it is taken, and with its parameters."""


@frozen
class Run:
    """A run.  `steps`: its steps with their parameters.  `states`: the states before and after
    them.
    """

    steps: tuple[tuple[Step, Mapping[Var, Element]], ...]
    states: tuple[Structure, ...]


@frozen
class World:
    """A relation over a number of elements, and a claim.

    `given`: the rows of known relations.  `values`: the values of functions, by "FUNCTION of
    ELEMENT".  `steps`: the length of the shortest run that breaks the claim; None if no run of up
    to `STEPS_MAX` steps may break it.
    """

    name: str
    about: str
    layer: Layer
    claim: str
    sizes: Mapping[Sort, int]
    given: Mapping[Relation, Rows]
    steps: int | None
    values: Mapping[str, Element] = field(factory=dict)


Guards: TypeAlias = frozenset[tuple[str, str]]
"""Names of steps, each with the name of one of its guards."""


def shortest(world: World) -> Run | None:
    """Return a shortest run that breaks the claim; None if no run of up to `STEPS_MAX` does."""
    (found,) = shortest_without(world, [frozenset()]).values()
    return found


def shortest_without(world: World, cuts: Sequence[Guards]) -> dict[Guards, Run | None]:
    """Return for each cut the result of `shortest` with the cut's guards dropped.

    One Z3 solver answers for all cuts, because its lemmas about one cut help with others.
    """
    layer = world.layer
    claim = next(one for one in layer.claims if one.name == world.claim)
    finite = Finite(layer, world.sizes, world.given)
    for function, values in finite.values.items():
        for element, which in values.items():
            wanted = world.values.get(f"{function.name} of {element}")
            finite.solver.add(*[bit for one, bit in which if one == wanted])
    guard_bits = {guard: finite.bit() for cut in cuts for guard in sorted(cut)}
    cells = finite.initial()
    states: list[Cells] = [cells]
    choices: list[StepChoice] = []
    found: dict[Guards, Run | None] = dict.fromkeys(cuts)
    while True:
        broken = _broken_bit(finite, claim, cells)
        for cut in cuts:
            assumed = [bit for guard, bit in guard_bits.items() if guard not in cut]
            if found[cut] is None and finite.solver.check(broken, *assumed) == z3.sat:
                found[cut] = _run(finite, finite.solver.model(), states, choices)
        if None not in found.values() or len(choices) == STEPS_MAX:
            return found
        cells, choice = _after_one_step(finite, cells, guard_bits)
        states.append(cells)
        choices.append(choice)


def _broken_bit(finite: Finite, claim: Claim, cells: Cells) -> Any:
    broken = finite.bit()
    finite.solver.add(z3.Implies(broken, z3.Not(finite.read(claim.formula, cells, {}))))
    return broken


def _after_one_step(
    finite: Finite, cells: Cells, guard_bits: Mapping[tuple[str, str], Any]
) -> tuple[Cells, StepChoice]:
    """Return the state after one step of any kind, and the choice of that step.

    `guard_bits`: guards that a step must pass only if their bit is true.
    """
    choice: StepChoice = []
    results: list[Cells] = []
    for step in finite.layer.steps:
        bit, env = finite.bit(), finite.choices(step.params)
        for guard in step.guards:
            taken_with = z3.And(bit, guard_bits.get((step.name, guard.name), finite.true))
            finite.solver.add(z3.Implies(taken_with, finite.read(guard.formula, cells, env)))
        choice.append((step, bit, env))
        results.append(finite.after(step, cells, env))
    finite.solver.add(z3.PbEq([(bit, 1) for _, bit, _ in choice], 1))
    found: Cells = {}
    for key in cells:
        found[key] = finite.bit()
        for (_, bit, _), result in zip(choice, results, strict=True):
            finite.solver.add(z3.Implies(bit, found[key] == result[key]))
    return found, choice


def _run(finite: Finite, model: Any, states: list[Cells], choices: list[StepChoice]) -> Run:
    steps = []
    for choice in choices:
        for step, bit, env in choice:
            if z3.is_true(model.eval(bit, model_completion=True)):
                steps.append((step, {var: finite.chosen(model, one) for var, one in env.items()}))
    return Run(tuple(steps), tuple(finite.structure(model, cells) for cells in states))


@frozen
class Searched:
    """The result for one world.  `is_as_expected`: the claim broke after the expected number of
    steps, or held if it should.
    """

    world: World
    run: Run | None
    seconds: float

    @property
    def is_as_expected(self) -> bool:
        return self.world.steps == (None if self.run is None else len(self.run.steps))


def search(worlds: Iterable[World]) -> Iterator[Searched]:
    for world in worlds:
        began = time.process_time()
        run = shortest(world)
        yield Searched(world, run, time.process_time() - began)
