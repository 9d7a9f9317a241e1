"""A broker's data directory, open: its metadata and its durable messages.

    standby/store.meta              `BrokerRecord`; replaced whole
    standby/store.meta.previous     the one before it
    standby/store.lock              one process at a time has it
    frames.log                      what was done to durable queues (`durable/journal/journal.py`)
    frames.floor                    how far the journal was shortened (`shortening.py`)
    chain/                          a member's store, with the manager that is built in

A method that returns has written to the disk.  A failed write is final: the process ends, and the
next one that opens the store finds the old or the new content.

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
"""A journal of this many bytes is made shorter, if a quarter of it would say the same."""
PIECE_BYTES = 128 << 10
"""A piece of making it shorter writes so much, or twice that."""
LENGTH_BYTES = 4
MESSAGE_BYTES_MAX = FRAME_BYTES_MAX - (64 << 10)
"""Longest durable message: its action has to fit into one frame."""


@define
class Disk:
    """The open files of a store.  `kept`, `queues`: their durable contents.  Not thread-safe."""

    path: Path
    kept: BrokerRecord
    queues: Queues
    journal: Journal
    _record: Record[BrokerRecord]
    _lock: int = -1
    # Its size when it was last to be made shorter, or had been; 0 again at each start: else a
    # broker that is restarted before the journal has doubled would keep all forever.
    _looked_at: int = 0
    _chore: Iterator[Callable[[], None]] | None = None
    _is_open: bool = False  # the last actions in the journal lack some that belong to them

    def write(self, kept: BrokerRecord) -> None:
        """Return once the metadata is on the disk.

        Raises `MisuseError` for an older generation, another broker, or another cluster than
        is there; then nothing happened.  Raises `StoreWriteFailed`; then this one no longer writes.
        """
        self._require_usable()
        self._require_goes_on(kept)
        kept = evolve(kept, frames=self.journal.last_seq)
        self._record.write(packed(kept))
        self.kept = kept

    def keep(self, actions: Sequence[Action], **changes: Any) -> None:
        """Return once these actions, and behind them the changed metadata, are on the disk."""
        self.append(actions)
        changed = evolve(self.kept, **changes)
        if changed != self.kept:
            self.write(changed)

    def append(self, actions: Sequence[Action]) -> None:
        """Return once these actions are on the disk, behind the others, in one fsync.

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
            # Not for the recovery tool, which runs on the base install alone.
            from joinproto.apps.standby.keeping.shortening import shortening

            self._looked_at = self.journal.size
            self._chore = shortening(self.journal, self.queues)
        # It gets on faster than the journal grows, so it ends.
        for _ in range(1 + 2 * grown // PIECE_BYTES):
            if not self.go_on():
                break

    @property
    def has_more(self) -> bool:
        """Return whether there is more to do to make the journal shorter."""
        return self._chore is not None

    def go_on(self) -> bool:
        """Do a piece of the work of shortening the journal; return whether there are more."""
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
        """Return how much was done in its generation."""
        return position_in(
            self.kept, [(run.view, run.first, run.last) for run in self.journal.runs]
        )

    def close(self) -> None:
        """Give it back; nothing is saved here."""
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
            raise MisuseError(f"{self.path}: written after it was closed", next="open it again")
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
    """Return how many actions were done in the generation of `kept`, of those still listed."""
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
    """Return a broker's data directory, made where there is none; raises `StoreError`.

    `cluster`: its name.  `brokers`: all of it.  `files`: where the metadata are; `frames_on`:
    where the journal is.
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
                f"{path}: the store of broker {found.broker!r}, this is {broker!r}",
                next="check `data` and `broker` in the configuration",
            )
        if cluster is not None and found.name not in (None, cluster):
            raise StoreForeign(
                f"{path}: the store of a broker of cluster {found.name!r}, this is {cluster!r}",
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
    """Return the queues that a journal makes; raises `StoreCorrupt`."""
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
            next="do not start it; give the broker an empty directory, and let it catch up",
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
    """Raise `StoreCorrupt` where one of the two parts is there and the other one is missed."""
    with _reading(path):
        size = frames_bytes(files, path)
    if is_new and size:
        raise StoreCorrupt(
            f"{path}: has {FILE} and no metadata\n  nothing was changed",
            next="find out who removed it; a new broker needs an empty directory",
        )
    if not is_new and size is None and kept.cluster is not None:
        raise StoreCorrupt(
            f"{path}: has no {FILE}, although it followed a primary\n  nothing was changed",
            next="find out who removed it; with an empty directory the broker catches up",
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
            next="look at the permissions, at the disk, and whether it is mounted for writing",
        ) from error


def _unframed(state: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(state):
        length = int.from_bytes(state[at : at + LENGTH_BYTES], "big")
        at += LENGTH_BYTES + length
        if at > len(state):
            raise NotKept("an action that ends early")
        yield state[at - length : at]
