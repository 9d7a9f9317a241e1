"""All queues together: reconciliation, Q4 and Q5."""

from __future__ import annotations

import heapq
from collections import Counter
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from joinproto.reconcile.evaluate import evaluate
from joinproto.reconcile.placement import Choice, least_loaded
from joinproto.reconcile.plan import Limits, _Copies, is_settled, plan
from joinproto.reconcile.queue import Node, Queue, Situation, Variant
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


def test_a_node_does_not_make_more_copies_than_its_limit() -> None:
    """Q5: mass failure does not become mass load."""
    found = plan([queue(f"q{at}", "AB", "ABC") for at in range(10)], LIMITS)

    assert 10 == len(found.changes)
    assert 50 == found.seconds
    for one in found.changes:
        together = [x for x in found.changes if x.starts <= one.starts < x.ends]
        assert len(together) <= 2


def test_a_queue_that_waits_for_a_node_keeps_its_place() -> None:
    """Q5: its decision counts as load at once, so that not all waiting queues choose one node."""
    asked = []

    def place(candidates: tuple[Node, ...], one: Situation) -> Choice:
        asked.append(one.queue.name)
        return least_loaded(candidates, one)

    found = plan([queue(f"q{at}", "AB", "ABCDE") for at in range(30)], LIMITS, place)

    assert 30 == len(asked) == len(found.changes)
    assert {"C": 10, "D": 10, "E": 10} == {one.node: one.adds for one in found.loads if one.adds}


def test_all_nodes_together_keep_their_limit_of_copies_and_copy_the_smallest_first() -> None:
    """Q5: of queues with as much to spare, the smallest goes first, because it is done soonest."""
    asked = [queue(f"q{at}", "AB", "ABCDE", leader="AB"[at % 2]) for at in range(4)]
    asked = [
        evolve(one, queue=evolve(one.queue, size=size))
        for one, size in zip(asked, (900, 300, 600, 100), strict=True)
    ]
    found = plan(asked, Limits(copies_at_once=9, copies_in_all=1, bytes_per_second=100))

    assert [("q3", 0, 1), ("q1", 1, 4), ("q2", 4, 10), ("q0", 10, 19)] == [
        (one.queue, one.starts, one.ends) for one in found.changes
    ]


def test_the_queue_with_the_fewest_replicas_to_spare_goes_first() -> None:
    """Q4: two of three are nearer to no majority than three of four."""
    asked = [queue("safe", "ABC", "ABCD", target=4), queue("poor", "AB", "ABCD")]

    assert "poor" == plan(asked, Limits(copies_at_once=1, bytes_per_second=1)).changes[0].queue


def test_a_change_that_cannot_be_made_is_left_with_its_reason() -> None:
    """Explaining: a plan lists the queues that it does not repair."""
    found = plan([queue("q", "AB", "AB")], LIMITS)

    assert [] == list(found.changes)
    assert ["no free node"] == [one.case.name for one in found.ends]


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
def test_every_plan_ends_and_takes_no_queue_below_the_minimum(
    members: set[str],
    nodes: set[str],
    stopped: set[str],
    drained: set[str],
    target: int,
    variant: Variant,
    removes: bool | None,
) -> None:
    """Q4: this holds in any situation; only the shipped code removes without a check."""
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


class Polling:
    """The waiting queues in a slow and simple form: each turn looks at all of them."""

    def __init__(self, _: object) -> None:
        self.all: list[tuple[float, Any]] = []

    def put(self, turn: Any, _: str, until: float) -> None:
        heapq.heappush(self.all, (until, turn))

    def move_due(self, coming: list[Any]) -> None:
        while self.all and (not coming or self.all[0][0] <= coming[0][0]):
            heapq.heappush(coming, (*heapq.heappop(self.all), None))

    def __bool__(self) -> bool:
        return bool(self.all)


@given(
    queues=st.lists(
        st.tuples(
            st.sampled_from(("AB", "BC", "A", "CDE", "BE")), st.integers(0, 9), st.integers(2, 4)
        ),
        max_size=25,
    ),
    at_once=st.integers(1, 3),
    in_all=st.none() | st.integers(1, 4),
)
def test_waiting_queues_go_on_as_if_all_queues_were_asked_each_time(
    queues: list[tuple[str, int, int]], at_once: int, in_all: int | None
) -> None:
    """Each node, and all nodes together, have their own order of waiting queues."""
    asked = []
    for at, (members, size, target) in enumerate(queues):
        one = queue(f"q{at}", members, "ABCDE", target=target)
        asked.append(evolve(one, queue=evolve(one.queue, size=100 * size)))
    limits = Limits(copies_at_once=at_once, copies_in_all=in_all, bytes_per_second=100)
    found = plan(asked, limits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("joinproto.reconcile.plan._Waiting", Polling)
        assert found == plan(asked, limits)


def test_many_queues_that_wait_for_one_node_are_not_all_asked_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise the time would grow with the square of the number of queues."""
    asked, count = _Copies.free_at, Counter[str]()

    def counted(self: _Copies, node: str, now: float) -> float:
        count[node] += 1
        return asked(self, node, now)

    monkeypatch.setattr(_Copies, "free_at", counted)
    found = plan([queue(f"q{at}", "AB", "ABC") for at in range(500)], LIMITS)

    assert 500 == len(found.changes)
    assert count.total() < 20 * 500


def test_queues_of_one_name_are_told_apart() -> None:
    """In two virtual hosts, each queue is copied from its own leader."""
    one = queue("q", "AB", "ABC", leader="A")
    other = queue("q", "AB", "ABC", leader="B", vhost="v2")
    found = plan([one, other], LIMITS)

    assert {"/", "v2"} == {change.vhost for change in found.changes}
    assert {"A": 1000, "B": 1000} == {
        load.node: load.bytes_out for load in found.loads if load.bytes_out
    }


def test_an_empty_list_of_queues_is_an_empty_plan() -> None:
    """A plan without queues has no change."""
    found = plan([], LIMITS)

    assert ((), (), 0, 0) == (found.changes, found.loads, found.seconds, found.bytes)
    assert Queue().members == ()
