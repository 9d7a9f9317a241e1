"""A broker's data directory, open: its metadata and its durable messages.

    standby/store.meta              `BrokerRecord`; replaced as a whole
    standby/store.meta.previous     the record before it
    standby/store.lock              held by one process at a time
    frames.log                      actions on durable queues (`durable/journal/journal.py`)
    frames.floor                    the queues while the journal is shortened (`shortening.py`)
    chain/                          a member's store, if the manager is built in

When a method that writes returns, the data is on the disk.  A failed write is final: the process
ends, and the next process that opens the store finds the old or the new content.

Source: hot standby, H2, H4, H10; recovery, "The metadata on disk".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from attrs import define, evolve

from joinproto.apps.standby.keeping.form import (
    FOLDER,
    KIND,
    Action,
    BrokerRecord,
    NotKept,
    Queues,
    Replay,
    Together,
    action_of,
    apply,
    as_bytes,
    packed,
)
from joinproto.durable.filesystem import (
    REAL,
    FileSystem,
    JournalFileSystem,
    let_go,
    make_directories,
    reason,
)
from joinproto.durable.journal.journal import FILE, Journal, frames_bytes
from joinproto.durable.journal.records import FRAME_BYTES_MAX, Frame
from joinproto.durable.lock import take_lock
from joinproto.durable.record import Record
from joinproto.errors import (
    JoinprotoError,
    MisuseError,
    StoreCorrupt,
    StoreForeign,
    StoreUnreadable,
)

log = logging.getLogger(__name__)

COMPACT_BYTES = 64 << 20
"""A journal of this many bytes is shortened if the queues fit into a quarter of its size."""
PIECE_BYTES = 128 << 10
"""A piece of the shortening writes about this many bytes, at most twice as many."""
LENGTH_BYTES = 4
MESSAGE_BYTES_MAX = FRAME_BYTES_MAX - (64 << 10)
"""The most bytes of a message: the action of a durable message must fit into one frame."""


@define
class Disk:
    """The open files of a store.  `kept`, `queues`: their durable contents.  Not thread-safe."""

    path: Path
    kept: BrokerRecord
    queues: Queues
    journal: Journal
    _record: Record[BrokerRecord]
    _lock: int = -1
    # The journal's size at the start or end of the last shortening.  It is 0 at each start of the
    # process: otherwise a broker that always restarts before its journal doubles never shortens it.
    _looked_at: int = 0
    _chore: Iterator[Callable[[], None]] | None = None
    _is_open: bool = False  # the journal ends within actions that belong together

    def write(self, kept: BrokerRecord) -> None:
        """Write the metadata, and return when it is on the disk.

        Raises `MisuseError`, and writes nothing, for an older generation, another broker or another
        cluster.  Raises `StoreWriteFailed`, after which this object no longer writes.
        """
        self._require_usable()
        self._require_goes_on(kept)
        kept = evolve(kept, frames=self.journal.last_seq)
        self._record.write(packed(kept))
        self.kept = kept

    def keep(self, actions: Sequence[Action], **changes: Any) -> None:
        """Write these actions, then the changed metadata; return when both are on the disk."""
        self.append(actions)
        changed = evolve(self.kept, **changes)
        if changed != self.kept:
            self.write(changed)

    def append(self, actions: Sequence[Action]) -> None:
        """Append these actions with one fsync, and return when they are on the disk.

        A crash leaves all of them, or none.
        """
        if not actions:
            return
        self._require_usable()
        view = f"{self.kept.view.generation:064x}"
        first = self.journal.last_seq + 1
        is_marked = len(actions) > 1 or self._is_open
        said = [Together(len(actions)), *actions] if is_marked else actions
        frames = [
            Frame(view, seq, as_bytes(action)) for seq, action in enumerate(said, start=first)
        ]
        before = self.journal.size
        self.journal.append(frames)
        grown = self.journal.size - before
        self._is_open = False
        for action in actions:
            apply(self.queues, action)
        if self._chore is None and self.journal.size > max(COMPACT_BYTES, 2 * self._looked_at):
            # Imported here, because the recovery tool has only the base install.
            from joinproto.apps.standby.keeping.shortening import shortening

            self._looked_at = self.journal.size
            self._chore = shortening(self.journal, self.queues)
        # Shortening proceeds faster than the journal grows, so it ends.
        for _ in range(1 + 2 * grown // PIECE_BYTES):
            if not self.go_on():
                break

    @property
    def has_more(self) -> bool:
        """Return whether the journal is still being shortened."""
        return self._chore is not None

    def go_on(self) -> bool:
        """Do one piece of shortening the journal; return False if none was left."""
        if self._chore is None:
            return False
        work = next(self._chore, None)
        if work is None:
            self._chore, self._looked_at = None, self.journal.size
            return False
        work()
        return True

    @property
    def position(self) -> int:
        """Return the number of actions in the record's generation (`position_in`)."""
        return position_in(
            self.kept, [(run.view, run.first, run.last) for run in self.journal.runs]
        )

    def close(self) -> None:
        """Close the files and release the lock."""
        if self._lock < 0:
            return
        self.journal.close()
        let_go(self._record.files, self._record.folder, self._lock)
        self._lock = -1

    def __enter__(self) -> Disk:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- the steps -------------------------------------------------------------------------

    def _require_usable(self) -> None:
        if self._lock < 0:
            raise MisuseError(
                f"{self.path}: a write after the store was closed", next="open the store again"
            )
        self._record.require_usable()
        self.journal.require_usable()

    def _require_goes_on(self, kept: BrokerRecord) -> None:
        now = self.kept
        problem = ""
        if kept.view.generation < now.view.generation:
            problem = f"generation {kept.view.generation} over {now.view.generation}"
        elif kept.broker != now.broker:
            problem = f"broker {kept.broker!r} over {now.broker!r}"
        elif now.cluster not in (None, kept.cluster):
            problem = f"cluster {kept.cluster} over {now.cluster}"
        if problem:
            raise MisuseError(
                f"{self.path}: {problem}", next="a younger store is never replaced by an older one"
            )


def position_in(kept: BrokerRecord, runs: Sequence[tuple[str, int, int]]) -> int:
    """Return the number of actions in these runs that are of the generation of `kept`."""
    view = f"{kept.view.generation:064x}"
    return sum(last - first + 1 for found, first, last in runs if found == view)


def open_disk(
    path: Path,
    broker: str,
    *,
    cluster: str | None = None,
    brokers: Sequence[str] = (),
    files: FileSystem = REAL,
    frames_on: JournalFileSystem = REAL,
) -> Disk:
    """Open a broker's data directory; make it if there is none.  Raises `StoreError`.

    `cluster`: the cluster's name.  `brokers`: all its brokers.  `files`: the file system of the
    metadata; `frames_on`: that of the journal.
    """
    folder = _folder(path, files)
    with ExitStack() as failed:
        failed.callback(let_go, files, folder)
        with _reading(path):
            lock = take_lock(files, folder, path)
            failed.callback(let_go, files, lock)
            record = Record(files, folder, path / FOLDER, KIND)
            there = record.read().current.contents
            record.recover()
        found = there or BrokerRecord(broker=broker, name=cluster, brokers=tuple(brokers))
        if found.broker != broker:
            raise StoreForeign(
                f"{path}: this is the store of broker {found.broker!r}, expected {broker!r}",
                next="check `data` and `broker` in the configuration",
            )
        if cluster is not None and found.name not in (None, cluster):
            raise StoreForeign(
                f"{path}: this store is of cluster {found.name!r}, expected {cluster!r}",
                next="check `data` and `cluster` in the configuration",
            )
        _require_both(path, found, frames_on, is_new=there is None)
        journal = Journal.open(path, durable=found.frames, files=frames_on)
        failed.callback(journal.close)
        if journal.cut_bytes:
            log.info("%s: a torn tail of %d bytes was cut", journal.path, journal.cut_bytes)
        read = load(journal)
        disk = Disk(path, found, read.queues, journal, record, lock)
        disk._is_open = read.is_open
        wanted = evolve(found, brokers=tuple(brokers) or found.brokers, name=cluster or found.name)
        if there is None or wanted != found:
            disk.write(wanted)
        failed.pop_all()
    return disk


def load(journal: Journal) -> Replay:
    """Return the queues that the actions in a journal make; raises `StoreCorrupt`."""
    found = Replay({})
    try:
        if journal.base is not None:
            for data in _unframed(journal.state()):
                found.take(action_of(data))
        seq = journal.first_seq
        while frames := journal.read(seq):
            for frame in frames:
                found.take(action_of(frame.data))
            seq = frames[-1].seq + 1
    except NotKept as error:
        raise StoreCorrupt(
            f"{journal.path}: {error}\n  nothing was changed",
            next="do not start this store; give the broker an empty directory, and it catches up",
        ) from error
    return found


def _folder(path: Path, files: FileSystem) -> int:
    with _reading(path):
        make_directories(files, path, 0o750)
        data = files.open_directory(path)
        try:
            with suppress(FileExistsError):
                files.make_directory(data, FOLDER)
            files.sync_directory(data)
            return files.open_directory_in(data, FOLDER)
        finally:
            let_go(files, data)


def _require_both(
    path: Path, kept: BrokerRecord, files: JournalFileSystem, *, is_new: bool
) -> None:
    """Raise `StoreCorrupt` if only one of metadata and journal exists and both should."""
    with _reading(path):
        size = frames_bytes(files, path)
    if is_new and size:
        raise StoreCorrupt(
            f"{path}: has {FILE}, but no metadata\n  nothing was changed",
            next="put its metadata back; a new broker needs an empty directory",
        )
    if not is_new and size is None and kept.cluster is not None:
        raise StoreCorrupt(
            f"{path}: has no {FILE}, although the broker followed a primary\n  nothing was changed",
            next=f"put {FILE} back; with an empty directory the broker catches up",
        )


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except JoinprotoError:
        raise
    except OSError as error:
        raise StoreUnreadable(
            f"{path}: cannot be opened: {reason(error)}\n  the store was not changed",
            next="check the permissions, the disk, and that it is mounted for writing",
        ) from error


def _unframed(state: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(state):
        length = int.from_bytes(state[at : at + LENGTH_BYTES], "big")
        at += LENGTH_BYTES + length
        if at > len(state):
            raise NotKept("the state ends in the middle of an action")
        yield state[at - length : at]
