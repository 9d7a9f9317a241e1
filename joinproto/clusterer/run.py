"""Playing a story once, or many times with concurrent events in different orders.

Source: the format of stories, docs/clusterer.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from attrs import frozen

from joinproto.clusterer.reporting import NodeTold, StepTold, told
from joinproto.clusterer.simulator import Choose, Simulator
from joinproto.clusterer.story import Story
from joinproto.codec.json_form import Absent, Count
from joinproto.errors import LimitReached

EVENTS_MAX = 100
"""At most so many events are reported of a step that does not come to rest."""


@frozen(kw_only=True)
class Differing:
    """The first step in which two orders have different results, and both results."""

    step: Annotated[Count, "the number of the step, counted from 0"]
    nodes: Annotated[tuple[str, ...], "the nodes whose results differ"]
    one: Annotated[StepTold, "the step's result in the plain order"]
    other: Annotated[StepTold, "the step's result in the other order"]
    one_events: Annotated[tuple[str, ...], "the step's events in the plain order"]
    other_events: Annotated[tuple[str, ...], "the step's events in the other order"]
    seeds: Annotated[tuple[int, ...], "the seeds of the two orders; -1: the plain order"]


@frozen(kw_only=True)
class Outcome:
    """One outcome of a story, and one order that leads to it."""

    orders: Annotated[Count, "the number of tried orders that lead to this outcome"]
    seed: Annotated[int, "the seed of one such order; -1: the plain order"]
    step: Annotated[
        Count | None, "the first step whose result is not the plain order's; null: none"
    ]
    steps: Annotated[
        tuple[StepTold, ...], "the result of each step, until a step that does not come to rest"
    ]
    events: Annotated[tuple[str, ...], "the events of `step`, in their order"]
    rests: Annotated[bool, "whether every step comes to rest"]


@frozen(kw_only=True)
class StoryRun:
    """`clusterer run --json`: the result of each step of a story."""

    steps: Annotated[tuple[StepTold, ...], "the results of the steps in the plain order"]
    orders: Annotated[Count | None, "the number of orders that were tried", Absent()] = None
    outcomes: Annotated[Count | None, "the number of different outcomes", Absent()] = None
    ends: Annotated[
        tuple[Outcome, ...] | None, "each outcome, sorted by its number of orders", Absent()
    ] = None
    differs: Annotated[
        Differing | None, "the first different outcome; null: no order has one", Absent()
    ] = None


def play(story: Story, choose: Choose | None = None) -> tuple[StepTold, ...]:
    """Return the result of each step, in the plain order or in the order that `choose` draws."""
    return _run(story, choose).steps


def play_orders(story: Story, seeds: int, chance: Callable[[int], Choose]) -> StoryRun:
    """Play the plain order and `seeds` other orders; return the outcomes.

    `chance`: returns the choosing function for a seed.
    """
    plain = _run(story, None)
    found: dict[tuple[Any, ...], list[Any]] = {}
    for seed in range(-1, seeds):
        run = plain if seed < 0 else _run(story, chance(seed))
        # Runs with the same outcome are counted together.
        found.setdefault((alike(run.steps), run.rests), [0, seed, run])[0] += 1
    ends = [_outcome(plain, *one) for one in found.values()]
    others = [one for one in ends if one.seed >= 0]
    return StoryRun(
        steps=plain.steps,
        orders=seeds + 1,
        outcomes=len(ends),
        differs=None if not others else _differing(plain, others[0]),
        ends=tuple(sorted(ends, key=lambda one: (-one.orders, one.seed))),
    )


@frozen
class _Run:
    """A story played in one order.

    `steps`, `events`: the result and the events of each step.  `rests`: every step came to rest.
    """

    steps: tuple[StepTold, ...]
    events: tuple[tuple[str, ...], ...]
    rests: bool


def _run(story: Story, choose: Choose | None) -> _Run:
    sim = Simulator.of_story(story, choose)
    steps: list[StepTold] = []
    events: list[tuple[str, ...]] = []
    for step in story.steps:
        sim.events.clear()
        try:
            sim.play(step.do)
        except LimitReached:
            if choose is None:
                raise
            return _Run(tuple(steps), (*events, tuple(sim.events[:EVENTS_MAX])), rests=False)
        steps.append(told(sim))
        events.append(tuple(sim.events))
    return _Run(tuple(steps), tuple(events), rests=True)


def _outcome(plain: _Run, orders: int, seed: int, run: _Run) -> Outcome:
    pairs = zip(alike(plain.steps), alike(run.steps), strict=False)
    at = next((number for number, (one, other) in enumerate(pairs) if one != other), None)
    if at is None and not run.rests:
        at = len(run.steps)
    events = () if at is None else run.events[at]
    return Outcome(
        orders=orders, seed=seed, step=at, steps=run.steps, events=events, rests=run.rests
    )


def _differing(plain: _Run, other: Outcome) -> Differing | None:
    at = other.step
    if at is None or at == len(other.steps):
        return None
    before, after = (dict(alike(steps)[at].nodes) for steps in (plain.steps, other.steps))
    return Differing(
        step=at,
        nodes=tuple(name for name in before if before[name] != after.get(name)),
        one=plain.steps[at],
        other=other.steps[at],
        one_events=plain.events[at],
        other_events=other.events,
        seeds=(-1, other.seed),
    )


@frozen
class _StepShape:
    """The parts of a step's result that make an outcome: labels as numbers, without reasons."""

    nodes: tuple[tuple[str, Any], ...]
    wiped: tuple[str, ...]
    replies: tuple[tuple[str, str], ...]


def alike(steps: tuple[StepTold, ...]) -> tuple[_StepShape, ...]:
    """Return the outcome of a run in a form in which equal outcomes compare equal.

    Labels of data and identities become numbers, which tell only which of them are equal.  Reasons
    are left out.
    """
    numbers: dict[str, int] = {}

    def number(label: str | None) -> int | None:
        return None if label is None else numbers.setdefault(label, len(numbers))

    def node(one: NodeTold) -> tuple[Any, ...]:
        return (one.state, one.version, number(one.data), one.cluster, number(one.identity),
                one.waits_for)  # fmt: skip

    return tuple(
        _StepShape(
            tuple((name, node(one)) for name, one in step.nodes.items()),
            step.wiped,
            tuple(step.replies.items()),
        )
        for step in steps
    )
