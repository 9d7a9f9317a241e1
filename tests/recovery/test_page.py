"""docs/recovery.md says what the tool does: its picture, its example, its keys, its codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.recovery.judgement import EXIT
from tests.recovery.asking import ask
from tests.recovery.page import PAGE, regenerate
from tests.tools.running import Done


def test_the_generated_parts_are_fresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rewrite: bool
) -> None:
    """Written anew by `pytest tests/recovery --rewrite`."""

    def run(*words: str) -> Done:
        return ask(capsys, *words)

    text = PAGE.read_text("utf-8")
    made = regenerate(text, tmp_path, run)
    if rewrite:
        PAGE.write_text(made, "utf-8")
        return

    assert made == text


def test_every_exit_code_is_explained() -> None:
    """The codes of verdicts are in the table of the page."""
    text = PAGE.read_text("utf-8")

    for code in EXIT.values():
        assert f"\n| {code} | " in text
