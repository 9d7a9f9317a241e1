"""A plugin of pytest for `tests/soak.py`: runs one slice, in a seeded order, within its time."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Literal

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options by which `tests/soak.py` names the slice."""
    parser.addoption("--slice", help="run the tests with this name in their marker `soak`")
    parser.addoption("--order", type=int, default=0, help="the seed of the order of tests")
    parser.addoption("--end", type=float, help="begin no test after this time, in Unix seconds")
    parser.addoption("--passed", type=Path, help="a file with the tests to leave out, one a line")
    parser.addoption(
        "--results",
        type=Path,
        help="a file to which lines `passed TEST`, `failed TEST`, `left TEST` are appended",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Watch the clock in every process, and write results in the process that gets all reports."""
    config.pluginmanager.register(Clock(config), "soak-clock")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Results(config), "soak-results")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the slice that have not passed, in the order that the seed gives."""
    passed = set(config.getoption("--passed").read_text().split("\n"))
    wanted = (config.getoption("--slice"),)
    marks = {item: item.get_closest_marker("soak") for item in items}
    kept = [
        item
        for item, mark in marks.items()
        if mark is not None and mark.args == wanted and item.nodeid not in passed
    ]
    random.Random(config.getoption("--order")).shuffle(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


class Clock:
    """Begins no test after the end.  xdist assigns tests earlier, so each worker must check."""

    def __init__(self, config: pytest.Config) -> None:
        self._end = config.getoption("--end")
        self._file = config.getoption("--results")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Literal[True] | None:
        if self._end is None or time.time() < self._end:
            return None
        note(self._file, "left", item.nodeid)
        return True


class Results:
    """Writes how each test ended."""

    def __init__(self, config: pytest.Config) -> None:
        self._file = config.getoption("--results")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or report.when == "call":
            # A test that skips itself counts as done, too.
            note(self._file, "failed" if report.failed else "passed", report.nodeid)


def note(file: Path, how: str, test: str) -> None:
    """Append a line in one write, because several workers append."""
    with file.open("a") as opened:
        opened.write(f"{how} {test}\n")
