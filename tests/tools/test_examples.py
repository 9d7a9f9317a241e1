"""The examples of the documentation do what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.catalogue import load_world
from models.check import check

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


@pytest.mark.parametrize(
    ("name", "result", "distinct"),
    [("first_model", "holds", 355), ("my_first_try", "violated", 6), ("my_model", "holds", 16)],
)
def test_an_example_ends_as_the_text_says(name: str, result: str, distinct: int) -> None:
    report = check(load_world(str(EXAMPLES / f"{name}.py")))

    assert (result, distinct) == (report.result, report.distinct)


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("first_model", "[Persist(), Broadcast(candidate)]"),
        ("my_model", " and self.may_found"),
    ],
)
def test_an_example_misses_what_the_text_takes_out(name: str, old: str, tmp_path: Path) -> None:
    """Take it out, and see: one leader, or one founder, is no longer certain."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert old in text
    broken = tmp_path / "broken.py"
    broken.write_text(text.replace(old, old.replace("Persist(), ", "") * ("Persist" in old)))

    assert check(load_world(str(broken))).result == "violated"
