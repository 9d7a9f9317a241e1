"""A long run of pytest prints each minute which tests are running, and how much memory is left.

If the run is killed, the end of its output names the tests that were running.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

SECONDS = 60.0


class Pulse:
    """Reports the running tests every `seconds` while one of them has run for that long."""

    def __init__(self, reporter: pytest.TerminalReporter, seconds: float) -> None:
        self._reporter = reporter
        self._seconds = seconds
        self._began: dict[str, float] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="pulse", daemon=True)

    def pytest_sessionstart(self) -> None:
        self._thread.start()

    def pytest_sessionfinish(self) -> None:
        self._ended.set()
        self._thread.join()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._began[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._began.pop(nodeid, None)

    def _tell(self) -> None:
        while not self._ended.wait(self._seconds):
            now = time.monotonic()
            running = {name: now - began for name, began in self._began.copy().items()}
            if max(running.values(), default=0) < self._seconds:
                continue
            tests = "; ".join(f"{name} ({seconds:.0f} s)" for name, seconds in running.items())
            self._reporter.ensure_newline()
            self._reporter.write_line(f"-- {free_memory()} free; running: {tests}")


def free_memory() -> str:
    """Return the memory that is left on this machine, as `12.3 GB`."""
    try:
        lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    except OSError:
        return "unknown memory"
    found = dict(line.split(":", 1) for line in lines)
    return f"{int(found['MemAvailable'].split()[0]) * 1024 / 1e9:.1f} GB"


def watch(config: pytest.Config) -> None:
    """Report running tests if they run on several workers and this process reports for them."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if config.getoption("numprocesses", None) and reporter is not None:
        config.pluginmanager.register(Pulse(reporter, SECONDS), "running-tests")
