"""The view chain implements a register of views; two mutants and the note do not."""

from __future__ import annotations

import pytest

from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.check.replay import Replay
from joinproto.check.report import Report
from tests.census import searched

CLAIM = "views are kept as in a register"


def test_the_note_does_not_implement_a_register() -> None:
    """The run of `note-partition`: each side of a partition founds its own cluster."""
    report = searched("register-of-note")

    assert report.trace is not None
    assert [
        ("split off a", None),
        ("start", "a"),
        ("agree on the set of a", "a"),
        ("start", "b"),
        ("agree on the set of b", "b"),
    ] == [(step.label, step.member) for step in report.trace.steps]
    assert CLAIM == report.trace.property
    other = searched("note-partition")
    assert (other.trace is not None, 5) == (True, len(report.trace.steps))


def test_electors_that_found_a_cluster_by_votes_implement_a_register() -> None:
    """There are as many states as without the claim (`test_chain_register.py`)."""
    report = searched("register-of-votes")

    assert ("holds", 32_141) == (report.result, report.distinct)


def test_a_register_that_forgets_breaks_the_claim_and_ends_the_search() -> None:
    """In `join-two` the outside register takes a second successor of the first view, a state that
    the abstract register cannot reach.
    """
    world = load_world("register-of-join", mutant="register-forgets")
    report = check(world)

    assert report.trace is not None
    assert (CLAIM, 11) == (report.trace.property, report.depth)
    assert [
        ("receive set the successor: CHANGE 2 of a from a", "register"),
        ("receive set the successor: CHANGE 2 of b from b", "register"),
    ] == [(step.label, step.member) for step in report.trace.steps[8:]]
    assert report.distinct < 10_000
    assert "has no step from register: 2 to register: no chain" in report.notes[0]
    replay = Replay(world)
    for step in report.trace.steps:
        assert not replay.violates(CLAIM)
        replay.step(step.label, step.member)
    assert replay.violates(CLAIM)


def test_a_member_that_forgets_an_accepted_view_breaks_the_register_in_a_shortest_run() -> None:
    """The claim `one_successor` breaks in as many steps, when two successors are first chosen."""
    world = load_world("register-of-votes", mutant="accepted-not-honoured")
    report = check(world)

    assert report.trace is not None
    steps = report.trace.steps
    replay = Replay(world)
    broken = []
    for step in steps:
        replay.step(step.label, step.member)
        broken.append(replay.violates(CLAIM))
    assert [False] * (len(steps) - 1) + [True] == broken
    founding = searched("chain-register-founding", "accepted-not-honoured")
    lengths = {item.name: item.trace_length for item in founding.properties}
    assert len(steps) == lengths["one_successor"]


@pytest.mark.soak("join-worlds")
def test_the_view_chain_of_two_members_implements_a_register() -> None:
    """Every step of `join-two`; the counts are those of `join-two` with its own claims."""
    report: Report = searched("register-of-join")

    assert ("holds", 1_018_397, 10_079_027, 43) == (
        report.result,
        report.distinct,
        report.generated,
        report.depth,
    )
