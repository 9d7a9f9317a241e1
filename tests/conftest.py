"""The setup of all tests: options, tiers, and the settings of hypothesis."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from joinproto.check.folders import cache_folder
from tests import census, needs, pickles, pulse
from tests.slices import SLICES

# One width of output: that of a terminal and that of xdist's workers differ.
os.environ["COLUMNS"] = "100"

# No deadline: the first call of a jitted function compiles it, and a shared machine pauses.
# A failing example is printed as a line to paste back (`print_blob`).
# `make test` tries the same examples each time; the soak draws other examples by its seed.
settings.register_profile(
    "drawn", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("same", settings.get_profile("drawn"), derandomize=True, max_examples=65)
settings.register_profile("thorough", settings.get_profile("drawn"), max_examples=5_000)
settings.load_profile("same")


# Files whose tests share a server: one worker runs them all, so it is started once in a run.
SHARING = [
    re.compile(r"tests/spark_explore/(?!test_faults)"),
    re.compile(r"tests/discovery/test_client_(etcd|register)\b"),
]


class BySharing(LoadFileScheduling):  # type: ignore[misc]  # xdist ships no types
    """Runs the tests of one file, or of files that share a server, in one worker."""

    def _split_scope(self, nodeid: str) -> str:
        shared = (one.pattern for one in SHARING if one.match(nodeid))
        return next(shared, super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Share servers wherever the tests of a file stay together (`--dist loadfile`)."""
    return BySharing(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--rewrite`, with which scenarios store their results as the expected results."""
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write the expected output of scenarios; commit only changes that you can explain",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Make the folder of this run, before xdist starts its workers, which inherit its name.

    This hook runs last, because `pulse` needs the reporter that pytest makes in the same hook.
    """
    sys.addaudithook(pickles.refuse)
    # Compiled loops are shared with `make setup`; caches of answers are not.
    os.environ.setdefault("NUMBA_CACHE_DIR", str(cache_folder()))
    if not hasattr(config, "workerinput"):
        folder = tempfile.mkdtemp(prefix="joinproto-tests-")
        os.environ[census.FOLDER] = folder
        config.add_cleanup(partial(shutil.rmtree, folder, ignore_errors=True))
    pulse.watch(config)
    config.pluginmanager.register(needs, "needs")


_CACHES = count()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give each test an empty cache: a cache of an earlier test would change counts of calls."""
    run = Path(os.environ[census.FOLDER])
    os.environ["XDG_CACHE_HOME"] = str(run / f"cache-{os.getpid()}-{next(_CACHES)}")


@pytest.fixture(scope="session")
def rewrite(pytestconfig: pytest.Config) -> bool:
    """Return whether scenarios must be rewritten instead of compared."""
    return bool(pytestconfig.getoption("--rewrite"))


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Refuse a test of two tiers, or of an unknown slice: it would never run."""
    for item in items:
        soak = item.get_closest_marker("soak")
        if soak is None:
            continue
        if item.get_closest_marker("landing"):
            raise pytest.UsageError(f"{item.nodeid}: mark it landing or soak, not both")
        (name,) = soak.args or ("",)
        if name not in SLICES or SLICES[name].program:
            raise pytest.UsageError(
                f"{item.nodeid}: tests/slices.py has no slice {name!r} that consists of tests"
            )
