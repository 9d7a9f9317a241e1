"""One Spark session for all tests here: it takes ten seconds to start, and no test owns it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from joinproto.errors import EnvironmentProblem
from spark_explore import session


@pytest.fixture(scope="session")
def context() -> Iterator[Any]:
    """Return a local session's context; skips with the reason where Spark cannot run."""
    try:
        session.ready()
    except EnvironmentProblem as problem:
        pytest.skip(f"{problem.message}; {problem.next}")
    found = session.open_session("local[2]")
    yield found.sparkContext
    found.stop()
