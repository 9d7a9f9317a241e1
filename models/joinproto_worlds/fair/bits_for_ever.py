"""The alternating bit without an end: two links that hold one frame each and may lose any.

Source: Bartlett, Scantlebury and Wilkinson (see
`models/joinproto_worlds/classics/alternating_bit.py`).  Frames are sent again without bound.  Each
may be lost, so an arrival does not stay possible until it happens, and weak fairness is not enough.
By strong fairness a link delivers a message that is sent again and again; the claim needs this at
both ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define

from joinproto.check.events import NOT_ENABLED, Message, Send
from joinproto.check.fairness import EACH_STEP, strong
from joinproto.check.faults import UNLIMITED, Faults
from joinproto.check.network import FifoLinks
from joinproto.check.properties import infinitely_often, sometimes_one
from joinproto.check.world import World


@define
class Sender:
    bit: int = 0

    def choices(self) -> Iterator[str]:
        yield "send"

    def receive(self, event: Any) -> Any:
        match event:
            case "send":
                return [Send("receiver", self.bit)]
            case Message(_, bit):
                if bit == self.bit:
                    self.bit = 1 - bit
                return None
        return NOT_ENABLED


@define
class Receiver:
    expects: int = 0

    def receive(self, event: Any) -> Any:
        if event.content == self.expects:
            self.expects = 1 - self.expects
        return [Send("sender", event.content)]


def build(members: int = 2, *, losses: bool = True, fair: str = "both") -> World:
    """Return the world; `fair`: the ends with strongly fair arrivals: both, receiver or none."""
    ends = {"both": ("receiver", "sender"), "receiver": ("receiver",), "none": ()}[fair]
    return World(
        name="bits-for-ever",
        members={"sender": Sender, "receiver": Receiver},
        network=FifoLinks(capacity=1),
        faults=Faults(losses=UNLIMITED if losses else 0),
        fairness=[EACH_STEP, *(strong("receive", of=end) for end in ends)],
        properties=[
            infinitely_often("a frame 0 arrives", lambda view: view["receiver"].expects == 1),
            infinitely_often("a frame 1 arrives", lambda view: view["receiver"].expects == 0),
            sometimes_one("the sender goes on", lambda one: one.bit == 1, among=["sender"]),
        ],
        about="the alternating bit without an end, over links that lose",
    )
