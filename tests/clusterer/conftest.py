"""A fixture: three nodes of the Clusterer as processes, not started."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.faults.clusterer import Fleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    found = Fleet(tmp_path, tuple("abc"))
    try:
        yield found
    finally:
        found.close()
