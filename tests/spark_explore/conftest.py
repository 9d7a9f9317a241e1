"""One Spark session for all tests here: it takes ten seconds to start, and no test owns it.

What asks for Java is slow, as `tests/README.md` says; so one session serves a whole run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from spark_explore import session
from tests.needs import need

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark what starts Spark as slow, unless it is huge."""
    for item in items:
        asks = {"context", "_java"} & set(getattr(item, "fixturenames", ()))
        if asks and item.path.parent == HERE and item.get_closest_marker("huge") is None:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def context() -> Iterator[Any]:
    """Return a local session's context; skips with the reason where Spark cannot run."""
    need("pyspark", "java")
    found = session.open_session("local[2]")
    yield found.sparkContext
    found.stop()
