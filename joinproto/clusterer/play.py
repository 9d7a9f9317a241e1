"""A story played through: once, or in many orders of what may come in any order.

Source: the format of stories, docs/clusterer.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from attrs import frozen

from joinproto.clusterer.sim import Choose, Sim
from joinproto.clusterer.story import Story
from joinproto.clusterer.telling import NodeTold, StepTold, told
from joinproto.codec.json_form import Absent, Count


@frozen(kw_only=True)
class Differing:
    """Two orders that end differently: the first step in which they do, and both outcomes."""

    step: Annotated[Count, "counted from 0"]
    nodes: Annotated[tuple[str, ...], "whose outcome differs"]
    one: Annotated[StepTold, "in one order"]
    other: Annotated[StepTold, "in another"]
    one_events: Annotated[tuple[str, ...], "what happened in that step, in its order"]
    other_events: Annotated[tuple[str, ...], "the same of the other"]
    seeds: Annotated[tuple[int, ...], "of the two orders; -1: the plain one"]


@frozen(kw_only=True)
class Played:
    """`clusterer run --json`: what each step of the story came to."""

    steps: Annotated[tuple[StepTold, ...], "one after the other"]
    orders: Annotated[Count | None, "how many were tried", Absent()] = None
    outcomes: Annotated[Count | None, "how many of them differ", Absent()] = None
    differs: Annotated[Differing | None, "null: no order made a difference", Absent()] = None


def play(story: Story, choose: Choose | None = None) -> tuple[StepTold, ...]:
    """Return what each step comes to; without `choose` in the plain order."""
    sim = Sim(story, choose)
    found = []
    for step in story.steps:
        sim.play(step.do)
        found.append(told(sim))
    return tuple(found)


def play_orders(story: Story, seeds: int, chance: Callable[[int], Choose]) -> Played:
    """Return the plain order, and whether one of `seeds` others ends differently.

    `chance`: from a seed to what chooses.
    """
    steps = play(story)
    first = alike(steps)
    outcomes = {first}
    differs = None
    for seed in range(seeds):
        other = play(story, chance(seed))
        found = alike(other)
        if found not in outcomes:
            outcomes.add(found)
            differs = differs or _differing(story, first, found, seed, chance)
    return Played(steps=steps, orders=seeds + 1, outcomes=len(outcomes), differs=differs)


def _differing(
    story: Story, first: tuple[Any, ...], found: tuple[Any, ...], seed: int, chance: Any
) -> Differing:
    at = next(
        number for number, (one, other) in enumerate(zip(first, found, strict=True)) if one != other
    )
    sides = []
    for choose in (None, chance(seed)):
        sim = Sim(story, choose)
        for step in story.steps[: at + 1]:
            sim.events.clear()
            sim.play(step.do)
        sides.append((told(sim), tuple(sim.events)))
    (one, one_events), (other, other_events) = sides
    before, after = dict(first[at].nodes), dict(found[at].nodes)
    return Differing(
        step=at,
        nodes=tuple(name for name in before if before[name] != after.get(name)),
        one=one,
        other=other,
        one_events=one_events,
        other_events=other_events,
        seeds=(-1, seed),
    )


@frozen
class _Alike:
    """A step without what does not matter: labels as numbers, without reasons."""

    nodes: tuple[tuple[str, Any], ...]
    wiped: tuple[str, ...]
    replies: tuple[tuple[str, str], ...]


def alike(steps: tuple[StepTold, ...]) -> tuple[_Alike, ...]:
    """Return the outcome of a run so that equal outcomes are equal.

    Labels of data and identities count as which of them are equal; why is no outcome.
    """
    numbers: dict[str, int] = {}

    def number(label: str | None) -> int | None:
        return None if label is None else numbers.setdefault(label, len(numbers))

    def node(one: NodeTold) -> tuple[Any, ...]:
        return (one.state, one.version, number(one.data), one.cluster, number(one.identity),
                one.waits_for)  # fmt: skip

    return tuple(
        _Alike(
            tuple((name, node(one)) for name, one in step.nodes.items()),
            step.wiped,
            tuple(step.replies.items()),
        )
        for step in steps
    )
