"""`tests/tier.py` and `tests/soak.py`: no test runs twice, budgets hold, a slice continues."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import soak, tier
from tests.slices import SLICES

ROOT = Path(__file__).parents[2]

BUSY = "import time\ndef test_busy():\n    while time.process_time() < {seconds}: pass\n"
FAILS = "def test_fails():\n    assert False\n"


def run_tier(folder: Path, tests: str, *, ci: bool = True) -> tuple[int, str]:
    """Return exit code and output of the tier `test` over a folder with these tests.

    Its budget is 0.01 minutes.
    """
    (folder / "README.md").write_text("| `make test` | none | all | 0.01 |\n")
    (folder / "tier.py").write_text(Path(tier.__file__).read_text())
    (folder / "test_small.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n  landing\n  soak\n")
    # A worker of xdist may be running this test.
    environment = {name: at for name, at in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        [sys.executable, "tier.py", "test", "-p", "xdist.plugin", "-n", "1"],
        cwd=folder,
        env=environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": str(ci).lower()},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(("ci", "expected"), [(True, 1), (False, 0)])
def test_a_tier_over_its_budget_fails_in_ci(tmp_path: Path, ci: bool, expected: int) -> None:
    """The cost includes xdist's workers.  Outside CI it only warns: a machine may be slower."""
    code, said = run_tier(tmp_path, BUSY.format(seconds=2), ci=ci)

    assert expected == code
    assert "== over its budget" in said


def test_a_failed_test_is_not_run_again(tmp_path: Path) -> None:
    code, said = run_tier(tmp_path, FAILS)

    assert 1 == code
    assert 1 == said.count("FAILED test_small.py::test_fails")


@pytest.mark.parametrize("name", tier.TIERS)
def test_every_tier_has_a_budget(name: str) -> None:
    assert tier.budget(name) > 0


# -- the soak --------------------------------------------------------------------------

SLOW = """\
import pytest, time

@pytest.mark.soak("reference")
@pytest.mark.parametrize("n", range(4))
def test_slow(n):
    time.sleep(0.5)
    assert n < {most}

@pytest.mark.soak("engines")
def test_other():
    assert False
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with tests of two slices, which the soak takes for the project."""
    for name in [name for name in os.environ if "XDIST" in name]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(soak, "ROOT", tmp_path)
    monkeypatch.setattr(soak, "STATE", tmp_path / ".soak")
    monkeypatch.setattr(soak, "WORKERS", 1)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  soak\n")
    (tmp_path / "conftest.py").write_text(
        "from hypothesis import settings\nsettings.register_profile('drawn', settings())\n"
    )
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "x"], cwd=tmp_path, check=True)
    return tmp_path


def run_soak(place: Path, *words: str, fails_from: int = 4) -> tuple[int, soak.Last]:
    """Return the exit code of the soak, and its record of the slice."""
    (place / "test_some.py").write_text(SLOW.format(most=fails_from))
    code = soak.main(["--slice", "reference", "--seed", "1", *words])
    state = json.loads((place / ".soak" / "state.json").read_text())
    return code, soak.Last(**state["reference"])


def test_a_slice_runs_only_its_own_tests(place: Path) -> None:
    code, last = run_soak(place)

    assert (0, "passed", 4) == (code, last.result, len(last.passed))


@pytest.mark.landing
def test_a_slice_with_a_failed_test_fails(place: Path) -> None:
    code, last = run_soak(place, fails_from=3)

    assert (1, "failed", 3) == (code, last.result, len(last.passed))


@pytest.mark.landing
def test_a_stopped_slice_continues_with_the_tests_that_are_left(place: Path) -> None:
    """After the given minutes no test begins."""
    code, first = run_soak(place, "--minutes", "0.0001")

    assert (0, soak.UNFINISHED) == (code, first.result)
    assert len(first.passed) < 4

    code, second = run_soak(place)

    assert (0, "passed", 4) == (code, second.result, len(set(second.passed)))


def test_successive_turns_choose_each_slice_once() -> None:
    """Each landing has one turn."""
    turns = [soak.chosen(soak.arguments(["--turn", str(n)]), {}) for n in range(len(SLICES))]

    assert [[name] for name in SLICES] == turns


def test_the_failed_slice_comes_first_and_then_the_oldest() -> None:
    state = {name: soak.Last("passed", when=f"{at:03}") for at, name in enumerate(SLICES)}
    first, *_, last = SLICES
    state[last].result = "failed"

    assert [last, first] == soak.chosen(soak.arguments([]), state)[:2]
