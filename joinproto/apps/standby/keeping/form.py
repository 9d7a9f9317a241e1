"""The codec of a broker's metadata and of the changes to its queues.  No I/O.

    standby/store.meta      `BrokerRecord`, JSON in the store's envelope (`durable/envelope.py`)
    frames.log              one `Action` after the other, each a frame of the journal
                            (`durable/journal`); the frame's view is the generation

Source: hot standby, H2, H4, H10.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from attrs import define, field, frozen

from joinproto.codec.json_form import Absent, Count, encoded, read
from joinproto.codec.json_text import ascii_line, parsed
from joinproto.codec.malformed import Malformed
from joinproto.durable import record
from joinproto.durable.envelope import Validity
from joinproto.durable.record import ASK, META, Kind, Slot
from joinproto.standby.broker import Mark, Store
from joinproto.standby.messages import View, WiringItem

FOLDER = "standby"
CURRENT = META
PREVIOUS = f"{META}.previous"
NAMES = (f"{FOLDER}/{CURRENT}", f"{FOLDER}/{PREVIOUS}")

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"


class NotKept(ValueError):
    """Bytes that no version of this program wrote."""


@frozen(kw_only=True)
class Marked:
    """An operator's change to this store."""

    when: Annotated[str, "the time of the change, in UTC"]
    what: Annotated[str, "the change"]
    who: Annotated[str, "the person or program that made it"]
    host: Annotated[str, "the machine on which it was made"]
    why: Annotated[str, "the reason, as it was given"] = ""


@frozen(kw_only=True)
class BrokerRecord:
    """A broker's metadata.

    `view`: the newest view that the broker knows, with its generation and the brokers that were up
    to date.  A primary has the view on disk before it confirms messages that only these brokers
    have (H4).  `frames`: a journal with fewer frames has lost some and is refused, because a backup
    that follows its broker would drop messages that other brokers still have.
    """

    broker: Annotated[str, "the broker's name"]
    cluster: Annotated[
        str | None, "an id, drawn by the first primary; null: the broker never followed a primary"
    ] = None
    clean: Annotated[bool, "whether the broker was stopped in order, or its store was marked"] = (
        True
    )
    view: Annotated[View, "the newest view that the broker knows"] = View()
    brokers: Annotated[tuple[str, ...], "all brokers of the cluster, as configured"] = ()
    history: Annotated[tuple[Marked, ...], "the changes by operators, the oldest first"] = ()
    # Files of earlier versions lack these fields.
    name: Annotated[str | None, Absent(), "the cluster's name, as configured"] = None
    frames: Annotated[Count, Absent(), "the journal's last frame when this was written"] = field(
        default=0, eq=False
    )

    @property
    def mark(self) -> Mark:
        if self.cluster is None:
            return Mark.EMPTY
        return Mark.CLEAN if self.clean else Mark.DIRTY

    @property
    def is_primary(self) -> bool:
        """Return whether this broker was the primary of its view."""
        return self.view.primary == self.broker

    @property
    def is_member(self) -> bool:
        """Return whether, by its view, this broker had every confirmed message."""
        return self.broker in self.view.members

    def store(self, position: int) -> Store:
        """Return this store in the form that H10 compares.  `position`: from `position_in`."""
        return Store(
            name=self.broker,
            mark=self.mark,
            generation=self.view.generation,
            primary=self.is_primary,
            caught_up=self.is_member,
            position=position,
        )


def packed(kept: BrokerRecord) -> bytes:
    """Return the payload of the metadata."""
    return f"{json.dumps(encoded(kept), ensure_ascii=False, indent=2)}\n".encode()


def unpacked(payload: bytes) -> BrokerRecord:
    """Return the decoded record; raises `NotKept`."""
    try:
        kept: BrokerRecord = read(BrokerRecord, parsed(payload, "metadata"))
    except Malformed as error:
        raise NotKept(f"not the metadata of a broker: {error}") from None
    if not kept.broker:
        raise NotKept("the metadata of a broker without a name")
    if kept.cluster is None and kept.view != View():
        raise NotKept(f"the view {kept.view}, but no cluster")
    return kept


def _went_back(current: BrokerRecord, previous: BrokerRecord) -> str:
    before = previous.view.generation
    is_older = before > current.view.generation
    return f"{PREVIOUS} is newer: it is of generation {before}" if is_older else ""


# A broker never continues from the previous file: then it might not know its generation, or that it
# was dropped.
KIND = Kind(name=META, decode=unpacked, went_back=_went_back, next=ASK)


def slot_of(path: Path, raw: bytes | None) -> Slot[BrokerRecord]:
    """Return the slot of one file's bytes (None if the file is missing); never raises."""
    if raw is None:
        return Slot(path=path, validity=Validity.ABSENT)
    return record.judge(path, raw, KIND)


# -- actions ---------------------------------------------------------------------------------


@frozen
class Declared:
    """A queue was declared; another queue of the same name is removed (H6)."""

    thing: WiringItem

    @property
    def queue(self) -> str:
        return self.thing.name


@frozen
class Deleted:
    """A queue was deleted with all its messages."""

    queue: str
    identity: str


@frozen
class Put:
    """A message was put into a queue at `position`; its `id` is the same on each broker."""

    queue: str
    id: str
    position: int
    body: bytes


@frozen
class Taken:
    """A message was removed."""

    queue: str
    id: str


@frozen
class Together:
    """The next `count` actions belong together: if one is missing, none of them counts."""

    count: int


Action = Declared | Deleted | Put | Taken


def as_bytes(action: Action | Together) -> bytes:
    """Return an action as the data of a frame: a line of JSON, then the body of a message."""
    match action:
        case Together(count):
            return _line("together", count)
        case Declared(thing):
            return _line("declared", encoded(thing))
        case Deleted(queue, identity):
            return _line("deleted", queue, identity)
        case Put(queue, name, position, body):
            return _line("put", queue, name, position) + body
        case Taken(queue, name):
            return _line("taken", queue, name)


def action_of(data: bytes) -> Action | Together:
    """Return the action in the data of a frame; raises `NotKept`."""
    line, newline, body = data.partition(b"\n")
    try:
        found: Any = parsed(line, "a line")
        if not newline or not isinstance(found, list):
            raise NotKept(f"not an action: {line[:60]!r}")
        match found:
            case ["together", int(count)] if count > 0:
                return Together(count)
            case ["declared", dict(thing)]:
                return Declared(read(WiringItem, thing))
            case ["deleted", str(queue), str(identity)]:
                return Deleted(queue, identity)
            case ["put", str(queue), str(name), int(position)]:
                return Put(queue, name, position, body)
            case ["taken", str(queue), str(name)]:
                return Taken(queue, name)
    except Malformed as error:
        raise NotKept(f"not an action: {error}") from None
    raise NotKept(f"not an action: {line[:60]!r}")


def _line(*parts: Json) -> bytes:
    return ascii_line(parts) + b"\n"


# -- the effect of actions -------------------------------------------------------------------


@frozen
class Queue:
    """A queue and its messages by identity."""

    thing: WiringItem
    messages: dict[str, Put]

    @property
    def in_order(self) -> list[Put]:
        """Return the messages from the front to the back."""
        return sorted(self.messages.values(), key=lambda put: put.position)


Queues: TypeAlias = dict[str, Queue]


def apply(queues: Queues, action: Action) -> None:
    """Apply an action to the queues; an action that was applied before changes nothing."""
    queue = queues.get(action.queue)
    match action:
        case Declared(thing):
            is_same = queue is not None and queue.thing.id == thing.id
            queues[thing.name] = Queue(thing, queue.messages if is_same and queue else {})
        case Deleted(name, identity) if queue is not None and queue.thing.id == identity:
            del queues[name]
        case Put(_, name) if queue is not None:
            queue.messages[name] = action
        case Taken(_, name) if queue is not None:
            queue.messages.pop(name, None)


@define
class Replay:
    """Makes queues from actions.

    `is_open`: of the last actions that belong together, some are missing.
    """

    queues: Queues
    _held: list[Action] = field(factory=list)
    _count: int = 0

    @property
    def is_open(self) -> bool:
        return self._count > 0

    def take(self, action: Action | Together) -> None:
        """Take the next action."""
        if isinstance(action, Together):
            # A crash cut an open transaction here; no client was told that it is committed.
            self._held, self._count = [], action.count
            return
        self._held.append(action)
        if len(self._held) < self._count:
            return
        for each in self._held:
            apply(self.queues, each)
        self._held, self._count = [], 0


def actions_of(queues: Mapping[str, Queue]) -> list[Action]:
    """Return the actions that make these queues."""
    actions: list[Action] = []
    for queue in queues.values():
        actions += [Declared(queue.thing), *queue.in_order]
    return actions
