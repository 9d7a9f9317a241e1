"""A browser, and the libraries that the page is drawn with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.needs import need


@pytest.fixture(scope="session")
def libraries() -> None:
    """Fetch the libraries as `make web` does; a test of its own shows the page without them."""
    from tools.web import LIBRARIES, VENDOR, bring

    if not (VENDOR / "uplot.js").is_file():
        need("npm")
        bring(LIBRARIES, VENDOR)


@pytest.fixture(scope="module")
def browser(libraries: None) -> Iterator[Any]:
    """Yield Chromium for one module: while it runs, this process can run no other event loop."""
    need("chromium")
    api = pytest.importorskip("playwright.sync_api", reason="pip install --group dev")
    with api.sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        yield chromium
        chromium.close()
