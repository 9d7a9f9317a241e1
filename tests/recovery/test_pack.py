"""Packs: a shell script reads stores on machines without joinproto; `recover` reads the pack."""

from __future__ import annotations

import io
import random
import shutil
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from joinproto.errors import StoreError
from joinproto.recovery import pack
from joinproto.recovery.gather import gather
from joinproto.recovery.sources import look
from tests.recovery.foreign.directories import DATA
from tests.recovery.foreign.test_etcd import write_tree
from tools import pack_script
from tools.histories.trees import loaded

OF_OURS = Path(__file__).parent / "written" / "0.1.0"


def packed(tmp_path: Path, *directories: Path, code: int = 0) -> Path:
    """Return the pack of these directories; the script runs without environment variables."""
    script, made = tmp_path / "joinproto-pack.sh", tmp_path / "all.pack"
    script.write_text(pack_script.script())
    with made.open("wb") as output:
        done = subprocess.run(
            ["/bin/sh", str(script), *map(str, directories)], stdout=output, env={}, check=False
        )
    assert code == done.returncode
    return made


def nodes() -> list[Path]:
    return sorted(path for path in DATA.glob("*/*") if path.is_dir() and "@" in path.name)


def test_a_pack_has_the_paths_and_the_files_of_its_directories(tmp_path: Path) -> None:
    """A pack has the original paths, and every byte of every file that `recover` reads.

    The stores are those of RabbitMQ, Galera and Qpid.
    """
    galera = [path for path in sorted(DATA.glob("galera-*/*")) if path.is_dir()]
    qpid = tmp_path / "a broker" / "qpid"
    (qpid / "cluster").mkdir(parents=True)
    (qpid / "cluster" / "store.status").write_text("00000000-0000-0000-0000-000000000001\n")
    link = tmp_path / "called"
    link.symlink_to(nodes()[0])
    directories = [*nodes()[1:], *galera, qpid, link]

    found = look([str(packed(tmp_path, *directories))])

    there = [gather(path, host="h") for path in directories]
    assert [raw.path for raw in there] == [one.path for one in found.stores]
    assert [raw.digest for raw in there] == [one.raw.digest for one in found.stores]
    assert "called" == found.stores[-1].raw.called


def test_a_pack_of_a_joinproto_store_has_a_note_about_the_lock(tmp_path: Path) -> None:
    """The script cannot see a lock; the store's files are the same."""
    found = look([str(packed(tmp_path, OF_OURS / "a"))])

    (other,) = look([str(OF_OURS / "a")]).stores
    assert other.record is not None
    assert [other.raw.digest] == [one.raw.digest for one in found.stores]
    assert [pack.UNSEEN] == list(found.notes)


def run_script(tmp_path: Path, *words: str | Path) -> tuple[int, str, str]:
    """Return the script's exit code, standard output and standard error."""
    (tmp_path / "joinproto-pack.sh").write_text(pack_script.script())
    command = ["/bin/sh", "joinproto-pack.sh", *map(str, words)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, env={}, check=False, text=True
    )
    return done.returncode, done.stdout, done.stderr


def test_the_script_without_arguments_prints_its_usage(tmp_path: Path) -> None:
    """The usage says which directory to give, and how to use the pack."""
    code, out, err = run_script(tmp_path)

    assert (2, "") == (code, out)
    assert all(word in err for word in ("DIR...", "/var/lib/mysql", "recover pick *.pack"))
    assert (0, "", err) == run_script(tmp_path, "--help")


def test_a_directory_without_a_file_that_is_read_is_not_packed_as_blank(tmp_path: Path) -> None:
    """The script lists the names in such a directory, and fails.  A blank disk is packed."""
    (tmp_path / "all" / "db1").mkdir(parents=True)
    (tmp_path / "blank" / "lost+found").mkdir(parents=True)

    code, out, err = run_script(tmp_path, "all")
    (blank,) = look([str(packed(tmp_path, tmp_path / "blank"))]).stores

    assert (2, False) == (code, out.endswith("end\n"))
    assert "has no file that recover reads, only: db1" in err
    assert "none" == blank.state.value


def test_a_joinproto_store_whose_files_are_gone_is_not_a_blank_disk(tmp_path: Path) -> None:
    (tmp_path / "a" / "joinproto").mkdir(parents=True)

    (one,) = look([str(packed(tmp_path, tmp_path / "a"))]).stores

    assert [gather(tmp_path / "a", host="h").digest] == [one.raw.digest]
    assert "joinproto" == (one.format and one.format.value)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """The link is reported as a problem of the file."""
    shutil.copytree(DATA / "galera-stopped-in-turn" / "n1", tmp_path / "a")
    (tmp_path / "a" / "grastate.dat").rename(tmp_path / "elsewhere")
    (tmp_path / "a" / "grastate.dat").symlink_to(tmp_path / "elsewhere")

    (one,) = look([str(packed(tmp_path, tmp_path / "a"))]).stores

    assert "symbolic link" in one.raw.file("grastate.dat").problem


def test_a_temporary_folder_may_lie_below_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On some systems the folder lies below a link, which is not a part of the pack."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "link"))

    (one,) = look([str(packed(tmp_path, DATA / "galera-stopped-in-turn" / "n1"))]).stores

    assert one.seq == 6


def test_the_program_of_unreadable_data_in_a_pack_is_named(tmp_path: Path) -> None:
    (tmp_path / "zoo" / "version-2").mkdir(parents=True)

    (one,) = look([str(packed(tmp_path, tmp_path / "zoo"))]).stores

    assert "ZooKeeper" in one.problems[0]


@pytest.mark.parametrize("given", [(), ("nowhere",)])
def test_the_script_refuses_directories_that_do_not_exist(
    tmp_path: Path, given: tuple[str, ...]
) -> None:
    packed(tmp_path, *(tmp_path / name for name in given), code=2)


def test_the_script_refuses_files_that_it_cannot_read(tmp_path: Path) -> None:
    """If the script left such a file out in silence, it would look like a missing file.

    A FIFO stands for the file here.
    """
    (tmp_path / "a").mkdir()
    subprocess.run(["mkfifo", str(tmp_path / "a" / "grastate.dat")], check=True)

    packed(tmp_path, tmp_path / "a", code=2)


def test_the_checksum_is_that_of_cksum() -> None:
    """The checksum may be computed in pieces."""
    for data in (b"", b"joinproto\n", bytes(range(256)) * 300):
        done = subprocess.run(["cksum"], input=data, capture_output=True, check=True)
        register = pack.checksum(data[7:], pack.checksum(data[:7]))

        assert done.stdout.split()[:2] == [
            b"%d" % pack.finished(register, len(data)),
            b"%d" % len(data),
        ]


def test_a_damaged_pack_gives_no_wrong_file_contents(tmp_path: Path) -> None:
    """Cut off at any place, a pack is refused.  With a byte changed, it gives no wrong contents.

    A changed name is not noticed, because names have no checksum.
    """
    made = packed(tmp_path, nodes()[0])
    whole = made.read_bytes()
    contents = {file.data for one in look([str(made)]).stores for file in one.raw.files}
    chance = random.Random(7)

    for _ in range(100):
        at = chance.randrange(len(whole))
        changed = bytearray(whole)
        changed[at] ^= 1 << chance.randrange(8)
        with pytest.raises(StoreError, match="x: ") as refused:
            pack.read(io.BytesIO(whole[:at]), name="x")
        assert refused.value.next
        with suppress(StoreError):
            # The names of the host, the path and the files have no checksum.
            for raw in pack.read(io.BytesIO(bytes(changed)), name="x"):
                assert {file.data for file in raw.files} <= contents | {None}


@pytest.mark.parametrize("name", ["../up", "/etc/x", "a/../../b", ""])
def test_a_file_name_that_leads_out_of_the_pack_is_refused(name: str) -> None:
    text = f"joinproto-pack 1\nhost h\ndirectory /a\nfile 4294967295 0 {name}\n\nend\n"

    with pytest.raises(StoreError):
        pack.read(io.BytesIO(text.encode()), name="x")


@pytest.mark.parametrize("name", ["etcd-away/a.tree", "postgresql-forked/a.tree"])
def test_a_directory_with_large_files_is_packed_too(tmp_path: Path, name: str) -> None:
    directory = write_tree(loaded((DATA / name).read_text("utf-8")), tmp_path / "data")

    (packed_one,) = look([str(packed(tmp_path, directory))]).stores
    (here,) = look([str(directory)]).stores

    assert packed_one.facts == here.facts
    assert packed_one.state is here.state


def test_packs_may_follow_each_other_in_one_file(tmp_path: Path) -> None:
    """`cat` makes such a file; other bytes after the packs are refused."""
    both = b"".join(packed(tmp_path, one).read_bytes() for one in nodes()[:2])

    (tmp_path / "both.pack").write_bytes(both)
    assert len(look([str(tmp_path / "both.pack")]).stores) == 2

    (tmp_path / "both.pack").write_bytes(both + b"more")
    with pytest.raises(StoreError, match="after its end"):
        look([str(tmp_path / "both.pack")])
