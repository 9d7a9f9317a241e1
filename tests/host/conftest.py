"""No test of a driver depends on how fast this machine is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.host.nearby import unhurried


@pytest.fixture(autouse=True)
def _unhurried() -> Iterator[None]:
    with unhurried():
        yield
