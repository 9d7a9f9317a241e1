"""One word for one thing: docs/glossary.md against itself and against the code."""

from __future__ import annotations

import re
from pathlib import Path

from joinproto.join.phases import Phase
from joinproto.join.view import Kind

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"(?m)^\| (?!word |-)(.+?) \| (.+) \|$")
MEANS = dict(ROW.findall((ROOT / "docs" / "glossary.md").read_text("utf-8")))


def test_the_glossary_explains_no_word_twice() -> None:
    rows = ROW.findall((ROOT / "docs" / "glossary.md").read_text("utf-8"))
    words = [word for row, _ in rows for word in row.split(", ")]

    assert len(words) > 70
    assert len(words) == len(set(words))


def test_the_glossary_has_all_phases_and_kinds_of_views() -> None:
    assert MEANS["phase"] == ", ".join(phase.value for phase in Phase) + " (3.5)"
    assert ", ".join(kind.name for kind in Kind) in MEANS
