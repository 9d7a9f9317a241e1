"""The alternating-bit protocol: on a link that loses frames, one bit tells new frames from old.

Source: Bartlett, Scantlebury and Wilkinson, "A note on reliable full-duplex transmission over
half-duplex links".  The sender repeats a frame until its bit comes back.  A monitor, which is not
part of the system, keeps the list of arrivals.

On a queue that loses frames, every item arrives once and in order.  If frames may overtake each
other, one bit is not enough: a repeated frame that arrives two items late counts as new.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Message, Record, Send
from joinproto.check.faults import Faults
from joinproto.check.network import FifoLinks, MessageBag
from joinproto.check.properties import always, always_each, eventually, sometimes
from joinproto.check.view import View
from joinproto.check.world import World


@frozen
class Frame:
    """An item and its bit."""

    bit: int
    item: int

    def __str__(self) -> str:
        return f"item {self.item}, bit {self.bit}"


@frozen
class Acknowledgement:
    """The receiver's answer to a frame: the frame's bit."""

    bit: int

    def __str__(self) -> str:
        return f"got bit {self.bit}"


@define
class Sender:
    """The sender.  `sent`: how often the present item was sent, at most `tries` times."""

    items: int
    tries: int
    item: int = 0
    sent: int = 0

    def choices(self) -> Iterator[str]:
        if self.item < self.items and self.sent < self.tries:
            yield "repeat" if self.sent else "send"

    def receive(self, event: Any) -> Any:
        match event:
            case Message(_, Acknowledgement(bit)):
                if bit == self.item % 2 and self.sent > 0:
                    self.item += 1
                    self.sent = 0
                return None
            case "send" | "repeat":
                self.sent += 1
                return [Send("receiver", Frame(self.item % 2, self.item))]
        return NOT_ENABLED

    def shows(self) -> int:
        return self.item


@define
class Receiver:
    """The receiver.  `expects`: the bit of the next new frame."""

    expects: int = 0

    def receive(self, event: Any) -> Any:
        match event:
            case Message(_, Frame(bit, item)):
                if bit == self.expects:
                    self.expects = 1 - bit
                    yield Record(item)
                # An old frame is acknowledged, too: its first acknowledgement may be lost.
                yield Send("sender", Acknowledgement(bit))

    def shows(self) -> int:
        return self.expects


@define
class Arrivals:
    """Monitor: the items in the order in which they arrived."""

    items: tuple[int, ...] = ()

    def receive(self, item: int) -> None:
        self.items += (item,)

    def shows(self) -> tuple[int, ...]:
        return self.items


def in_order(view: View) -> bool:
    arrived: tuple[int, ...] = view.monitor
    return arrived == tuple(range(len(arrived)))


def build(members: int = 2, *, items: int = 3, losses: int = 1, overtaking: bool = False) -> World:
    """Return the world; `overtaking`: the network is a bag of messages instead of queues."""
    return World(
        name="alternating-bit",
        # With one try more than there are losses, the world is finite and every item arrives.
        members={"sender": lambda: Sender(items, losses + 1), "receiver": Receiver},
        network=MessageBag() if overtaking else FifoLinks(),
        faults=Faults(losses=losses),
        monitor=Arrivals,
        properties=[
            always("items arrive once and in order", in_order),
            always_each("no item too many", lambda item: item <= items, among=["sender"]),
            eventually("every item arrives", lambda view: len(view.monitor) == items),
            sometimes(
                "an item arrives before the sender knows",
                lambda view: len(view.monitor) > view["sender"],
            ),
        ],
        about="every item arrives once over a link that loses",
    )
