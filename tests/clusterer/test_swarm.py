"""The shipped nodes in virtual time, with random orders of all events."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.clusterer.booting import still_left
from joinproto.clusterer.config import Config, Held, Notes
from joinproto.clusterer.coordinator import step
from joinproto.clusterer.messages import Apply, Forget, Keep, Members, NewConfig, Paused, Receive
from joinproto.clusterer.state import State, Who
from joinproto.clusterer.status import Status
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation
from tools.swarms.clusterer import Found, run
from tools.swarms.clusterer_oracle import GospelChecker

BURSTS = 12
AB = Config(1, frozenset("ab"), gospel="a", shutdown_timeout=0)
IDS = Notes.of({"a": "a#1~1", "b": "b#1~2=a#1~1"})
ALONE = Config(2, frozenset("a"), gospel="a", shutdown_timeout=0)


def ready(held: Held) -> State:
    """Return the state of a, whose broker runs together with b's."""
    both = frozenset("ab")
    return State(
        who=Who("a"),
        status=Status.READY,
        identity="a#1~1",
        achieved=held,
        held=held,
        contacts=frozenset("b"),
        record=Members(members=both, ran=both),
    )


def told(found: Found) -> str:
    return "\n".join([*found.log[-30:], *found.problems, f"seed {found.seed}"])


@pytest.mark.parametrize("seed", range(8))
def test_nodes_come_to_rest_with_one_set_of_data_and_all_messages(seed: int) -> None:
    """U1 to U7: nodes are killed, cut off, reset and given configs; then all heals and starts."""
    found = run(seed, BURSTS)

    assert () == found.problems, told(found)
    assert found.steps > 500


def test_a_run_is_the_same_each_time() -> None:
    """Therefore findings can be repeated."""
    one, other = run(3, 4), run(3, 4)

    assert (one.log, one.steps) == (other.log, other.steps)


def test_others_are_forgotten_once_the_config_that_lacks_them_is_stored() -> None:
    """U6: otherwise, after a kill in between, a names b again, but all have forgotten b."""
    found = step(ready(Held(AB, IDS)), Apply(ALONE))

    kinds = [type(effect) for effect in found.effects]
    assert kinds.index(Keep) < kinds.index(Forget)


def test_a_node_that_a_younger_config_names_again_is_not_forgotten() -> None:
    """U6: forgetting waits until a node that was left out is off."""
    left = step(ready(Held(AB, IDS)), Apply(ALONE)).state
    again = Config(3, frozenset("ab"), gospel="a", shutdown_timeout=0)

    assert frozenset("b") == still_left(left, frozenset("b"))
    assert frozenset() == still_left(step(left, Apply(again)).state, frozenset("b"))


def test_a_paused_node_notes_the_nodes_that_it_hears_and_takes_no_config() -> None:
    """U7: no node would repeat the message after the pause."""
    paused = step(ready(Held(AB)), Paused(True)).state

    noted = step(paused, Receive("b", NewConfig(Held(AB, IDS), True))).state
    after = step(noted, Receive("b", NewConfig(Held(ALONE, IDS), True))).state

    assert "b#1~2=a#1~1" == noted.config_now.ids.get("b")
    assert AB == after.config_now.config


def test_a_node_that_is_left_out_during_a_look_at_its_broker_takes_the_next_config() -> None:
    """U7, seed 5000026: the report came to a pending node, which then took no more configs."""
    of_b = Config(2, frozenset("b"), gospel="b", shutdown_timeout=30)
    left = step(ready(Held(AB)), Receive("b", NewConfig(Held(of_b, IDS), True))).state
    looked = step(left, Paused(True)).state
    again = Config(3, frozenset("ab"), gospel="a", shutdown_timeout=30)

    after = step(looked, Receive("b", NewConfig(Held(again, IDS), True))).state

    assert Status.PENDING is left.status
    assert again == after.config_now.config


def test_a_ready_gospel_may_stop_if_a_config_names_the_node_before_its_reset() -> None:
    """U3: a knew b before b was reset, so b cannot know which data version 2 means.

    If a was ready with the present b, b does know, and must go on.
    """
    config = evolve(AB, version=2, gospel="b")
    now = Notes.of({"a": "a#1~1", "b": "b#9~1"})
    state_of_b = State(
        who=Who("b"),
        status=Status.READY,
        identity="b#9~1",
        achieved=Held(AB, now),
        held=Held(AB, now),
    )
    word = Receive("a", NewConfig(Held(config, IDS), False))
    after = step(state_of_b, word).state

    assert Status.JOINING is after.status
    assert GospelChecker().check_step(state_of_b, word, after) is None
    assert "the gospel of version 2" in str(
        GospelChecker({("a#1", "b#9")}).check_step(state_of_b, word, after)
    )


@pytest.mark.soak("swarm-rules")
@pytest.mark.parametrize("fault", ["word-refused", "later-ignored", "late-lock-kept"])
def test_a_fault_that_is_put_back_is_found(fault: str) -> None:
    """U3, U5: each fault breaks a rule about newcomers, a stranger's notes, or a late lock."""
    with applied(mutation(fault)):
        found = any(run(seed, 40).problems for seed in range(1000, 2000))

    assert found
