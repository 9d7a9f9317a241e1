"""Small worlds in plain Python: the report is the engine's, but for what it cost."""

from __future__ import annotations

import subprocess
import sys

import pytest
from attrs import evolve
from hypothesis import assume, given, settings

from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.check.plain import CALLS_MAX, STATES_MAX, STEPS_MAX, check_small
from joinproto.check.properties import ON_RUNS
from joinproto.check.report import Report
from joinproto.check.world import World
from tests.census import searched, without_costs
from tests.check.chosen import CHOSEN, REST, parameters
from tests.check.random_models import Plan, build, plans


def what_it_says(report: Report) -> Report:
    return evolve(without_costs(report), row_bits=0, bytes_per_state=0)


def is_for_the_engine(world: World, found: Report) -> bool:
    """Return whether a world is large, or asks for more."""
    return (
        (world.within, world.same, world.picture) != (None, None, None)
        or found.distinct >= STATES_MAX // 2
        or found.generated > STEPS_MAX // 2
        or found.calls > CALLS_MAX // 2
    )


@pytest.mark.parametrize(
    ("name", "mutant"), [*parameters(CHOSEN), *parameters(REST, pytest.mark.soak("engines"))]
)
def test_a_small_world_is_reported_as_by_the_engine(name: str, mutant: str | None) -> None:
    """Results, counts by level, shortest runs, coverage and what was never exercised."""
    world = load_world(name, mutant=mutant)
    engine, small = searched(name, mutant), check_small(world, witnesses=True)

    if small is None:
        assert is_for_the_engine(world, engine)
    else:
        assert what_it_says(engine) == what_it_says(small)


def test_the_chosen_worlds_are_small() -> None:
    """The comparison would prove nothing if everything were left to the engine."""
    large = [case for case in CHOSEN if check_small(load_world(case[0], mutant=case[1])) is None]

    assert [] == large


few = settings(max_examples=30)


@few
@given(plans())
def test_random_models_are_reported_as_by_the_engine(plan: Plan) -> None:
    """Any network, crashes, partitions, monitors and joint steps."""
    world = build(plan)
    claims = [item for item in world.properties if item.kind not in ON_RUNS]
    assume(claims)
    world = evolve(world, properties=claims)
    small = check_small(world, witnesses=True)
    assume(small is not None)
    assert small is not None

    assert what_it_says(check(world, witnesses=True)) == what_it_says(small)


def test_a_small_world_loads_no_compiled_loops() -> None:
    """Importing numba alone takes longer than the search."""
    program = (
        "import sys; from joinproto.__main__ import main;"
        "code = main(['check', 'join-founders', '--json']);"
        "print(sorted({'numba', 'numpy', 'scipy'} & set(sys.modules)), file=sys.stderr);"
        "sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "[]" == done.stderr.strip()
    assert '"distinct": 114' in done.stdout


def test_a_mutant_of_one_system_loads_no_other_one() -> None:
    """All systems take longer to load than the search, and a mutant's mutation is of one."""
    program = (
        "import sys; from joinproto.__main__ import main;"
        "code = main(['check', 'note-options', '--mutant', 'without-I2', '--json']);"
        "rooms = ('join', 'clusterer', 'standby', 'reconcile', 'discovery');"
        "loaded = [room for room in rooms if f'joinproto.{room}' in sys.modules];"
        "print(code, loaded, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "1 []" == done.stderr.strip()
