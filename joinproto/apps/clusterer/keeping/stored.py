"""A node's stored config: one file next to the broker's data directory, `DATA-cluster.config`.

The file is a record (`joinproto/durable/record.py`) of Erlang terms.  It is replaced under a lock,
and read again before each write, so that an older config never replaces a newer one.

Source: Clusterer, U1; recovery, "The metadata on disk".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from attrs import evolve, frozen

from joinproto.apps.clusterer.keeping.members import RESET
from joinproto.clusterer.config import Age, Held, compare
from joinproto.clusterer.reading import Form, NotConfig, Release, read
from joinproto.clusterer.writing import as_erlang
from joinproto.durable.envelope import FORMAT
from joinproto.durable.filesystem import REAL, FileSystem, let_go
from joinproto.durable.lock import take_lock
from joinproto.durable.record import Kind, Record, opened
from joinproto.errors import StoreError


@frozen
class StoredRecord:
    """The stored config and its record.  `generation`: counts the writes, from 1."""

    held: Held
    identity: str
    generation: int


@frozen
class StoredConfig:
    """The file next to a broker's data directory, `data`; one process at a time writes it."""

    data: Path
    release: Release = Release.SEED
    files: FileSystem = REAL

    @property
    def name(self) -> str:
        return f"{self.data.name}-cluster.config"

    @property
    def path(self) -> Path:
        return self.data.parent / self.name

    def load(self) -> StoredRecord | None:
        """Return the stored config, which is durable, or None for a blank node.

        Raises `StoreError`.
        """
        with opened(self.files, self.data.parent, self._kind) as record:
            found = _found(record)
            record.make_durable()
        return found

    def keep(self, held: Held, identity: str) -> None:
        """Store a config, and return when it is on the disk.

        Raises `StoreError`, and changes nothing, if the file has a newer config, or another config
        of the same version.
        """
        with opened(self.files, self.data.parent, self._kind) as record, self._locked(record):
            before = _found(record)
            age = Age.YOUNGER if before is None else compare(held.config, before.held.config)
            if before is not None and age in (Age.OLDER, Age.INVALID):
                raise StoreError(
                    f"{self.path} has {before.held.config}; {held.config} is {age.value}",
                    next="nothing was changed; find out which other process writes here",
                )
            record.recover()
            record.write(as_erlang(held, identity).encode())

    @property
    def _kind(self) -> Kind[StoredRecord]:
        return Kind(name=self.name, decode=self._decoded, format_max=FORMAT, next=RESET)

    def _decoded(self, payload: bytes) -> StoredRecord:
        return _decoded(payload, self.release)

    @contextmanager
    def _locked(self, record: Record[StoredRecord]) -> Iterator[None]:
        lock = take_lock(self.files, record.folder, self.path, f"{self.name}.lock")
        try:
            yield
        finally:
            let_go(self.files, lock)


@lru_cache(maxsize=64)
def _decoded(payload: bytes, release: Release) -> StoredRecord:
    # Cached, because each write reads the record's two files, of which one was mostly read before.
    try:
        found = read(payload.decode(), Form.ERLANG, release)
    except NotConfig as error:
        raise ValueError(str(error)) from error
    if found.own is None:
        raise ValueError("has no node_id")
    return StoredRecord(found.held, found.own, 0)


def _found(record: Record[StoredRecord]) -> StoredRecord | None:
    current = record.read().current
    kept = current.contents
    return kept and evolve(kept, generation=current.generation or 0)
