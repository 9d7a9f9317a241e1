"""The documentation says what the code says."""

from __future__ import annotations

import pytest

from tools import docs


@pytest.mark.parametrize("path", docs.documents(), ids=lambda path: str(path.name))
def test_the_generated_blocks_are_fresh(path: object) -> None:
    """`make docs` writes them; what it would write is what stands there."""
    found = docs.documents()[docs.documents().index(path)]  # type: ignore[arg-type]
    text = found.read_text(encoding="utf-8")

    assert docs.regenerate(text) == text


def test_a_stale_block_is_noticed() -> None:
    text = "<!-- include: LICENSE -->\nold\n<!-- end -->"

    assert docs.regenerate(text) != text
