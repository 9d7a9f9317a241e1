"""All quick worlds in the browser: counts and verdicts equal those of the engine on CPython."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.census import QUICK, searched

pytestmark = pytest.mark.needs("chromium", "node", "npm")

ASK = """([name, options]) => import(new URL("ask.js", document.baseURI).href)
    .then(({ ask }) => ask("check", { name, options }))"""

FEW = [("two-phase-commit", None), ("alternating-bit-overtaken", None), ("note-lone-restart", None)]


@pytest.fixture(scope="module")
def asking(browser: Any, address: str) -> Iterator[Any]:
    """Yield one page for all worlds."""
    page = browser.new_page()
    page.set_default_timeout(600_000)
    page.goto(address)
    page.locator("#status[data-state=ready]").wait_for()
    yield page
    page.close()


def summary_of(found: Any) -> tuple[Any, ...]:
    return tuple(
        found[name]
        for name in ("verdict", "distinct", "generated", "depth", "property", "trace_length")
    )


@pytest.mark.parametrize(
    ("name", "mutant"),
    [
        pytest.param(*case, marks=pytest.mark.landing)
        if case in FEW
        else pytest.param(*case, marks=pytest.mark.soak("playground"))
        for case in QUICK
    ],
)
def test_a_quick_world_has_the_counts_of_the_engine(
    asking: Any, name: str, mutant: str | None
) -> None:
    answer = asking.evaluate(ASK, [name, {"mutant": mutant} if mutant else {}])

    assert "value" in answer, answer
    engine, trace = searched(name, mutant), searched(name, mutant).trace
    length = None if trace is None else len(trace.steps)
    claim = None if trace is None else trace.property
    assert (
        engine.result,
        engine.distinct,
        engine.generated,
        engine.depth,
        claim,
        length,
    ) == summary_of(answer["value"])
