"""A run is replayed, step by step, by the members' code."""

from __future__ import annotations

import pytest

from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.check.replay import Replay
from joinproto.check.report import Trace
from tests.census import searched


def trace_of(name: str, mutant: str | None = None) -> Trace:
    trace = searched(name, mutant).trace
    assert trace is not None
    return trace


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        ("two-phase-commit", "one-vote-short"),
        ("token-ring-doubled", None),
        ("ring-election", "passes-all-on"),
        ("alternating-bit-overtaken", None),
        ("durable-vote", "no-persist"),
        ("durable-vote", "answer-first"),
        ("durable-vote-wiped", None),
    ],
)
def test_replaying_a_trace_leads_to_the_state_that_breaks_the_claim(
    name: str, mutant: str | None
) -> None:
    """Each step is found by its words, and leads to the state in the trace."""
    trace = trace_of(name, mutant)
    replay = Replay(load_world(name, mutant=mutant))

    broken = [replay.violates(trace.property)]
    for step in trace.steps:
        assert step == replay.step(step.label, step.member)
        broken.append(replay.violates(trace.property))

    assert [False] * len(trace.steps) + [True] == broken


@pytest.mark.parametrize("members", [2, 3, 5])
def test_a_replayed_deadlock_is_stuck(members: int) -> None:
    world = load_world("dining-philosophers", members=members)
    trace = check(world).trace
    assert trace is not None
    replay = Replay(world)

    for step in trace.steps:
        assert not replay.stuck()
        replay.step(step.label, step.member)

    assert replay.stuck()
    assert [] == replay.possible()
    assert 2 * members == len(replay.view.up)  # forks are members, too


def test_a_lasso_ends_where_its_loop_began() -> None:
    """This run ends in a deadlock, so its loop is empty."""
    world = load_world("dining-philosophers", members=3)
    (trace,) = [
        item.trace for item in check(world).properties if item.kind == "eventually" and item.trace
    ]
    assert trace.loop_at is not None
    replay = Replay(world)

    for step in trace.steps:
        assert not replay.shows("some day a philosopher eats")
        replay.step(step.label, step.member)

    assert replay.loops_to(trace.loop_at)
    assert not replay.loops_to(0)


def test_an_impossible_step_is_refused_with_the_possible_steps() -> None:
    """A changed member may have no such step; the message says at which step of the run."""
    replay = Replay(load_world("durable-vote"))
    replay.step("stand", "m1")

    with pytest.raises(LookupError) as caught:
        replay.step("stand", "m1")

    message = str(caught.value)
    assert message.startswith("step 2: no 'stand' of m1 is possible here; possible are ")
    assert "'receive vote for me from m1' of m2" in message
    assert "'crash' of m1" in message


def test_a_step_is_taken_by_the_named_member() -> None:
    replay = Replay(load_world("durable-vote"))

    replay.step("stand", "m2")

    assert "m2" == replay.state.locals[1].values[-2]


def test_claims_are_found_by_name_and_an_unknown_name_is_refused() -> None:
    replay = Replay(load_world("durable-vote"))

    assert not replay.violates("one leader, ever")
    assert not replay.shows("a leader is elected")
    with pytest.raises(
        LookupError, match="durable-vote claims no 'nonsense'; it claims one leader"
    ):
        replay.shows("nonsense")


def test_every_step_of_a_state_has_its_own_words() -> None:
    """Words and member name one step; otherwise a pasted trace could take another run."""
    for name in ("durable-vote-split", "alternating-bit", "token-ring-doubled"):
        replay = Replay(load_world(name))
        for _ in range(6):
            options = replay.possible()
            named = [(step.label, step.member) for step, _ in options]
            assert len(set(named)) == len(named)
            replay.states.append(options[-1][1])
