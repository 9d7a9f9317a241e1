"""A member's data directory: the store's metadata and the journal, opened as one.

joinproto/      the metadata (`joinproto/store`)
frames.log      the frames (`joinproto/durable/journal/journal.py`)
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from secrets import token_hex

from attrs import evolve, frozen

from joinproto.durable.filesystem import (
    REAL,
    FileSystem,
    JournalFileSystem,
    make_directories,
    reason,
)
from joinproto.durable.journal.journal import FILE, Journal, Run, frames_bytes, start_from
from joinproto.errors import StoreCorrupt, StoreForeign, StoreMissing, StoreUnreadable
from joinproto.join.store import StoreRecord
from joinproto.store.handle import StoreHandle, create_store, open_store

log = logging.getLogger(__name__)


@frozen
class Disk:
    """The open files of a store.  `record`: the record from which the member starts."""

    store: StoreHandle
    journal: Journal
    record: StoreRecord

    def before_dropping(self) -> None:
        """Make it durable that frames may be dropped, and which frame is the last one now.

        From then on earlier versions refuse the store by the number of its format, and a journal
        that lost its base and all later frames is noticed.
        """
        contents = self.store.contents
        record, problem = start_from(contents.record, self.journal.runs)
        if contents.record.update_unfinished or problem:
            record = contents.record
        self.store.write_contents(evolve(contents, record=record, frames_dropped=True))

    def close(self) -> None:
        self.journal.close()
        self.store.close()


def open_disk(
    path: Path,
    member: str,
    cluster_name: str,
    *,
    files: FileSystem = REAL,
    frames_on: JournalFileSystem = REAL,
) -> Disk:
    """Return the data directory, made where there is none; raises `StoreError`.

    `files`: the file system of the metadata; `frames_on`: the file system of the journal.
    """
    try:
        make_directories(frames_on, path, 0o750)
        frames = frames_bytes(frames_on, path)
    except OSError as error:
        raise StoreUnreadable(
            f"{path}: {reason(error)}", next="make the directory above it, or mount it"
        ) from error
    store = _store(path, member, cluster_name, files, has_frames=frames is not None)
    try:
        found = store.contents
        if found.member != member:
            raise StoreForeign(
                f"{path}: this is the store of member {found.member!r}, expected {member!r}",
                next="check `data` and `member` in the configuration",
            )
        for problem in store.problems:
            log.warning("%s: %s", path, problem)
        if frames is None:
            _record_of_start(store, path, None)
        journal = Journal.open(path, files=frames_on)
    except BaseException:
        store.close()
        raise
    try:
        if journal.cut_bytes:
            log.info("%s: a torn tail of %d bytes was cut", journal.path, journal.cut_bytes)
        record = _record_of_start(store, path, journal.runs, is_torn=journal.cut_bytes > 0)
        if store.contents.frames is None:
            # An earlier version made the store.  From now on a missing journal is noticed.
            store.write_contents(evolve(store.contents, frames=FILE))
        return Disk(store, journal, record)
    except BaseException:
        journal.close()
        store.close()
        raise


def _store(
    path: Path, member: str, cluster_name: str, files: FileSystem, *, has_frames: bool
) -> StoreHandle:
    try:
        return open_store(path, files=files)
    except StoreMissing:
        if has_frames:
            raise StoreCorrupt(
                f"{path}: has frames, but no metadata\n  nothing was changed",
                next="put the folder of the metadata back; a new member needs an empty directory",
            ) from None
    log.info("%s: a new, empty store", path)
    record = StoreRecord(store_id=token_hex(16))
    return create_store(
        path, record, member=member, cluster_name=cluster_name, files=files, frames=FILE
    )


def _record_of_start(
    store: StoreHandle, path: Path, runs: Sequence[Run] | None, *, is_torn: bool = False
) -> StoreRecord:
    """Return the store's record with the journal's position; raises `StoreCorrupt`."""
    record, problem = start_from(store.record, runs, is_torn=is_torn)
    if problem:
        raise StoreCorrupt(
            f"{path / FILE}: {problem}\n  no frame was changed",
            next="do not start it; give the member an empty directory, which the others fill",
        )
    return record
