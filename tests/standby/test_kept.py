"""A broker's store is whole after every kill, and no older record replaces a younger one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from attrs import evolve

from joinproto.apps.standby.keeping import disk as keeping
from joinproto.apps.standby.keeping.disk import Disk, open_disk
from joinproto.apps.standby.keeping.form import (
    BrokerRecord,
    Declared,
    Deleted,
    Put,
    Taken,
    Together,
    action_of,
    as_bytes,
)
from joinproto.errors import MisuseError, StoreCorrupt, StoreError, StoreForeign, StoreInUse
from joinproto.standby.messages import Kind, View, WiringItem
from tests.store.crashes import DoesNotWait, Files, Judge, enumerate_crashes, lay
from tests.store.recording import RECORDERS, Killed, LeftOut, Legal, Recording

QUEUE = Declared(WiringItem(kind=Kind.QUEUE, name="q", id="i1", durable=True))


def view(generation: int, *members: str, primary: str = "a", number: int = 1) -> View:
    return View(generation=generation, number=number, primary=primary, members=members)


LIFE = (
    BrokerRecord(broker="a"),
    BrokerRecord(broker="a", cluster="c", view=view(1, "a"), clean=False),
    BrokerRecord(broker="a", cluster="c", view=view(1, "a", "b", number=2), clean=False),
    BrokerRecord(broker="a", cluster="c", view=view(1, "a", "b", number=2)),
    BrokerRecord(broker="a", cluster="c", view=view(3, "a", "b", primary="b"), clean=False),
)


def put(number: int) -> Put:
    return Put("q", f"1.a.{number}", number, b"body %d" % number)


def ids(disk: Disk) -> list[str]:
    return [one.id for one in disk.queues["q"].in_order]


def test_written_records_are_read_again(tmp_path: Path) -> None:
    """H2, H4, H10: generation, view, and the messages' identities and places are on the disk."""
    with open_disk(tmp_path, "a", brokers=("a", "b")) as disk:
        disk.write(evolve(LIFE[2], brokers=("a", "b")))
        disk.append([QUEUE, put(3), put(1), put(2)])
        disk.append([Taken("q", "1.a.1"), Declared(evolve(QUEUE.thing, name="gone", id="i2"))])
        disk.append([Deleted("gone", "i2")])

    with open_disk(tmp_path, "a") as again:
        assert evolve(LIFE[2], brokers=("a", "b")) == again.kept
        assert ["1.a.2", "1.a.3"] == ids(again)
        assert ["q"] == list(again.queues)
        assert 9 == again.position  # two of the frames say how many actions belong together


@pytest.mark.usefixtures("no_sync")
def test_a_torn_tail_leaves_all_or_none_of_the_actions_written_together(tmp_path: Path) -> None:
    """LM3: a transaction that is only partly on disk was not confirmed, and is left out."""
    with open_disk(tmp_path, "a") as disk:
        disk.append([QUEUE, put(1)])
        begins = disk.journal.size
        disk.append([Taken("q", "1.a.1"), put(2), put(3)])
        whole = (tmp_path / "frames.log").read_bytes()
    found = set()
    for size in range(begins, len(whole) + 1):
        (tmp_path / "frames.index").unlink(missing_ok=True)
        (tmp_path / "frames.log").write_bytes(whole[:size])
        with open_disk(tmp_path, "a") as disk:
            before = ids(disk)
            disk.append([put(4)])
        with open_disk(tmp_path, "a") as disk:
            assert [*before, "1.a.4"] == ids(disk)
        found.add(tuple(before))

    assert {("1.a.1",), ("1.a.2", "1.a.3")} == found


@pytest.mark.parametrize(
    "action", [QUEUE, put(1), Taken("q", "x"), Deleted("q", "i1"), Together(2)]
)
def test_an_action_comes_back_from_its_bytes(action: object) -> None:
    assert action == action_of(as_bytes(action))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "other",
    [
        evolve(LIFE[4], view=view(2, "a")),
        evolve(LIFE[4], broker="b"),
        evolve(LIFE[4], cluster="another"),
    ],
)
def test_a_record_is_not_replaced_by_an_older_or_foreign_one(
    tmp_path: Path, other: BrokerRecord
) -> None:
    """H2: the other record has an older generation, or is of another broker or cluster."""
    with open_disk(tmp_path, "a") as disk:
        disk.write(LIFE[4])

        with pytest.raises(MisuseError, match="over"):
            disk.write(other)

        assert LIFE[4] == disk.kept


def test_a_copied_back_file_is_refused(tmp_path: Path) -> None:
    """The previous file shows that a younger record was written."""
    at = tmp_path / "standby" / "store.meta"
    with open_disk(tmp_path, "a") as disk:
        disk.write(LIFE[1])
        old = at.read_bytes()
        disk.write(LIFE[2])
        disk.write(LIFE[4])
    at.write_bytes(old)

    with pytest.raises(StoreCorrupt, match="not the generation that was written last"):
        open_disk(tmp_path, "a")


def test_a_store_is_of_one_broker_and_of_one_process(tmp_path: Path) -> None:
    with open_disk(tmp_path, "a"), pytest.raises(StoreInUse, match="in use"):
        open_disk(tmp_path, "a")
    with pytest.raises(StoreForeign, match="store of broker 'a'"):
        open_disk(tmp_path, "b")


def test_a_store_is_of_the_cluster_whose_name_it_has(tmp_path: Path) -> None:
    """A store of an earlier version has no name, and gets one."""
    with open_disk(tmp_path, "a"):
        pass
    with open_disk(tmp_path, "a", cluster="orders"):
        pass

    with pytest.raises(StoreForeign, match="of cluster 'orders', expected 'others'"):
        open_disk(tmp_path, "a", cluster="others")

    with open_disk(tmp_path, "a") as disk:
        assert "orders" == disk.kept.name


@pytest.mark.parametrize("left", [0, 1, 7])
@pytest.mark.parametrize("garbage", [b"", bytes(range(200))])
def test_lost_frames_that_were_on_the_disk_are_detected(
    tmp_path: Path, left: int, garbage: bytes
) -> None:
    """H9: otherwise a primary that lost frames makes its backups drop theirs, too."""
    with open_disk(tmp_path, "a") as disk:
        disk.append([QUEUE, put(1), put(2)])
        disk.write(LIFE[3])
    frames = tmp_path / "frames.log"
    damaged = frames.read_bytes()[:left] + garbage
    frames.write_bytes(damaged)

    with pytest.raises(StoreCorrupt, match=r"has no frame, and frame 4 was on the disk"):
        open_disk(tmp_path, "a")

    assert damaged == frames.read_bytes()


def test_a_missing_part_of_the_store_is_detected(tmp_path: Path) -> None:
    """Messages without metadata, or metadata without messages, are not a new store."""
    with open_disk(tmp_path, "a") as disk:
        disk.write(LIFE[1])
        disk.append([QUEUE])
    (tmp_path / "frames.log").rename(tmp_path / "elsewhere")
    with pytest.raises(StoreCorrupt, match=r"no frames\.log"):
        open_disk(tmp_path, "a")
    (tmp_path / "elsewhere").rename(tmp_path / "frames.log")
    for each in (tmp_path / "standby").glob("store.meta*"):
        each.unlink()
    with pytest.raises(StoreCorrupt, match="no metadata"):
        open_disk(tmp_path, "a")


def test_a_flipped_byte_is_found(tmp_path: Path) -> None:
    """The byte is in the metadata, or in the durable part of the messages."""
    with open_disk(tmp_path, "a") as disk:
        disk.write(LIFE[1])
        disk.append([QUEUE, put(1)])
        disk.append([put(2)])
    for name in ("standby/store.meta", "frames.log"):
        at = tmp_path / name
        whole = at.read_bytes()
        middle = len(whole) // 2
        at.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        with pytest.raises(StoreError):
            open_disk(tmp_path, "a")
        at.write_bytes(whole)


@pytest.mark.usefixtures("no_sync")
def test_a_long_journal_is_made_shorter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that left the queues are removed from the disk; the others stay."""
    monkeypatch.setattr(keeping, "COMPACT_BYTES", 40_000)
    with open_disk(tmp_path, "a") as disk:
        disk.write(LIFE[1])
        disk.append([QUEUE])
        for first in range(1, 1_000, 20):
            disk.append([put(n) for n in range(first, first + 20)])
            disk.append([Taken("q", f"1.a.{n}") for n in range(first, first + 19)])
        left = ids(disk)
        size = disk.journal.size
        assert disk.journal.first_seq > 1

    assert 50 == len(left)
    assert size < 100_000
    with open_disk(tmp_path, "a") as again:
        assert left == ids(again)
        again.append([put(2_000)])
    with open_disk(tmp_path, "a") as again:
        assert [*left, "1.a.2000"] == ids(again)
    assert {"frames.index", "frames.log", "standby"} == {one.name for one in tmp_path.iterdir()}


# -- kills ---------------------------------------------------------------------------------


class StoreJudge(Judge):
    """Opens a state as a broker would after a restart."""

    def _opened(self, files: Files | None) -> object:
        with TemporaryDirectory() as name:
            path = Path(name)
            (path / "frames.log").touch()  # tests/log searches the crashes of this file
            if files is not None:
                lay(path, dict(files), name="standby")
            try:
                with open_disk(path, "a", files=DoesNotWait()) as disk:
                    return disk.kept
            except StoreError as error:
                return f"{type(error).__name__}: {error}"


JUDGE = StoreJudge()


def live(path: Path, files: Recording) -> None:
    """Write the metadata of LIFE in turn; record the legal states after a crash at each point."""
    files.diary.append(Legal(frozenset({LIFE[0]})))
    disk = open_disk(path, "a", files=files)
    for before, kept in pairwise(LIFE):
        files.diary.append(Legal(frozenset({before, kept})))
        disk.write(kept)
        files.diary.append(Legal(frozenset({kept})))
    files.die()


@pytest.mark.usefixtures("no_sync")
def test_after_a_power_failure_the_old_or_the_new_store_is_there(tmp_path: Path) -> None:
    """This holds in each state that a crash after any operation may leave on the disk."""
    files = Recording()
    live(tmp_path, files)

    found = enumerate_crashes(files.diary, JUDGE, folder="standby")

    assert found.bad is None
    assert found.states > 300
    assert 2 * (len(LIFE) - 1) == found.choices


@pytest.mark.usefixtures("no_sync")
@pytest.mark.parametrize("leaves", [LeftOut.FILE_SYNC, LeftOut.DIRECTORY_SYNC, LeftOut.RENAME])
def test_a_step_that_is_left_out_is_found(tmp_path: Path, leaves: LeftOut) -> None:
    """The test above can fail."""
    files = RECORDERS[leaves]()
    live(tmp_path, files)

    assert enumerate_crashes(files.diary, JUDGE, folder="standby").bad is not None


def _write_both(disk: Disk) -> None:
    for kept in (LIFE[2], LIFE[4]):
        disk.write(kept)


def test_a_broker_that_is_killed_at_any_write_leaves_a_whole_store(tmp_path: Path) -> None:
    """The process dies at each operation of a write, and the machine goes on."""
    for kill_in in range(12):
        path = tmp_path / str(kill_in)
        with open_disk(path, "a") as disk:
            disk.write(LIFE[1])
        files = Recording()
        files.names_now = {
            ("standby", name.name): files.inodes + at
            for at, name in enumerate(sorted((path / "standby").iterdir()), start=1)
        } | {("data", "standby"): 99}
        files.inodes = 100
        disk = open_disk(path, "a", files=files)
        files.kill_in = kill_in
        with pytest.raises(Killed):
            _write_both(disk)
        files.die()
        disk.journal.close()

        with open_disk(path, "a") as again:
            assert again.kept in (LIFE[1], LIFE[2], LIFE[4])
            assert again.kept.view.age >= disk.kept.view.age


WRITER = """
import sys
from itertools import pairwise
from pathlib import Path
from attrs import evolve
from joinproto.apps.standby.keeping.disk import open_disk
from tests.standby.test_kept import LIFE, QUEUE, put
disk = open_disk(Path(sys.argv[1]), "a")
disk.write(LIFE[1])
disk.append([QUEUE])
for number in range(1, 100_000):
    disk.append([put(number)])
    print(number, flush=True)
"""


@pytest.mark.soak("stores")
def test_a_reported_write_survives_a_kill(tmp_path: Path) -> None:
    """A real process is killed with kill -9; no write that it reported is lost."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parents[2],
    ) as process:
        assert process.stdout is not None
        told = [int(process.stdout.readline()) for _ in range(50)]
        os.kill(process.pid, signal.SIGKILL)
        told += [int(line) for line in process.stdout if line.endswith(b"\n")]

    with open_disk(tmp_path, "a") as again:
        assert {f"1.a.{number}" for number in told} <= set(ids(again))
