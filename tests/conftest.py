"""What holds for every test: options, tiers, and how hypothesis searches."""

import os
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, settings

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
