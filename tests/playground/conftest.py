"""Fixtures: the playground, built once, a plain file server for it, and a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.needs import need
from tests.playground.serving import serve

CHROMIUM = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT_MS = 120_000
"""The time-out of every wait; it is long because the machine may have other work."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the playground, as `make playground` writes it."""
    need("chromium", "node", "npm")
    pytest.importorskip("playwright")
    from tools.playground.__main__ import build

    built = tmp_path_factory.mktemp("playground")
    build(built)
    return built


@pytest.fixture(scope="session")
def address(folder: Path) -> Iterator[str]:
    """Yield the address of a plain file server."""
    with serve(folder, []) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield Chromium for one module: while it runs, this process can run no other event loop."""
    need("chromium")
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        yield found
        found.close()


@pytest.fixture
def script_errors() -> list[str]:
    """Return the list of errors of the page's scripts, which must be empty at the end."""
    return []


@pytest.fixture
def page(browser: Any, address: str, script_errors: list[str]) -> Iterator[Any]:
    """Yield a page of the playground; an error in its scripts fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(WAIT_MS)
    opened.on("pageerror", lambda error: script_errors.append(str(error)))
    opened.on(
        "console", lambda line: script_errors.append(line.text) if line.type == "error" else None
    )
    opened.goto(address)
    yield opened
    context.close()

    assert [] == script_errors
