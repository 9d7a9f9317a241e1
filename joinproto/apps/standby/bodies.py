"""The contents of messages: all of them in memory, and those of durable messages on the disk.

The machine knows messages by identity and position; their contents are kept here.

Source: hot standby, H4, H5, H10.
"""

from __future__ import annotations

from attrs import define, field

from joinproto.apps.standby.keeping.disk import Disk
from joinproto.apps.standby.keeping.form import Action, Declared, Deleted, Put, Queue, Queues, Taken
from joinproto.apps.standby.queues import Held
from joinproto.standby.catch_up import Message
from joinproto.standby.messages import Change, Kind, WiringItem
from joinproto.standby.queue import MessageQueue
from joinproto.standby.replica_state import Queue as ReplicaQueue
from joinproto.standby.replica_state import ReplicaState


@define(eq=False)
class Bodies:
    """All queues with all messages; `unwritten` returns the durable changes for the disk."""

    disk: Disk
    queues: Queues = field(init=False)
    has_unwritten: bool = False  # changes that must be on the disk before the next effect
    _unwritten: list[Action] = field(factory=list)
    _kept: set[tuple[str, str]] = field(factory=set)
    _arrived: dict[tuple[str, str], bytes] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Read the contents of the disk."""
        there = self.disk.queues
        self.queues = {name: Queue(one.thing, dict(one.messages)) for name, one in there.items()}
        self._kept = {(name, put) for name, one in there.items() for put in one.messages}

    @property
    def replica(self) -> ReplicaState:
        """Return the queues as the machine's first state."""
        things, queues = {}, {}
        for name, queue in self.queues.items():
            line = MessageQueue.of(
                Message(id=put.id, sequence=put.position, durable=True) for put in queue.in_order
            )
            coming = 0 if line.last is None else line.last.sequence + 1
            things[queue.thing.key] = queue.thing
            queues[name] = ReplicaQueue(id=queue.thing.id, messages=line, next=coming)
        return ReplicaState(things=things, queues=queues)

    def is_kept(self, queue: str, name: str) -> bool:
        """Return whether a message is on the disk, or will be with the next write."""
        return (queue, name) in self._kept

    def body(self, queue: str, name: str) -> bytes:
        """Return the content of a message, which must be in a queue or have just arrived."""
        found = self.queues.get(queue)
        put = None if found is None else found.messages.get(name)
        return self._arrived[queue, name] if put is None else put.body

    # -- events ----------------------------------------------------------------------------

    def arrived(self, queue: str, name: str, body: bytes) -> None:
        """Hold the content of a message that the machine gets next."""
        self._arrived[queue, name] = body

    def hold(self, queue: str, held: Held) -> None:
        """Hold a message that a client published."""
        if queue in self.queues:
            self.queues[queue].messages[held.id] = Put(queue, held.id, held.position, held.body)

    def forget(self, queue: str, message: Message) -> None:
        """Forget a deleted message."""
        if queue in self.queues:
            self.queues[queue].messages.pop(message.id, None)

    def change(self, change: Change, *, is_awaited: bool = False) -> None:
        """Apply a change of a queue, and keep its durable part for the disk.

        `is_awaited`: the machine itself waits for the write, so other effects need not wait.
        """
        queue = self.queues.get(change.queue)
        if queue is None:
            return
        for message in change.puts:
            key = (change.queue, message.id)
            put = queue.messages.get(message.id)
            if put is None:
                body = self._arrived.pop(key, None)
                if body is None:
                    continue  # the message was here before, and has been removed since
                put = Put(change.queue, message.id, message.sequence, body)
                queue.messages[message.id] = put
            self._arrived.pop(key, None)
            if message.durable and queue.thing.durable and key not in self._kept:
                self._kept.add(key)
                self._do(put, is_awaited=is_awaited)
        for message in change.takes:
            queue.messages.pop(message.id, None)
            key = (change.queue, message.id)
            if key in self._kept:
                self._kept.discard(key)
                self._do(Taken(change.queue, message.id), is_awaited=is_awaited)

    def make(self, thing: WiringItem) -> None:
        """Add a queue; other wiring has no content."""
        if thing.kind is not Kind.QUEUE:
            return
        self.queues[thing.name] = Queue(thing, {})
        if thing.durable:
            self._do(Declared(thing))

    def remove(self, thing: WiringItem) -> None:
        """Delete a queue with its messages."""
        if thing.kind is not Kind.QUEUE or thing.name not in self.queues:
            return
        gone = self.queues.pop(thing.name)
        self._kept -= {(thing.name, name) for name in gone.messages}
        if gone.thing.durable:
            self._do(Deleted(thing.name, gone.thing.id))

    def _do(self, action: Action, *, is_awaited: bool = False) -> None:
        self._unwritten.append(action)
        self.has_unwritten = self.has_unwritten or not is_awaited

    def unwritten(self) -> list[Action]:
        """Return the durable changes since the last call, for `Disk.append`."""
        self.has_unwritten = False
        actions, self._unwritten = self._unwritten, []
        return actions
