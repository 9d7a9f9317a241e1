"""A queue that is copied while clients put messages at its back and take them from its front.

Clients never stop.  In turn a message is put, a message is taken and a message is copied.  Messages
are named by their place from the front, so queues of one length are one state.

Source: hot standby, H5.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import define, evolve, frozen

from joinproto.check.properties import eventually, sometimes
from joinproto.check.view import View as Seen
from joinproto.check.world import World
from joinproto.standby.catch_up import Message, Order
from joinproto.standby.events import Commit, Draft, More, New, Received
from joinproto.standby.messages import Has, Kind, View, WiringItem
from joinproto.standby.primary import lead
from joinproto.standby.primary_state import Follower, PrimaryState, Who
from joinproto.standby.queue import MessageQueue
from joinproto.standby.replica_state import Queue, ReplicaState

THING = WiringItem(kind=Kind.QUEUE, name="q", id="q")


@frozen
class CopyView:
    """The observation of the queue.  `copies`: the messages that are still to be copied;
    `is_level`: the backup has caught up.
    """

    copies: int
    is_level: bool


@define
class Chase:
    """The queue.  `length`: messages at first.  `turn`: the next event: 0 a put, 1 a take,
    2 a copy.
    """

    order: Order
    length: int
    turn: int = 0
    state: PrimaryState | None = None

    def start(self) -> None:
        line = MessageQueue.of(_message(at) for at in range(self.length))
        self.state = PrimaryState(
            who=Who(me="a", order=self.order),
            replica=ReplicaState(
                things={THING.key: THING},
                queues={"q": Queue(id="q", messages=line, next=self.length)},
            ),
            view=View(generation=1, number=1, primary="a", members=("a",)),
            followers={"b": Follower(sent=1, done=1, copying={"q": line})},
        )

    @property
    def leading(self) -> PrimaryState:
        assert self.state is not None
        return self.state

    def choices(self) -> Iterator[str]:
        if self._is_level:
            return
        yield ("a message is put", "a message is taken", "a message is copied")[self.turn]

    def receive(self, event: str) -> Any:
        state = self.leading
        line = state.replica.queues["q"].messages
        match event:
            case "a message is put":
                happens: Any = Commit(1, (Draft(queue="q", puts=(New(id="new"),)),))
            case "a message is taken":
                _, (first,) = line.split(1, back=False)
                happens = Commit(1, (Draft(queue="q", takes=(first,)),))
            case _:
                happens = More("b", "q")
        state = lead(state, happens).state
        state = lead(state, Received("b", Has(state.followers["b"].sent))).state
        self.state = _renumbered(state)
        self.turn = (self.turn + 1) % 3
        return None

    @property
    def _is_level(self) -> bool:
        return "q" in self.leading.followers["b"].level

    def shows(self) -> CopyView:
        rest = self.leading.followers["b"].copying.get("q", MessageQueue())
        return CopyView(len(rest), self._is_level)


def _message(at: int) -> Message:
    return Message(id=f"m{at}", sequence=at)


def _renumbered(state: PrimaryState) -> PrimaryState:
    """Return the state with its messages named from the front, and links numbered from 1."""
    queue, one = state.replica.queues["q"], state.followers["b"]
    place = {message.sequence: at for at, message in enumerate(queue.messages)}
    rest = {
        name: MessageQueue.of(_message(place[message.sequence]) for message in line)
        for name, line in one.copying.items()
    }
    line = MessageQueue.of(_message(at) for at in range(len(place)))
    return evolve(
        state,
        replica=evolve(state.replica, queues={"q": evolve(queue, messages=line, next=len(place))}),
        followers={"b": evolve(one, sent=1, done=1, copying=rest)},
        pending=(),
    )


def build(members: int = 1, *, order: str = "lifo", length: int = 4) -> World:
    """Return the world of a queue with `length` messages at first."""

    def is_level(view: Seen) -> bool:
        return all(one.is_level for one in view.up.values())

    def is_nearer(view: Seen) -> bool:
        return any(one.copies < length for one in view.up.values())

    return World(
        name="standby-chase",
        members={"a": partial(Chase, Order(order), length)},
        properties=[eventually("it is caught up", is_level), sometimes("some is sent", is_nearer)],
        about="a queue is copied while clients put and take",
    )
