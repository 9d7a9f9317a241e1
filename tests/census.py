"""Reports of shipped worlds: each is searched once in a run of tests.

The reports are in a folder for this run, which `tests/conftest.py` makes before xdist starts its
workers and removes at the end.  If another worker is searching a world, `searched` waits for it.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import tempfile
from functools import cache
from pathlib import Path

import pytest
from attrs import evolve

from joinproto.check.catalogue import entry, load_world
from joinproto.check.check import check
from joinproto.check.replay import Replay
from joinproto.check.report import Report, Trace
from joinproto_worlds.entries import ENTRIES

FOLDER = "JOINPROTO_TEST_CENSUS"
"""Environment variable with the folder of this run."""

QUICK = [
    (item.name, mutant)
    for item in ENTRIES
    if item.tier == "quick"
    for mutant in (None, *item.mutants)
]
"""Name and mutant of every world that `make check` searches."""


@cache
def searched(name: str, mutant: str | None = None) -> Report:
    """Return the report of the engine with one worker.

    The report of a quick world has the run to every `sometimes`.
    """
    folder = Path(os.environ.get(FOLDER) or tempfile.mkdtemp(prefix="joinproto-census-"))
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}+{mutant}"
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            witnesses = (name, mutant) in QUICK
            found = check(load_world(name, mutant=mutant), witnesses=witnesses)
            made = file.with_suffix(".new")
            made.write_bytes(pickle.dumps(found))
            made.rename(file)
        report: Report = pickle.loads(file.read_bytes())
    return report


def ended(name: str) -> tuple[str, tuple[int, int, int]]:
    """Return how the search of a world ends, and its distinct states, steps and depth."""
    found = searched(name)
    return found.result, (found.distinct, found.generated, found.depth)


def replayed(name: str, mutant: str | None = None) -> tuple[Trace, Replay]:
    """Return the run that breaks a claim, and a replay of this run by the members' code."""
    trace = searched(name, mutant).trace
    assert trace is not None
    run = Replay(load_world(name, mutant=mutant))
    for step in trace.steps:
        run.step(step.label, step.member)
    return trace, run


def weight(name: str, slice_: str) -> list[pytest.MarkDecorator]:
    """Return the marks of a test of this world: a world that is not quick belongs to the soak."""
    return [] if entry(name).tier == "quick" else [pytest.mark.soak(slice_)]


def without_costs(report: Report) -> Report:
    """Return the report without times, memory, calls and notes."""
    return evolve(
        report, seconds=0, cpu_seconds=0, peak_rss_bytes=0, numbered_bytes=0, calls=0, notes=()
    )
