"""Opening a data directory, its metadata and its journal together, also after a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from joinproto.durable.journal.journal import FILE, Frame, Journal
from joinproto.errors import StoreCorrupt, StoreUnreadable
from joinproto.join.lineage import Lineage
from joinproto.join.view import Position, Seat, found
from joinproto.log.disk import open_disk
from joinproto.store.handle import create_store, open_store
from tests.recovery.disks import record

RECORD = record("a", "F -", "F")


def make_store(path: Path) -> Path:
    """Make the directory of a member that was ready in view F and has three frames of it."""
    path.mkdir()
    create_store(path, RECORD, member="a", cluster_name="cluster", frames=FILE).close()
    append(path, str(RECORD.held), 3)
    return path


def append(path: Path, view: str, count: int) -> None:
    journal = Journal.open(path)
    for _ in range(count):
        journal.append([Frame(view, journal.last_seq + 1, b"frame")])
    journal.close()


def test_a_missing_journal_is_refused_even_if_the_metadata_knows_no_frame(
    tmp_path: Path,
) -> None:
    """Metadata has positions only now and then; a new journal would hide that frames are lost."""
    path = make_store(tmp_path / "a")
    (path / FILE).unlink()

    with pytest.raises(StoreCorrupt, match="is not there"):
        open_disk(path, "a", "cluster")

    assert not (path / FILE).exists()


def test_a_member_that_knows_no_view_begins_without_a_journal(tmp_path: Path) -> None:
    """The process was killed after it had made the metadata, and before the journal."""
    open_disk(tmp_path / "a", "a", "cluster").close()
    (tmp_path / "a" / FILE).unlink()

    disk = open_disk(tmp_path / "a", "a", "cluster")

    assert disk.record.position is None
    disk.close()


def test_the_metadata_names_the_journal(tmp_path: Path) -> None:
    """So a missing journal is noticed, by the recovery tool too."""
    open_disk(tmp_path / "new", "a", "cluster").close()
    (tmp_path / "old").mkdir()
    create_store(tmp_path / "old", RECORD, member="a").close()
    with open_store(tmp_path / "old") as store:
        before = store.contents.frames
    (tmp_path / "old" / FILE).touch()
    open_disk(tmp_path / "old", "a", "cluster").close()

    said = []
    for name in ("new", "old"):
        with open_store(tmp_path / name) as store:
            said.append(store.contents.frames)

    assert (None, [FILE, FILE]) == (before, said)


def test_a_position_in_a_view_unknown_to_the_metadata_is_refused(
    tmp_path: Path,
) -> None:
    """The tip is durable before the first byte of its data."""
    path = make_store(tmp_path / "a")
    (path / FILE).write_bytes(b"")
    append(path, "ab" * 32, 1)

    with pytest.raises(StoreCorrupt, match=FILE):
        open_disk(path, "a", "cluster")


def test_a_path_that_no_file_can_replace_is_refused_at_the_opening(tmp_path: Path) -> None:
    """With a directory as previous generation, the first write would end the member."""
    path = make_store(tmp_path / "a")
    (path / "joinproto" / "store.meta.previous").mkdir()

    with pytest.raises(StoreUnreadable, match="not a regular file"):
        open_disk(path, "a", "cluster")


def _with_frames(path: Path, count: int) -> Position:
    """Leave a store with this many frames, and return the position of the last one."""
    disk = open_disk(path, "a", "cluster")
    seats = [Seat("a", disk.record.store_id)]
    view = found(
        members=seats,
        electors=seats,
        wait_for=1,
        options_digest="options",
        cluster_name="cluster",
        nonce="-",
        time=0,
    )
    last = Position(view.id, count)
    disk.journal.append([Frame(str(view.id), seq, b"entry") for seq in range(1, count + 1)])
    disk.store.write(evolve(disk.record, lineage=Lineage().append(view), position=last))
    disk.close()
    return last


def test_a_crash_after_a_cut_leaves_a_usable_store(tmp_path: Path) -> None:
    """The record does not have the cut yet, but it is marked as unfinished before a cut."""
    last = _with_frames(tmp_path / "a", 3)
    disk = open_disk(tmp_path / "a", "a", "cluster")
    disk.store.write(evolve(disk.record, update_unfinished=True))
    disk.journal.cut(2)
    disk.close()

    record = open_disk(tmp_path / "a", "a", "cluster").record

    assert Position(last.view, 2) == record.position
    assert not record.update_unfinished


def test_a_marked_store_whose_frames_were_not_cut_is_usable(tmp_path: Path) -> None:
    last = _with_frames(tmp_path / "a", 3)
    disk = open_disk(tmp_path / "a", "a", "cluster")
    disk.store.write(evolve(disk.record, update_unfinished=True))
    disk.close()

    record = open_disk(tmp_path / "a", "a", "cluster").record

    assert (last, False) == (record.position, record.update_unfinished)


def test_a_marked_store_whose_frames_were_torn_has_an_unfinished_update(tmp_path: Path) -> None:
    _with_frames(tmp_path / "a", 3)
    disk = open_disk(tmp_path / "a", "a", "cluster")
    disk.store.write(evolve(disk.record, update_unfinished=True))
    disk.close()
    journal = tmp_path / "a" / "frames.log"
    journal.write_bytes(journal.read_bytes()[:-2])

    assert open_disk(tmp_path / "a", "a", "cluster").record.update_unfinished
