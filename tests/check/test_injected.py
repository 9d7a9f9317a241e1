"""Injected faults: disks that change while a member is down, stalls, links that are cut."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from attrs import evolve

from joinproto.check import (
    DOWN,
    NOT_ENABLED,
    Broadcast,
    Faults,
    Injected,
    Message,
    ModelProblem,
    Persist,
    Property,
    World,
    always,
    always_possible,
    always_step,
    check,
    disk_edited,
    disk_lost,
    inject,
    links_cut,
    no_deadlock,
    older_copy,
    sometimes,
)
from joinproto.check.check import check as check_by_engine
from tools.slow_search import explore


class Counter:
    """Counts to two, and keeps its identity, its count and its role on disk."""

    persistent = ("identity", "count", "role")

    def __init__(self) -> None:
        self.identity = ""
        self.count = 0
        self.role = "primary"
        self.stalled = False

    def start(self) -> Any:
        self.identity = "i"
        return [Persist()]

    def choices(self) -> Any:
        if self.count < 2 and not self.stalled:
            yield "count"

    def receive(self, event: Any) -> Any:
        match event:
            case "count" if self.count < 2:
                self.count += 1
                return [Persist()]
            case "stall" if not self.stalled:
                self.stalled = True
                return None
        return NOT_ENABLED


def _world(*claims: Property, crashes: int = 1) -> World:
    return World(
        name="counter",
        members={"a": Counter},
        faults=Faults(crashes=crashes),
        show_disk=lambda disk: disk,
        properties=[sometimes("it counts to two", lambda v: v.disk["a"].count == 2), *claims],
    )


def _run_length(world: World) -> int | None:
    """Compare both searches; return the steps of the shortest run that breaks a claim, or None."""
    found, other = check(world), check_by_engine(world)
    assert (found.result, found.distinct, found.generated) == (
        other.result,
        other.distinct,
        other.generated,
    )
    return None if found.trace is None else len(found.trace.steps)


def has_identity(view: Any) -> bool:
    return bool(view.disk["a"].identity)


def test_a_disk_can_be_lost_with_or_without_its_identity() -> None:
    """A crash and the loss break the claim; a disk that keeps its identity only loses its count."""
    known = always("it has its identity", has_identity)

    assert 2 == _run_length(inject(_world(known), disk_lost()))
    assert _run_length(inject(_world(known), disk_lost(keeps=["identity"]))) is None


def test_an_older_copy_of_a_disk_returns() -> None:
    """After a copy, a count, a crash and the copy's return, the count on the disk is lower."""
    copied = inject(_world(), older_copy())
    grows = always_step(
        "the disk only grows",
        lambda before, _, after: before.disk["a"].count <= after.disk["a"].count,
    )

    assert 4 == _run_length(evolve(copied, properties=[grows]))
    assert _run_length(_world(grows)) is None


def test_a_member_whose_disk_can_only_be_copied_is_deadlocked() -> None:
    """A member without choices is stuck, although its disk can still be copied."""

    class Idle(Counter):
        def choices(self) -> tuple[()]:
            return ()

    goes_on = no_deadlock("goes on", lambda _: False)

    idle = World(name="idle", members={"a": Idle}, properties=[goes_on])

    assert 0 == _run_length(inject(idle, older_copy()))


def test_an_edited_disk_breaks_a_claim_after_a_restart() -> None:
    is_primary = always("it is primary", lambda v: v["a"] is DOWN or v["a"].role == "primary")

    assert 3 == _run_length(inject(_world(is_primary), disk_edited(role="replica")))
    assert _run_length(_world(is_primary)) is None


def test_an_injected_stall_breaks_an_always_possible_claim() -> None:
    """Without a crash, a stalled member takes no step any more."""
    moves = always_possible("it can count on", lambda v: v.disk["a"].count == 2)
    stalls = Injected("stalls", "stall")

    assert 1 == _run_length(inject(_world(moves, crashes=0), stalls))
    assert _run_length(_world(moves, crashes=0)) is None


def test_a_budget_of_two_reaches_more_states_than_a_budget_of_one() -> None:
    report = check(inject(_world(crashes=3), disk_lost(budget=2)))

    assert report.coverage.actions["the disk is lost (faults)"] > 0
    assert report.distinct > check(inject(_world(crashes=3), disk_lost())).distinct


def test_a_fault_that_never_happened_is_reported() -> None:
    """Unused budgets of `Faults` are reported in the same way."""
    report = check(inject(_world(crashes=0), disk_lost()))

    assert "fault: the disk is lost, up to 1, and it never happened" in report.coverage.never


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        ([disk_lost(of=["b"])], "is one of 'b', which is not a member"),
        ([disk_lost(), disk_lost()], "is injected twice"),
        ([disk_lost(keeps=["nothing"])], "is about 'nothing', which is not durable"),
    ],
)
def test_a_fault_with_a_wrong_member_or_attribute_is_refused(
    faults: list[Injected], expected: str
) -> None:
    with pytest.raises(ModelProblem, match=expected):
        check(inject(_world(), *faults))


def test_a_budget_of_zero_and_a_second_injection_are_refused() -> None:
    with pytest.raises(ModelProblem, match="from 1 on"):
        disk_lost(budget=0)
    with pytest.raises(ModelProblem, match="in one call of inject"):
        inject(inject(_world(), disk_lost()), disk_lost())


class Talker:
    """Says its name once, and notes the members it heard."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.heard: frozenset[str] = frozenset()
        self.said = False

    def choices(self) -> Any:
        if not self.said:
            yield "say"

    def receive(self, event: Any) -> Any:
        match event:
            case "say":
                self.said = True
                return [Broadcast("here")]
            case Message(sender, _) if sender not in self.heard:
                self.heard |= {sender}
                return None
        return NOT_ENABLED

    def shows(self) -> Any:
        return self.heard


def _talk(*splits: frozenset[Any]) -> World:
    def cut(view: Any) -> bool:
        return view.split is not None

    return World(
        name="talk",
        members={name: partial(Talker, name) for name in "abc"},
        faults=Faults(partitions=1, splits=splits),
        properties=[
            sometimes("all hear all", lambda v: all(len(heard) == 2 for heard in v.values())),
            sometimes("c hears a in a cut", lambda v: cut(v) and "a" in v["c"]),
            always("view and network agree", lambda v: not cut(v) or v.connected("b", "a")),
        ],
    )


@pytest.mark.parametrize("both_ways", [True, False])
def test_one_link_is_cut_in_one_direction_or_in_both(both_ways: bool) -> None:
    """All three searches find as many states and steps, and no claim breaks."""
    world = _talk(links_cut(("a", "c"), both_ways=both_ways))
    found, other, slow = check(world), check_by_engine(world), explore(world)

    assert found.distinct == other.distinct == slow.distinct
    assert found.generated == other.generated == slow.generated
    assert "holds" == found.result


def test_a_cut_of_links_delays_their_messages() -> None:
    """`c` can hear `a` only before the cut, so the shortest run ends with the split."""
    split = links_cut(("a", "c"))
    late = always("c hears a later", lambda v: v.split is None or "a" not in v["c"])
    world = evolve(_talk(split), properties=[late, *_talk(split).properties])
    report = check(world)

    assert "violated" == report.result
    assert report.trace is not None
    words = [step.action for step in report.trace.steps]
    assert words.index("split") == len(words) - 1
    assert "split links a to c, c to a" == report.trace.steps[-1].label


def test_a_link_of_an_unknown_member_is_refused() -> None:
    with pytest.raises(ModelProblem, match="cuts a link of 'x', which is not a member"):
        _talk(links_cut(("a", "x")))
