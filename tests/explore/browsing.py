"""The page of a world in Chromium; screenshots in `out/explore/`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from joinproto.explore.session import Session
from tests.explore.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page

SHOTS = Path(__file__).resolve().parents[2] / "out/explore"


@contextmanager
def page_of(browser: Browser, target: str, path: str = "", **how: Any) -> Iterator[Page]:
    """Yield the page of a world; an error of a script or of the security policy fails the test."""
    session = Session()
    assert "error" not in session.answer("open", {"target": target, **how.pop("given", {})})
    with serving(session) as address, opened(browser, address + path, **how) as page:
        yield page


@contextmanager
def opened(browser: Browser, address: str, **how: Any) -> Iterator[Page]:
    context = browser.new_context(**{"viewport": {"width": 1400, "height": 900}, **how})
    page = context.new_page()
    page.set_default_timeout(60_000)
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))

    def collect(message: ConsoleMessage) -> None:
        # A test that blocks the file of a library causes this message itself.
        if message.type == "error" and "ERR_BLOCKED_BY_CLIENT" not in message.text:
            wrong.append(message.text)

    page.on("console", collect)
    page.goto(address)
    page.wait_for_selector("[data-drawn]")
    yield page
    context.close()
    assert [] == wrong


def shot(page: Page, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")


def wait_for_status(page: Page, text: str) -> None:
    """Wait until the status line, which screen readers read, contains `text`."""
    page.wait_for_function(
        "text => document.querySelector('.status').textContent.includes(text)", arg=text
    )
