"""What holds for every test: options, tiers, and how hypothesis searches."""

import os
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from tests import needs, pulse

# One width of output for all: a terminal's, and that of xdist's workers, would be others.
os.environ["COLUMNS"] = "100"

# No deadline: the first call of a jitted function compiles it, and a shared machine pauses.
# A failing example is printed as a line to paste back (`print_blob`).
settings.register_profile(
    "quick", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=5_000)
settings.load_profile("quick")


# Files whose tests share a server: one worker runs them all, so it is started once in a run.
SHARING = [
    re.compile(r"tests/spark_explore/(?!test_faults)"),
    re.compile(r"tests/discovery/test_client_(etcd|register)\b"),
]


class BySharing(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """Tests of one file run in one worker, as do those of files that share a server."""

    def _split_scope(self, nodeid: str) -> str:
        shared = (one.pattern for one in SHARING if one.match(nodeid))
        return next(shared, super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Share servers wherever the tests of a file stay together (`--dist loadfile`)."""
    return BySharing(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--rewrite`: scenarios take what they got as what they expect."""
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write the expected output of scenarios again; commit only what you can explain",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let a long run say what runs, and tests what they need.

    Last, since pytest's own reporter is made here, too.
    """
    pulse.watch(config)
    config.pluginmanager.register(needs, "needs")


@pytest.fixture(scope="session")
def rewrite(pytestconfig: pytest.Config) -> bool:
    """Return whether scenarios are to be rewritten instead of compared."""
    return bool(pytestconfig.getoption("--rewrite"))


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Refuse a test of two tiers: it would run in neither, or in both."""
    for item in items:
        if item.get_closest_marker("slow") and item.get_closest_marker("huge"):
            raise pytest.UsageError(f"{item.nodeid}: slow or huge, not both")
