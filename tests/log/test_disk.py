"""A data directory that is opened after a crash in the middle of an update."""

from __future__ import annotations

from pathlib import Path

from attrs import evolve

from joinproto.core.chain.lineage import Lineage
from joinproto.core.chain.view import Position, Seat, found
from joinproto.log.disk import open_disk
from joinproto.log.journal import Frame


def _with_frames(path: Path, count: int) -> Position:
    """Leave a store with so many frames, and return where its record says that they end."""
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
