"""`tests/tier.py`: what failed runs once more, alone, and the second run decides."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TIER = Path(__file__).parents[1] / "tier.py"

TESTS = """\
from pathlib import Path
import os
import pytest

alone = "PYTEST_XDIST_WORKER" not in os.environ

def test_passes():
    Path("runs").open("a").write("x")

def test_needs_the_machine_for_itself():
    assert alone

@pytest.mark.skipif("not {broken}")
def test_is_broken():
    assert False

@pytest.mark.skipif("not {interrupted}")
def test_is_interrupted():
    raise KeyboardInterrupt
"""


def run(
    folder: Path, *options: str, broken: bool = False, interrupted: bool = False
) -> tuple[int, str]:
    """Return exit code and output of a small folder of tests."""
    (folder / "test_small.py").write_text(TESTS.format(broken=broken, interrupted=interrupted))
    (folder / "pytest.ini").write_text("[pytest]\n")
    # Whoever runs this test may be a worker itself.
    environment = {name: at for name, at in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        [sys.executable, str(TIER), "-p", "xdist.plugin", *options],
        cwd=folder,
        env=environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # a faster start
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_what_fails_beside_others_and_passes_alone_is_named(tmp_path: Path) -> None:
    """And the tests that passed do not run again."""
    code, said = run(tmp_path, "-n", "1")

    assert 0 == code
    assert "== 1 failed: once more, alone\n" in said
    named = "test_small.py::test_needs_the_machine_for_itself"
    assert f"== failed first, and passed alone: {named}\n" in said
    assert "x" == (tmp_path / "runs").read_text()


def test_what_fails_twice_has_failed(tmp_path: Path) -> None:
    code, said = run(tmp_path, "-n", "1", broken=True)

    assert 1 == code
    assert "== 2 failed: once more, alone\n" in said
    assert 1 == said.count("== failed first")


@pytest.mark.parametrize(
    ("options", "expected"),
    [(["-n", "1", "-k", "passes"], 0), (["-n", "1", "-k", "nothing"], 5)],
)
def test_only_failed_tests_run_twice(tmp_path: Path, options: list[str], expected: int) -> None:
    """Not where all passed, or where there was none."""
    code, said = run(tmp_path, *options)

    assert expected == code
    assert "once more" not in said
    assert "minutes of CPU" in said


@pytest.mark.slow
def test_the_cost_is_that_of_the_workers_too(tmp_path: Path) -> None:
    (tmp_path / "test_busy.py").write_text(
        "import time\ndef test_busy():\n    while time.process_time() < 9: pass\n"
    )

    _, said = run(tmp_path, "-n", "1", "-k", "busy")

    (cpu,) = re.findall(r"== ([\d.]+) minutes of CPU", said)
    assert 0.1 < float(cpu) < 0.5


def test_what_ran_alone_already_is_not_repeated(tmp_path: Path) -> None:
    code, said = run(tmp_path, broken=True)

    assert 1 == code
    assert "once more" not in said


def test_an_interrupted_run_is_not_repeated(tmp_path: Path) -> None:
    """Exit code 2: somebody wants it to end."""
    code, said = run(tmp_path, "-n", "1", interrupted=True)

    assert 2 == code
    assert "once more" not in said
