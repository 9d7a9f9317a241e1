"""`joinproto.check.check` as a model's test calls it: no loops are compiled for a small world."""

from __future__ import annotations

import subprocess
import sys

import pytest

from joinproto.check import check, load_world
from joinproto.check.check import check as check_by_engine
from tests.census import without_costs
from tests.cli.running import ROOT

PROGRAM = """
import sys
from joinproto.check import check, load_world
print(check(load_world("two-phase-commit")).result, "numba" in sys.modules)
"""


def test_a_small_world_loads_no_engine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert "holds False\n" == done.stdout


@pytest.mark.parametrize("name", ["two-phase-commit", "token-ring-lossy"])
def test_both_searches_report_the_same(name: str) -> None:
    """Figures about rows are not compared, because the search in plain Python has no rows."""
    world = load_world(name)
    small, large = without_costs(check(world)), without_costs(check_by_engine(world))

    for field in ("result", "distinct", "generated", "levels", "coverage", "trace"):
        assert getattr(small, field) == getattr(large, field), field


def test_symmetry_and_workers_use_the_engine() -> None:
    world = load_world("two-phase-commit")

    assert 0 == check(world).row_bits
    assert 0 < check(world, symmetry=True).row_bits
    assert 0 < check(world, workers=2).row_bits
    assert 10 <= check(world, states_max=10).distinct < check(world).distinct
