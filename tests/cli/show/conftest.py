"""Fixtures for presentations: each run built by hand, and golden files of whole texts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from joinproto.check.report import Trace
from tests.cli.show import traces

GOLDEN = Path(__file__).with_name("golden")


@pytest.fixture(params=traces.ALL)
def trace(request: pytest.FixtureRequest) -> Trace:
    """Return a run built by hand; a test is run with each of them."""
    return traces.ALL[request.param]()


@pytest.fixture
def golden(rewrite: bool) -> Callable[[str, str], None]:
    """Return a function that compares a text with a golden file; `--rewrite` stores the text."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if rewrite:
            file.parent.mkdir(exist_ok=True)
            file.write_text(text + "\n", encoding="utf-8", newline="\n")

        assert file.read_text(encoding="utf-8") == text + "\n"

    return compare
