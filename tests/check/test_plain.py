"""Small worlds in plain Python: the report equals the engine's, except for costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import assume, given, settings

from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.check.plain import SHIPPED, USER_BOUNDS, Bounds, Ends, check_small
from joinproto.check.properties import ON_RUNS
from joinproto.check.report import Report
from joinproto.check.world import World
from tests.census import searched, without_costs
from tests.check.chosen import CHOSEN, REST, parameters
from tests.check.random_models import Plan, build, plans


def comparable(report: Report) -> Report:
    """Return the report without costs and row sizes."""
    return evolve(without_costs(report), row_bits=0, bytes_per_state=0)


def may_need_the_engine(world: World, found: Report) -> bool:
    """Return whether plain Python may leave the world to the engine.

    It may if the world uses `same`, or reached about half of a bound of `SHIPPED` or more.
    """
    return (
        world.same is not None
        or found.distinct >= SHIPPED.states // 2
        or found.generated > SHIPPED.steps // 2
        or found.calls > SHIPPED.calls // 2
    )


@pytest.mark.parametrize(
    ("name", "mutant"), [*parameters(CHOSEN), *parameters(REST, pytest.mark.soak("engines"))]
)
def test_a_small_world_is_reported_as_by_the_engine(name: str, mutant: str | None) -> None:
    """Results, counts by level, shortest runs, coverage and parts never exercised are equal."""
    world = load_world(name, mutant=mutant)
    engine, small = searched(name, mutant), check_small(world, witnesses=True)

    if small is None:
        assert may_need_the_engine(world, engine)
    else:
        assert comparable(engine) == comparable(small)


def test_the_chosen_worlds_are_small() -> None:
    """If they were left to the engine, the comparison would prove nothing."""
    large = [case for case in CHOSEN if check_small(load_world(case[0], mutant=case[1])) is None]

    assert [] == large


fewer_examples = settings(max_examples=30)


@fewer_examples
@given(plans())
def test_random_models_are_reported_as_by_the_engine(plan: Plan) -> None:
    """The models have any network, crashes, partitions, monitors and joint steps."""
    world = build(plan)
    claims = [item for item in world.properties if item.kind not in ON_RUNS]
    assume(claims)
    world = evolve(world, properties=claims)
    small = check_small(world, witnesses=True)
    assume(small is not None)
    assert small is not None

    assert comparable(check(world, witnesses=True)) == comparable(small)


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


PROGRAM = """
import sys
from joinproto.__main__ import main
code = main(["check", *sys.argv[1:]])
print(code, sorted({"numba", "numpy", "scipy"} & set(sys.modules)), file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("docs/examples/first_model.py", "355 distinct"),
        ("docs/examples/my_lock.py", "due and never comes true"),
        ("docs/examples/from_tla.py", "distinct"),
    ],
)
def test_a_users_model_loads_no_compiled_loops(model: str, expected: str) -> None:
    """In a fresh installation the loops would have to be compiled first."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, model], capture_output=True, text=True, check=False
    )

    assert expected in done.stdout
    assert done.stderr.strip().endswith("[]")


def test_a_model_that_raises_loads_no_compiled_loops(tmp_path: Path) -> None:
    wrong = Path("docs/examples/first_model.py").read_text().replace("self.majority else", "0 else")
    path = tmp_path / "wrong.py"
    path.write_text(wrong.replace("len(self.votes) >= 0", "1 // len(self.votes)"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path)], capture_output=True, text=True, check=False
    )

    assert "raised ZeroDivisionError" in done.stderr
    assert done.stderr.strip().endswith("2 []")


def test_a_world_that_exceeds_one_of_the_bounds_is_left_to_the_engine() -> None:
    world = load_world("two-phase-commit", members=5)
    engine = check(world)
    fits = Bounds(engine.distinct + 1, engine.generated, 10**6, 10**6)
    small = check_small(world, bounds=fits)

    assert small is not None
    assert comparable(engine) == comparable(small)
    for less in (
        evolve(fits, states=engine.distinct),
        evolve(fits, steps=engine.generated - 1),
        evolve(fits, calls=10),
        evolve(fits, tries=engine.distinct),
    ):
        assert check_small(world, bounds=less) is None


def test_limits_end_a_small_search_as_they_end_the_engine() -> None:
    world = load_world("two-phase-commit", members=4)
    engine = check(world, states_max=100)
    small = check_small(world, ends=Ends(states_max=100), bounds=USER_BOUNDS)

    assert small is not None
    assert comparable(engine) == comparable(small)
    for ends, why in (
        (Ends(interrupted=lambda: True), "interrupted"),
        (Ends(seconds_max=1e-9), "the limit of 1e-09 seconds"),
    ):
        found = check_small(world, ends=ends, bounds=USER_BOUNDS)
        assert found is not None
        assert ("incomplete", why) == (found.result, found.stopped_by)


def test_plain_python_applies_within_as_the_engine_does() -> None:
    world = load_world("two-phase-commit", members=3)
    bounded = evolve(world, within=lambda view: "committed" not in map(str, view.values()))
    small = check_small(bounded, witnesses=True, bounds=USER_BOUNDS)

    assert small is not None
    assert comparable(check(bounded, witnesses=True)) == comparable(small)


def test_a_mutant_of_note_options_loads_no_package_of_a_system() -> None:
    """Loading all systems takes longer than the search, and a mutant needs only its own system."""
    program = (
        "import sys; from joinproto.__main__ import main;"
        "code = main(['check', 'note-options', '--mutant', 'without-I2', '--json']);"
        "packages = ('join', 'clusterer', 'standby', 'reconcile', 'discovery');"
        "loaded = [name for name in packages if f'joinproto.{name}' in sys.modules];"
        "print(code, loaded, file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert "1 []" == done.stderr.strip()
