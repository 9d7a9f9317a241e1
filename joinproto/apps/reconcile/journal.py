"""The file in which a change is written down before it is begun, and struck out when it has ended.

Whoever starts anew reads it, and asks the leaders what became of what is left in it; so nothing is
begun twice.  Two keepers with one file are refused; two with two files are not noticed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Self

from attrs import field, frozen

from joinproto.codec.json_form import printed
from joinproto.codec.strict import DoesNotFit, fitted, parse
from joinproto.errors import StoreCorrupt, StoreInUse, StoreUnreadable, StoreWriteFailed
from joinproto.reconcile.keeper import Intent
from joinproto.reconcile.queue import Kind
from joinproto.reconcile.reading import Key
from joinproto.reconcile.tables import Action


@frozen(kw_only=True)
class Line:
    """One change that was begun."""

    vhost: Annotated[str, "of the queue"]
    queue: Annotated[str, "its name"]
    kind: Annotated[Kind, "of what there are replicas"]
    action: Annotated[Action, "add or remove"]
    node: Annotated[str, "where"]
    leader: Annotated[str, "whom it was asked of"]
    since: Annotated[float, "seconds since the epoch"]

    @classmethod
    def of(cls, one: Intent) -> Self:
        return cls(
            vhost=one.key.vhost,
            queue=one.key.name,
            kind=one.kind,
            action=one.action,
            node=one.node,
            leader=one.leader,
            since=one.since,
        )

    def intent(self) -> Intent:
        key = Key(self.vhost, self.queue)
        return Intent(key, self.kind, self.action, self.node, self.leader, self.since)


@frozen(kw_only=True)
class Written:
    """The whole file."""

    intents: Annotated[tuple[Line, ...], "changes that were begun and have not ended"]


@frozen
class Journal:
    """Open while the process lives; `close` gives the file to the next one."""

    path: Path
    _lock: int = field(repr=False)

    @classmethod
    def open(cls, path: Path) -> Self:
        """Return the journal, locked; raises `StoreInUse`, or `OSError` of the directory."""
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise StoreInUse(
                f"{path}: another process keeps it", next="stop that one, or give it another file"
            ) from None
        return cls(path, lock)

    def read(self) -> dict[Key, Intent]:
        """Return what was begun and has not ended; raises `StoreCorrupt`, `StoreUnreadable`."""
        try:
            text = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StoreUnreadable(
                f"{self.path}: {error.strerror}", next="make it readable"
            ) from error
        try:
            lines = fitted(Written, parse(text)).intents
        except DoesNotFit as error:
            raise StoreCorrupt(
                f"{self.path}: {error.message}",
                next="see which queues are being changed, then remove the file",
            ) from None
        return {one.key: one for one in (line.intent() for line in lines)}

    def write(self, intents: Mapping[Key, Intent]) -> None:
        """Return when it is on the disk; raises `StoreWriteFailed`."""
        new = self.path.with_name(f"{self.path.name}.new")
        try:
            with new.open("w") as file:
                file.write(printed(Written(intents=tuple(map(Line.of, intents.values())))))
                file.flush()
                os.fsync(file.fileno())
            new.replace(self.path)
            folder = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise StoreWriteFailed(
                f"{self.path}: {error.strerror}, so nothing more is begun",
                next="make it writable, then start again",
            ) from error

    def close(self) -> None:
        os.close(self._lock)
