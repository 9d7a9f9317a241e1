"""The record of begun changes: each is written before it begins, and removed when it has ended.

A keeper that is restarted reads the record, and asks the leaders about its intents, so no change is
begun twice.  A second keeper with the same file is refused; one with another file is not noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from attrs import field, frozen

from joinproto.codec.json_form import filled, printed
from joinproto.codec.strict import DoesNotFit, fitted, parse
from joinproto.durable import record
from joinproto.durable.filesystem import REAL, FileSystem, let_go, reason
from joinproto.durable.lock import take_lock
from joinproto.errors import StoreInUse, StoreUnreadable, StoreWriteFailed
from joinproto.reconcile.keeper import Intent
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Key
from joinproto.reconcile.tables import Action


@frozen(kw_only=True)
class BegunChange:
    """One change that was begun."""

    vhost: Annotated[str, "the queue's virtual host"]
    queue: Annotated[str, "the queue's name"]
    kind: Annotated[Kind, "the queue's kind"]
    action: Annotated[Action, "add or remove a replica"]
    node: Annotated[str, "the node of the replica"]
    leader: Annotated[str, "the node that was told to make the change"]
    since: Annotated[float, "when it was begun, in seconds since the epoch"]

    @classmethod
    def of(cls, one: Intent) -> Self:
        return filled(cls, one, vhost=one.key.vhost, queue=one.key.name)

    def intent(self) -> Intent:
        key = Key(self.vhost, self.queue)
        return Intent(key, self.kind, self.action, self.node, self.leader, self.since)


@frozen(kw_only=True)
class Written:
    """The contents of the file."""

    intents: Annotated[tuple[BegunChange, ...], "changes that were begun and have not ended"]


@frozen
class Journal:
    """The open and locked record; `close` releases it for another process."""

    path: Path
    _record: record.Record[Written] = field(repr=False)
    _lock: int = field(repr=False)

    @classmethod
    def open(cls, path: Path, files: FileSystem = REAL) -> Self:
        """Return the journal, locked; raises `StoreInUse`, `StoreUnreadable`."""
        kind = record.Kind(
            name=path.name,
            decode=_decoded,
            bare=_decoded,  # earlier versions wrote the JSON alone
            next="check which queues are being changed, then remove this file and the former one",
        )
        folder = -1
        try:
            folder = files.open_directory(path.parent)
            lock = take_lock(files, folder, path, f"{path.name}.lock")
        except (OSError, StoreInUse) as error:
            let_go(files, folder)
            if isinstance(error, StoreInUse):
                raise
            raise StoreUnreadable(
                f"{path}: {reason(error)}", next="give a file in a directory that you may write"
            ) from error
        return cls(path, record.Record(files, folder, path.parent, kind), lock)

    def read(self) -> dict[Key, Intent]:
        """Return the intents that were begun and have not ended, which are durable.

        Raises `StoreError`.
        """
        found = self._record.read().current.contents
        try:
            self._record.recover()
        except OSError as error:
            raise StoreUnreadable(
                f"{self.path}: {reason(error)}", next="look at the disk, then start again"
            ) from error
        lines = () if found is None else found.intents
        return {one.key: one for one in (line.intent() for line in lines)}

    def write(self, intents: Mapping[Key, Intent]) -> None:
        """Write the intents, and return when they are on the disk.

        Raises `StoreWriteFailed`, after which no change may begin.
        """
        lines = tuple(map(BegunChange.of, intents.values()))
        try:
            self._record.write(printed(Written(intents=lines)).encode())
        except StoreWriteFailed as error:
            raise StoreWriteFailed(
                f"{error.message}\n  so no more change is begun", next=error.next
            ) from error

    def close(self) -> None:
        let_go(self._record.files, self._record.folder, self._lock)


def _decoded(payload: bytes) -> Written:
    try:
        return fitted(Written, parse(payload))
    except DoesNotFit as error:
        raise ValueError(error.message) from None
