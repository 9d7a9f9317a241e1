"""Unit tests as a catcher: pytest runs the tests of the changed line, the quickest first."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from attrs import define, field
from hypothesis import Phase, settings

from tools.mutate.patches import ROOT

SECONDS_MOST = 4.0
"""Tests that take longer than this while lines are counted are not used."""

_HAVE = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
_QUICK = ("--assert=plain", "-p", "no:cacheprovider", "--hypothesis-profile=mutate")
OPTIONS = ("-W", _HAVE, "-q", *_QUICK)


@define(eq=False)
class Measure:
    """Measures the cost of each test.  `counter`: counts the lines that each test runs, or None."""

    counter: Any = None
    seconds: dict[str, float] = field(factory=dict)
    failed: dict[str, str] = field(factory=dict)
    began: float = 0.0

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self.counter is not None:
            forget_caches()
            self.counter.switch_context(nodeid)
        self.began = time.process_time()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] = round(time.process_time() - self.began, 3)
        if self.counter is not None:
            self.counter.switch_context("")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed.setdefault(report.nodeid, _short(report))

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed.setdefault(report.nodeid, _short(report))


@define(eq=False)
class Limit(Measure):
    """A `Measure` that stops each test after `at_most`, or a limit from its `usual` time."""

    usual: dict[str, float] = field(factory=dict)
    at_most: float | None = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        with limited(self.at_most or 2 + 6 * self.usual.get(item.nodeid, 0.0)):
            return (yield)


class TooLong(BaseException):
    """More processor time was used than allowed; no `except Exception` catches it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `TooLong` after `seconds` of processor time."""
    import signal

    def stop(*_: object) -> None:
        raise TooLong(f"more than {seconds:.0f} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def test_run(ids: Sequence[str], plugin: Measure, *more: str) -> None:
    """Run these tests with the plugin; examples are always the same, and are not shrunk."""
    settings.register_profile(
        "mutate",
        settings.get_profile("default"),
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(_checks()),
    )
    where = (f"--rootdir={ROOT}", "-c", f"{ROOT}/pyproject.toml")
    code = pytest.main([*OPTIONS, *where, *more, *ids], plugins=[plugin])
    if code not in (0, 1, 2) or (code == 2 and not plugin.failed):
        raise RuntimeError(f"pytest ended with {code}")


test_run.__test__ = False  # type: ignore[attr-defined]


def catch(ids: Sequence[str], usual: dict[str, float]) -> dict[str, str]:
    """Return the first of these tests that fails, with its error; empty if all pass."""
    plugin = Limit(usual=usual)
    test_run([f"{ROOT}/{name}" for name in ids], plugin, "-x")
    if not plugin.seconds and not plugin.failed:
        return {"pytest": "no test ran"}
    return plugin.failed


def forget_caches() -> None:
    """Empty all our caches: otherwise only the first test would run the lines that fill them."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("joinproto.", "tests.")):
            for thing in list(vars(module).values()):
                for one in (thing, *(vars(thing).values() if isinstance(thing, type) else ())):
                    if callable(clear := getattr(one, "cache_clear", None)):
                        clear()


def _checks() -> Iterator[Any]:
    from hypothesis import HealthCheck

    yield from HealthCheck


def _short(report: Any) -> str:
    lines = str(getattr(report, "longreprtext", "")).splitlines()
    errors = [line[2:].strip() for line in lines if line.startswith("E ")]
    return (errors or ["failed"])[0][:120]
