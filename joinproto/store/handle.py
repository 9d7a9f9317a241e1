"""An open store: one process has it, every write is on the disk before it returns.

    with open_store(path) as store:
        store.write(evolve(store.record, promised=ballot))     # durable now

A write that fails is final.  After a failed fsync the system may have dropped what it could
not write and call the next fsync a success, so a second attempt would prove nothing.  The
handle writes no more; the process ends, and whoever opens the store next finds one whole
record, the old or the new one.

Source: recovery, "The metadata on disk"; join protocol, 3.2.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Lock
from types import TracebackType

from attrs import evolve

from joinproto.codec.malformed import INT_MAX, Malformed
from joinproto.durable.envelope import FORMAT, PLAIN, Envelope, Validity, seal
from joinproto.durable.filesystem import REAL, FileSystem, let_go, reason
from joinproto.durable.lock import LOCK, take_lock
from joinproto.durable.replace import Progress, replace
from joinproto.errors import MisuseError, StoreError, StoreExists, StoreInUse, StoreWriteFailed
from joinproto.join.store import StoreRecord
from joinproto.store.after_crash import make_durable, remove_leftovers
from joinproto.store.codec import decode, encode
from joinproto.store.contents import Contents
from joinproto.store.places import open_data_directory, open_room, reading
from joinproto.store.slots import (
    CURRENT,
    PREVIOUS,
    ROOM,
    problems,
    read_slots,
    refusal,
)


class Store:
    """The metadata of one store, open for writing.  Made by `open_store` and `create_store`.

    For one thread at a time, and for the process that opened it.
    """

    def __init__(
        self,
        path: Path,
        files: FileSystem,
        room: int,
        lock: int,
        *,
        problems: tuple[str, ...] = (),
    ) -> None:
        """Take over the open directory and the lock; for this module alone."""
        self.path = path
        self.problems = problems
        """What was found and is no reason to refuse; the host tells its operator."""
        self._files = files
        self._room = room
        self._lock = lock
        self._pid = os.getpid()
        self._busy = Lock()
        self._generation = 0
        self._contents: Contents | None = None
        self._raw = b""
        self._ended = ""

    @property
    def record(self) -> StoreRecord:
        """Return the record that is on the disk: the last one whose write returned."""
        return self.contents.record

    @property
    def contents(self) -> Contents:
        """Return everything that is on the disk beside the record, and the record."""
        # Only a store whose making failed has none, and nobody gets that one.
        assert self._contents is not None
        return self._contents

    @property
    def generation(self) -> int:
        """Return how many writes there have been, with the making of the store."""
        return self._generation

    def write(self, record: StoreRecord) -> None:
        """Return once `record` is on the disk, in the place of the former one.

        Raises `MisuseError` for a record that this store cannot have; then nothing happened.
        Raises `StoreWriteFailed` after a fault of the disk; then this handle writes no more.
        """
        try:
            contents = evolve(self.contents, record=record)
        except Malformed as malformed:
            raise _misuse(self.path, malformed) from malformed
        self.write_contents(contents)

    def write_contents(self, contents: Contents) -> None:
        """Return once `contents` are on the disk; as `write`, for the fields around it, too."""
        if not self._busy.acquire(blocking=False):
            raise MisuseError(
                f"{self.path}: written by two threads at once",
                next="give the store to one thread, or lock around it",
            )
        try:
            self._require_usable()
            if self._contents is not None:
                self._require_same_store(self._contents.record, contents.record)
                # Whoever made these contents anew does not know of other versions' fields.
                contents = evolve(contents, source=self._contents.source)
            self._write(contents)
        finally:
            self._busy.release()

    def close(self) -> None:
        """Give the store back.  What was written is on the disk already; nothing is saved here."""
        if self._lock < 0:
            return
        lock, room = self._lock, self._room
        self._lock = self._room = -1
        let_go(self._files, room)
        let_go(self._files, lock)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- the steps ---------------------------------------------------------------------

    def _adopt(self, generation: int, contents: Contents, raw: bytes) -> None:
        """Take this for what is on the disk."""
        self._generation, self._contents, self._raw = generation, contents, raw

    def _require_usable(self) -> None:
        if self._lock < 0:
            raise MisuseError(f"{self.path}: written after it was closed", next="open it again")
        if self._ended:
            raise StoreWriteFailed(
                f"{self.path}: writes no more: {self._ended}",
                next="end this process, look at the disk, then start the member again",
            )
        if os.getpid() != self._pid:
            raise MisuseError(
                f"{self.path}: opened by process {self._pid}, written by its child {os.getpid()}",
                next="open the store in the process that runs the member",
            )

    def _require_same_store(self, former: StoreRecord, record: StoreRecord) -> None:
        if record.store_id != former.store_id:
            raise MisuseError(
                f"{self.path}: store_id {record.store_id} written over {former.store_id}",
                next="another store is another directory",
            )
        initial = former.lineage.initial
        if initial is not None and record.lineage.initial != initial:
            raise MisuseError(
                f"{self.path}: the initial signature would change (S1)",
                next="a member of another cluster needs a directory of its own",
            )

    def _write(self, contents: Contents) -> None:
        generation = self._generation + 1
        if generation > INT_MAX:
            raise StoreError(f"{self.path}: generation {generation} does not fit", next="copy it")
        payload, as_read = self._payload(contents)
        raw = seal(Envelope(generation, payload, FORMAT if contents.frames_dropped else PLAIN))
        progress = Progress()
        try:
            self._require_still_ours(progress)
            if self._raw:
                replace(self._files, self._room, PREVIOUS, self._raw, progress, shows=False)
            replace(self._files, self._room, CURRENT, raw, progress, shows=True)
            progress.step = f"fsync of the directory {ROOM}"
            self._files.sync_directory(self._room)
            self._adopt(generation, as_read, raw)
        except OSError as error:
            raise self._failed(progress, reason(error)) from error
        except BaseException as error:
            # Ctrl-C in the middle: nobody knows which steps were taken.
            self._ended = self._ended or f"{progress.step}: {type(error).__name__}"
            raise

    def _payload(self, contents: Contents) -> tuple[bytes, Contents]:
        """Return the payload, and what is read back from it: what we refuse is not written."""
        try:
            payload = encode(contents)
            as_read = decode(payload)
        except Malformed as malformed:
            raise _misuse(self.path, malformed) from malformed
        if as_read != contents:
            raise MisuseError(
                f"{self.path}: contents that do not come back from a disk as they were",
                next="report it: a field has no place in the file",
            )
        return payload, as_read

    def _require_still_ours(self, progress: Progress) -> None:
        # Somebody removed the lock file, and another process locks a new one: two members.
        progress.step = f"looking at {LOCK}"
        if not self._files.is_same(self._room, LOCK, self._lock):
            self._ended = f"{LOCK} was removed or replaced under the running member"
            raise StoreInUse(
                f"{self.path}: {self._ended}\n  on disk is generation {self._generation}, or what"
                " somebody else wrote since",
                next=f"end this process; find out who else runs on it; never remove {LOCK}",
            )

    def _failed(self, progress: Progress, why: str) -> StoreWriteFailed:
        former, new = self._generation, self._generation + 1
        self._ended = f"{progress.step}: {why}"
        if progress.may_show:
            old = f"generation {former}, whole" if former else "no store"
            left = f"either generation {new}, whole, or {old}; what a loss of power leaves is open"
        elif former:
            left = f"generation {former}, whole, as before"
        else:
            left = "no store yet"
        return StoreWriteFailed(
            f"{self.path / ROOM / CURRENT}: generation {new} was not written\n"
            f"  {self._ended}\n"
            f"  on disk: {left}",
            next="end this process (it writes no more), look at the disk, then start it again",
        )


def open_store(path: Path, *, files: FileSystem = REAL) -> Store:
    """Return the store in the data directory `path`, locked for this process.

    What it says is on the disk when this returns.  Raises `StoreError`: `StoreMissing`,
    `StoreInUse`, `StoreNewer`, `StoreForeign`, `StoreCorrupt`, `StoreUnreadable`; then the
    store is as it was.
    """
    room = open_room(files, path)
    lock = -1
    try:
        with reading(path / ROOM):
            lock = take_lock(files, room, path)
            slots = read_slots(files, room, path / ROOM)
            refused = refusal(slots)
            if refused is not None:
                raise refused
            make_durable(files, room)
            remove_leftovers(files, room)
        store = Store(path, files, room, lock, problems=problems(slots))
        found = slots.current
        # Not refused, so valid: with a generation and contents.
        assert found.generation is not None
        assert found.contents is not None
        store._adopt(found.generation, found.contents, found.raw)
    except BaseException:
        let_go(files, room)
        if lock >= 0:
            let_go(files, lock)
        raise
    return store


def create_store(
    path: Path,
    record: StoreRecord,
    *,
    member: str,
    cluster_name: str | None = None,
    frames: str | None = None,
    files: FileSystem = REAL,
) -> Store:
    """Make a store in the data directory `path`, which is there, and return it open.

    The record is on the disk when this returns.  Raises `StoreExists` if there is a store,
    or what is left of one; otherwise as `open_store` and `Store.write`.
    """
    try:
        contents = Contents(member=member, record=record, cluster_name=cluster_name, frames=frames)
    except Malformed as malformed:
        raise _misuse(path, malformed) from malformed
    data = open_data_directory(files, path)
    try:
        with reading(path):
            # There may be one, of a creation that did not end; whether it holds a store, we
            # look below.
            with suppress(FileExistsError):
                files.make_directory(data, ROOM)
            files.sync_directory(data)
    finally:
        let_go(files, data)

    room = open_room(files, path)
    lock = -1
    try:
        with reading(path / ROOM):
            lock = take_lock(files, room, path)
            slots = read_slots(files, room, path / ROOM)
            both = {slots.current.validity, slots.previous.validity}
            if both != {Validity.ABSENT}:
                raise StoreExists(
                    f"{path / ROOM}: has a store already ({CURRENT}:"
                    f" {slots.current.validity.value}, {PREVIOUS}:"
                    f" {slots.previous.validity.value})\n  nothing was changed",
                    next="open it, or give the new store an empty directory",
                )
            remove_leftovers(files, room)
        store = Store(path, files, room, lock)
        store.write_contents(contents)
    except BaseException:
        let_go(files, room)
        if lock >= 0:
            let_go(files, lock)
        raise
    return store


def _misuse(path: Path, malformed: Malformed) -> MisuseError:
    return MisuseError(
        f"{path}: a record that cannot be on a disk: {malformed}",
        next="write only what `joinproto.join` makes, with ids by hash",
    )
