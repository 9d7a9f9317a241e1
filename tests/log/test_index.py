"""The index of a journal makes a restart fast, and does not change the content that is read."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from random import Random

import pytest

from joinproto.durable.journal import index as indexes
from joinproto.durable.journal import survey as surveys
from joinproto.durable.journal.index import Index
from joinproto.durable.journal.journal import FILE, Frame, Journal
from joinproto.durable.journal.records import record
from joinproto.errors import StoreCorrupt

VIEWS = [letter * 64 for letter in "abc"]


def frames(first: int, count: int, *, view: int = 0, size: int = 100) -> list[Frame]:
    return [Frame(VIEWS[view], seq, b"%d" % seq * size) for seq in range(first, first + count)]


def content(path: Path) -> tuple[object, ...]:
    """Open the journal in `path`; return its runs, last number, size, offsets and frames."""
    journal = Journal.open(path)
    try:
        size = 2**30
        read = journal.read(1, bytes_max=size) if journal.last_seq else []
        return journal.runs, journal.last_seq, journal.size, list(journal._offsets), read
    finally:
        journal.close()


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a block of the index for each 2,000 bytes of the journal, which is a few frames."""
    monkeypatch.setattr(indexes, "STRETCH_BYTES", 2_000)


@pytest.fixture(scope="module")
def journal_of_180(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the journal and the index of `place`; tests must not change it."""
    path = tmp_path_factory.mktemp("journal")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexes, "STRETCH_BYTES", 2_000)
        patch.setattr(os, "fdatasync", lambda file: None)
        journal = Journal.open(path)
        for view in range(3):
            for _ in range(20):
                journal.append(frames(journal.last_seq + 1, 3, view=view))
        journal.close()
    return path


@pytest.fixture
def place(tmp_path: Path, journal_of_180: Path, small_blocks: None) -> Path:
    """Return a directory with a journal of 180 frames.

    Its index has a block for every 6 to 12 frames.
    """
    return Path(shutil.copytree(journal_of_180, tmp_path / "a"))


def read_by_record(path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the first frame of each stretch that `Journal.open` reads record by record."""
    taken: list[int] = []
    plain = surveys.read_stretch

    def read_stretch(read: surveys.Read, start: int, first: int, *rest: int) -> object:
        taken.append(first)
        return plain(read, start, first, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(surveys, "read_stretch", read_stretch)
        Journal.open(path).close()
    return taken


def test_a_restart_parses_only_frames_that_the_index_does_not_cover(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal.open(place)
    journal.append(frames(181, 1, view=2))
    journal.close()

    assert [181] == read_by_record(place, monkeypatch)


def test_a_journal_without_an_index_gets_one_at_its_first_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Journals of earlier versions have no index."""
    with (tmp_path / FILE).open("wb") as file:
        for number in range(1, 16):
            file.write(record(Frame(VIEWS[0], number, bytes(900_000)), 0))

    assert [1, 5, 9, 13] == read_by_record(tmp_path, monkeypatch)
    assert [13] == read_by_record(tmp_path, monkeypatch)


def test_a_journal_has_the_same_content_with_and_without_an_index(place: Path) -> None:
    with_index = content(place)
    (place / indexes.FILE).unlink()

    assert with_index == content(place)


@pytest.mark.parametrize("seed", range(60))
def test_a_damaged_index_costs_time_and_changes_no_result(place: Path, seed: int) -> None:
    """The index has a flipped bit, a cut, zeros, a repeated end, or its two parts exchanged."""
    whole = content(place)
    chance, file = Random(seed), place / indexes.FILE
    data = bytearray(file.read_bytes())
    at = chance.randrange(len(data))
    match seed % 5:
        case 0:
            data[at] ^= 1 << chance.randrange(8)
        case 1:
            del data[at:]
        case 2:
            data[at : at + 16] = bytes(len(data[at : at + 16]))
        case 3:
            data += data[at:]
        case 4:
            data = data[at:] + data[:at]
    file.write_bytes(data)

    assert whole == content(place)
    assert whole == content(place), "the index that was written anew is right"


@pytest.mark.parametrize("kind", ["directory", "link", "pipe"])
def test_a_directory_a_link_or_a_pipe_in_place_of_the_index_is_not_changed(
    place: Path, kind: str
) -> None:
    whole, file = content(place), place / indexes.FILE
    file.unlink()
    if kind == "directory":
        file.mkdir()
    elif kind == "pipe":
        os.mkfifo(file)
    else:
        (place / "elsewhere").write_bytes(b"another file")
        file.symlink_to(place / "elsewhere")

    assert whole == content(place)
    assert (kind == "directory", kind == "link", kind == "pipe") == (
        file.is_dir(),
        file.is_symlink(),
        file.is_fifo(),
    )
    if kind == "link":
        assert b"another file" == (place / "elsewhere").read_bytes()


@pytest.mark.parametrize("seed", range(40))
def test_damage_in_the_journal_is_found_even_with_an_index(place: Path, seed: int) -> None:
    """A block of the index counts only if the journal's bytes still have the checksum in it."""
    chance, file = Random(seed), place / FILE
    data = bytearray(file.read_bytes())
    data[chance.randrange(len(data) - 2_000)] ^= 1 << chance.randrange(8)
    file.write_bytes(data)

    with pytest.raises(StoreCorrupt, match="a later frame calls durable"):
        Journal.open(place)


@pytest.mark.parametrize("seed", range(30))
def test_an_index_fits_its_journal_after_cuts_and_new_frames(
    tmp_path: Path, small_blocks: None, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last start, the content is the same with and without the index."""
    chance, path = Random(seed), tmp_path
    journal = Journal.open(path)
    monkeypatch.setattr(os, "fdatasync", lambda file: None)
    for view in range(3):
        for _ in range(chance.randrange(30)):
            journal.append(frames(journal.last_seq + 1, chance.randint(1, 9), view=view))
        if chance.random() < 0.7:
            kept = chance.randint(0, journal.last_seq)
            journal.cut(kept)
        if chance.random() < 0.5:
            journal.close()
            journal = Journal.open(path)
    runs, last = journal.runs, journal.last_seq
    journal.close()

    found = content(path)
    assert (runs, last) == found[:2]
    (path / indexes.FILE).unlink()
    assert found == content(path)


def test_an_index_is_correct_after_an_earlier_version_wrote_frames(
    place: Path, tmp_path: Path
) -> None:
    """An earlier version does not know the index, and leaves it outdated."""
    kept = shutil.copyfile(place / indexes.FILE, tmp_path / "index")
    journal = Journal.open(place)
    journal.cut(100)
    for _ in range(50):
        journal.append(frames(journal.last_seq + 1, 2, view=1, size=70))
    journal.close()
    expected = content(place)

    shutil.copyfile(kept, place / indexes.FILE)

    assert expected == content(place)


def test_a_disk_that_refuses_the_index_does_not_end_the_member(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal.open(place)

    def refuse(self: Index, *rest: object) -> None:
        self.give_up("No space left on device")

    monkeypatch.setattr(Index, "_write", refuse)
    for _ in range(30):
        journal.append(frames(journal.last_seq + 1, 3, view=2))
    journal.close()

    assert "No space left" in caplog.text
    assert 270 == Journal.open(place).last_seq


@pytest.mark.soak("stores")
def test_a_restart_with_an_index_reads_300_000_frames_in_300_ms(
    tmp_path: Path,
) -> None:
    """A restart with three million frames takes 0.2 s of processor time.

    Before there was an index, it took 212 s."""
    with (tmp_path / FILE).open("wb") as file:
        for number in range(1, 300_001):
            file.write(record(Frame(VIEWS[3 * (number - 1) // 300_000], number, b"x" * 20), 0))
    Journal.open(tmp_path).close()

    began = time.process_time()
    journal = Journal.open(tmp_path)
    spent = time.process_time() - began

    assert 300_000 == journal.last_seq
    journal.close()
    assert spent < 0.3
