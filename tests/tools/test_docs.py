"""The documentation agrees with the code."""

from __future__ import annotations

import re

import pytest
from click.testing import CliRunner

from tools import docs
from tools import json_schema as schema


@pytest.mark.parametrize("path", docs.documents(), ids=lambda path: str(path.name))
def test_the_generated_blocks_are_fresh(path: object) -> None:
    """`make docs` would not change the page."""
    found = docs.documents()[docs.documents().index(path)]  # type: ignore[arg-type]
    text = found.read_text(encoding="utf-8")

    assert docs.regenerate(text) == text


def test_a_stale_block_is_regenerated() -> None:
    text = "<!-- include: LICENSE -->\nold\n<!-- end -->"

    assert docs.regenerate(text) != text


def test_asking_for_help_writes_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who does not know a command yet asks for its help first."""
    monkeypatch.setattr(docs, "stale", lambda: pytest.fail("the command looks for stale pages"))

    done = CliRunner().invoke(docs.main, ["--help"])

    assert 0 == done.exit_code
    assert done.output.startswith("Usage: ")


def test_the_document_names_every_schema() -> None:
    """`docs/json.md` names the commands whose output it describes."""
    (names,) = re.findall(
        "<!-- json: (.+) -->", (docs.ROOT / "docs" / "json.md").read_text("utf-8")
    )

    assert [*schema.SCHEMAS] == names.split()
