"""Nodes that start together, were left out, or got a lock too late, with events in many orders.

Source: Clusterer, U3 (which node's data count) and U5 (no node waits for a lock that was given up).
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from joinproto.clusterer.config import Notes
from joinproto.clusterer.identities import data_of, known, of_node, renewed
from joinproto.clusterer.reporting import StepTold
from joinproto.clusterer.run import play
from joinproto.clusterer.simulator import Simulator
from joinproto.clusterer.story import Story
from tests.clusterer.stories import action, apply, config, start, story

AB1, AB2 = config(1, "ab", "a"), config(2, "ab", "a")


def named_gospel(nodes: str, formed_with: str | None, *, is_off: bool, at: str = "a") -> Story:
    """Return a story in which all nodes start together, and the last is then named the gospel.

    `formed_with`: the gospel of the first config.  `is_off`: the last node is stopped before it is
    named.  `at`: the node that gets the new config.  The new config's members are `nodes` if `at`
    is a, else only `at` and the last node.
    """
    last = nodes[-1]
    wanted = config(2, nodes if at == "a" else at + last, last)
    return story(
        [start(name, config(1, nodes, formed_with)) for name in nodes],
        [action("stop", last)] if is_off else [],
        [apply(at, wanted)],
        nodes=nodes,
    )


def ends(told: Story, orders: int) -> list[StepTold]:
    """Return the results of the last step: in the plain order, and in `orders` random ones."""
    return [play(told)[-1], *(play(told, Random(seed).randrange)[-1] for seed in range(orders))]


def assert_all_stay(nodes: str, orders: int) -> None:
    """Assert that no node is wiped, and that each member that runs stays ready.

    The last node is named the gospel, whether it is off or not.
    """
    for formed_with in (None, "a"):
        for is_off in (True, False):
            up = nodes[:-1] if is_off else nodes
            for end in ends(named_gospel(nodes, formed_with, is_off=is_off), orders):
                assert {"ready"} == {end.nodes[name].state for name in up}
                assert () == end.wiped
    others = named_gospel(nodes, "a", is_off=True, at="b")
    for end in ends(others, orders) if len(nodes) > 2 else ():
        assert ("ready", ()) == (end.nodes["b"].state, end.wiped)


@pytest.mark.parametrize("nodes", ["ab", "abc", "abcd", "abcde"])
def test_a_member_that_is_named_the_gospel_wipes_no_member(nodes: str) -> None:
    """Seed 000: only nodes that are not members of the gospel's cluster are reset, up or not.

    Before this rule, two nodes that joined at one moment took each other for strangers.  With three
    nodes, a third of the orders ended with a member that had stopped, or was wiped.
    """
    assert_all_stay(nodes, 25)


@pytest.mark.soak("system-worlds")
@pytest.mark.parametrize("nodes", ["abc", "abcd", "abcde"])
def test_a_member_that_is_named_the_gospel_wipes_no_member_in_1000_orders(nodes: str) -> None:
    """The test above, in more orders."""
    assert_all_stay(nodes, 1_000)


@pytest.mark.parametrize("gospel", [None, "a"])
def test_members_that_start_together_know_each_other(gospel: str | None) -> None:
    """U3: each member knows the identity of all members, and all have the same data."""
    for seed in range(40):
        told = story([start(name, config(1, "abcd", gospel)) for name in "abcd"])
        sim = Simulator.of_story(told, Random(seed).randrange)
        sim.play(told.steps[0].do)
        states = [one.state for one in sim.machines.values()]

        assert {tuple("abcd")} == {
            tuple(name for name, _ in state.config_now.ids.pairs) for state in states if state
        }
        assert 1 == len({data_of(state.identity) for state in states if state})


def test_a_node_that_never_heard_of_the_gospel_learns_from_it_that_their_data_are_the_same() -> (
    None
):
    """U3: c joined a and b while it was cut off from b, and a is off now.

    b stops, because it does not know that c joined.  It gives up no data, and c then tells b that
    they have the same data.
    """
    told = story(
        [start("a", config(1, "ab", "a")), start("b")],
        [apply("a", config(2, "abc", "a"))],
        [{"op": "cut", "between": [["b"], ["c"]]}],
        [start("c")],
        [action("stop", "c")],
        [action("stop", "a"), {"op": "heal"}],
        [apply("b", config(3, "bc", "c"))],
        [start("c")],
        nodes="abc",
    )
    for seed in range(60):
        steps = play(told, Random(seed).randrange)

        assert ("joining", "a/1") == (steps[6].nodes["b"].state, steps[6].nodes["b"].data)
        assert {"ready"} == {steps[7].nodes[name].state for name in "bc"}
        assert () == steps[6].wiped == steps[7].wiped


def test_a_stranger_does_not_change_the_note_on_a_members_data() -> None:
    """U3: c, left out by a config with gospel reset, comes back with another config, gospel a.

    Before this rule, node a believed c's note about a.  Node a stopped, and waited for b, which was
    off.
    """
    told = story(
        [start(name, config(1, "abc", "a", 0)) for name in "abc"],
        [apply("a", config(2, "ab", None, 0))],
        [apply("a", config(3, "abc", "a", 0))],
        [action("stop", "b")],
        [start("c", config(4, "abc", "a", 0))],
        nodes="abc",
    )
    for end in ends(told, 60):
        assert {"a": ("ready", "a/2"), "c": ("ready", "a/2")} == {
            name: (end.nodes[name].state, end.nodes[name].data) for name in "ac"
        }
        assert ("c",) == end.wiped


@pytest.mark.parametrize("variant", ["ours", "seed"])
def test_a_lock_that_comes_after_its_round_is_given_back(variant: str) -> None:
    """U5: b asks for a's lock, and begins a younger config before the lock is granted."""
    told = story(
        [start("a", AB1), start("b")],
        [action("stop", "a")],
        [action("stop", "b")],
        [start("a"), start("b"), apply("a", AB2)],
        nodes="ab",
        variant=variant,
    )

    assert {"ready"} == {node.state for end in ends(told, 250) for node in end.nodes.values()}


def test_an_identity_names_the_set_of_data_of_its_node() -> None:
    """U3: an identity changes with each set of data, and the later identity of a node counts."""
    founder = renewed("a#1")
    joined = renewed(renewed("b#1"), data_of(founder))

    assert ("a#1~1", "b#1~2=a#1~1") == (founder, joined)
    assert ("b#1", "a#1~1", None) == (of_node(joined), data_of(joined), data_of("b#1"))
    assert None is data_of("8f3a~no=x")
    cases: tuple[tuple[Any, Any, Any], ...] = (
        ("b#1~1", joined, joined),
        (joined, "b#1~1", joined),
        ("b#2", joined, "b#2"),  # another machine of that name
        (None, joined, joined),
    )
    for first, second, expected in cases:
        ids = Notes.of({} if first is None else {"b": first})

        assert expected == known(ids, Notes.of({"b": second})).get("b")
