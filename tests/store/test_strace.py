"""A real process is run once for each of its system calls: the call fails or kills the process.

The calls are counted in a run without faults.  No part of joinproto is replaced here: strace makes
the kernel return the error or send the signal.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import frozen

from joinproto.errors import StoreMissing
from joinproto.store.handle import create_store, open_store
from joinproto.store.slots import CURRENT, FOLDER
from tests.store.writer import first, number_of

REPOSITORY = Path(__file__).resolve().parents[2]
CALLS = ("openat", "mkdirat", "flock", "ftruncate", "write", "fsync", "renameat", "unlinkat")

pytestmark = [pytest.mark.landing, pytest.mark.needs("strace", "ptrace")]


@frozen
class Call:
    """The call of this name and number, counted over the whole life of the process."""

    name: str
    number: int


def prepare(path: Path, scenario: str) -> Path:
    """Return a data directory: empty, or with a store and a temporary file that a crash left."""
    path.mkdir()
    if scenario == "open":
        create_store(path, first(), member="a").close()
        (path / FOLDER / f"{CURRENT}.0123456789abcdef.tmp").touch()
    return path


def traced(path: Path, *words: str, kills: bool = False) -> "subprocess.CompletedProcess[str]":
    """Run the writer, for two writes, under strace."""
    # strace 6.1 injects no signal under a filter.
    strace = ["strace", "-f", *(() if kills else ("--seccomp-bpf",)), "-qq", *words]
    return subprocess.run(
        [*strace, sys.executable, "-B", "-m", "tests.store.writer", str(path), "2"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )


def calls(path: Path, log: Path) -> list[Call]:
    """Return the calls of a run without faults, from the opening of the data directory on."""
    done = traced(path, "-o", str(log), "-e", f"trace={','.join(CALLS)}")
    assert 0 == done.returncode, done.stderr
    counted = dict.fromkeys(CALLS, 0)
    found: list[Call] = []
    for line in log.read_text().splitlines():
        match = re.match(r"\d+ +(\w+)\(", line)
        if match is None or match[1] not in counted:
            continue
        counted[match[1]] += 1
        if found or str(path) in line:
            found.append(Call(match[1], counted[match[1]]))
    return found


@pytest.mark.parametrize("scenario", ["create", "open"])
@pytest.mark.parametrize("fault", ["error=EIO", "error=ENOSPC", "signal=KILL"])
def test_a_fault_in_any_call_leaves_a_whole_record(
    tmp_path: Path, scenario: str, fault: str
) -> None:
    """strace injects EIO, ENOSPC or a kill at every call."""
    log = tmp_path / "log"
    points = calls(prepare(tmp_path / "first", scenario), log)
    names = {call.name for call in points}
    assert names >= {"openat", "ftruncate", "write", "fsync", "renameat", "flock"}
    assert ("mkdirat" if scenario == "create" else "unlinkat") in names

    failed = 0
    for at, call in enumerate(points):
        path = prepare(tmp_path / str(at), scenario)
        inject = f"inject={call.name}:{fault}:when={call.number}"
        watched = f"trace={','.join(CALLS)}"
        kills = fault.startswith("signal")
        done = traced(path, "-o", str(log), "-e", watched, "-e", inject, kills=kills)

        said = [int(word) for word in re.findall(r"(\d+)\n", done.stdout)]
        nothing: list[int | None] = [0] if scenario == "open" else [0, None]
        legal = [said[-1], said[-1] + 1] if said else nothing
        assert present_number(path) in legal, (call, done.stderr)
        failed += done.returncode != 0
        # The writer's own line to its parent may fail.  Every other failure must be reported
        # without a traceback.
        assert "Traceback" not in done.stderr or "in _say" in done.stderr, done.stderr

    # The writer survives a failure of two calls: reading the boot id, which only a message needs,
    # and reading the previous generation, which is reported but not needed.
    assert failed >= len(points) - 2


def present_number(path: Path) -> int | None:
    """Return the number of the record that a member would find now, None for no store."""
    try:
        with open_store(path) as store:
            assert () == store.problems
            return number_of(store.record)
    except StoreMissing:
        return None
