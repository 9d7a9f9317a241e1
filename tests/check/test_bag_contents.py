"""Contents of bags and queues get numbers only when they are reached."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from joinproto.check import NOT_ENABLED, Faults, MessageBag, Send, World, always_each
from joinproto.check.check import check
from joinproto.check.engine.search import Search
from joinproto.check.plain import Bounds, check_small
from tests.check.compare import assert_same_report, assert_same_search
from tools.slow_search import explore


class Sender:
    def __init__(self, count: int) -> None:
        self.sent, self.count = 0, count

    def choices(self) -> Any:
        if self.sent < self.count:
            yield "send"

    def receive(self, event: Any) -> Any:
        self.sent += 1
        return [Send("b", self.sent)]


class Receiver:
    """Takes messages in order."""

    def __init__(self) -> None:
        self.got = 0

    def receive(self, event: Any) -> Any:
        if event.content != self.got + 1:
            return NOT_ENABLED
        self.got += 1
        return None


def bag(count: int, **faults: Any) -> World:
    return World(
        name="bag",
        members={"a": lambda: Sender(count), "b": Receiver},
        network=MessageBag(),
        faults=Faults(**faults),
        properties=[always_each("true", lambda shown: True)],
    )


@pytest.mark.parametrize("count", [20, 60])
def test_only_reached_contents_of_a_bag_get_numbers(count: int) -> None:
    """Messages k + 1 to n are under way: one content for each k < n, and the empty content."""
    search = Search(bag(count))
    search.run()

    contents = max(len(values) for values in search.tables.values)

    assert (count + 1) * (count + 2) // 2 == search.states.count
    assert count * (count + 1) // 2 + 1 == contents


def test_a_bag_with_losses_and_duplicates_is_the_same_in_both_searches() -> None:
    world = bag(3, losses=1, duplicates=1)

    found = explore(world, keep_edges=True)

    assert_same_search(world, found)
    assert_same_report(world, found)


def test_a_bag_of_a_hundred_messages_is_searched() -> None:
    assert 101 * 102 // 2 == check(bag(100)).distinct


def test_a_bag_whose_messages_are_seldom_taken_is_left_to_the_engine() -> None:
    """The world has few states and steps, but each state tries all messages under way."""
    world, bounds = bag(30), Bounds(10**6, 10**6, 10**6, 10**6)

    assert check_small(world, bounds=bounds) is not None
    assert check_small(world, bounds=evolve(bounds, tries=30**3 // 7)) is None
