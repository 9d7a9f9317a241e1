"""Election of a leader on a one-way ring: only the largest number returns to its member.

Source: Chang and Roberts, "An improved algorithm for decentralized extrema-finding in
circular configurations of processes".  The numbers fall along the ring, which is the
algorithm's worst case: the bid of the member at place k is passed on until it meets place 1,
so the bids take N(N+1)/2 hops.  With N starts and N hops of the announcement every run ends
after the same N(N+1)/2 + 2N steps.  The depth counts states, so it is one more (13, 19, 26 for
N = 3, 4, 5).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Message, Send
from joinproto.check.network import FifoLinks
from joinproto.check.properties import always_pair, eventually, sometimes
from joinproto.check.view import View
from joinproto.check.world import World


@frozen
class Bid:
    """A member proposes to make the member with this number the leader."""

    number: int

    def __str__(self) -> str:
        return f"bid {self.number}"


@frozen
class Elected:
    """The member with this number leads."""

    number: int

    def __str__(self) -> str:
        return f"elected {self.number}"


@define
class Candidate:
    number: int
    following: str
    mutant: str | None = None
    leader: int | None = None

    def start(self) -> Any:
        return [Send(self.following, Bid(self.number))]

    def receive(self, event: Any) -> Any:
        match event:
            case Message(_, Bid(number)) if number == self.number:
                self.leader = number
                return [Send(self.following, Elected(number))]
            case Message(_, Bid(number)):
                if number > self.number or self.mutant == "passes-all-on":
                    return [Send(self.following, Bid(number))]
                return None
            case Message(_, Elected(number)):
                if number == self.number:
                    return None
                self.leader = number
                return [Send(self.following, Elected(number))]
        return NOT_ENABLED

    def shows(self) -> int | None:
        return self.leader


def agree(one: int | None, other: int | None) -> bool:
    return one is None or other is None or one == other


def all_know(view: View) -> bool:
    return len(view.up) == len(view) and None not in view.values()


def some_know(view: View) -> bool:
    known = {leader is not None for leader in view.up.values()}
    return known == {True, False}


def build(members: int = 4, mutant: str | None = None) -> World:
    """Return the world of 2 to 6 members; with `passes-all-on` small bids are passed on, too."""
    names = [f"m{i}" for i in range(1, members + 1)]
    after = dict(zip(names, names[1:] + names[:1], strict=True))
    return World(
        name="ring-election",
        members={
            name: partial(Candidate, members - i, after[name], mutant)
            for i, name in enumerate(names)
        },
        network=FifoLinks(),
        start="down",
        properties=[
            always_pair("one leader", agree),
            eventually("all know the leader", all_know),
            sometimes("some know the leader, some do not", some_know),
        ],
        about="the largest number on a one-way ring becomes the leader",
    )
