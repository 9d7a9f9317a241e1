"""A member, and the log of all its events and effects.

A line is written before its call or its action; what is in a line, `joinproto/cli/validate` reads
back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, evolve

from joinproto.codec.codec import Codec
from joinproto.host.eventlog import EventLog
from joinproto.join.choice_messages import Chosen
from joinproto.join.config import Config
from joinproto.join.ids import ViewId
from joinproto.join.lineage import Lineage
from joinproto.join.member import Member
from joinproto.join.messages import Action, Batch, Event, Learned, Message
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, View
from joinproto.join.wire import CONFIRMS, LATEST, encode
from joinproto.store.codec import encode as encode_contents
from joinproto.store.contents import Contents

FORMAT = 2
"""Version of the lines; a reader refuses a later one."""

_CODEC = Codec()


@define
class RecordedMember:
    """`it`: the member, for questions; calls that change it go through this object.

    `rest`: brings the frames to rest, then calls; what an orderly shutdown begins with.
    """

    it: Member
    log: EventLog
    clock: Any
    rest: Callable[[Callable[[], None]], None] = lambda then: then()
    _polled: Batch | None = None

    @classmethod
    def start(
        cls,
        log: EventLog,
        clock: Any,
        config: Config,
        record: StoreRecord,
        seed: str,
        facts: Mapping[str, object],
    ) -> RecordedMember:
        """Start the member; `facts` go into the first line, alongside what is needed to replay."""
        now, epoch = clock.now(), clock.epoch_ms()
        if log.is_on:
            log.write(
                "start",
                format=FORMAT,
                config=config_as_json(config),
                record=record_as_json(record, config.member),
                seed=seed,
                now=now,
                epoch=epoch,
                **facts,
            )
        member = Member.start(now, config, record, seed=seed, epoch=epoch)
        return cls(member, log, clock)

    # -- what it is told -----------------------------------------------------------------------

    def receive(self, peer: str, message: Message) -> None:
        now = self.clock.now()
        if self.log.is_on:
            self.log.write("receive", now=now, peer=peer, message=_message_as_json(message))
        self.it.receive(now, peer, message)

    def peer_up(self, peer: str, version: int) -> None:
        """`version`: of the wire, on this connection."""
        now = self._told("peer_up", peer=peer, version=version)
        self.it.peer_up(now, peer, confirms=version >= CONFIRMS)

    def peer_down(self, peer: str) -> None:
        self.it.peer_down(self._told("peer_down", peer=peer), peer)

    def register_says(self, view: View) -> None:
        message = _message_as_json(Chosen(view.parent, (view,))) if self.log.is_on else None
        self.it.register_says(self._told("register_says", message=message), view)

    def register_free(self, parent: ViewId, asked: float, question: int) -> None:
        now = self._told("register_free", parent=parent, asked=asked, question=question)
        self.it.register_free(now, parent, asked, question)

    def read(self) -> int:
        return self.it.read(self._told("read"))

    def tick(self) -> None:
        self.it.tick(self._told("tick"))

    def leave(self) -> None:
        self.it.leave(self._told("leave"))

    def shutdown_cluster(self) -> None:
        """Ask for the orderly shutdown, once all members have the same frames.

        A store is clean where its data is the CLOSE's: what is under way when it is chosen
        would make all dirty but those that happen to have most.
        """
        self.rest(lambda: self.it.shutdown_cluster(self._told("shutdown_cluster")))

    def update_overwrites(self) -> None:
        self.it.update_overwrites(self._told("update_overwrites"))

    def update_progress(self, position: Position | None) -> None:
        now = self._told("update_progress", position=position_as_json(position))
        self.it.update_progress(now, position)

    def update_done(self, position: Position | None) -> None:
        now = self._told("update_done", position=position_as_json(position))
        self.it.update_done(now, position)

    def appended(self, view: ViewId, first: int, last: int, digest: Callable[[int], str]) -> None:
        """Tell of frames that were written together; `digest` says what stands for each one."""
        if self.log.is_on:
            for seq in range(first, last + 1):
                self.log.write("appended", view=view, seq=seq, digest=digest(seq))
        self.it.appended(view, last, first=first)

    def _told(self, what: str, **facts: object) -> float:
        now: float = self.clock.now()
        self.log.write(what, now=now, **facts)
        return now

    # -- what it asks for ----------------------------------------------------------------------

    def poll(self) -> Batch:
        batch = self.it.poll()
        if batch and batch is not self._polled and self.log.is_on:
            self.log.write("batch", **batch_as_json(batch, self.it.config.member))
        self._polled = batch
        return batch

    def advance(self, batch: Batch) -> None:
        self.log.write("done")
        self.it.advance(batch)


# -- values as JSON ----------------------------------------------------------------------------


def record_as_json(record: StoreRecord, member: str) -> Any:
    """Return the record as it stands in a store's file."""
    return json.loads(encode_contents(Contents(member=member, record=record)))


def position_as_json(position: Position | None) -> Any:
    return None if position is None else [position.view, position.seq]


def config_as_json(config: Config) -> dict[str, Any]:
    """Return what a member was started with, field by field."""
    return dict(_CODEC.put(config))


def step_as_json(record: StoreRecord, member: str) -> Any:
    """Return the record as it stands in a file, but of the views only how many, and the tip.

    A store keeps a thousand views, and writes them with each promise.
    """
    tree = record_as_json(evolve(record, lineage=_short(record.lineage)), member)
    return {"record": tree, "views": record.lineage.length}


def _short(lineage: Lineage) -> Lineage:
    return Lineage(lineage.views[-1:], lineage.initial)


def view_as_json(view: View) -> Any:
    """Return the whole view as it stands in a message."""
    return json.loads(encode(Chosen(view.parent, (view,))))[2][0]


def _message_as_json(message: Message) -> Any:
    return json.loads(encode(message, speaks=LATEST))


def batch_as_json(batch: Batch, member: str) -> dict[str, Any]:
    """Return what a batch asks for; views by their ids, but a `Learned` shows them whole."""
    closing = [] if batch.close is None else [["CloseForClients", batch.close.value]]
    return {
        "persist": None if batch.persist is None else step_as_json(batch.persist, member),
        "sends": [[sent.to, _message_as_json(sent.message)] for sent in batch.sends],
        "actions": [*closing, *map(value_as_json, batch.actions)],
        "events": [value_as_json(event) for event in batch.events],
    }


def value_as_json(value: Action | Event) -> list[Any]:
    """Return an action or an event as its name and its fields."""
    if isinstance(value, Learned):
        return ["Learned", view_as_json(value.view)]
    fields = (getattr(value, name) for name in type(value).__match_args__)
    return [type(value).__name__, *map(_plain, fields)]


def _plain(value: object) -> Any:
    match value:
        case View():
            return value.id
        case Position():
            return position_as_json(value)
        case None | bool() | int() | str():
            return value
    return getattr(value, "value", str(value))
