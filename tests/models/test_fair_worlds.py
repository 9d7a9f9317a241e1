"""The textbook examples of liveness: true under their usual fairness and false without it."""

from __future__ import annotations

from itertools import product

import pytest

from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.check.entry import Entry
from joinproto.check.properties import ON_FAIR_RUNS
from joinproto_worlds.fair.entries import ENTRIES
from tests.census import searched


@pytest.mark.parametrize("item", ENTRIES, ids=lambda item: item.name)
def test_a_classic_of_liveness_ends_as_its_entry_says(item: Entry) -> None:
    """A world that must fail breaks a claim about runs, in as many steps as its entry says."""
    report = searched(item.name)

    assert item.expected == report.result
    broken = [claim.kind for claim in report.properties if claim.result == "violated"]
    assert bool(set(broken) & set(ON_FAIR_RUNS)) is (item.expected == "violated")
    assert item.steps == (None if report.trace is None else len(report.trace.steps))


@pytest.mark.parametrize(
    ("members", "numbers", "result"),
    [(3, 2, "holds"), (4, 2, "violated"), (4, 3, "holds"), (5, 3, "violated"), (5, 4, "holds")],
)
def test_a_ring_stabilises_if_there_are_as_many_numbers_as_other_machines(
    members: int, numbers: int, result: str
) -> None:
    """N machines need K >= N - 1 numbers.  All K^N states are initial; each privilege is a step."""
    from joinproto_worlds.fair.stabilising_ring import build

    report = check(build(members, numbers=numbers))

    n, k = members, numbers
    assert (k**n, 1, result) == (report.distinct, report.depth, report.result)
    assert k**n + k ** (n - 1) * (1 + (n - 1) * (k - 1)) == report.generated


def test_without_fairness_a_ring_need_not_stabilise() -> None:
    from joinproto_worlds.fair.stabilising_ring import build

    assert "violated" == check(build(3, fair=False)).result


@pytest.mark.parametrize(("readers", "writers"), [(1, 1), (2, 1), (4, 1), (2, 2), (1, 3)])
def test_readers_and_writers_have_their_closed_form(readers: int, writers: int) -> None:
    """2^w 3^r states without a writer inside, and w 2^(w-1) 2^r with one writer inside alone."""
    from joinproto_worlds.fair.readers_writers import build

    report = check(build(readers, writers=writers, strongly=True))

    r, w = readers, writers
    assert 2**w * 3**r + w * 2 ** (w - 1) * 2**r == report.distinct
    assert "holds" == report.result


def after(state: tuple[object, ...], n: int) -> set[tuple[object, ...]]:
    """Return the next states of (nodes awake, nodes black, place of the token, token black)."""
    awake, black, place, token = state
    assert isinstance(awake, tuple)
    assert isinstance(black, tuple)
    assert isinstance(place, int)
    found: set[tuple[object, ...]] = set()

    def put(values: tuple[bool, ...], at: int, value: bool) -> tuple[bool, ...]:
        return (*values[:at], value, *values[at + 1 :])

    if place == 0 and (token or black[0]):
        found.add((awake, put(black, 0, False), n - 1, False))
    if place > 0 and (not awake[place] or black[place] or token):
        found.add((awake, put(black, place, False), place - 1, token or black[place]))
    for i in range(n):
        if awake[i]:
            found.add((put(awake, i, False), black, place, token))
            for j in range(n):
                if j != i:
                    found.add((put(awake, j, True), put(black, i, black[i] or j > i), place, token))
    return found


@pytest.mark.parametrize("n", [2, 3, 4])
def test_termination_has_the_states_of_its_source(n: int) -> None:
    """The states are counted a second time without a world; three nodes have 302."""
    flags = list(product((False, True), repeat=n))
    waiting = [(awake, black, at, True) for awake in flags for black in flags for at in range(n)]
    seen: set[tuple[object, ...]] = set(waiting)
    queue: list[tuple[object, ...]] = list(waiting)
    for state in queue:
        for one in after(state, n) - seen:
            seen.add(one)
            queue.append(one)

    report = check(load_world("termination", members=n))

    assert (len(seen), n * 4**n) == (report.distinct, report.levels[0])
    assert {3: 302}.get(n, report.distinct) == report.distinct
    assert "holds" == report.result


def test_if_nodes_stay_white_termination_is_announced_too_early() -> None:
    trace = searched("termination", "stays-white").trace

    assert trace is not None
    assert ("what is told is so", 5) == (trace.property, len(trace.steps))


def test_with_weak_fairness_only_losses_break_the_alternating_bit() -> None:
    """Over links that lose no message the protocol does not need strong fairness."""
    from joinproto_worlds.fair.bits_for_ever import build

    assert "holds" == check(build(losses=False, fair="none")).result
    assert "violated" == check(build(losses=True, fair="none")).result


def test_strong_fairness_to_each_step_does_not_help_the_first_process_that_asked() -> None:
    """The step that gives it the lock is never possible, and fairness helps only possible steps."""
    report = searched("lock-last-first")

    assert ("strong: each delivery, choice, restart, heal and joint step by itself",) == (
        report.fair_to
    )
    assert "violated" == report.result
