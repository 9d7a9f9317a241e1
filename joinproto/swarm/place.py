"""A member's data directory on a disk that loses unsynced data, or its metadata as a value.

The contents outlive the member's processes.  An operator can wipe, copy and mark them.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Protocol

from attrs import define, evolve, field

from joinproto.durable.journal.journal import FILE, Journal, holds, start_from
from joinproto.durable.lock import LOCK
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position
from joinproto.log.disk import open_disk
from joinproto.store.handle import create_store, open_store
from joinproto.store.slots import CURRENT, FOLDER
from joinproto.swarm.disk import READS, Disk

DIRECTORY = Path("/data")


class Died(BaseException):
    """The process dies.  Not an `Exception`, so that no code of the process catches it."""


class RecordWriter(Protocol):
    """Writes a record durably."""

    def write(self, record: StoreRecord) -> None: ...


@define(eq=False)
class OpenFiles:
    """The open files of a process.

    `record`: the record from which the member starts.  `lost`: a text about data that should exist
    and does not, "" if there is none.
    """

    record: StoreRecord
    journal: Journal
    writer: RecordWriter
    lost: str = ""

    def close(self) -> None:
        self.journal.close()


@define(eq=False)
class DataDirectory:
    """The data directory of a member.  `chance`: decides which data a loss of power leaves.

    `on_disk`: the record goes through the real store.  `record`: the record that was reported as
    durable, however it is stored; `writing`: the record that is being written.  `reported`: the
    last frame that a process reported as durable, None if it may have been cut since.
    `has_reported_end`: the process reported that its data ends there, and the journal was not
    written since.  `dies_in`: the number of changes and sends before the process dies, None for
    never.  `dies_feeding`: the process dies when it is next asked for its data.
    """

    member: str
    cluster_name: str
    is_transient: bool
    on_disk: bool
    chance: Random
    files: Disk = field(init=False)
    record: StoreRecord | None = None
    writing: StoreRecord | None = None
    reported: Position | None = None
    has_reported_end: bool = False
    dies_in: int | None = None
    dies_feeding: bool = False
    _stores: int = 0
    _copy: tuple[StoreRecord, Disk] | None = None

    def __attrs_post_init__(self) -> None:
        self.wipe()

    def step(self) -> None:
        """Count the next change; the process may die here."""
        if self.dies_in is not None:
            self.dies_in -= 1
            if self.dies_in < 0:
                raise Died

    def _before(self, call: str) -> None:
        if call == "write_at":
            self.has_reported_end = False
        if self.dies_in is not None and call not in READS:
            self.step()

    def open(self) -> OpenFiles:
        """Return the files that a process starts with; raises `StoreError` if they are damaged.

        A transient member's directory is emptied first.
        """
        if self.is_transient:
            self.wipe()
        ends = self.has_reported_end  # before opening, which writes, too
        if self.on_disk and not self.is_transient:
            opened = self._open_store()
        else:
            opened = self._open_value()
        if self.reported is not None and not holds(opened.journal.runs, self.reported):
            opened.lost = (
                f"{self.member} reported {self.reported} as durable, but its journal has only"
                f" {opened.journal.runs}"
            )
        elif ends and opened.journal.last != self.reported:
            opened.lost = (
                f"{self.member} reported that its journal ends at {self.reported}, but it has"
                f" {opened.journal.runs}"
            )
        return opened

    def _open_value(self) -> OpenFiles:
        record = self.record
        if record is None:
            record = self.record = self._empty()
        journal = Journal.open(DIRECTORY, files=self.files)
        if record.update_unfinished:
            record, _ = start_from(record, journal.runs, is_torn=journal.cut_bytes > 0)
        elif not record.transient:
            # The journal is trusted here, so the oracle must notice lost data.
            record = evolve(record, position=journal.last)
        return OpenFiles(record, journal, self)

    def _open_store(self) -> OpenFiles:
        if not self._has_store():
            if self.record is not None:
                raise AssertionError(f"{self.member}: a store that was made is gone")
            # `open_disk` would draw an id that no other run could draw again.
            self._make(self._empty())
        disk = open_disk(
            DIRECTORY, self.member, self.cluster_name, files=self.files, frames_on=self.files
        )
        found = disk.store.record
        is_there = self.record is None or found in (self.record, self.writing)
        self.record, self.writing = found, None
        lost = "" if is_there else f"the store has {found}, which is not the last record written"
        return OpenFiles(disk.record, disk.journal, disk.store, lost)

    def _make(self, record: StoreRecord) -> None:
        create_store(
            DIRECTORY,
            record,
            member=self.member,
            cluster_name=self.cluster_name,
            files=self.files,
            frames=FILE,
        ).close()
        self.record = record

    def _has_store(self) -> bool:
        return any(path == f"{DIRECTORY}/{FOLDER}/{CURRENT}" for path, _ in self.files.files())

    def write_with(self, writer: RecordWriter, record: StoreRecord) -> None:
        """Write the record durably."""
        self.writing = record
        writer.write(record)
        self.record, self.writing = record, None

    def write(self, record: StoreRecord) -> None:
        """Store the record as a value."""
        self.step()
        self.record = record
        self.step()

    def process_ends(self, *, power: bool = False) -> None:
        """Close the process's files.  `power`: unsynced data may be lost or torn."""
        self.dies_in = None
        self.dies_feeding = False
        self.files.process_ends()
        if power:
            often = self.chance.choice((0.0, 0.5, 0.5, 1.0))
            self._take(self.files.copied(lambda: self.chance.random() < often))

    def _take(self, files: Disk) -> None:
        self.files = files
        files.before = self._before

    # -- operators -----------------------------------------------------------------------------

    def wipe(self) -> None:
        """Empty the directory; the next store here has another id."""
        # No process syncs a lock's text, and its length depends on this machine.
        self._take(Disk(self.chance, short=0.0, steady=frozenset({LOCK})))
        self.files.make(DIRECTORY)
        self.record = self.writing = self.reported = None
        self.has_reported_end = False

    def mark(self) -> None:
        """Permit a restart from the tip (R3), as the recovery tool does; needs a tip."""
        if self.record is None or self.record.tip is None or self.is_transient:
            return
        self._put(evolve(self.record, mark=self.record.tip.id))

    def copy(self) -> None:
        """Make a copy of the directory, as a backup does."""
        if self.record is not None and not self.is_transient:
            self._copy = self.record, self.files.copied()

    def put_back(self) -> None:
        """Replace the contents by the copy, if it is a copy of this store."""
        if (
            self.record is None
            or self._copy is None
            or self._copy[0].store_id != self.record.store_id
        ):
            return
        self.record, files = self._copy
        self.reported = self.writing = None
        self.has_reported_end = False
        self._take(files.copied())
        self.files.process_ends()

    def restore(self) -> None:
        """Make a new copy, then put back the copy that was made before it, if any."""
        former = self._copy
        self.copy()
        now, self._copy = self._copy, former
        self.put_back()
        self._copy = now

    def _put(self, record: StoreRecord) -> None:
        if self.on_disk:
            with open_store(DIRECTORY, files=self.files) as store:
                store.write(record)
        self.record = record

    def _empty(self) -> StoreRecord:
        self._stores += 1
        return StoreRecord(store_id=f"{self.member}{self._stores}", transient=self.is_transient)
