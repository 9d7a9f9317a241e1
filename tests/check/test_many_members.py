"""Worlds of hundreds of members, few of which take steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from joinproto.check.check import check
from joinproto.check.engine.rows.layout import Layout
from joinproto.check.environment import Environment
from joinproto.check.events import NOT_ENABLED, Broadcast
from joinproto.check.faults import Faults
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import eventually
from joinproto.check.world import World

COUNT = 258


class Peer:
    """Number 0 broadcasts a and b.  The last number changes whenever it receives a, and number 1
    when it receives b.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.has = False

    def choices(self) -> list[str]:
        return ["go"] if self.number == 0 and not self.has else []

    def receive(self, event: Any) -> Any:
        if event == "go":
            self.has = True
            return [Broadcast("a"), Broadcast("b")]
        if (self.number, event.content) == (COUNT - 1, "a"):
            self.has = not self.has
        elif (self.number, event.content) == (1, "b"):
            self.has = True
        else:
            return NOT_ENABLED
        return None


def world(count: int = COUNT, partitions: int = 0) -> World:
    """Return a world of `count` peers."""
    return World(
        name="many",
        members={f"m{number}": partial(Peer, number) for number in range(count)},
        properties=[eventually("m1 has b", lambda view: view["m1"].has)],
        faults=Faults(partitions=partitions),
    )


def test_each_receiver_has_a_duty_of_its_own() -> None:
    """If the last member's duty for a counted as m1's duty for b, m1 could wait for ever."""
    report = check(world())

    assert ("holds", 5) == (report.result, report.distinct)


def test_a_world_without_partitions_has_no_splits() -> None:
    """A list of all splits of 258 members would have no end in practice."""
    assert () == Environment.of(world()).splits


def test_partitions_of_many_members_need_named_splits() -> None:
    """Of 16 members every split is tried."""
    assert 2**15 - 1 == len(Environment.of(world(16, partitions=1)).splits)
    with pytest.raises(ModelProblem, match=r"17 members can be split in 65,535 ways"):
        world(17, partitions=1)


def test_twenty_thousand_fields_have_their_places() -> None:
    """A world of 142 members has about this many queues."""
    layout = Layout([1] * 20_000, 0)

    assert 313 == layout.words
    assert 20_000 == len({*zip(layout.word.tolist(), layout.shift.tolist(), strict=True)})
