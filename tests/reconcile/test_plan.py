"""All queues together: reconciliation, Q4 and Q5."""

from __future__ import annotations

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from joinproto.reconcile.evaluate import evaluate
from joinproto.reconcile.plan import Limits, is_settled, plan
from joinproto.reconcile.queue import Queue, Situation, Variant
from joinproto.reconcile.tables import Action
from tests.reconcile.situations import situation

LIMITS = Limits(copies_at_once=2, bytes_per_second=100)


def queue(name: str, members: str, nodes: str, **more: object) -> Situation:
    asked = situation(members, nodes, **more)  # type: ignore[arg-type]
    return evolve(asked, queue=evolve(asked.queue, name=name, size=1000))


def test_a_queue_changes_one_replica_at_a_time_and_adds_before_it_removes() -> None:
    """Q4: each change begins when the one before has ended."""
    found = plan([queue("q", "ABX", "ABCDE", target=4)], LIMITS)

    assert [("add", "C", 0, 10), ("add", "D", 10, 20), ("remove", "X", 20, 20)] == [
        (one.action.value, one.node, one.starts, one.ends) for one in found.changes
    ]
    assert (20, 2000) == (found.seconds, found.bytes)


def test_a_node_copies_no_more_than_it_may() -> None:
    """Q5: mass failure does not become mass load."""
    found = plan([queue(f"q{at}", "AB", "ABC") for at in range(10)], LIMITS)

    assert 10 == len(found.changes)
    assert 50 == found.seconds
    for one in found.changes:
        together = [x for x in found.changes if x.starts <= one.starts < x.ends]
        assert len(together) <= 2


def test_all_nodes_together_copy_no_more_than_they_may_and_the_smallest_first() -> None:
    """Q5: of queues with as much to spare the one that is done soonest is the first."""
    asked = [queue(f"q{at}", "AB", "ABCDE", leader="AB"[at % 2]) for at in range(4)]
    asked = [
        evolve(one, queue=evolve(one.queue, size=size))
        for one, size in zip(asked, (900, 300, 600, 100), strict=True)
    ]
    found = plan(asked, Limits(copies_at_once=9, copies_in_all=1, bytes_per_second=100))

    assert [("q3", 0, 1), ("q1", 1, 4), ("q2", 4, 10), ("q0", 10, 19)] == [
        (one.queue, one.starts, one.ends) for one in found.changes
    ]


def test_who_can_lose_least_goes_first() -> None:
    """Q4: two of three are nearer to no majority than three of four."""
    asked = [queue("safe", "ABC", "ABCD", target=4), queue("poor", "AB", "ABCD")]

    assert "poor" == plan(asked, Limits(copies_at_once=1, bytes_per_second=1)).changes[0].queue


def test_what_cannot_be_done_is_left_with_its_reason() -> None:
    """Explaining: a plan says what it does not mend."""
    found = plan([queue("q", "AB", "AB")], LIMITS)

    assert [] == list(found.changes)
    assert ["nobody takes it"] == [one.case.name for one in found.ends]


NAMES = "ABCDEF"


@given(
    members=st.sets(st.sampled_from(NAMES), min_size=1),
    nodes=st.sets(st.sampled_from(NAMES)),
    stopped=st.sets(st.sampled_from(NAMES)),
    drained=st.sets(st.sampled_from(NAMES)),
    target=st.integers(0, 6),
    variant=st.sampled_from(Variant),
    removes=st.none() | st.booleans(),
)
def test_every_plan_ends_and_takes_nobody_below_the_minimum(
    members: set[str],
    nodes: set[str],
    stopped: set[str],
    drained: set[str],
    target: int,
    variant: Variant,
    removes: bool | None,
) -> None:
    """Q4: whatever the situation; only the shipped code removes without looking."""
    leader = min(members)
    asked = situation(
        "".join(sorted(members)),
        "".join(sorted(nodes | {leader})),
        running="".join(sorted((nodes - stopped) | {leader})),
        drained="".join(drained),
        target=target,
        variant=variant,
        auto_remove=removes,
    )
    found = plan([asked], LIMITS)

    assert () == evaluate(found.ends[0].situation).nodes
    left = set(members)
    for one in found.changes:
        if one.action is Action.ADD:
            left.add(one.node)
        else:
            left.discard(one.node)
            there = left & (nodes | {leader})
            assert variant is Variant.REAL or len(there) >= target
    if is_settled(found.ends[0]) and variant is not Variant.REAL:
        assert len(left & (nodes | {leader})) >= target


def test_queues_of_one_name_are_told_apart() -> None:
    """Two virtual hosts: each queue is copied from its own leader."""
    one = queue("q", "AB", "ABC", leader="A")
    other = queue("q", "AB", "ABC", leader="B", vhost="v2")
    found = plan([one, other], LIMITS)

    assert {"/", "v2"} == {change.vhost for change in found.changes}
    assert {"A": 1000, "B": 1000} == {
        load.node: load.bytes_out for load in found.loads if load.bytes_out
    }


def test_an_empty_list_of_queues_is_an_empty_plan() -> None:
    """Nothing is asked, nothing is done."""
    found = plan([], LIMITS)

    assert ((), (), 0, 0) == (found.changes, found.loads, found.seconds, found.bytes)
    assert Queue().members == ()
