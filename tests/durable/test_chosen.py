"""Chosen cases that random schedules meet too rarely.

`mutations.py` names the tests that notice mutations which the schedules do not.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random
from zlib import crc32

import pytest

from joinproto.durable import record as records
from joinproto.durable.envelope import Envelope, Fault, Validity, seal, unseal
from joinproto.durable.filesystem import REAL, RealFileSystem, let_go, put_new
from joinproto.durable.journal import index as indexes
from joinproto.durable.journal import survey as surveys
from joinproto.durable.journal.journal import FILE, Frame, Journal, Run
from joinproto.durable.journal.records import (
    BASE_MAGIC,
    DAMAGED,
    HEAD,
    MAGIC,
    RECORD_BYTES_MAX,
    base_head,
    base_line,
    base_of,
    record,
)
from joinproto.durable.lock import LOCK, Holder, look_at_lock, take_lock
from joinproto.durable.record import META
from joinproto.join.store import StoreRecord
from joinproto.log import snapshot
from joinproto.log.dropping import dropping
from joinproto.recovery.gather import gather, read
from joinproto.recovery.judgement import judge
from joinproto.recovery.plan import backup_name, plan_for
from joinproto.recovery.writing import apply
from joinproto.store.handle import create_store
from joinproto.store.slots import FOLDER
from joinproto.swarm.disk import Disk
from tests.durable.kind import APPLICATION, PLACE
from tests.durable.logs import LogOpen, open_log
from tests.recovery.disks import record as disk_record
from tests.store.inspection import inspect

VIEW = "1" * 64


def frames(count: int, first: int = 1) -> list[Frame]:
    return [Frame(VIEW, seq, b"%d" % seq * 20) for seq in range(first, first + count)]


def log_on(disk: Disk) -> LogOpen:
    """Return a log of ten frames, open."""
    disk.make(PLACE)
    opened = open_log(disk)
    opened.append(1, [b"text %d" % at for at in range(10)]).do()
    return opened


# -- records ---------------------------------------------------------------------------------------


def test_a_file_that_is_larger_than_the_limit_is_corrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_store(tmp_path, StoreRecord(store_id="a"), member="a").close()
    size = (tmp_path / FOLDER / META).stat().st_size
    monkeypatch.setattr(records, "FILE_BYTES_MAX", size)
    assert inspect(tmp_path).is_sound

    monkeypatch.setattr(records, "FILE_BYTES_MAX", size - 1)

    found = inspect(tmp_path).current
    assert (Validity.CORRUPT, f"is larger than {size - 1} bytes") == (found.validity, found.problem)


def test_a_generation_of_more_than_64_bits_is_corrupt() -> None:
    most = Envelope(2**63 - 1, b"{}")
    assert most == unseal(seal(most))

    found = unseal(seal(Envelope(2**63, b"{}")))

    assert isinstance(found, Fault)
    assert Validity.CORRUPT is found.validity


def test_the_error_says_whether_a_file_is_too_short_or_too_long() -> None:
    """A file that lost its end has another cause than a file that was overwritten."""
    whole = seal(Envelope(7, b"{}"))

    for data, problem in ((whole[:-1], "is cut off"), (whole + b"x", "has bytes after its")):
        found = unseal(data)
        assert isinstance(found, Fault)
        assert found.problem.startswith(problem)


def test_leftovers_of_an_interrupted_creation_are_removed_by_the_next_creation(
    tmp_path: Path,
) -> None:
    (tmp_path / FOLDER).mkdir()
    left = tmp_path / FOLDER / f"{META}.0123456789abcdef.tmp"
    left.write_bytes(b"joinproto st")

    create_store(tmp_path, StoreRecord(store_id="a"), member="a").close()

    assert not left.exists()


@pytest.mark.parametrize("call", ["write", "sync", "close", "sync_directory"])
def test_a_new_file_that_could_not_be_written_can_be_created_again(call: str) -> None:
    disk = Disk(Random(1))
    disk.make(PLACE)
    disk.fails_at = call
    with pytest.raises(OSError, match="Input/output error"):
        put_new(disk, PLACE / "plan", b"a plan")

    put_new(disk, PLACE / "plan", b"a plan")

    assert [b"a plan"] == [bytes(node.shown) for _, node in disk.copied(lambda: False).files()]
    with pytest.raises(FileExistsError):
        put_new(disk, PLACE / "plan", b"another")


def test_a_lock_names_only_its_present_holder(tmp_path: Path) -> None:
    """The text of the former holder was longer."""
    (tmp_path / LOCK).write_text("pid 4194304\nhost a-much-longer-name\nboot " + "f" * 200)
    folder = REAL.open_directory(tmp_path)
    file = take_lock(REAL, folder, tmp_path)

    holder = look_at_lock(REAL, folder).holder
    assert isinstance(holder, Holder)
    said = f"pid {holder.pid}\nhost {holder.host}\nboot {holder.boot_id}\n"
    assert said == (tmp_path / LOCK).read_text()
    let_go(REAL, file, folder)


# -- journals --------------------------------------------------------------------------------------


def test_a_tail_of_a_magic_word_and_zeros_is_cut(tmp_path: Path) -> None:
    """Length and checksum are zero: only a part of the first block reached the disk."""
    journal = Journal.open(tmp_path)
    journal.append(frames(2))
    journal.close()
    with (tmp_path / FILE).open("ab") as file:
        file.write(MAGIC + bytes(100))

    journal = Journal.open(tmp_path)

    assert (2, 104) == (journal.last_seq, journal.cut_bytes)
    journal.close()


@pytest.mark.parametrize("times", [3, 4, 6, 7])
@pytest.mark.parametrize("off", [-70, -1, 0])
def test_a_whole_record_after_damage_is_found_at_each_place(times: int, off: int) -> None:
    """The record may cross the border of two of the pieces that are read."""
    data = bytes(times * RECORD_BYTES_MAX + off) + record(Frame(VIEW, 5, bytes(2**20)), 400)

    found = surveys.survey(lambda at, length: data[at : at + length], len(data))

    assert found.problem == "byte 0: a damaged frame, which a later frame calls durable"


def test_a_record_longer_than_a_piece_is_read_and_no_byte_after_the_given_end() -> None:
    """A member may append while its journal is read."""
    first, second = (record(frame, 0) for frame in frames(2))
    data = first + second
    end = len(data) - 1

    def read(at: int, length: int) -> bytes:
        assert at + length <= end
        return data[at : at + length]

    found, problem = surveys.read_stretch(read, 0, 1, end, 10)
    assert found is not None
    assert (1, len(first), "") == (found.last, found.end, problem)
    assert (None, "") == surveys.read_stretch(read, found.end, 2, end, 10)


def test_a_base_with_a_line_longer_than_the_base_is_damaged() -> None:
    line = base_line((Run(VIEW, 1, 3),), APPLICATION)
    body = (len(line) - 3).to_bytes(4, "big") + line[4:]  # says one byte more than there is
    data = base_head(len(body), crc32(body)) + body

    assert DAMAGED == base_of(lambda at, length: data[at : at + length])


def test_a_base_that_is_shorter_than_its_length_says_is_damaged() -> None:
    """No checksum covers the length."""
    body = base_line((Run(VIEW, 1, 3),), APPLICATION) + b"state"
    data = base_head(len(body) + 8, crc32(body)) + body
    assert data.startswith(BASE_MAGIC)

    assert DAMAGED == base_of(lambda at, length: data[at : at + length])


def test_a_journal_is_read_although_its_index_is_damaged(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path)
    journal.append(frames(3))
    journal.close()
    (tmp_path / indexes.FILE).write_bytes(b"jpX1" + bytes(HEAD.size))

    journal = Journal.open(tmp_path)

    assert frames(3) == journal.read(1)
    journal.close()


def test_a_journal_with_dropped_frames_has_its_own_index_at_the_next_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = Disk(Random(1))
    opened = log_on(disk)
    opened.make_snapshot()
    opened.append(2, [b"behind it %d" % at for at in range(40)]).do()
    for work in dropping(opened.journal, lambda: None):
        work()
    opened.append(3, [b"last"]).do()
    opened.close()
    parsed_from: list[int] = []
    plain = surveys.read_stretch

    def read_stretch(read: surveys.Read, start: int, first: int, *rest: int) -> object:
        parsed_from.append(first)
        return plain(read, start, first, *rest)

    monkeypatch.setattr(surveys, "read_stretch", read_stretch)

    again = open_log(disk)

    assert (11, 51) == (again.journal.first_seq, again.journal.last_seq)
    assert all(11 < first for first in parsed_from)


@pytest.mark.parametrize("later", [40, 0])
def test_a_shorter_journal_has_the_base_and_all_later_frames(later: int) -> None:
    """The base is copied in several pieces, and so are the later frames, if there are any."""
    disk = Disk(Random(1))
    opened = log_on(disk)
    opened.append(2, [b"%d" % at * 20 for at in range(50)]).do()
    opened.make_snapshot()
    opened.append(3, [b"behind it %d" % at for at in range(later)]).do()
    for work in islice(dropping(opened.journal, lambda: None), 200):
        work()
    opened.close()

    again = open_log(disk)

    assert (61, 60 + later) == (again.journal.first_seq, again.journal.last_seq)
    assert opened.texts == again.texts


# -- snapshots -------------------------------------------------------------------------------------


def test_a_snapshot_that_was_made_is_there_after_a_loss_of_power() -> None:
    """No data are lost without it, but the next start would apply each frame again."""
    disk = Disk(Random(1))
    opened = log_on(disk)
    waiting: list[int] = []
    state = iter([bytes(1_000)])
    for work in snapshot.making(
        opened.journal,
        opened.journal.runs,
        APPLICATION,
        state,
        is_floor=False,
        when_made=lambda: None,
    ):
        work()
        waiting += [len(node.waiting) for name, node in disk.files() if snapshot.FILE in name]

    assert not any(waiting), "a piece of the snapshot was not on the disk when its work ended"
    after = disk.copied(lambda: False)
    found = snapshot.load(Journal.open(PLACE, files=after), snapshot.FILE, APPLICATION)
    assert found is not None
    assert bytes(1_000) == found.state


# -- recovery --------------------------------------------------------------------------------------


class NotingDisk(RealFileSystem):
    """Records each rename, and each sync of a directory."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def rename(self, directory: int, old: str, new: str) -> None:
        super().rename(directory, old, new)
        self.done.append(new)

    def sync_directory(self, directory: int) -> None:
        super().sync_directory(directory)
        self.done.append("sync")


def test_the_former_metadata_is_kept_durably_before_a_store_is_marked(tmp_path: Path) -> None:
    """Otherwise a loss of power may leave the mark without the backup."""
    create_store(tmp_path, disk_record("a", "F F.5", "F"), member="a").close()
    plan = plan_for(judge([read(gather(tmp_path, host="h"))]), unproven=True)
    files = NotingDisk()

    apply(plan, host="h", made={"who": "an operator", "when": "now"}, files=files)

    behind = files.done[files.done.index(backup_name(plan)) :]
    assert "sync" in behind[: behind.index(META)]
