"""An open store: one process has it, and every write is on the disk before it returns.

    with open_store(path) as store:
        store.write(evolve(store.record, promised=ballot))     # durable now

After a write has failed, the handle writes no more.  After a failed fsync the system may have
dropped the unwritten pages and may report the next fsync as a success, so a second attempt would
prove nothing.  The process must end; the next process that opens the store finds the old or the new
record, whole.

Source: recovery, "The metadata on disk"; join protocol, 3.2.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from attrs import evolve

from joinproto.codec.malformed import Malformed
from joinproto.durable.envelope import FORMAT, PLAIN, Validity
from joinproto.durable.filesystem import REAL, FileSystem, let_go, reason
from joinproto.durable.lock import LOCK, take_lock
from joinproto.durable.record import Record, read_slots
from joinproto.errors import MisuseError, StoreExists, StoreInUse, StoreMissing
from joinproto.join.store import StoreRecord
from joinproto.store.codec import decode, encode
from joinproto.store.contents import Contents
from joinproto.store.places import open_data_directory, open_folder, reading
from joinproto.store.slots import CURRENT, FOLDER, KIND, PREVIOUS, problems, refusal


class StoreHandle:
    """The metadata of one store, open for writing.  Made by `open_store` and `create_store`.

    For one thread at a time, and for the process that opened it.
    """

    def __init__(self, path: Path, files: FileSystem, folder: int, lock: int) -> None:
        """Take over the open directory and the lock; for this module alone."""
        self.path = path
        self.problems: tuple[str, ...] = ()
        """Problems that are no reason to refuse the store; the host reports them."""
        self._kept = Record(files, folder, path / FOLDER, KIND)
        self._lock = lock
        self._pid = os.getpid()
        self._busy = Lock()
        self._contents: Contents | None = None

    @property
    def record(self) -> StoreRecord:
        """Return the record that is on the disk: the last one whose write returned."""
        return self.contents.record

    @property
    def contents(self) -> Contents:
        """Return the record and the fields around it, as they are on the disk."""
        # Only a handle whose creation failed has no contents, and no caller gets such a handle.
        assert self._contents is not None
        return self._contents

    @property
    def generation(self) -> int:
        """Return the number of writes of this store, of which its creation was the first."""
        return self._kept.generation

    def write(self, record: StoreRecord) -> None:
        """Return once `record` has replaced the former record on the disk.

        Raises `MisuseError` for a record that this store cannot have; the store is then unchanged.
        Raises `StoreWriteFailed` after a fault of the disk; this handle then writes no more.
        """
        try:
            contents = evolve(self.contents, record=record)
        except Malformed as malformed:
            raise _misuse(self.path, malformed) from malformed
        self.write_contents(contents)

    def write_contents(self, contents: Contents) -> None:
        """Return once the record and the fields around it are on the disk; raises as `write`."""
        if not self._busy.acquire(blocking=False):
            raise MisuseError(
                f"{self.path}: written by two threads at once",
                next="give the store to one thread, or lock around it",
            )
        try:
            self._require_usable()
            if self._contents is not None:
                self._require_same_store(self._contents.record, contents.record)
                # The caller may have made new contents, without the fields of other versions.
                contents = evolve(contents, source=self._contents.source)
            self._write(contents)
        finally:
            self._busy.release()

    def close(self) -> None:
        """Release the store.  Every write is on the disk already, so no data is saved here."""
        if self._lock < 0:
            return
        lock, self._lock = self._lock, -1
        let_go(self._kept.files, self._kept.folder, lock)

    def __enter__(self) -> StoreHandle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the steps ---------------------------------------------------------------------

    def _require_usable(self) -> None:
        if self._lock < 0:
            raise MisuseError(f"{self.path}: written after it was closed", next="open it again")
        if os.getpid() != self._pid:
            raise MisuseError(
                f"{self.path}: opened by process {self._pid}, written by its child {os.getpid()}",
                next="open the store in the process that runs the member",
            )

    def _require_same_store(self, former: StoreRecord, record: StoreRecord) -> None:
        if record.store_id != former.store_id:
            raise MisuseError(
                f"{self.path}: store_id {record.store_id} written over {former.store_id}",
                next="give another store another directory",
            )
        initial = former.lineage.initial
        if initial is not None and record.lineage.initial != initial:
            raise MisuseError(
                f"{self.path}: the initial signature would change (S1)",
                next="a member of another cluster needs a directory of its own",
            )

    def _write(self, contents: Contents) -> None:
        payload, as_read = self._payload(contents)
        self._require_still_ours()
        self._kept.write(payload, version=FORMAT if contents.frames_dropped else PLAIN)
        self._contents = as_read

    def _payload(self, contents: Contents) -> tuple[bytes, Contents]:
        """Return the payload, and the contents that were decoded from it.

        Raises `MisuseError` for contents that cannot be read again, so these are never written.
        """
        try:
            payload = encode(contents)
            as_read = decode(payload)
        except Malformed as malformed:
            raise _misuse(self.path, malformed) from malformed
        if as_read != contents:
            raise MisuseError(
                f"{self.path}: contents that differ after they are encoded and decoded",
                next="report it: a field has no place in the file",
            )
        return payload, as_read

    def _require_still_ours(self) -> None:
        # If the lock file is removed, another process may lock a new file, and two members run.
        kept = self._kept
        try:
            if kept.ended or kept.files.is_same(kept.folder, LOCK, self._lock):
                return
        except OSError as error:
            kept.ended = f"looking at {LOCK}: {reason(error)}"
            raise kept.failed() from error
        kept.ended = f"{LOCK} was removed or replaced under the running member"
        raise StoreInUse(
            f"{self.path}: {kept.ended}\n  on disk is generation {kept.generation}, or a"
            " newer one that another process wrote",
            next=f"end this process; find out which process locked the store; never remove {LOCK}",
        )


def open_store(path: Path, *, files: FileSystem = REAL) -> StoreHandle:
    """Return the store in the data directory `path`, locked for this process.

    Its contents are on the disk when this returns.  Raises `StoreMissing`, `StoreInUse`,
    `StoreNewer`, `StoreForeign`, `StoreCorrupt` or `StoreUnreadable`; the metadata is then
    unchanged.
    """
    with _lock_directory(path, files) as store:
        slots = store._kept.read()
        if slots.current.contents is None:
            raise refusal(slots) or StoreMissing(f"{path}: no store", next="check the path")
        store._kept.recover()
        store.problems = problems(slots)
        store._contents = slots.current.contents
    return store


def create_store(
    path: Path,
    record: StoreRecord,
    *,
    member: str,
    cluster_name: str | None = None,
    frames: str | None = None,
    files: FileSystem = REAL,
) -> StoreHandle:
    """Make a store in the existing data directory `path`, and return it open.

    The record is on the disk when this returns.  Raises `StoreExists` if there is a store, or the
    remains of one, and the errors of `open_store` and `StoreHandle.write`.
    """
    try:
        contents = Contents(member=member, record=record, cluster_name=cluster_name, frames=frames)
    except Malformed as malformed:
        raise _misuse(path, malformed) from malformed
    data = open_data_directory(files, path)
    try:
        with reading(path):
            # An interrupted creation may have left the directory.  Whether it has a store is
            # checked below.
            with suppress(FileExistsError):
                files.make_directory(data, FOLDER)
            files.sync_directory(data)
    finally:
        let_go(files, data)

    with _lock_directory(path, files) as store:
        slots = read_slots(files, store._kept.folder, path / FOLDER, KIND)
        current, previous = slots.current.validity, slots.previous.validity
        if {current, previous} != {Validity.ABSENT}:
            raise StoreExists(
                f"{path / FOLDER}: has a store already ({CURRENT}: {current.value}, {PREVIOUS}:"
                f" {previous.value})\n  nothing was changed",
                next="open it, or give the new store an empty directory",
            )
        store._kept.recover()
        store.write_contents(contents)
    return store


@contextmanager
def _lock_directory(path: Path, files: FileSystem) -> Iterator[StoreHandle]:
    """Lock a store's directory and give a handle; after an error, close the directory and lock."""
    folder = open_folder(files, path)
    lock = -1
    try:
        with reading(path / FOLDER):
            lock = take_lock(files, folder, path)
            yield StoreHandle(path, files, folder, lock)
    except BaseException:
        let_go(files, folder, lock)
        raise


def _misuse(path: Path, malformed: Malformed) -> MisuseError:
    return MisuseError(
        f"{path}: a record that cannot be written: {malformed}",
        next="write only records that `joinproto.join` makes, with ids by hash",
    )


Store = StoreHandle
"""The former name of `StoreHandle`."""
