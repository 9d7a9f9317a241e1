"""A fixture: nodes as processes, all of which end with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.faults.nodes import Fleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Callable[..., Fleet]]:
    """Return a function that makes a fleet, which ends with the test."""
    made: list[Fleet] = []

    def make(names: str = "abc", **settings: Any) -> Fleet:
        folder = tmp_path / f"fleet{len(made)}"
        folder.mkdir()
        made.append(Fleet.make(folder, names, **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()
