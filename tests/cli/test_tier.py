"""`joinproto check --tier quick`: every world ends as the catalogue says."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from attrs import evolve

from joinproto.__main__ import INTERRUPTED
from joinproto.check import catalogue
from joinproto.check.report import Report
from joinproto.cli.commands import tier
from joinproto_worlds import entries
from joinproto_worlds.classics.two_phase_commit import build
from tests.cli.running import Run, run_here


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto check` here."""
    return lambda *words: run_here(capsys, "check", *words)


def make_only_world(monkeypatch: pytest.MonkeyPatch, **changed: Any) -> None:
    """Make two-phase commit the only world, with its row changed."""
    item = evolve(catalogue.entry("two-phase-commit"), **changed)
    monkeypatch.setattr(entries, "ENTRIES", (item,))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_every_world_and_mutant_of_a_tier_is_searched(
    run: Run, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    """Each has one line, and one exit code is for all, with one worker or several."""
    some = [catalogue.entry(name) for name in ("durable-vote", "note-partition", "note-options")]
    monkeypatch.setattr(entries, "ENTRIES", tuple(some))

    done = run("--tier", "quick", "--workers", workers)

    assert 0 == done.code
    assert "6 worlds, and 4 of them must fail: " in done.out
    lines = [line.split()[1:] for line in done.out.splitlines() if line.startswith("ok ")]
    words = [line[: line.index("holds" if "holds" in line else "violated")] for line in lines]
    assert words == [
        ["durable-vote"],
        ["durable-vote", "--mutant", "no-persist"],
        ["durable-vote", "--mutant", "answer-first"],
        ["note-partition"],
        ["note-options"],
        ["note-options", "--mutant", "without-I2"],
    ]
    assert "6 searched, all as expected" in done.out


def killed(row: tier.Row, **how: Any) -> Report:
    """End the process that searches, as a kernel does that runs out of memory."""
    del row, how
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_a_killed_search_process_exits_4(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    make_only_world(monkeypatch)
    monkeypatch.setattr(tier, "search_one", killed)

    done = run("--tier", "quick", "--workers", "2")

    assert 4 == done.code
    assert "next: search in one process: add --workers 1" in done.err


@pytest.mark.landing
def test_ctrl_c_ends_all_processes() -> None:
    """Ctrl-C also ends the processes of several workers, before their searches end."""
    words = [sys.executable, "-m", "joinproto", "check", "--tier", "quick", "--workers", "2"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as done:
        assert done.stdout is not None
        next(line for line in done.stdout if line.startswith("ok "))

        os.killpg(done.pid, signal.SIGINT)
        _, errors = done.communicate(timeout=120)

    assert INTERRUPTED == done.returncode
    assert "interrupted" in errors
    with pytest.raises(ProcessLookupError):
        os.killpg(done.pid, 0)


def test_a_world_with_an_unexpected_result_exits_1_and_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This world holds, although the catalogue says that it is violated."""
    make_only_world(monkeypatch, expected="violated")

    done = run("--tier", "quick")

    assert 1 == done.code
    assert "WRONG  two-phase-commit " in done.out
    assert "1 of 2 not as expected: two-phase-commit\n" in done.out


def test_a_run_of_an_unexpected_length_exits_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pinned number of steps is part of the expected result."""
    item = catalogue.entry("note-partition")
    assert item.steps is not None
    monkeypatch.setattr(entries, "ENTRIES", (evolve(item, steps=item.steps + 1),))

    done = run("--tier", "quick", "--json")

    assert 1 == done.code
    assert "not-as-expected" == done.object["result"]
    (row,) = done.object["worlds"]
    assert (item.steps, item.steps + 1) == (row["trace_length"], row["trace_length_expected"])


def test_an_overlooked_mutant_exits_1(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a checker overlooks planted mistakes, its result "holds" is worthless."""
    make_only_world(monkeypatch, mutants=("none",))
    monkeypatch.setattr(entries, "mistake", lambda name: name)
    monkeypatch.setattr(catalogue, "load_world", lambda name, **options: build())

    done = run("--tier", "quick")

    assert 1 == done.code
    assert "not as expected: two-phase-commit --mutant none\n" in done.out


def test_a_search_that_a_limit_ends_exits_3(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """No world is known to be wrong, and not all are known to be right."""
    make_only_world(monkeypatch, mutants=())

    done = run("--tier", "quick", "--max-states", "9")

    assert 3 == done.code
    assert "WRONG  two-phase-commit " in done.out
    assert "stopped by the limit of 9 states" in done.out
