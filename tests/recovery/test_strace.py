"""The real command `apply`: one of its system calls fails, or kills it.

No code of joinproto is replaced; strace makes the call fail.

Source: recovery, "The metadata on disk"; issue "recover", "Must show".
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

from joinproto.recovery.plan import load
from tests.cli.running import ROOT, run_apart, run_here
from tests.recovery.disks import lay
from tests.store.inspection import inspect

CALLS = ("openat", "flock", "ftruncate", "write", "fsync", "renameat", "unlinkat")

pytestmark = [pytest.mark.soak("stores"), pytest.mark.needs("strace", "ptrace")]


def _prepare(folder: Path) -> tuple[Path, Path, str]:
    """Return a store, a plan for it and the plan's hash."""
    path = lay(folder, "F C1:ab@F.5", b="C1 C1.7")["b"]
    plan = folder / "plan.json"
    done = run_apart("recover", "plan", str(path), "--unproven", "-o", str(plan))
    assert 0 == done.code, done.err
    return path, plan, load(plan.read_bytes(), name="plan").hash


def _traced(
    plan: Path, digest: str, *words: str, kills: bool = False
) -> subprocess.CompletedProcess[str]:
    agreed = ["--yes", "--unproven", "--plan-hash", digest]
    command = [sys.executable, "-B", "-m", "joinproto", "recover", "apply", str(plan), *agreed]
    return subprocess.run(
        # With a filter strace does not stop the process for thousands of other calls, but strace
        # 6.1 cannot inject a signal with a filter.
        ["strace", "-f", *(() if kills else ("--seccomp-bpf",)), "-qq", *words, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def _calls(folder: Path) -> list[tuple[str, int]]:
    """Return the calls from the first access to the store on, numbered over the whole process."""
    path, plan, digest = _prepare(folder)
    log = folder / "log"
    done = _traced(plan, digest, "-o", str(log), "-e", f"trace={','.join(CALLS)}")
    assert 0 == done.returncode, done.stderr
    counted = dict.fromkeys(CALLS, 0)
    found: list[tuple[str, int]] = []
    for line in log.read_text().splitlines():
        match = re.match(r"\d+ +(\w+)\(", line)
        if match is None or match[1] not in counted:
            continue
        counted[match[1]] += 1
        # Accesses to Python's own files do not count.
        is_ours = str(path) in line or (found and ".py" not in line and "/usr" not in line)
        if is_ours:
            found.append((match[1], counted[match[1]]))
    return found


@pytest.mark.parametrize("fault", ["error=EIO", "signal=KILL"])
def test_apply_leaves_a_whole_store_whichever_call_fails(
    tmp_path: Path, fault: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The store is marked or not, and the same command finishes the work."""
    points = _calls(tmp_path / "first")
    assert {name for name, _ in points} >= {"openat", "write", "fsync", "renameat", "flock"}
    codes: dict[int, list[object]] = {}
    path, plan, digest = _prepare(tmp_path / "store")
    shutil.copytree(path, tmp_path / "as-it-was")
    contents = inspect(path).contents
    assert contents is not None
    before = contents.record
    marked = evolve(before, mark=before.lineage.views[-1].id)

    for name, number in points:
        shutil.rmtree(path)
        shutil.copytree(tmp_path / "as-it-was", path)
        inject = f"inject={name}:{fault}:when={number}"
        watched = f"trace={name}"
        kills = fault == "signal=KILL"
        done = _traced(plan, digest, "-o", "/dev/null", "-e", watched, "-e", inject, kills=kills)
        codes.setdefault(done.returncode, []).append((name, number, done.stderr[:200]))
        after = inspect(path).contents

        assert after is not None
        assert after.record in (before, marked), (name, number)
        assert "Traceback" not in done.stderr, done.stderr
        if done.returncode == 0:
            assert marked == after.record, (name, number)

        agreed = ("--yes", "--unproven", "--plan-hash", digest)
        again = run_here(capsys, "recover", "apply", str(plan), *agreed)
        finished = inspect(path).contents
        assert finished is not None
        assert 0 == again.code, again.err
        assert marked == finished.record

    if fault == "error=EIO":
        assert {0, 1, 7, 9} >= codes.keys() >= {9}, codes.get(10)
    else:
        assert {-signal.SIGKILL} == codes.keys()
