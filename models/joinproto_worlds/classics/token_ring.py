"""Mutual exclusion by a token that goes round a ring of links.

Source: Le Lann, "Distributed systems: towards a formal approach".  A client may want a
member to enter, but need not.  Either the token is under way on one of N links while each
member may want to enter, or one member is inside while each other may want to.  That is
N 2^N + N 2^(N-1) = 3N 2^(N-1) states (36, 96, 240 for N = 3, 4, 5).  The steps from
them are N^2 2^(N-1) + N(N-1) 2^(N-2) wishes, N 2^N receipts and N 2^(N-1) departures.

If the token is lost and all want to enter, no step is left, after N + 1 steps.  If the
network doubles the token, two can be inside.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import define, frozen

from joinproto.check.events import Maybe, Send
from joinproto.check.faults import Faults
from joinproto.check.network import FifoLinks, MessageBag
from joinproto.check.properties import (
    Property,
    always_pair,
    always_possible,
    leads_to,
    no_deadlock,
    sometimes_one,
)
from joinproto.check.world import World


class Wish(enum.Enum):
    """A member's relation to the critical section."""

    NONE = "none"
    WANTS = "wants"
    INSIDE = "inside"


@frozen
class Token:
    """The token: the member that has it may enter."""

    def __str__(self) -> str:
        return "the token"


@define
class Station:
    """A member.  `following`: the next member on the ring.  `is_first`: it has the token first."""

    following: str
    is_first: bool
    wish: Wish = Wish.NONE

    def start(self) -> Any:
        return [Send(self.following, Token())] if self.is_first else None

    def choices(self) -> Iterator[Any]:
        if self.wish is Wish.NONE:
            yield Maybe("want to enter")
        if self.wish is Wish.INSIDE:
            yield "leave"

    def receive(self, event: Any) -> Any:
        if event == "want to enter":
            self.wish = Wish.WANTS
            return None
        if event == "leave":
            self.wish = Wish.NONE
        elif self.wish is not Wish.NONE:
            # No member expects a second token, so a member that is inside keeps both.
            self.wish = Wish.INSIDE
            return None
        return [Send(self.following, Token())]

    def shows(self) -> Wish:
        return self.wish


def are_not_both_inside(one: Wish, other: Wish) -> bool:
    return not (one is Wish.INSIDE and other is Wish.INSIDE)


def enters_if_it_wants(name: str) -> Property:
    return leads_to(
        "each that wants to enter does",
        lambda view: view[name] is Wish.WANTS,
        lambda view: view[name] is Wish.INSIDE,
    )


def build(members: int = 4, *, losses: int = 0, duplicates: int = 0, live: bool = False) -> World:
    """Return the world of 2 to 12 members.

    `losses`, `duplicates`: how often the token may be lost, or doubled; with duplicates the network
    is a bag.  `live`: the world claims that each member that wants to enter does.
    """
    names = [f"m{i}" for i in range(1, members + 1)]
    after = dict(zip(names, names[1:] + names[:1], strict=True))
    return World(
        name="token-ring",
        members={name: partial(Station, after[name], name == names[0]) for name in names},
        network=MessageBag() if duplicates else FifoLinks(),
        faults=Faults(losses=losses, duplicates=duplicates),
        properties=[
            always_pair("one at a time", are_not_both_inside),
            no_deadlock("something can happen"),
            always_possible("all can want to enter", lambda v: Wish.NONE not in v.values()),
            sometimes_one("a process is inside", lambda wish: wish is Wish.INSIDE),
            *([enters_if_it_wants(names[0])] if live else []),
        ],
        about="a token goes round; its holder may enter",
    )
