"""A node's stored config: one file beside the broker's data directory, `DATA-cluster.config`.

The file is one of the store's envelopes (`joinproto/durable/envelope.py`) around Erlang terms. It
is replaced whole, under a lock, and an older config never takes the place of a younger one: what
is on the disk is read again before each write.

Source: Clusterer, U1; recovery, "The metadata on disk".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import frozen

from joinproto.clusterer.config import Age, Held, compare
from joinproto.clusterer.reading import Form, NotConfig, Read, Release, read
from joinproto.clusterer.writing import as_erlang
from joinproto.durable.envelope import FILE_BYTES_MAX, FORMAT, Envelope, Fault, seal, unseal
from joinproto.durable.filesystem import FileSystem, RealFileSystem, let_go, read_all, reason
from joinproto.durable.replace import Progress, replace
from joinproto.errors import StoreCorrupt, StoreError, StoreInUse, StoreUnreadable, StoreWriteFailed


@frozen
class Kept:
    """What lies there.  `generation`: counts the writes, from 1."""

    held: Held
    identity: str
    generation: int


@frozen
class StoredConfig:
    """The file beside a broker's data directory, `data`; one process at a time writes it."""

    data: Path
    release: Release = Release.SEED
    files: FileSystem = RealFileSystem()

    @property
    def name(self) -> str:
        return f"{self.data.name}-cluster.config"

    @property
    def path(self) -> Path:
        return self.data.parent / self.name

    def load(self) -> Kept | None:
        """Return what is stored, None for a blank node; raises `StoreError`."""
        with self._room() as room:
            return self._load(room)

    def keep(self, held: Held, identity: str) -> None:
        """Store a config durably.

        Raises `StoreError` where a younger one is there, or another one of the same version: then
        nothing is changed.
        """
        with self._room() as room, self._locked(room):
            before = self._load(room)
            age = Age.YOUNGER if before is None else compare(held.config, before.held.config)
            if before is not None and age in (Age.OLDER, Age.INVALID):
                raise StoreError(
                    f"{self.path} has {before.held.config}; {held.config} is {age.value} beside it",
                    next="nothing was changed: find out who else writes here",
                )
            self._sweep(room)
            payload = as_erlang(held, identity).encode()
            generation = 1 if before is None else before.generation + 1
            progress = Progress()
            try:
                sealed = seal(Envelope(format=1, generation=generation, payload=payload))
                replace(self.files, room, self.name, sealed, progress, shows=True)
                progress.step = "fsync of the directory"
                self.files.sync_directory(room)
            except OSError as error:
                there = "may be" if progress.may_show else "is not"
                raise StoreWriteFailed(
                    f"{self.path}: {progress.step}: {reason(error)}; the new config {there} there",
                    next="stop the node, and mend the disk",
                ) from error

    def _load(self, room: int) -> Kept | None:
        try:
            file = self.files.open_to_read(room, self.name)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error) from error
        try:
            raw = read_all(self.files, file, bytes_max=FILE_BYTES_MAX)
        except OSError as error:
            raise self._unreadable(error) from error
        finally:
            let_go(self.files, file)
        found = unseal(raw)
        if isinstance(found, Fault) or found.format > FORMAT:
            problem = found.problem if isinstance(found, Fault) else f"has format {found.format}"
            raise self._corrupt(problem)
        try:
            kept: Read = read(found.payload.decode(), Form.ERLANG, self.release)
        except (NotConfig, UnicodeDecodeError) as error:
            raise self._corrupt(str(error)) from error
        if kept.own is None:
            raise self._corrupt("has no node_id")
        return Kept(kept.held, kept.own, found.generation)

    @contextmanager
    def _room(self) -> Iterator[int]:
        try:
            room = self.files.open_directory(self.data.parent)
        except OSError as error:
            raise self._unreadable(error) from error
        try:
            yield room
        finally:
            let_go(self.files, room)

    @contextmanager
    def _locked(self, room: int) -> Iterator[None]:
        try:
            file = self.files.open_to_lock(room, f"{self.name}.lock")
        except OSError as error:
            raise self._unreadable(error) from error
        try:
            if not self.files.lock(file, shared=False):
                raise StoreInUse(f"another process writes {self.path}", next="stop one of them")
            yield
        finally:
            let_go(self.files, file)

    def _sweep(self, room: int) -> None:
        """Remove what a crash left behind while writing."""
        left = re.compile(rf"{re.escape(self.name)}\.[0-9a-f]{{16}}\.tmp")
        try:
            for name in self.files.names(room):
                if left.fullmatch(name):
                    self.files.unlink(room, name)
        except OSError as error:
            raise self._unreadable(error) from error

    def _corrupt(self, problem: str) -> StoreCorrupt:
        return StoreCorrupt(
            f"{self.path}: {problem}",
            next="restore the file; or reset the node: it joins with a new identity",
        )

    def _unreadable(self, error: OSError) -> StoreUnreadable:
        return StoreUnreadable(f"{self.path}: {reason(error)}", next="check the disk and the path")
