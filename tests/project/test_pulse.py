"""`tests/pulse.py`: a long run names the tests that run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TESTS = """\
import time

def test_waits_for_long():
    time.sleep(1.5)

def test_is_short():
    pass
"""

CONFTEST = """\
import pytest

from tests import pulse

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    pulse.SECONDS = 0.5
    pulse.watch(config)
"""


def run(folder: Path, *options: str) -> str:
    """Return what pytest prints over a long and a short test."""
    (folder / "test_some.py").write_text(TESTS)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    # Whoever runs this test may be a worker itself.
    environment = {name: at for name, at in os.environ.items() if "XDIST" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "xdist.plugin", *options],
        cwd=folder,
        env=environment
        | {
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_a_test_that_runs_for_long_is_named(tmp_path: Path) -> None:
    """While it runs, and not one that has ended."""
    said = run(tmp_path, "-n", "1")

    told = [line for line in said.splitlines() if line.startswith("-- ")]
    assert told
    for line in told:
        assert "GB free; running: test_some.py::test_waits_for_long (" in line
        assert "short" not in line


def test_one_process_alone_says_nothing(tmp_path: Path) -> None:
    """Whoever debugs one test wants its output, not ours."""
    assert "running:" not in run(tmp_path, "-n", "0")
