"""The journal: its contents after a crash, and the damage that is refused."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.durable.journal import survey as surveys
from joinproto.durable.journal.journal import FILE, FRAME_BYTES_MAX, Frame, Journal, Run
from joinproto.durable.journal.records import record
from joinproto.errors import MisuseError, StoreCorrupt
from joinproto.join.view import Position
from joinproto.log.updates import common_seq

FIRST, SECOND = "1" * 64, "2" * 64


def frames(count: int, *, view: str = FIRST, first: int = 1) -> list[Frame]:
    return [Frame(view, seq, f"data {seq}".encode()) for seq in range(first, first + count)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory with a journal of two appends: three frames, then two of a later view."""
    journal = Journal.open(tmp_path)
    journal.append(frames(3))
    journal.append(frames(2, view=SECOND, first=4))
    journal.close()
    return tmp_path


def test_appended_frames_are_read_after_a_restart(place: Path) -> None:
    journal = Journal.open(place)

    assert Position(SECOND, 5) == journal.last
    assert (Run(FIRST, 1, 3), Run(SECOND, 4, 5)) == journal.runs
    assert [*frames(3), *frames(2, view=SECOND, first=4)] == journal.read(1)
    assert [frame.seq for frame in journal.read(2, bytes_max=1)] == [2]
    assert journal.holds(Position(FIRST, 3))
    assert not journal.holds(Position(FIRST, 4))
    assert journal.holds(None)
    journal.close()


def test_a_torn_tail_is_cut_at_every_byte(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The first append stays, however much of the second append is on the disk."""
    whole = (place / FILE).read_bytes()
    journal = Journal.open(place)
    first = journal._offsets[3]
    journal.close()
    copy = tmp_path_factory.mktemp("cut")

    for size in range(first, len(whole)):
        (copy / FILE).write_bytes(whole[:size])
        again = Journal.open(copy)
        kept = again.last_seq
        assert kept == 3 or (kept == 4 and size > first)
        assert frames(min(kept, 3)) == again.read(1)[:3]
        again.append(frames(1, view=SECOND, first=kept + 1))
        again.close()
        assert kept + 1 == Journal.open(copy).last_seq


def test_every_flipped_bit_in_durable_frames_is_refused(
    place: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A later record shows that the frames before it were durable, so this is no torn tail."""
    whole = (place / FILE).read_bytes()
    journal = Journal.open(place)
    first = journal._offsets[3]
    journal.close()
    copy = tmp_path_factory.mktemp("flipped")

    for byte in range(first):
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << byte % 8
        (copy / FILE).write_bytes(damaged)
        with pytest.raises(StoreCorrupt, match="a later frame calls durable"):
            Journal.open(copy)
        assert bytes(damaged) == (copy / FILE).read_bytes()


def test_damage_after_a_large_frame_is_found(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path)
    journal.append([Frame(FIRST, 1, b"x")])
    for seq in range(2, 9):
        journal.append([Frame(FIRST, seq, bytes(FRAME_BYTES_MAX))])
    journal.close()
    with (tmp_path / FILE).open("r+b") as file:
        file.seek(60)
        file.write(b"!")

    with pytest.raises(StoreCorrupt):
        Journal.open(tmp_path)


def test_a_cut_journal_continues_in_another_view(place: Path) -> None:
    journal = Journal.open(place)

    journal.cut(2)
    journal.append(frames(2, view=SECOND, first=3))

    expected = [*frames(2), *frames(2, view=SECOND, first=3)]
    assert expected == journal.read(1)
    journal.close()
    again = Journal.open(place)
    assert expected == again.read(1)
    again.cut(0)
    assert (None, ()) == (again.last, again.runs)
    again.close()


@given(sizes=st.lists(st.integers(0, 3_000), min_size=1, max_size=30), data=st.data())
def test_a_read_returns_as_many_frames_as_fit(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], data: st.DataObject
) -> None:
    """The expected number comes from the sizes of the records, one by one."""
    path = tmp_path_factory.mktemp("read")
    written = Journal.open(path)
    written.append([Frame(FIRST, seq, bytes(size)) for seq, size in enumerate(sizes, 1)])
    journal = Journal.open(path)  # no frame is in memory
    first = data.draw(st.integers(1, len(sizes) + 1))
    most = data.draw(st.integers(0, 20_000))

    taken: list[int] = []
    total = 0
    for seq, size in enumerate(sizes, 1):
        if seq >= first and (not taken or total + size + 60 <= most):
            taken.append(seq)
            total += size + 60
        elif seq >= first:
            break

    for one in (journal, written):
        assert taken == [frame.seq for frame in one.read(first, bytes_max=most)]
        one.close()


def test_frames_out_of_order_or_too_long_are_refused(place: Path) -> None:
    journal = Journal.open(place)

    for wrong in (frames(1, first=7), [Frame(FIRST, 6, bytes(FRAME_BYTES_MAX + 1))]):
        with pytest.raises(MisuseError):
            journal.append(wrong)
    assert 5 == journal.last_seq
    journal.close()


VIEWS = ["a" * 64, "b" * 64, "c" * 64]


@given(st.lists(st.sampled_from(VIEWS), max_size=8), st.lists(st.sampled_from(VIEWS), max_size=8))
def test_common_seq_agrees_with_a_plain_comparison(one: list[str], other: list[str]) -> None:
    """The views are sorted, because no view comes back in a chain."""
    ours, theirs = sorted(one), sorted(other)
    expected = 0
    while expected < min(len(ours), len(theirs)) and ours[expected] == theirs[expected]:
        expected += 1

    assert expected == common_seq(runs_of(ours), runs_of(theirs))


def runs_of(views: list[str]) -> list[Run]:
    runs: list[Run] = []
    for seq, view in enumerate(views, start=1):
        if runs and runs[-1].view == view:
            runs[-1] = Run(view, runs[-1].first, seq)
        else:
            runs.append(Run(view, seq, seq))
    return runs


def long_journal(path: Path, count: int) -> None:
    """Write this many frames of three views as records, without an fsync for each."""
    with (path / FILE).open("wb") as file:
        for number in range(1, count + 1):
            view = VIEWS[3 * (number - 1) // count]
            file.write(record(Frame(view, number, b"x" * 20), 0))


def test_the_log_shows_how_far_a_long_journal_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A restart that reads for minutes without a log line looks like a process that hangs."""
    monkeypatch.setattr(surveys, "REPORT_SECONDS", 0.0)
    with (tmp_path / FILE).open("wb") as file:
        for number in range(1, 13):
            file.write(record(Frame("abc"[(number - 1) // 4] * 64, number, bytes(900_000)), 0))

    with caplog.at_level("INFO"):
        journal = Journal.open(tmp_path)

    said = [record.getMessage() for record in caplog.records]
    assert [4, 8, 12] == [int(line.split(": ")[1].split()[0]) for line in said]
    assert "33 %" in said[0]
    assert [(1, 4), (5, 8), (9, 12)] == [(run.first, run.last) for run in journal.runs]
    assert 12 == journal.read(12)[0].seq
    journal.close()


@pytest.mark.soak("stores")
def test_a_restart_reads_300_000_frames_in_two_seconds(tmp_path: Path) -> None:
    """A quiet machine reads them in one second.

    The limit is on processor time, because other processes may use the machine.
    """
    long_journal(tmp_path, 300_000)

    began = time.process_time()
    journal = Journal.open(tmp_path)
    spent = time.process_time() - began

    assert 300_000 == journal.last_seq
    journal.close()
    assert spent < 2.0
