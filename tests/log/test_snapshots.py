"""Snapshots and dropped frames in whole members: restarts and joiners begin with a snapshot."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from joinproto.durable import envelope
from joinproto.durable.journal.journal import FILE, Frame, Journal, Run
from joinproto.errors import MisuseError, StoreCorrupt, StoreForeign, StoreNewer
from joinproto.join.messages import StartUpdate
from joinproto.join.phases import Phase
from joinproto.join.view import Position
from joinproto.log import dropping, snapshot
from joinproto.log.disk import open_disk
from joinproto.log.keeper import Keeping
from joinproto.log.messages import Have, write
from joinproto.log.replicated import ReplicatedLog
from tests.log.engines import Applied, EngineCluster

SNAPSHOT, FLOOR = snapshot.FILE, snapshot.FLOOR


def cluster(path: Path, keeping: Keeping) -> EngineCluster:
    made = EngineCluster(path, keeping=keeping)
    made.start("abc")
    made.calm(3)
    return made


@pytest.fixture
def keepers(tmp_path: Path) -> Iterator[EngineCluster]:
    """Return three members that make a snapshot after every five frames, and drop no frame."""
    made = cluster(tmp_path, Keeping(snapshot_every=5))
    yield made
    made.close()


@pytest.fixture
def droppers(tmp_path: Path) -> Iterator[EngineCluster]:
    """Return three members that keep at least four frames."""
    made = cluster(tmp_path, Keeping(snapshot_every=5, keep_frames=4))
    yield made
    made.close()


def submit(it: EngineCluster, *, to: str = "a", count: int = 1, first: int = 1) -> list[str]:
    """Write this many texts one after the other, and return them."""
    texts = [f"text {number}" for number in range(first, first + count)]
    for text in texts:
        it.submit(to, text)
        it.calm(0.2)
    return texts


def stop(it: EngineCluster, names: str) -> None:
    """Kill these processes."""
    for name in names:
        it.members.pop(name).disk.close()
        for other in it.names:
            it.disconnect(name, other)


def texts_of(it: EngineCluster) -> list[list[str]]:
    return [member.app.texts for member in it.members.values()]


def test_a_restart_begins_with_the_state_of_the_snapshot(keepers: EngineCluster) -> None:
    """Only later frames are applied."""
    texts = submit(keepers, count=12)
    keepers.calm(1)
    assert all(10 == member.log.snapshot for member in keepers.members.values())

    stop(keepers, "a")
    keepers.calm(5)
    keepers.start("a")
    keepers.calm(5)

    assert [texts] * 3 == texts_of(keepers)
    assert 10 == keepers.members["a"].app.restored
    assert 1 == keepers.members["a"].disk.journal.first_seq


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def _directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


HARM = {
    "flipped": _flip,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "empty": lambda path: path.write_bytes(b""),
    "gone": lambda path: path.unlink(),
    "a directory": _directory,
    "a pipe": _pipe,
}


@pytest.mark.parametrize("harm", HARM)
def test_a_damaged_or_missing_snapshot_is_ignored(
    keepers: EngineCluster, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    texts = submit(keepers, count=7)
    stop(keepers, "abc")
    HARM[harm](keepers.top / "a" / SNAPSHOT)

    keepers.start("abc")
    log = keepers.members["a"].log

    assert (0, []) == (log.applied, keepers.members["a"].app.texts)
    assert harm == "gone" or "it is left out" in caplog.text
    assert len(texts) == keepers.members["a"].disk.journal.last_seq


def test_a_snapshot_of_frames_that_were_cut_since_is_ignored(keepers: EngineCluster) -> None:
    """The frames of the snapshot are of another view than those in the journal."""
    submit(keepers, count=7)
    stop(keepers, "abc")
    journal = Journal.open(keepers.top / "a")
    journal.cut(4)
    journal.append([Frame("cd" * 32, seq, b"another branch") for seq in range(5, 9)])
    app = Applied()

    log = ReplicatedLog(journal, app)

    assert (0, []) == (log.applied, app.texts)
    journal.close()


def test_the_state_of_another_application_is_ignored(keepers: EngineCluster) -> None:
    submit(keepers, count=7)
    stop(keepers, "abc")
    journal = Journal.open(keepers.top / "a")

    log = ReplicatedLog(journal, Applied(kind="texts of another version"))

    assert 0 == log.applied
    journal.close()


def test_frames_are_dropped_and_the_log_stays_small(droppers: EngineCluster) -> None:
    """Positions, views and the state are as if no frame had been dropped."""
    texts = submit(droppers, count=60)
    droppers.calm(2)

    for member in droppers.members.values():
        journal = member.disk.journal
        assert texts == member.app.texts
        assert 60 == journal.last_seq
        assert 60 - 4 - 3 * 5 <= journal.first_seq <= 60 - 4 + 1
        assert (1, 60) == (journal.runs[0].first, journal.runs[-1].last)
        assert 60 - journal.first_seq + 1 == len(journal.read(journal.first_seq))
        with pytest.raises(MisuseError, match="was dropped"):
            journal.read(1)


def test_a_restart_begins_with_the_state_in_the_place_of_dropped_frames(
    droppers: EngineCluster,
) -> None:
    """This holds even if later snapshots are lost."""
    texts = submit(droppers, count=30)
    droppers.calm(2)
    stop(droppers, "abc")
    for name in "abc":
        (droppers.top / name / SNAPSHOT).unlink()
        (droppers.top / name / FLOOR).unlink(missing_ok=True)

    droppers.start("abc")
    first = droppers.members["a"].disk.journal.first_seq
    assert texts[: first - 1] == droppers.members["a"].app.texts
    stop(droppers, "bc")
    disk = droppers.members["a"].disk
    assert disk.record.position == disk.journal.last
    assert 30 == disk.journal.last_seq


@pytest.mark.parametrize("has", ["no files", "some frames", "a tail of its own"])
def test_a_joiner_is_updated_by_a_source_that_dropped_its_frames(
    droppers: EngineCluster, has: str
) -> None:
    """The joiner gets the base in place of the dropped frames, and then the later frames."""
    texts = submit(droppers, count=2)
    stop(droppers, "c")
    droppers.calm(5)
    if has == "no files":
        for file in sorted((droppers.top / "c").rglob("*"), reverse=True):
            file.rmdir() if file.is_dir() else file.unlink()
    elif has == "a tail of its own":
        journal = Journal.open(droppers.top / "c")
        view = journal.runs[-1].view
        journal.append([Frame(view, seq, b"unknown") for seq in (3, 4, 5)])
        journal.close()
    texts += submit(droppers, count=40, first=3)
    droppers.calm(2)
    assert droppers.members["a"].disk.journal.first_seq > 6

    droppers.start("c")
    droppers.calm(5)

    assert [Phase.ACTIVE] * 3 == [member.phase for member in droppers.members.values()]
    assert [texts] * 3 == texts_of(droppers)
    ours, theirs = (droppers.members[name].disk.journal for name in "ca")
    assert ours.runs == theirs.runs
    assert ours.first_seq > 6
    texts += submit(droppers, to="c", count=30, first=43)
    assert [texts] * 3 == texts_of(droppers)
    stop(droppers, "abc")
    again = open_disk(droppers.top / "c", "c", "cluster")
    assert 72 == again.journal.last_seq
    again.close()


def test_a_write_at_a_member_that_lacks_dropped_frames_is_reported_as_lost(
    droppers: EngineCluster,
) -> None:
    """No member knows any more whether the write was ordered."""
    submit(droppers, count=2)
    lost: list[str] = []
    done: list[object] = []
    droppers.disconnect("c", "a")
    droppers.disconnect("c", "b")
    member = droppers.members["c"]
    if member.log.is_open:
        member.log.submit(b"perhaps", done.append, lambda: lost.append("perhaps"))
    droppers.calm(2, connecting=False)
    while droppers.members["a"].phase is not Phase.ACTIVE:
        droppers.connect("a", "b")
        droppers.calm(1, connecting=False)
    for number in range(40):
        droppers.submit("a", f"later {number}")
        droppers.calm(0.2, connecting=False)

    droppers.calm(6)

    assert [Phase.ACTIVE] * 3 == [one.phase for one in droppers.members.values()]
    assert (["perhaps"], []) == (lost, done)
    assert 1 == len({tuple(texts) for texts in texts_of(droppers)})
    assert "perhaps" not in droppers.members["a"].app.texts


def test_earlier_versions_refuse_a_store_with_dropped_frames_by_its_format(
    droppers: EngineCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit(droppers, count=30)
    droppers.calm(1)
    stop(droppers, "abc")
    assert (droppers.top / "a/joinproto/store.meta").read_bytes().splitlines()[1] == b"format 2"
    monkeypatch.setattr(envelope, "FORMAT", 1)

    with pytest.raises(StoreNewer, match="has format 2; this version reads formats up to 1"):
        open_disk(droppers.top / "a", "a", "cluster")


def test_a_source_of_another_branch_than_the_dropped_frames_is_given_up(
    droppers: EngineCluster,
) -> None:
    """Dropped frames cannot be cut; the next source may have them."""
    submit(droppers, count=30)
    droppers.calm(2)
    one = droppers.members["a"]
    assert one.disk.journal.first_seq > 1
    view, other = one.engine.view, "9" * 64
    assert view is not None
    one.log.start_update(StartUpdate("b", view, Position(other, 30), beside=False))

    one.log.hear("b", write(Have(str(view.id), (Run(other, 1, 30),))))
    droppers.step("a")

    assert ("a", "b") not in droppers.wires
    assert 30 == one.disk.journal.last_seq


def test_a_journal_with_dropped_frames_is_refused_by_another_application(
    droppers: EngineCluster,
) -> None:
    submit(droppers, count=30)
    droppers.calm(1)
    stop(droppers, "abc")
    journal = Journal.open(droppers.top / "a")

    with pytest.raises(StoreForeign, match="application 'texts', this is application 'others'"):
        ReplicatedLog(journal, Applied(kind="others"))
    journal.close()


def test_every_flipped_bit_in_a_base_is_refused(droppers: EngineCluster, tmp_path: Path) -> None:
    """The base is all that is left of the dropped frames."""
    submit(droppers, count=20)
    droppers.calm(1)
    size = droppers.members["a"].disk.journal.base
    assert size is not None
    stop(droppers, "abc")
    whole = (droppers.top / "a" / FILE).read_bytes()
    (tmp_path / "copy").mkdir()

    for byte in range(size.size):
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << byte % 8
        (tmp_path / "copy" / FILE).write_bytes(damaged)
        with pytest.raises(StoreCorrupt):
            Journal.open(tmp_path / "copy")


def test_a_journal_that_lost_its_base_and_all_later_frames_is_refused(
    droppers: EngineCluster,
) -> None:
    """The metadata has the number of frames at the time of the first dropping."""
    submit(droppers, count=20)
    droppers.calm(1)
    stop(droppers, "abc")
    (droppers.top / "a" / FILE).write_bytes(b"")

    with pytest.raises(StoreCorrupt, match="frames were lost"):
        open_disk(droppers.top / "a", "a", "cluster")


def test_a_disk_error_leaves_the_journal_as_it_is(
    droppers: EngineCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """No snapshot is made, no frame is dropped, and the member continues."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(snapshot, "write_range", full)
    texts = submit(droppers, count=8)
    monkeypatch.undo()
    monkeypatch.setattr(dropping._Copy, "write", full)
    texts += submit(droppers, count=30, first=9)

    assert "no snapshot was made: No space left on device" in caplog.text
    assert "no frame was dropped: No space left on device" in caplog.text
    assert [texts] * 3 == texts_of(droppers)
    assert all(1 == member.disk.journal.first_seq for member in droppers.members.values())
    monkeypatch.undo()
    submit(droppers, count=30, first=39)
    assert all(1 < member.disk.journal.first_seq for member in droppers.members.values())
