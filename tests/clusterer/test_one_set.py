"""Nodes with one config have one set of data: small stories in which random ones found two."""

from __future__ import annotations

from random import Random

import pytest
from attrs import evolve

from joinproto.clusterer.config import Config, Held, Notes
from joinproto.clusterer.coordinator import step
from joinproto.clusterer.identities import is_apart, was_out
from joinproto.clusterer.messages import Receive, Told
from joinproto.clusterer.run import play
from joinproto.clusterer.state import OpenRound, RoundKind, State, Who
from joinproto.clusterer.status import Status
from joinproto.clusterer.story import Story
from tests.clusterer.stories import action, apply, config, start, story

AB = Config(1, frozenset("ab"), gospel="a", shutdown_timeout=None)
IDS = Notes.of({"a": "a~1", "b": "b~1=a~1"})


def sets_of(told: Story, orders: int) -> set[frozenset[str | None]]:
    """Return the final data of the ready nodes, for each order."""
    ends = (play(told, Random(seed).randrange)[-1] for seed in range(orders))
    return {
        frozenset(one.data for one in end.nodes.values() if one.state == "ready") for end in ends
    }


def test_a_joining_node_takes_the_data_of_a_node_that_runs_with_its_config() -> None:
    """U4: it does not take the data of a node of that config that still runs by itself."""
    told = story(
        [start("b"), start("d")], [apply("b", config(2, "abcd", "b")), start("a")], nodes="abcd"
    )

    assert {frozenset({"b/1"})} == sets_of(told, 200)


def test_a_blank_gospel_that_comes_back_with_others_leaves_one_set_of_data() -> None:
    """U3, U5: the ready node never had the gospel as a member."""
    told = story(
        [start("c"), start("d")],
        [apply("c", config(3, "abcd", "c"))],
        [start("b"), action("reset", "b")],
        [action("reset", "d"), action("stop", "c")],
        [start("c")],
        [start("b")],
        [start("d", config(5, "abc", "b"))],
        nodes="abcd",
    )

    assert all(len(found) == 1 for found in sets_of(told, 100))


def test_a_waiting_node_forwards_a_config_with_the_gospels_identity_that_it_knew() -> None:
    """U3: a is blank, and waits with b and c, which come back; then b is given the next config."""
    told = story(
        [start("a", config(1, "abc", "a")), start("b"), start("c")],
        [action("stop", "b"), action("stop", "c"), action("reset", "a")],
        [start("a"), start("b")],
        [apply("b", config(2, "abc", "a"))],
        [start("c")],
        nodes="abc",
    )

    assert {frozenset({"a/1"})} == sets_of(told, 60)


def test_a_node_that_is_left_out_sends_the_gospels_identity_that_it_knew() -> None:
    """U3: a is blank, and hears of the config from b, which leaves, before it hears from c."""
    told = story(
        [start("a", config(1, "abc", "a")), start("b"), start("c")],
        [action("reset", "a")],
        [start("a"), apply("b", config(2, "ac", "a"))],
        nodes="abc",
    )

    assert {frozenset({"a/1"})} == sets_of(told, 60)


def test_a_node_that_missed_that_the_gospel_joined_leaves_one_set_of_data() -> None:
    """U3: b joined while c was cut off from b, and is blank now; c gets a config with gospel b.

    Otherwise: c sends the config to the blank b, which takes itself for the gospel; a, which knew
    the old b, keeps the old data.
    """
    for nodes in ("ab", "abc"):
        told = story(
            [start("a", config(1, "ac", "a")), start("c")],
            [apply("a", config(2, "abc", "a"))],
            [{"op": "cut", "between": [["b"], ["c"]]}],
            [start("b")],
            [action("reset", "b"), {"op": "heal"}],
            [start("b"), apply("c", config(3, nodes, "b"))],
            nodes="abc",
        )

        assert all(len(found) == 1 for found in sets_of(told, 200))


def test_a_report_that_comes_during_a_round_leaves_one_set_of_data() -> None:
    """U3: b reports that it joined while c waits for the answers of a round, which are older."""
    told = story(
        [start("a", config(1, "abc", "a")), start("b"), start("c")],
        [action("reset", "b"), start("b"), apply("c", config(2, "ab", "b"))],
        nodes="abc",
    )

    assert all(len(found) == 1 for found in sets_of(told, 600))


def test_two_sides_of_a_cut_report_two_sets_of_data_and_a_younger_config_makes_them_one() -> None:
    """A case that remains: an operator gives the same config on both sides of a cut."""
    told = story(
        [start("a", config(1, "ab", "a")), start("b")],
        [{"op": "cut", "between": [["a"], ["b"]]}, action("reset", "b")],
        [start("b")],
        [apply("a", config(2, "ab", "b")), apply("b", config(2, "ab", "b"))],
        [{"op": "heal"}],
        [apply("b", config(3, "ab", "a"))],
        nodes="ab",
    )
    plain = play(told)

    assert {"a/1", "b/2"} == {one.data for one in plain[-2].nodes.values()}
    assert "two sets of data" in "".join(one.why for one in plain[-2].nodes.values())
    assert {frozenset({"a/1"})} == sets_of(told, 100)


def test_a_node_that_was_left_out_while_it_was_off_is_wiped_despite_a_younger_config() -> None:
    """U3, D6: version 2 left b out; b brings version 3, and a knows that b was out."""
    told = story(
        [start("a", config(1, "ab", "a")), start("b")],
        [action("stop", "b")],
        [apply("a", config(2, "a", "a"))],
        [start("b", config(3, "ab", "a"))],
        nodes="ab",
    )
    last = play(told)[-1]

    assert ("b",) == last.wiped
    assert {"a/1"} == {one.data for one in last.nodes.values()}


@pytest.mark.parametrize(("gospel", "is_out"), [("a", False), ("b", True)])
def test_a_node_that_is_not_the_gospel_counts_as_one_that_was_left_out(
    gospel: str, is_out: bool
) -> None:
    """D6: a missed a config that left it out; with version 4 the gospel's data count."""
    given = Config(4, disc=frozenset("ab"), ram=frozenset(), gospel=gospel, shutdown_timeout=None)
    of_b = Held(given, since=Notes.of({"a": 3, "b": 1}))
    of_a = Held(given, since=Notes.of({"a": 1, "b": 1}))

    assert was_out(of_b, of_a, "a") is is_out
    assert not was_out(of_a, of_b, "b")


@pytest.mark.parametrize("says", [Status.JOINING, Status.REJOINING])
def test_a_node_does_not_keep_its_data_for_a_gospel_that_joins(says: Status) -> None:
    """U3, seed 5000748: b starts first with a new set of data, unless it rejoins."""
    given = evolve(AB, version=2, gospel="b")
    state_of_a = State(
        who=Who("a"),
        status=Status.JOINING,
        identity="a~1",
        achieved=Held(AB, Notes.of({"a": "a~1"}), Notes.of({"a": 1, "b": 1})),
        held=Held(given, Notes.of({"a": "a~1"})),
        round=OpenRound(what=RoundKind.STATUS, token=1, left=frozenset("b")),
    )

    found = step(state_of_a, Receive("b", Told(1, Held(given, IDS), says))).state

    assert says is found.status


def test_a_gospel_that_was_left_out_says_so_until_it_has_joined_again() -> None:
    """D6: version 2 left a out; b has the earlier config, or knows a's earlier identity."""
    before = Held(AB, IDS, Notes.of({"a": 1, "b": 1}))
    of_a = Held(evolve(AB, version=3), Notes.of({"a": "a~1"}), Notes.of({"a": 3}))
    again = evolve(of_a, ids=Notes.of({"a": "a~2=a~1"}))

    assert is_apart(of_a, before, "b")
    assert not is_apart(again, before, "b")
    assert not is_apart(of_a, before, "a")


def test_a_gospel_that_missed_its_leaving_has_other_data_unless_it_has_joined_since() -> None:
    """D6: b took a in again by version 3, and knows a's own identity."""
    since = Notes.of({"a": 3, "b": 1})
    given = Held(evolve(AB, version=4), IDS, Notes.of({"a": 1, "b": 1}))
    later = Notes.of({"a": "a~2=a~1", "b": "b~1=a~1"})

    assert is_apart(given, Held(evolve(AB, version=3), IDS, since), "b")
    assert not is_apart(given, Held(evolve(AB, version=3), later, since), "b")
    assert not is_apart(given, Held(given.config, IDS, since), "b")
