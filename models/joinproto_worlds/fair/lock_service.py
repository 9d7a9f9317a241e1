"""A server that gives a lock to one client after the other; messages arrive in order.

Every client that asks for the lock must get it.  If the server serves the client that came first,
weak fairness is enough.  If it serves the client that came last, one client may wait behind the
others for ever, and no fairness helps, because that client's turn is never possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define

from joinproto.check.events import Maybe, Message, Send
from joinproto.check.fairness import EACH_STEP, strong
from joinproto.check.network import FifoLinks
from joinproto.check.properties import always_pair, leads_to, sometimes_one
from joinproto.check.world import World


@define
class Client:
    phase: str = "idle"

    def choices(self) -> Iterator[Any]:
        if self.phase == "idle":
            yield Maybe("ask")
        if self.phase == "inside":
            yield "give back"

    def receive(self, event: Any) -> Any:
        match event:
            case "ask":
                self.phase = "waits"
                return [Send("server", "ask")]
            case "give back":
                self.phase = "idle"
                return [Send("server", "done")]
            case _:
                self.phase = "inside"
        return None

    def shows(self) -> str:
        return self.phase


@define
class Server:
    """The server.  `first_come`: the first of the waiting clients is served, and not the last."""

    first_come: bool
    free: bool = True
    waiting: tuple[str, ...] = ()

    def receive(self, event: Message) -> Any:
        if event.content == "ask":
            self.waiting += (event.sender,)
        else:
            self.free = True
        if not (self.free and self.waiting):
            return None
        at = 0 if self.first_come else len(self.waiting) - 1
        served = self.waiting[at]
        self.waiting = self.waiting[:at] + self.waiting[at + 1 :]
        self.free = False
        return [Send(served, "yours")]

    def shows(self) -> str:
        return "server"


def build(members: int = 3, *, last_first: bool = False, strongly: bool = False) -> World:
    """Return the world of 1 to 4 clients.  `last_first`: the server serves the client that came
    last; `strongly`: each step is strongly fair.
    """
    names = [f"c{i}" for i in range(1, members + 1)]
    return World(
        name="lock-service",
        members={**dict.fromkeys(names, Client), "server": lambda: Server(not last_first)},
        beside=["server"],
        network=FifoLinks(),
        fairness=[strong(each=True) if strongly else EACH_STEP],
        properties=[
            always_pair("one at a time", lambda a, b: not a == b == "inside", among=names),
            leads_to(
                "each that asks gets it",
                lambda view: view["c1"] == "waits",
                lambda view: view["c1"] == "inside",
            ),
            sometimes_one("a process has it", lambda phase: phase == "inside", among=names),
        ],
        about="a server gives a lock to one client after the other",
    )
