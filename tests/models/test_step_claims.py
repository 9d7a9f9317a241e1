"""Claims about steps, and worlds that implement others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import define, evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from models import (
    Faults,
    Message,
    ModelProblem,
    Replay,
    Send,
    Taken,
    View,
    World,
    always_step,
    any_of,
    check,
    implements,
)
from models.properties import Property
from models.reference import explore
from models.steps import taken_of
from tests.models.test_fair_runs import Plan, build, plans


@define
class Clock:
    """Shows the hours; `fast` skips one."""

    hour: int = 0
    minute: int = 0
    skips: bool = False

    def choices(self) -> Iterator[str]:
        yield "tick"
        if self.skips and self.hour == 1:
            yield "skip"

    def receive(self, event: Any) -> Any:
        if event == "skip":
            self.hour = 3
        elif self.minute == 1:
            self.minute, self.hour = 0, (self.hour + 1) % 4
        else:
            self.minute += 1
        return None


@define
class Hours:
    hour: int = 0

    def choices(self) -> Iterator[str]:
        yield "an hour passes"

    def receive(self, event: str) -> None:
        self.hour = (self.hour + 1) % 4

    def shows(self) -> int:
        return self.hour


def clock(*claims: Property, skips: bool = False) -> World:
    return World(
        name="clock", members={"clock": lambda: Clock(skips=skips)}, properties=list(claims)
    )


def hours() -> World:
    return World(
        name="hours",
        members={"hours": Hours},
        properties=[always_step("none", lambda before, step, after: True)],
    )


def by_hours(view: View) -> dict[str, Any]:
    return {"hours": view["clock"].hour}


def test_a_clock_with_minutes_implements_one_of_hours() -> None:
    """Steps between hours change nothing there; a skipped hour is no step there."""
    good = check(clock(implements("hours", hours(), by_hours)))
    world = clock(implements("hours", hours(), by_hours), skips=True)
    bad = check(world)

    assert ("holds", "violated") == (good.result, bad.result)
    assert bad.trace is not None
    assert ["tick", "tick", "skip"] == [step.action for step in bad.trace.steps]
    replay = Replay(world)
    broken = [replay.violates("hours")]
    for step in bad.trace.steps:
        replay.step(step.label, step.member)
        broken.append(replay.violates("hours"))
    assert [False, False, False, True] == broken


def test_a_world_that_begins_elsewhere_implements_nothing() -> None:
    world = evolve(
        clock(implements("hours", hours(), by_hours)), beginnings=any_of({"clock": {"hour": [2]}})
    )
    trace = check(world).trace

    assert trace is not None
    assert () == trace.steps


def test_a_mapping_names_the_members_of_the_abstract_world() -> None:
    with pytest.raises(ModelProblem, match="the mapping gives"):
        check(clock(implements("hours", hours(), lambda view: {"hour": 1})))
    blind = evolve(hours(), show=lambda member: 0)
    with pytest.raises(ModelProblem, match="show the same"):
        check(clock(implements("hours", blind, by_hours)))
    with pytest.raises(ModelProblem, match="is compared with a value of type function"):
        check(clock(implements("hours", hours, by_hours)))


@define
class Echo:
    other: str
    heard: int = 0

    def start(self) -> Any:
        return [Send(self.other, "hello")]

    def receive(self, event: Any) -> Any:
        self.heard = 1
        return None


def test_a_claim_about_steps_sees_the_event() -> None:
    """A member hears only by a message of the other; a crash is a step like any other."""
    seen: list[Taken] = []

    def remember(before: View, step: Taken, after: View) -> bool:
        seen.append(step)
        return True

    world = World(
        name="echo",
        members={"a": lambda: Echo("b"), "b": lambda: Echo("a")},
        faults=Faults(crashes=1, restarts=False),
        properties=[always_step("seen", remember)],
    )

    assert "holds" == check(world).result
    assert Taken("receive", "a", Message("b", "hello")) in seen
    assert Taken("crash", "b", None) in seen


def jumps(limit: int, words: frozenset[str]) -> Any:
    def holds(before: View, step: Taken, after: View) -> bool:
        far = sum(abs(before[name] - after[name]) for name in before)
        return far < limit or step.action not in words

    return holds


@settings(max_examples=15)
@given(plans(), st.integers(0, 4), st.frozensets(st.sampled_from(("x", "y", "z", "both"))))
def test_random_claims_about_steps_are_judged_as_by_the_definition(
    plan: Plan, limit: int, words: frozenset[str]
) -> None:
    """Each step of the reference search is asked; the run found is one step longer than to it."""
    holds = jumps(limit, words)
    world = evolve(build(plan), properties=[always_step("no jump", holds)])
    found = explore(world, keep_edges=True)
    states = list(found.level_of)
    view = found.reference.view
    bad = [
        found.level_of[states[source]]
        for source, move, target in found.edges
        if not holds(view(states[source]), taken_of(move), view(states[target]))
    ]

    report = check(world)

    assert ("violated" if bad else "holds") == report.result
    if bad:
        assert report.trace is not None
        assert min(bad) + 1 == len(report.trace.steps)
