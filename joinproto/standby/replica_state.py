"""The data of a broker: its wiring and the messages of its queues.

A primary and its backups hold the data in the same type, and change them by the same functions.

Source: hot standby, H5, H6, H9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import Factory, frozen

from joinproto.machine.values import evolve
from joinproto.standby.catch_up import Message, is_after
from joinproto.standby.messages import Change, Kind, WiringItem
from joinproto.standby.queue import MessageQueue
from joinproto.standby.replicates import Level
from joinproto.standby.variants import VariantRules

Key = tuple[str, str]


@frozen(kw_only=True)
class Queue:
    """One queue.  `next`: the number that the next new message gets."""

    id: str
    messages: MessageQueue = MessageQueue()
    next: int = 0


@frozen(kw_only=True)
class ReplicaState:
    """The wiring and the queues of a broker.

    `things`: the wiring, by kind and name.  `queues`: the queues by name; each has an item in
    `things`, too.
    """

    things: Mapping[Key, WiringItem] = Factory(dict)
    queues: Mapping[str, Queue] = Factory(dict)

    def thing(self, queue: str) -> WiringItem | None:
        return self.things.get((Kind.QUEUE.value, queue))

    def is_shared(self, queue: str) -> bool:
        """Return whether every broker stores the queue's durable messages."""
        thing = self.thing(queue)
        return thing is not None and thing.durable and thing.level is Level.ALL

    def copied(self) -> tuple[str, ...]:
        """Return the names of the queues whose messages replicate."""
        found = ((name, self.thing(name)) for name in self.queues)
        return tuple(sorted(name for name, one in found if one and one.level is Level.ALL))


def declared(replica: ReplicaState, thing: WiringItem) -> ReplicaState:
    """Return the replica with this item.

    An item of the same kind and name with another identity is deleted; a queue loses its messages.
    """
    old = replica.things.get(thing.key)
    if old is not None and old.id != thing.id:
        replica = deleted(replica, old)
    things = {**replica.things, thing.key: thing}
    queues = {**replica.queues}
    if thing.kind is Kind.QUEUE and thing.name not in queues:
        queues[thing.name] = Queue(id=thing.id)
    return ReplicaState(things=things, queues=queues)


def deleted(replica: ReplicaState, thing: WiringItem) -> ReplicaState:
    """Return the replica without this item and its messages.

    An item of the same kind and name with another identity stays.
    """
    old = replica.things.get(thing.key)
    if old is None or old.id != thing.id:
        return replica
    things = {key: one for key, one in replica.things.items() if key != thing.key}
    gone = thing.name if thing.kind is Kind.QUEUE else None
    return ReplicaState(
        things=things,
        queues={name: one for name, one in replica.queues.items() if name != gone},
    )


@frozen
class Mirrored:
    """The changes by which a backup takes over its primary's wiring.

    `replica`: the backup's data after them.  `removes`, `makes`: the items to remove first, and the
    items to make after that.
    """

    replica: ReplicaState
    removes: tuple[WiringItem, ...]
    makes: tuple[WiringItem, ...]


def mirrored(rules: VariantRules, replica: ReplicaState, things: Iterable[WiringItem]) -> Mirrored:
    """Return the changes by which a backup takes over the whole wiring of its primary: H6.

    Of the items that replicate, an item that the primary lacks is removed, and an item with another
    identity is replaced.  The prototype does neither (LC3, LC4).
    """
    wired = {thing.key: thing for thing in things}
    removes: tuple[WiringItem, ...] = ()
    if rules.deletes_absent:
        removes = tuple(
            one
            for _, one in sorted(replica.things.items())
            if one.level is not Level.NONE and (one.key not in wired or wired[one.key].id != one.id)
        )
    for one in removes:
        replica = deleted(replica, one)
    makes = tuple(one for key, one in sorted(wired.items()) if key not in replica.things)
    for one in makes:
        replica = declared(replica, one)
    return Mirrored(replica, removes, makes)


def numbered(queue: Queue, ids: Iterable[tuple[str, bool]]) -> tuple[Message, ...]:
    """Return new messages with the next numbers of the queue.

    `ids`: for each message, its identity and whether it is durable.
    """
    return tuple(
        Message(id=one, sequence=queue.next + at, durable=durable)
        for at, (one, durable) in enumerate(ids)
    )


def changed(
    rules: VariantRules, replica: ReplicaState, change: Change, used: int = 0
) -> ReplicaState:
    """Return the replica after a change, or the same replica if the queue does not exist.

    `used`: at a primary, how many numbers were given to new messages, including the messages that
    do not replicate.
    """
    queue = replica.queues.get(change.queue)
    if queue is None:
        return replica
    line, coming = queue.messages, queue.next + used
    for message in change.puts:
        if not _is_new(rules, queue, message):
            continue
        line = line.put(message)
        coming = max(coming, message.sequence + 1)
    for message in change.takes:
        # The prototype recognizes a message by its number alone.
        there = message if rules.by_identity else line.at(message.sequence)
        line = line if there is None else line.without(there)
    return with_queue(replica, change.queue, evolve(queue, messages=line, next=coming))


def _is_new(rules: VariantRules, queue: Queue, message: Message) -> bool:
    if rules.by_identity:
        return not queue.messages.has(message)
    # The prototype takes every message with a number up to its last one as known (LM1, LM2).
    return is_after(message.sequence, queue.next - 1)


def copied_in(replica: ReplicaState, name: str, messages: Iterable[Message]) -> ReplicaState:
    """Return the replica with older messages of a queue, copied from the primary: H5."""
    queue = replica.queues.get(name)
    if queue is None:
        return replica
    line, coming = queue.messages, queue.next
    for message in messages:
        line = line if line.has(message) else line.put(message)
        coming = max(coming, message.sequence + 1)
    return with_queue(replica, name, evolve(queue, messages=line, next=coming))


def given_up(replica: ReplicaState, name: str, ids: Iterable[str], coming: int) -> ReplicaState:
    """Return the replica without these messages of a queue: H9.

    `coming`: the number of the queue's next message at the primary.
    """
    queue = replica.queues.get(name)
    if queue is None:
        return replica
    gone = frozenset(ids)
    line = (
        MessageQueue.of(one for one in queue.messages if one.id not in gone)
        if gone
        else queue.messages
    )
    return with_queue(replica, name, evolve(queue, messages=line, next=coming))


def with_queue(replica: ReplicaState, name: str, queue: Queue) -> ReplicaState:
    return evolve(replica, queues={**replica.queues, name: queue})
