"""Missing paths, forbidden paths and errors of the disk are distinguished in the reports.

Exit codes: 2 another path or other rights are needed, 1 the disk gave an error, 9 a write failed.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from joinproto.durable.filesystem import RealFileSystem
from joinproto.errors import JoinprotoError
from joinproto.recovery import writing
from joinproto.recovery.plan import load
from joinproto.recovery.sources import look
from joinproto.recovery.words import typed
from tests.cli.running import ROOT, Done, run_apart
from tests.needs import AS_NOBODY
from tests.recovery.asking import ask, ask_json, snapshot
from tests.recovery.disks import lay
from tests.recovery.nodes import make_node

MADE = {"who": "an operator", "when": "now", "host": "here", "tool": "0"}


def _three(folder: Path) -> list[Path]:
    return list(lay(folder, "F", a="F F.5", b="F F.4", c="F F.4").values())


# -- another path --------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["inspect", "collect", "compare", "pick", "plan", "mark-clean"])
@pytest.mark.parametrize("where", ["mistyped", "a/joinproto/store.meta/x", "loop", "x" * 300])
def test_a_missing_path_gives_exit_code_2_and_is_not_called_corrupt(
    command: str, where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names stores next to the path."""
    paths = _three(tmp_path)
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    more = ("-o", tmp_path / "plan") if command == "plan" else ()

    done = ask(capsys, command, tmp_path / where, *more)

    assert 2 == done.code, done.out + done.err
    assert "is not there" in done.err
    assert "corrupt" not in done.err
    assert "" == done.out
    if "/" not in where:
        assert str(paths[0]) in done.err


def test_undo_of_a_missing_path_gives_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says that the path is not there."""
    done = ask(capsys, "undo", tmp_path / "mistyped")

    assert 2 == done.code
    assert "is not there" in done.err


@pytest.mark.parametrize("kind", ["auto", "joinproto"])
def test_the_error_about_a_directory_of_stores_names_the_stores_in_it(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command in the line `next` can be typed as it is."""
    folder = tmp_path / "my brokers"
    paths = _three(folder)

    done = ask(capsys, "pick", "--format", kind, folder)

    assert 2 == done.code
    assert "3 data directories are in it" in done.err
    option = "" if kind == "auto" else f"--format {kind} "
    stores = " ".join(typed(str(path)) for path in paths)
    assert f"next: joinproto recover pick {option}{stores}" in done.err


# -- other rights --------------------------------------------------------------------------------


@pytest.fixture
def shared() -> Iterator[Path]:
    """Yield a folder that every user can reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def _as_nobody(*words: object) -> Done:
    command = [sys.executable, "-B", "-m", "joinproto", "recover", *map(str, words)]
    done = subprocess.run(
        [*AS_NOBODY, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


LOCKED = ["b", "b/joinproto/store.meta", "b/joinproto/store.lock", "b/frames.log"]


@pytest.mark.needs("root", "nobody may run joinproto")
@pytest.mark.parametrize("what", LOCKED)
def test_a_file_that_may_not_be_read_gives_exit_code_2_and_advises_sudo(
    what: str, shared: Path
) -> None:
    """A file whose content is unknown is not called corrupt."""
    paths = [make_node(shared / name, "F -", "F", ("F", 2)) for name in "abc"]
    for path in shared.rglob("*"):
        path.chmod(0o755)
    (shared / what).chmod(0)

    done = _as_nobody("collect" if what == "b" else "pick", *paths)

    assert 2 == done.code, done.out + done.err
    assert "may not be read by this user" in done.err
    assert "sudo" in done.err
    assert "" == done.out


@pytest.mark.needs("root", "nobody may run joinproto")
def test_the_error_about_a_directory_of_stores_names_the_forbidden_directories(
    shared: Path,
) -> None:
    """Otherwise the line `next` would name two stores, and the third would be forgotten."""
    for name in "abc":
        make_node(shared / name, "F -", "F", ("F", 2))
    for path in shared.rglob("*"):
        path.chmod(0o755)
    (shared / "b").chmod(0)

    done = _as_nobody("pick", shared)

    assert 2 == done.code, done.out + done.err
    assert "this user may not read b in it" in done.err
    assert "sudo" in done.err


@pytest.mark.needs("root", "nobody may run joinproto")
def test_a_write_by_a_user_who_may_only_read_gives_exit_code_2_and_advises_sudo(
    shared: Path,
) -> None:
    """apply and undo leave the store's directory as it was."""
    path = make_node(shared / "a", "F -", "F", ("F", 2))
    for each in shared.rglob("*"):
        each.chmod(0o755)
    plan = run_apart("recover", "plan", "--unproven", str(path), "-o", str(shared / "p"), "--json")
    agreed = ("--unproven", "--yes", "--plan-hash", plan.object["plan"]["hash"])
    before = snapshot(path)

    found = [_as_nobody("apply", shared / "p", *agreed), _as_nobody("undo", path)]

    assert [2, 2] == [done.code for done in found], found
    assert all("sudo" in done.err for done in found)
    assert before == snapshot(path)


# -- another disk --------------------------------------------------------------------------------


class _BadDisk(RealFileSystem):
    """A disk that returns an error for one name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def open_to_read(self, directory: int, name: str) -> int:
        if name == self.name:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().open_to_read(directory, name)

    def open_directory_in(self, directory: int, name: str) -> int:
        if name == self.name:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return super().open_directory_in(directory, name)


@pytest.mark.parametrize("name", ["store.meta", "store.lock", "frames.log", "joinproto"])
def test_a_store_with_an_error_of_the_disk_is_unreadable(name: str, tmp_path: Path) -> None:
    """The store is unreadable, and neither corrupt nor absent."""
    path = make_node(tmp_path / "a", "F -", "F", ("F", 2))

    (found,) = look([str(path)], files=_BadDisk(name)).stores

    assert "unreadable" == found.state.value
    assert any("Input/output error" in problem for problem in found.problems)


@pytest.mark.parametrize(
    "name", ["store.meta", "store.meta.previous", "store.lock", "frames.log", "joinproto"]
)
def test_a_write_to_a_disk_with_errors_gives_exit_code_9(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The disk returns EIO for one of the files or for the folder."""
    path = make_node(tmp_path / "a", "F -", "F", ("F", 2))
    assert 0 == ask(capsys, "plan", "--unproven", path, "-o", tmp_path / "p").code
    plan = load((tmp_path / "p").read_bytes(), name="p")

    with pytest.raises(JoinprotoError) as applied:
        writing.apply(plan, host="here", made=MADE, files=_BadDisk(name))

    assert 9 == applied.value.code
    if name in ("store.meta", "joinproto"):
        with pytest.raises(JoinprotoError) as undone:
            writing.undo(path, host="here", made=MADE, files=_BadDisk(name))
        assert 9 == undone.value.code


@pytest.mark.landing
@pytest.mark.needs("strace", "ptrace")
@pytest.mark.parametrize("call", ["openat", "read,pread64", "getdents64,flock"])
def test_the_real_command_reports_errors_of_the_kernel_without_a_traceback(
    call: str, tmp_path: Path
) -> None:
    """Each call that touches the store fails once with EIO, which is never reported as a bug."""
    paths = [make_node(tmp_path / "a", "F -", "F", ("F", 2))]
    command = [sys.executable, "-B", "-m", "joinproto", "recover", "pick", *map(str, paths)]

    def traced(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["strace", "-f", "-qq", "-y", *words, *command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )

    log = tmp_path / "log"
    traced("-o", str(log), "-e", f"trace={call}")
    lines = [re.match(r"\d+ +(\w+)\(.*", line) for line in log.read_text().splitlines()]
    numbered = [(found[1], found[0]) for found in lines if found]
    ours = [
        (name, [one for one, _ in numbered[: at + 1]].count(name), line)
        for at, (name, line) in enumerate(numbered)
        if str(tmp_path) in line
    ]
    assert ours
    before = snapshot(paths[0])

    for name, at, line in ours:
        done = traced("-o", "/dev/null", "-e", f"inject={name}:error=EIO:when={at}")

        assert done.returncode in (0, 1, 5), (line, done.stderr)
        assert "Traceback" not in done.stderr
        if done.returncode != 5:
            assert "Input/output error" in done.stdout + done.stderr, line
    assert before == snapshot(paths[0])


@pytest.mark.needs("unshare", "root", "mounts")
def test_on_a_read_only_mount_reading_works_and_writing_gives_exit_code_9(tmp_path: Path) -> None:
    """Operators mount a broken disk read-only."""
    paths = _three(tmp_path / "disks")
    mount = tmp_path / "mount"
    mount.mkdir()
    recover = f"{sys.executable} -m joinproto recover"
    names = " ".join(f"{mount}/{path.name}" for path in paths)
    script = (
        f"mount --bind {tmp_path / 'disks'} {mount} && mount -o remount,ro,bind {mount}"
        f" && ! touch {mount}/x 2>/dev/null"
        f" && for command in inspect compare pick; do {recover} $command {names}; echo =$?; done"
        f" && {recover} plan {names} -o {tmp_path}/plan; echo =$?"
        f"; {recover} plan {names} -o {mount}/plan; echo =$?"
        f'; hash=$(sed -n \'s/.*"hash": "\\(.*\\)",/\\1/p\' {tmp_path}/plan)'
        f"; {recover} apply {tmp_path}/plan --yes --plan-hash $hash; echo =$?"
        f"; {recover} undo {mount}/a; echo =$?"
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    codes = [int(line[1:]) for line in done.stdout.splitlines() if line.startswith("=")]

    assert [0, 0, 0, 0, 9, 9, 9] == codes, done.stdout + done.stderr
    assert "Read-only file system" in done.stderr


# -- names that a shell reads otherwise ----------------------------------------------------------


FOLDERS = ["two words", 'a\'b "c"', "$HOME;`id`", "\x1b[31mred", "-dash"]


@pytest.mark.parametrize(
    "folder", ["new\nline", *(pytest.param(name, marks=pytest.mark.landing) for name in FOLDERS)]
)
def test_the_next_command_can_be_typed(folder: str, tmp_path: Path) -> None:
    """This holds for pick, plan and compare; names of folders cannot control a terminal."""
    top = tmp_path / folder
    top.mkdir()
    _three(top)
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (bin_ / "joinproto").write_text(f'#!/bin/sh\nexec {sys.executable} -m joinproto "$@"\n')
    (bin_ / "joinproto").chmod(0o755)

    def shell(line: str) -> Done:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=ROOT,
            env={**os.environ, "PATH": f"{bin_}:{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert "\x1b" not in done.stdout + done.stderr
        return Done(done.returncode, done.stdout, done.stderr)

    def last(done: Done) -> str:
        (line,) = (one for one in done.out.splitlines() if one.startswith("next: "))
        return line.removeprefix("next: ")

    first = shell("joinproto recover pick " + " ".join(typed(str(top / name)) for name in "abc"))
    plan = last(first).replace("-o plan.json", f"-o {typed(str(top / 'plan.json'))}")
    planned = shell(plan)
    agreed = load((top / "plan.json").read_bytes(), name="plan")
    apply = f"joinproto recover {planned.out.rpartition('joinproto recover ')[2].strip()}"
    applied = shell(f"{apply} --yes --plan-hash {agreed.hash}")
    compared = shell("joinproto recover compare " + plan.split(" -o ")[0].split(" plan ")[1])
    again = shell(last(compared))

    assert [0, 0, 0, 0, 0] == [done.code for done in (first, planned, applied, compared, again)], (
        applied.err
    )
    assert plan.startswith("joinproto recover plan ")
    assert "Traceback" not in applied.err


def test_a_name_cannot_forge_a_line_of_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A directory has a name that looks like an answer."""
    top = tmp_path / "x\nPROVEN: all is well\nnext: rm"
    top.mkdir()
    paths = _three(top)

    done = ask(capsys, "pick", *paths[:2])
    _, said = ask_json(capsys, "pick", *paths[:2])

    assert 5 == done.code
    assert not any(line.startswith(("PROVEN", "next: rm")) for line in done.out.splitlines())
    assert str(paths[0]) == said["stores"][0]["path"]


def test_verify_quotes_the_configuration_file_in_the_next_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name of the configuration file has a blank."""
    file = tmp_path / "my node.toml"
    file.write_text('member = "a"\ncluster = "cluster"\ndata = "a"\nelectors = ["a"]\n')

    done = ask(capsys, "verify", "--config", file)

    assert 1 == done.code
    assert f"joinproto node --config {typed(str(file))}" in done.out
    assert typed(str(file)) != str(file)
