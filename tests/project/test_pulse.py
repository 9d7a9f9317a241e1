"""`tests/pulse.py`: a long run of pytest names the tests that are running."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

TESTS = """\
import time
from pathlib import Path

def test_is_short():
    pass

def test_waits_until_it_is_told():
    while not Path("told").exists():
        time.sleep(0.01)
"""

CONFTEST = """\
from pathlib import Path

import pytest

from tests import pulse

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    pulse.SECONDS = 0.1
    pulse.watch(config)
    if hasattr(config, "workerinput"):
        return
    if not config.option.numprocesses:
        Path("told").touch()
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    write = reporter.write_line

    def tell(line, **markup):
        write(line, **markup)
        if "waits" in line:
            Path("told").touch()

    reporter.write_line = tell
"""


def run(folder: Path, *options: str) -> str:
    """Return the output of pytest for a long and a short test."""
    (folder / "test_some.py").write_text(TESTS)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    # This test may run in a worker itself.
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
    """A test that has ended is not named."""
    said = run(tmp_path, "-n", "1")

    told = re.findall("-- .*", said)
    assert "GB free; running: test_some.py::test_waits_until_it_is_told (" in told[-1]
    assert "short" not in told[-1]


def test_a_run_without_workers_names_no_test(tmp_path: Path) -> None:
    """A person who debugs one test wants the output of the test alone."""
    assert "running:" not in run(tmp_path, "-n", "0")
