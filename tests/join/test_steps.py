"""A member is a value: a step returns the next one, and changes nothing else."""

from __future__ import annotations

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError

from joinproto.errors import MisuseError
from joinproto.join import steps
from joinproto.join.draft import Draft, step
from joinproto.join.messages import Batch
from joinproto.join.outbox import both
from joinproto.join.phases import Phase
from joinproto.join.state import MemberState, Setup
from joinproto.join.store import StoreRecord
from tests.join.bus import cluster, config


def alone() -> tuple[MemberState, Batch]:
    """Return a member that may found its cluster alone, right after its start."""
    setup = Setup(config("a", electors="a", wait_for=1))
    return steps.start(0, setup, StoreRecord(store_id="a1"))


def founded() -> MemberState:
    state, _ = alone()
    state, _ = step(state, steps.tick, 100)
    assert Phase.ACTIVE is state.phase
    return state


def test_a_step_leaves_the_state_that_it_starts_from() -> None:
    """So a search may hold one state and try every event on it."""
    state, _ = alone()
    again, _ = alone()

    after, batch = step(state, steps.peer_up, 1, "b")

    assert state == again
    assert after != state
    assert ["b"] == [sent.to for sent in batch.sends]


def test_the_same_step_has_the_same_outcome() -> None:
    """No clock and no chance is in it."""
    state = founded()

    assert step(state, steps.leave, 5) == step(state, steps.leave, 5)


def test_a_state_cannot_be_changed() -> None:
    """Who holds one, holds it as it was; and what a step returns is as frozen as the others."""
    state = founded()

    with pytest.raises(FrozenInstanceError):
        state.phase = Phase.STOPPED  # type: ignore[misc]
    assert hash(state) == hash(evolve(state))


def test_a_step_that_raises_has_changed_nothing() -> None:
    """What a handler did up to there was done to a draft."""
    member = cluster()["a"].member
    before = member.state

    def fails(draft: Draft) -> None:
        draft.say()
        draft.leaves = True
        raise MisuseError("the host is wrong", next="mend it")

    with pytest.raises(MisuseError):
        step(member.state, fails)
    with pytest.raises(MisuseError):
        member.appended("another view", 1)
    assert before is member.state
    assert not before.leaves


def test_two_batches_are_one_as_if_they_had_been_asked_for_at_once() -> None:
    """Persist the later record; send, act and tell in order."""
    state, first = alone()
    after, second = step(state, steps.tick, 100)

    batch = both(first, second)

    assert after.record == batch.persist
    assert (*first.sends, *second.sends) == batch.sends
    assert (*first.events, *second.events) == batch.events
