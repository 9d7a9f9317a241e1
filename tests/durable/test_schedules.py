"""All durable state survives a loss of power at any call, and no torn part of it is read.

`schedules.py` has the claims, `kinds.py` the durable state, `disk.py` the assumptions about a disk.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys

import pytest

from tests.durable.damage import count_refused
from tests.durable.kinds import KINDS
from tests.durable.mutations import ELSEWHERE, FILES, ROOT, Mutation, mutations
from tests.durable.schedules import Schedule
from tools.mutate.unit import TooLong, limited

SCHEDULES = 10
SOAK_SCHEDULES = 1_000
SEEDS = 64
"""The most schedules that are run for a mutation; most are noticed by the first."""
DAMAGED_SEEDS = 16
MOST_SECONDS = 6
"""Seconds of processor time for one seed; a loop without an end exceeds them."""

CALLS = {
    *("open_directory", "open_directory_in", "make_directory", "names", "create"),
    *("open_to_read", "open_to_update", "is_same", "read", "write", "size", "read_at", "write_at"),
    *("truncate", "sync", "sync_data", "sync_directory", "rename", "link", "unlink"),
    *("lock", "close"),
}
"""The operations of the disk that can fail."""

ALL_MUTATIONS = [*mutations()]
MUTATIONS = [one for one in ALL_MUTATIONS if one.name not in ELSEWHERE]


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_of_power_at_each_call_loses_no_durable_value(kind: str) -> None:
    """The same holds for an error of any call, a full disk, and the end of the process."""
    done = [Schedule(KINDS[kind], seed).run() for seed in range(SCHEDULES)]

    assert sum(one.looks for one in done) > 25 * SCHEDULES
    # Many looks were during a write, when its value may be there or not.
    assert sum(one.choices for one in done) > 5 * SCHEDULES
    assert any(one.faults for one in done)


@pytest.mark.soak("durable")
@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_of_power_at_each_call_of_many_schedules_loses_no_durable_value(kind: str) -> None:
    done = [Schedule(KINDS[kind], seed).run() for seed in range(SOAK_SCHEDULES)]

    assert sum(one.looks for one in done) > 25 * SOAK_SCHEDULES


@pytest.mark.soak("durable")
def test_each_call_of_the_disk_except_link_has_failed_in_some_schedule() -> None:
    """A failed `link`, which makes a snapshot the floor, only leaves out the snapshot."""
    failed = {fault for kind in KINDS.values() for seed in range(200)
              for fault in Schedule(kind, seed).run().faults}  # fmt: skip

    assert CALLS - failed <= {"link"}


@pytest.mark.parametrize("kind", [name for name, kind in KINDS.items() if kind.is_checked])
def test_a_damaged_or_restored_file_is_refused_or_changes_no_value(kind: str) -> None:
    """A checksum covers each bit of durable state, and an older file is recognized."""
    assert sum(count_refused(KINDS[kind], seed) for seed in range(4)) > 20


@pytest.mark.parametrize(
    "mutation",
    [
        pytest.param(one, id=one.name, marks=() if one.is_quick else pytest.mark.soak("durable"))
        for one in MUTATIONS
    ],
)
def test_each_mutation_is_noticed(mutation: Mutation) -> None:
    """It leaves out a sync, a rename or a truncation, or changes the result of a comparison."""
    with mutation.applied():
        noticed = any(_is_noticed(mutation, seed) for seed in range(SEEDS))

    assert noticed


def _is_noticed(mutation: Mutation, seed: int) -> bool:
    try:
        with limited(MOST_SECONDS):
            for kind in mutation.kinds:
                Schedule(KINDS[kind], seed).run()
                if seed < DAMAGED_SEEDS:
                    count_refused(KINDS[kind], seed)
    except (Exception, TooLong):  # noqa: BLE001 - each error notices the mutation
        return True
    return False


NO_STORES = {
    "joinproto/check/engine/checkpoint.py": "a search that is lost is begun again",
    "joinproto/check/engine/rows/row_file.py": "a search that is lost is begun again",
    "joinproto/machine/world.py": "the model of a disk",
}


def test_every_file_of_the_product_that_syncs_is_mutated() -> None:
    """A new sync is then left out in turn, too."""
    syncs = re.compile(r"\.(sync|sync_data|sync_directory|make_durable|fsync|fdatasync)\(")
    where = {str(path.relative_to(ROOT)) for path in (ROOT / "joinproto").rglob("*.py")
             if syncs.search(path.read_text("utf-8"))}  # fmt: skip
    assert where <= {*FILES, *NO_STORES}

    left_out = {one.name.rpartition(":")[0].rpartition(":")[2] for one in MUTATIONS}

    assert {"without sync", "without sync_data", "without sync_directory"} <= left_out
    assert {"without rename", "without truncate", "always yes", "always no"} <= left_out
    assert len(MUTATIONS) > 60
    assert {*ELSEWHERE} <= {one.name for one in ALL_MUTATIONS}


@pytest.mark.soak("durable")
@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_mutation_that_the_schedules_do_not_notice_fails_its_own_test(name: str) -> None:
    words = [sys.executable, "-m", "tests.durable.mutations", name]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, preexec_fn=_limit, check=False
    )

    assert pytest.ExitCode.TESTS_FAILED == done.returncode, done.stdout + done.stderr


def _limit() -> None:
    """Limit the processor time, so that a loop without an end ends."""
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
