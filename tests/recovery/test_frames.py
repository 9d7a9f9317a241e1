"""The recovery tool finds the same frames in a journal as a member, and changes no file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from joinproto.durable.filesystem import REAL
from joinproto.durable.journal.journal import FILE, Frame
from joinproto.durable.journal.journal import Journal as MemberJournal
from joinproto.errors import StoreCorrupt, StoreError
from joinproto.log.disk import open_disk
from joinproto.recovery import frames
from joinproto.recovery.frames import Journal, look_at_journal
from tests.join.pictures import views
from tests.recovery.asking import ask, ask_json, snapshot
from tests.recovery.disks import lay
from tests.recovery.nodes import make_node

CHAIN = "F C1:ab@F.2"


def write(path: Path, *runs: tuple[str, int], size: int = 5) -> None:
    """Write frames; `runs`: a view's name in `CHAIN`, and how many frames of this view."""
    drawn = views(CHAIN)
    journal = MemberJournal.open(path)
    try:
        for view, count in runs:
            for _ in range(count):
                seq = journal.last_seq + 1
                journal.append([Frame(str(drawn[view].id), seq, bytes(size))])
    finally:
        journal.close()


def look(path: Path) -> Journal | None:
    directory = os.open(path, os.O_RDONLY)
    try:
        return look_at_journal(REAL, directory)
    finally:
        os.close(directory)


def as_member(path: Path) -> object:
    """Return the runs that a member finds in a copy, or "corrupt" if it must not start."""
    with TemporaryDirectory() as name:
        copy = Path(shutil.copytree(path, Path(name) / "copy"))
        try:
            journal = MemberJournal.open(copy)
        except StoreCorrupt:
            return "corrupt"
        try:
            return journal.runs
        finally:
            journal.close()


@pytest.mark.parametrize("chunk", [50, 4 << 20])
def test_the_tool_finds_the_runs_that_a_member_finds(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The result does not depend on the size of the pieces in which the journal is read."""
    monkeypatch.setattr(frames, "CHUNK_BYTES", chunk)
    write(tmp_path, ("F", 2), ("C1", 30), size=70)
    before = snapshot(tmp_path)

    found = look(tmp_path)

    assert found is not None
    assert found.runs == as_member(tmp_path)
    assert "" == found.problem
    assert before == snapshot(tmp_path)


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_a_damaged_journal_is_judged_as_a_member_judges_it(seed: int) -> None:
    """A journal that is cut off, changed or followed by other bytes is torn or corrupt."""
    random = Random(seed)
    with TemporaryDirectory() as name:
        path = Path(name)
        write(path, ("F", random.randint(0, 3)), ("C1", random.randint(0, 4)))
        raw = bytearray((path / FILE).read_bytes())
        for _ in range(random.randint(0, 2)):
            match random.randrange(3):
                case 0:
                    del raw[random.randint(0, len(raw)) :]
                case 1 if raw:
                    raw[random.randrange(len(raw))] ^= 1 << random.randrange(8)
                case _:
                    raw += bytes(random.choices(b"jpF1\x00", k=random.randint(0, 60)))
        (path / FILE).write_bytes(raw)

        found = look(path)

        expected = as_member(path)
        assert found is not None
        assert expected == ("corrupt" if found.problem else found.runs)


def test_the_journal_says_where_a_store_ends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The metadata of a and b says frame 2, but their journals end at frames 5 and 7."""
    disks = lay(tmp_path, CHAIN, a="C1 F.2", b="C1 F.2", c="F F.1 of F")
    write(disks["a"], ("F", 2), ("C1", 3))
    write(disks["b"], ("F", 2), ("C1", 5))
    write(disks["c"], ("F", 2))
    before = snapshot(tmp_path)

    code, said = ask_json(capsys, "pick", *disks.values())
    files = []
    for name, path in disks.items():
        files.append(tmp_path.with_name(f"{tmp_path.name}-{name}.info"))
        files[-1].write_text(ask(capsys, "collect", path).out)
    carried, there = ask_json(capsys, "pick", *files)

    assert (0, "proven", [5, 7, 2]) == (
        code,
        said["verdict"],
        [store["seq"] for store in said["stores"]],
    )
    assert said["latest"][0].endswith("/b")
    assert (code, said["latest"]) == (carried, there["latest"])
    assert before == snapshot(tmp_path)


@pytest.mark.parametrize(
    ("runs", "problem"),
    [
        ((("F", 1),), "does not hold frame 2"),
        ((("C1", 2),), "does not hold frame 2"),
        ((), "has no frame: frames were lost"),
    ],
)
def test_a_store_without_the_frames_that_its_metadata_names_is_refused(
    runs: tuple[tuple[str, int], ...],
    problem: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A member refuses such a store, so no restart may begin from it."""
    disks = lay(tmp_path, CHAIN, a="C1 F.2", b="C1 F.2")
    write(disks["a"], *runs)

    done = ask(capsys, "pick", *disks.values())

    assert 1 == done.code
    assert problem in " ".join(done.out.split())


def test_a_store_with_a_journal_of_unknown_views_is_corrupt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The tip is durable before the first byte of its data."""
    disks = lay(tmp_path, "F", a="F -")
    write(disks["a"], ("F", 2), ("C1", 1))

    code, said = ask_json(capsys, "inspect", disks["a"])

    assert (1, "corrupt") == (code, said["stores"][0]["state"])


# -- journals that a member refuses --------------------------------------------------------------


def _remove(path: Path) -> None:
    (path / FILE).unlink()


def _zero(path: Path) -> None:
    with (path / FILE).open("r+b") as file:
        file.write(bytes(16))


def _link(path: Path) -> None:
    (path / FILE).rename(path / "elsewhere")
    (path / FILE).symlink_to(path / "elsewhere")


HARM = {"removed": _remove, "its first 16 bytes zeroed": _zero, "a link in its place": _link}


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("story", ["F", "F X@F.3"])
def test_stores_that_their_members_refuse_are_never_proven_clean_or_a_tie(
    harm: str, story: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A node refuses each of these stores."""
    at = "F.3" if "X" in story else "-"
    paths = [make_node(tmp_path / name, f"F {at}", story, ("F", 3)) for name in "abc"]
    before, _ = ask_json(capsys, "pick", *paths)
    for path in paths:
        HARM[harm](path)

    code, said = ask_json(capsys, "pick", *paths)

    assert 0 == before
    assert 0 != code
    assert said["verdict"] not in ("proven", "clean", "tie")
    for path in paths:
        with pytest.raises(StoreError):
            open_disk(path, path.name, "cluster")


def test_a_store_without_a_journal_is_corrupt_if_another_member_has_a_journal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Metadata of earlier versions does not say where the frames are."""
    disks = lay(tmp_path, "F", a="F -", b="F -", c="F -")
    for path in disks.values():
        write(path, ("F", 3))
    before, _ = ask_json(capsys, "pick", *disks.values())
    (disks["a"] / FILE).unlink()

    code, said = ask_json(capsys, "pick", *disks.values())

    assert (0, 1, "corrupt") == (before, code, said["stores"][0]["state"])
    assert f"{FILE}: is not there" in said["stores"][0]["problems"][0]


def test_without_any_journal_the_metadata_decides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broker may keep its frames elsewhere."""
    disks = lay(tmp_path, "F", a="F F.5", b="F F.4", c="F F.4")

    code, said = ask_json(capsys, "pick", *disks.values())

    assert (0, "proven") == (code, said["verdict"])


def test_the_metadata_of_a_store_without_its_journal_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`inspect` shows the store's id and its promise."""
    path = make_node(tmp_path / "a", "F -", "F", ("F", 3))
    (path / FILE).unlink()

    done = ask(capsys, "inspect", path)

    assert 1 == done.code
    assert "! frames.log: is not there" in done.out
    assert "a'" in done.out
    assert "\n  promised " in done.out
