"""A member's data directory: the journal on a real disk, the metadata in memory, or as a value.

What lies here outlives the member's processes; an operator wipes it, copies it and marks it.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from shutil import rmtree
from typing import Protocol

from attrs import define, evolve, field

from joinproto.durable.journal.journal import FILE, Journal
from joinproto.errors import StoreMissing
from joinproto.join.store import StoreRecord
from joinproto.log.disk import open_disk
from joinproto.store.handle import create_store, open_store
from joinproto.swarm.disk import MemoryDisk


class Died(BaseException):
    """The process is no more.  No `Exception`: nobody inside it can stop it."""


class Keeps(Protocol):
    """Whatever writes a record durably."""

    def write(self, record: StoreRecord) -> None: ...


@define(eq=False)
class Opened:
    """What a process has open.  `record`: what the member starts from."""

    record: StoreRecord
    journal: Journal
    keeps: Keeps

    def close(self) -> None:
        self.journal.close()


@define(eq=False)
class Place:
    """See the head of this file.  `dies_in`: so many changes and sends more, None: no end."""

    member: str
    cluster_name: str
    path: Path
    is_transient: bool
    on_disk: bool
    files: MemoryDisk = field(init=False)
    record: StoreRecord | None = None  # what is durable, however it is kept
    dies_in: int | None = None
    dies_feeding: bool = False
    _stores: int = 0
    _copy: tuple[StoreRecord, bytes] | None = None

    def __attrs_post_init__(self) -> None:
        self.files = MemoryDisk(self.step)

    def step(self) -> None:
        """Come to the next change; here the process may die."""
        if self.dies_in is not None:
            self.dies_in -= 1
            if self.dies_in < 0:
                raise Died

    def open(self) -> Opened:
        """Return what a process starts with; raises `StoreError`."""
        if self.is_transient:
            self.wipe()
        self.path.mkdir(exist_ok=True)
        if self.on_disk and not self.is_transient:
            return self._open_store()
        record = self.record
        if record is None:
            record = self.record = self._empty()
        journal = Journal.open(self.path)
        # As `start_from`, but it believes whatever is there: what was lost is the oracle's to see.
        if not record.transient and not (record.update_unfinished and journal.cut_bytes):
            record = evolve(record, position=journal.last, update_unfinished=False)
        return Opened(record, journal, self)

    def _open_store(self) -> Opened:
        if self.record is None or not self._has_store():
            # `open_disk` would make it with an id that no run can draw again.
            self._make(self._empty())
        disk = open_disk(self.path, self.member, self.cluster_name, files=self.files)
        self.record = disk.store.record
        return Opened(disk.record, disk.journal, disk.store)

    def _make(self, record: StoreRecord) -> None:
        create_store(
            self.path,
            record,
            member=self.member,
            cluster_name=self.cluster_name,
            files=self.files,
            frames=FILE,
        ).close()
        self.record = record

    def _has_store(self) -> bool:
        try:
            open_store(self.path, files=self.files).close()
        except StoreMissing:
            return False
        return True

    def write(self, record: StoreRecord) -> None:
        """Keep the record as a value."""
        self.step()
        self.record = record
        self.step()

    def process_ends(self, *, power: Random | None = None) -> None:
        """Close what the process had open; `power`: it is lost as well."""
        self.dies_in = None
        self.dies_feeding = False
        self.files.process_ends()
        if power is not None:
            self.files.power_fails(power)

    # -- operators -----------------------------------------------------------------------------

    def wipe(self) -> None:
        """Empty the directory: the next store here is another one."""
        rmtree(self.path, ignore_errors=True)
        self.files = MemoryDisk(self.step)
        self.record = None

    def mark(self) -> None:
        """Permit a restart from the tip (R3), as the recovery tool does; nothing without one."""
        if self.record is None or self.record.tip is None or self.is_transient:
            return
        self._put(evolve(self.record, mark=self.record.tip.id))

    def restore(self) -> None:
        """Bring back the copy that was made at the last call, and make a new one."""
        if self.record is None or self.is_transient:
            return
        file = self.path / FILE
        now = (self.record, file.read_bytes() if file.exists() else b"")
        if self._copy is not None and self._copy[0].store_id == self.record.store_id:
            record, frames = self._copy
            if self.on_disk:
                # Not through the store, which refuses what is older than its cluster.
                self.wipe()
                self.path.mkdir()
                self._make(record)
            file.write_bytes(frames)
            self.record = record
        self._copy = now

    def _put(self, record: StoreRecord) -> None:
        if self.on_disk:
            with open_store(self.path, files=self.files) as store:
                store.write(record)
        self.record = record

    def _empty(self) -> StoreRecord:
        self._stores += 1
        return StoreRecord(store_id=f"{self.member}{self._stores}", transient=self.is_transient)
