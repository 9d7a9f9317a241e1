"""Claims about steps, and worlds that implement other worlds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import define, evolve
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.check import (
    Faults,
    Message,
    ModelProblem,
    Replay,
    Send,
    StepView,
    View,
    World,
    always_step,
    any_of,
    implements,
)
from joinproto.check.check import check
from joinproto.check.properties import Property
from joinproto.check.step_claims import StepClaim
from joinproto.check.steps import step_view
from joinproto.cli.show.findings import ended_early
from tests.check.test_fair_runs import Plan, build, plans
from tools.slow_search import explore


@define
class Clock:
    """A clock with hours and minutes; if `skips`, it may skip hour 2."""

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


def test_a_clock_with_minutes_implements_a_clock_of_hours() -> None:
    """Minutes change nothing in the world of hours; a skipped hour is not a step of that world."""
    good = check(clock(implements("hours", hours(), by_hours)))
    world = clock(implements("hours", hours(), by_hours), skips=True)
    bad = check(world)

    assert ("holds", "violated") == (good.result, bad.result)
    assert bad.trace is not None
    assert ("hours: hours has no step from hours: 1 to hours: 3",) == bad.notes
    assert ["tick", "tick", "skip"] == [step.action for step in bad.trace.steps]
    replay = Replay(world)
    broken = [replay.violates("hours")]
    for step in bad.trace.steps:
        replay.step(step.label, step.member)
        broken.append(replay.violates("hours"))
    assert [False, False, False, True] == broken


def test_a_world_with_another_initial_state_does_not_implement_the_abstract_world() -> None:
    world = evolve(
        clock(implements("hours", hours(), by_hours)), beginnings=any_of({"clock": {"hour": [2]}})
    )
    report = check(world)

    assert report.trace is not None
    assert () == report.trace.steps
    assert ("hours: hours does not begin with hours: 2",) == report.notes


def test_a_wrong_mapping_or_abstract_world_of_implements_is_refused() -> None:
    with pytest.raises(ModelProblem, match="the mapping gives"):
        check(clock(implements("hours", hours(), lambda view: {"hour": 1})))
    blind = evolve(hours(), show=lambda member: 0)
    with pytest.raises(ModelProblem, match="have the same view"):
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
    """A claim gets the received message, and gets a crash as a step, too."""
    seen: list[StepView] = []

    def remember(before: View, step: StepView, after: View) -> bool:
        seen.append(step)
        return True

    world = World(
        name="echo",
        members={"a": lambda: Echo("b"), "b": lambda: Echo("a")},
        faults=Faults(crashes=1, restarts=False),
        properties=[always_step("seen", remember)],
    )

    assert "holds" == check(world).result
    assert StepView("receive", "a", Message("b", "hello")) in seen
    assert StepView("crash", "b", None) in seen


def jumps(limit: int, words: frozenset[str]) -> Any:
    def holds(before: View, step: StepView, after: View) -> bool:
        far = sum(abs(before[name] - after[name]) for name in before)
        return far < limit or step.action not in words

    return holds


@settings(max_examples=15)
@given(plans(), st.integers(0, 4), st.frozensets(st.sampled_from(("x", "y", "z", "both"))))
def test_random_claims_about_steps_are_judged_as_by_the_definition(
    plan: Plan, limit: int, words: frozenset[str]
) -> None:
    """The run has one step more than the least level with a step that breaks the claim."""
    holds = jumps(limit, words)
    world = evolve(build(plan), properties=[always_step("no jump", holds)])
    found = explore(world, keep_edges=True)
    states = list(found.level_of)
    view = found.reference.view
    bad = [
        found.level_of[states[source]]
        for source, move, target in found.edges
        if not holds(view(states[source]), step_view(move), view(states[target]))
    ]

    report = check(world)

    assert ("violated" if bad else "holds") == report.result
    if bad:
        assert report.trace is not None
        assert min(bad) + 1 == len(report.trace.steps)


@define
class Held:
    """Counts up to `most`."""

    most: int
    number: int = 0

    def choices(self) -> Iterator[str]:
        if self.number < self.most:
            yield "one more"

    def receive(self, event: str) -> None:
        self.number += 1

    def shows(self) -> int:
        return self.number


@settings(max_examples=40)
@given(plans(), st.integers(0, 3), st.integers(1, 3))
def test_a_search_that_ends_at_an_unmapped_state_reports_the_same_run(
    plan: Plan, most: int, part: int
) -> None:
    """A search ends at a state that maps to no abstract state, and reports the same run as a search
    of all states.
    """
    abstract = World(
        name="held",
        members={"held": lambda: Held(most)},
        properties=[always_step("none", lambda before, step, after: True)],
    )
    claims = [
        implements("held", abstract, lambda view: {"held": sum(view.values()) // part}),
        implements("any", abstract, lambda view: {"held": min(sum(view.values()), most)}),
    ]
    world = evolve(build(plan), properties=claims)
    early = check(world)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StepClaim, "is_state", lambda self, view: True)
        late = check(world)

    assert early.result == late.result
    assert early.distinct <= late.distinct
    for one, other in zip(early.properties, late.properties, strict=True):
        assert one == other or one.result == "unknown"
    assert (early.trace, early.notes[:1]) == (late.trace, late.notes[:1])


def test_a_report_says_that_the_search_ended_at_an_unmapped_state() -> None:
    """The search of the second world is complete, so its report does not say so."""
    few = World(
        name="few",
        members={"hours": lambda: Held(2)},
        properties=[always_step("none", lambda before, step, after: True)],
    )
    here = implements("few", few, by_hours)
    other = always_step("other", lambda before, step, after: True)

    assert "the search ended at the violation" == ended_early(check(clock(here, other)))
    skips = check(clock(implements("hours", hours(), by_hours), other, skips=True))
    assert ("violated", "") == (skips.result, ended_early(skips))
