"""One Spark session for all tests here, because it takes ten seconds to start.

Tests that need Java run before a landing or in the soak, so that one session serves a whole run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from spark_explore import session
from tests.needs import need

HERE = Path(__file__).parent
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "somebody", "AWS_SECRET_ACCESS_KEY": "hush-hush"}
"""For the server in place of S3, which answers unsigned requests differently."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark tests that start Spark for the landing, unless they are in the soak."""
    for item in items:
        asks = {"context", "lasting", "_java"} & set(getattr(item, "fixturenames", ()))
        if asks and item.path.parent == HERE and item.get_closest_marker("soak") is None:
            item.add_marker(pytest.mark.landing)


@pytest.fixture(scope="session")
def context() -> Iterator[Any]:
    """Return a local session's context; skips with the reason if Spark cannot run."""
    need("pyspark", "java")
    with pytest.MonkeyPatch.context() as patch:
        # Executors inherit the environment of this moment, and tests of stores run later.
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        found = session.open_session("local[2]")
        yield found.sparkContext
        found.stop()


@pytest.fixture
def lasting(context: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the context for a test of code that makes its own session, and ends it.

    A process has one session, so that code would end the session of all other tests.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkContext, "stop", lambda _: None)
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    return context
