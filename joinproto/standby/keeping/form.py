"""What a broker keeps of itself, and what it does to its queues, as bytes and back.  No I/O.

    standby/store.meta      `Kept`, JSON in the store's envelope (`joinproto/store/envelope.py`)
    frames.log              `Deed` after `Deed`, each a frame of the journal (`joinproto/log`)
                            whose view is the generation

Source: hot standby, H2, H4, H10.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from attrs import frozen

from joinproto.json_form import AtLeast, encoded, read
from joinproto.standby.broker import Mark, Store
from joinproto.standby.replicates import Level

ROOM = "standby"
CURRENT = "store.meta"
PREVIOUS = "store.meta.previous"
NAMES = (f"{ROOM}/{CURRENT}", f"{ROOM}/{PREVIOUS}")

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


class NotKept(ValueError):
    """Bytes that no version of this one wrote."""


@frozen(kw_only=True)
class Marked:
    """What an operator did to this store."""

    when: Annotated[str, "the time, UTC"]
    what: Annotated[str, "what was done"]
    who: Annotated[str, "by whom"]
    host: Annotated[str, "where"]
    why: Annotated[str, "the reason, as it was given"] = ""


@frozen(kw_only=True)
class Kept:
    """A broker's metadata.

    `view`: of a primary: who was up to date when it last confirmed something, itself not named;
    of a backup: whom its primary named so.  It is on the disk before a confirmation rests on it.
    """

    broker: Annotated[str, "its name"]
    cluster: Annotated[str | None, "drawn by the first primary; null: it never followed one"] = None
    generation: Annotated[int, AtLeast(0), "of the last primary it knew; 0: none"] = 0
    primary: Annotated[bool, "whether it was that primary itself"] = False
    caught_up: Annotated[bool, "a backup: whether it had all that was confirmed"] = False
    dropped: Annotated[bool, "a backup: that primary went on without it, and it knows"] = False
    clean: Annotated[bool, "whether it was stopped in order, or marked"] = True
    view: Annotated[tuple[str, ...], "backups that were up to date"] = ()
    brokers: Annotated[tuple[str, ...], "all of the cluster, as configured"] = ()
    history: Annotated[tuple[Marked, ...], "what operators did, the oldest first"] = ()

    @property
    def mark(self) -> Mark:
        if self.cluster is None:
            return Mark.EMPTY
        return Mark.CLEAN if self.clean else Mark.DIRTY

    def store(self, position: int) -> Store:
        """Return it as H10 compares it.  `position`: what it took in its generation."""
        return Store(
            name=self.broker,
            mark=self.mark,
            generation=self.generation,
            primary=self.primary,
            caught_up=self.caught_up and not self.dropped,
            position=position,
        )


def packed(kept: Kept) -> bytes:
    """Return the payload of the metadata."""
    return f"{json.dumps(encoded(kept), ensure_ascii=False, indent=2)}\n".encode()


def unpacked(payload: bytes) -> Kept:
    """Return what it says; raises `NotKept`."""
    try:
        tree = json.loads(payload)
        kept: Kept = read(Kept, tree)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise NotKept(f"not the metadata of a broker: {error!r}") from None
    if kept.generation < 0 or not kept.broker:
        raise NotKept(f"broker {kept.broker!r} of generation {kept.generation}")
    if kept.cluster is None and (kept.generation or kept.primary):
        raise NotKept(f"generation {kept.generation} of no cluster")
    return kept


# -- deeds ---------------------------------------------------------------------------------


@frozen
class Declared:
    """A queue is there.  `identity`: another queue of the same name has another one (H6)."""

    queue: str
    identity: str
    durable: bool
    level: Level


@frozen
class Deleted:
    """A queue, with all that is in it, is gone."""

    queue: str
    identity: str


@frozen
class Put:
    """A message stands in a queue.  `position`: its place there; `id`: the same on each broker."""

    queue: str
    id: str
    position: int
    body: bytes


@frozen
class Taken:
    """A message is gone."""

    queue: str
    id: str


Deed = Declared | Deleted | Put | Taken


def as_bytes(deed: Deed) -> bytes:
    """Return a deed as the data of a frame: a line of JSON, then the body of a message."""
    match deed:
        case Declared(queue, identity, durable, level):
            return _line("declared", queue, identity, durable, level.value)
        case Deleted(queue, identity):
            return _line("deleted", queue, identity)
        case Put(queue, name, position, body):
            return _line("put", queue, name, position) + body
        case Taken(queue, name):
            return _line("taken", queue, name)


def deed_of(data: bytes) -> Deed:
    """Return the deed that these bytes are; raises `NotKept`."""
    line, newline, body = data.partition(b"\n")
    try:
        found: Any = json.loads(line)
        if not newline or not isinstance(found, list):
            raise NotKept(f"not a deed: {line[:60]!r}")
        match found:
            case ["declared", str(queue), str(identity), bool(durable), str(level)]:
                return Declared(queue, identity, durable, Level(level))
            case ["deleted", str(queue), str(identity)]:
                return Deleted(queue, identity)
            case ["put", str(queue), str(name), int(position)]:
                return Put(queue, name, position, body)
            case ["taken", str(queue), str(name)]:
                return Taken(queue, name)
    except (ValueError, RecursionError) as error:
        raise NotKept(f"not a deed: {error}") from None
    raise NotKept(f"not a deed: {line[:60]!r}")


def _line(*parts: Json) -> bytes:
    return json.dumps(parts, separators=(",", ":")).encode() + b"\n"


# -- what follows from deeds ---------------------------------------------------------------


@frozen
class Queue:
    """A queue and its messages by identity."""

    declared: Declared
    messages: dict[str, Put]

    @property
    def in_order(self) -> list[Put]:
        """Return the messages, from the front to the back."""
        return sorted(self.messages.values(), key=lambda put: put.position)


Queues: TypeAlias = dict[str, Queue]


def apply(queues: Queues, deed: Deed) -> None:
    """Have the queues as they are after the deed; one that is done already changes nothing."""
    queue = queues.get(deed.queue)
    match deed:
        case Declared(name, identity):
            if queue is None or queue.declared.identity != identity:
                queues[name] = Queue(deed, {})
            else:
                queues[name] = Queue(deed, queue.messages)
        case Deleted(name, identity) if queue is not None and queue.declared.identity == identity:
            del queues[name]
        case Put(_, name) if queue is not None:
            queue.messages[name] = deed
        case Taken(_, name) if queue is not None:
            queue.messages.pop(name, None)


def deeds_of(queues: Mapping[str, Queue]) -> list[Deed]:
    """Return the deeds that make these queues."""
    deeds: list[Deed] = []
    for queue in queues.values():
        deeds += [queue.declared, *queue.in_order]
    return deeds
