"""A data directory is opened as one: metadata and journal, or neither; also after a crash."""

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

MET = record("a", "F -", "F")


def lived(path: Path) -> Path:
    """Make the directory of a member that was ready in view F and took frames there."""
    path.mkdir()
    create_store(path, MET, member="a", cluster_name="cluster", frames=FILE).close()
    append(path, str(MET.held), 3)
    return path


def append(path: Path, view: str, count: int) -> None:
    journal = Journal.open(path)
    for _ in range(count):
        journal.append([Frame(view, journal.last_seq + 1, b"frame")])
    journal.close()


def test_a_journal_that_is_gone_is_refused_also_where_the_metadata_knows_of_no_frame(
    tmp_path: Path,
) -> None:
    """Positions are in the metadata only now and then; begun again it would miss its frames."""
    path = lived(tmp_path / "a")
    (path / FILE).unlink()

    with pytest.raises(StoreCorrupt, match="is not there"):
        open_disk(path, "a", "cluster")

    assert not (path / FILE).exists()


def test_a_member_that_knows_of_no_view_begins_without_a_journal(tmp_path: Path) -> None:
    """Killed between the making of the two."""
    open_disk(tmp_path / "a", "a", "cluster").close()
    (tmp_path / "a" / FILE).unlink()

    disk = open_disk(tmp_path / "a", "a", "cluster")

    assert disk.record.position is None
    disk.close()


def test_the_metadata_says_where_the_frames_are(tmp_path: Path) -> None:
    """So that a journal that is gone is missed, by the recovery tool too."""
    open_disk(tmp_path / "new", "a", "cluster").close()
    (tmp_path / "old").mkdir()
    create_store(tmp_path / "old", MET, member="a").close()
    with open_store(tmp_path / "old") as store:
        before = store.contents.frames
    (tmp_path / "old" / FILE).touch()
    open_disk(tmp_path / "old", "a", "cluster").close()

    said = []
    for name in ("new", "old"):
        with open_store(tmp_path / name) as store:
            said.append(store.contents.frames)

    assert (None, [FILE, FILE]) == (before, said)


def test_a_position_in_a_view_that_the_metadata_does_not_know_is_refused_with_a_sentence(
    tmp_path: Path,
) -> None:
    """The tip is durable before the first byte of its data."""
    path = lived(tmp_path / "a")
    (path / FILE).write_bytes(b"")
    append(path, "ab" * 32, 1)

    with pytest.raises(StoreCorrupt, match=FILE):
        open_disk(path, "a", "cluster")


def test_a_path_that_no_file_can_replace_is_refused_at_the_opening(tmp_path: Path) -> None:
    """A directory in the place of the generation before: the first write would end the member."""
    path = lived(tmp_path / "a")
    (path / "joinproto" / "store.meta.previous").mkdir()

    with pytest.raises(StoreUnreadable, match="not a regular file"):
        open_disk(path, "a", "cluster")


def _with_frames(path: Path, count: int) -> Position:
    """Leave a store with this many frames, and return the end of them by its record."""
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


def test_a_crash_behind_a_cut_leaves_a_store_that_is_good(tmp_path: Path) -> None:
    """The tail is cut, and the record does not know of it yet; but it knows that it may be so."""
    last = _with_frames(tmp_path / "a", 3)
    disk = open_disk(tmp_path / "a", "a", "cluster")
    disk.store.write(evolve(disk.record, update_unfinished=True))
    disk.journal.cut(2)
    disk.close()

    record = open_disk(tmp_path / "a", "a", "cluster").record

    assert Position(last.view, 2) == record.position
    assert not record.update_unfinished


def test_a_store_that_an_older_version_marked_at_the_first_byte_is_good(tmp_path: Path) -> None:
    last = _with_frames(tmp_path / "a", 3)
    disk = open_disk(tmp_path / "a", "a", "cluster")
    disk.store.write(evolve(disk.record, update_unfinished=True))
    disk.close()

    record = open_disk(tmp_path / "a", "a", "cluster").record

    assert (last, False) == (record.position, record.update_unfinished)


def test_a_marked_store_whose_frames_were_torn_counts_for_nothing(tmp_path: Path) -> None:
    _with_frames(tmp_path / "a", 3)
    disk = open_disk(tmp_path / "a", "a", "cluster")
    disk.store.write(evolve(disk.record, update_unfinished=True))
    disk.close()
    journal = tmp_path / "a" / "frames.log"
    journal.write_bytes(journal.read_bytes()[:-2])

    assert open_disk(tmp_path / "a", "a", "cluster").record.update_unfinished
