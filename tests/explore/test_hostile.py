"""Models that try to run a script in the page, or whose code never returns."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="pip install 'joinproto[web]'")

from joinproto.explore.session import Session
from tests.explore.browsing import page_of, shot, wait_for_status
from tests.explore.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.landing, pytest.mark.needs("chromium")]

HOSTILE = """
import time
from pathlib import Path

from joinproto.check import Persist, World, always, sometimes

EVIL = '<img src=x onerror="document.title=1">'


class Member:
    persistent = ("text", "other")

    def __init__(self):
        self.text, self.other = EVIL, 0

    def choices(self):
        yield '<script>document.title=2</script>'

    def receive(self, event):
        while event == "never return" and not Path("ENDS").exists():
            time.sleep(0.05)
        self.text, self.other = '"><svg onload=document.title=3>', 1
        return [Persist()]

    def shows(self):
        return {'<b onclick=document.title=8>phase</b>': self.text}


def world() -> World:
    return World(
        name='<b onmouseover=document.title=4>world</b>',
        members={'<i>m</i>': Member},
        properties=[always('<script>document.title=5</script>', lambda view: True)],
        picture=lambda view: '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"'
        ' onload="document.title=6"><script>document.title=7</script></svg>',
    )
"""


def test_a_hostile_model_is_shown_and_none_of_its_scripts_runs(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "hostile.py"
    file.write_text(HOSTILE, encoding="utf-8")
    with page_of(browser, str(file)) as page:
        page.keyboard.press("1")
        wait_for_status(page, "Step 1")
        shot(page, "hostile")
        page.get_by_label("An expression to show in each state").fill("'<img src=y onerror=x>'")
        page.get_by_role("button", name="Add a column").click()
        page.get_by_text("'<img src=y onerror=x>'").first.wait_for()
        page.get_by_role("button", name="Faults of the disk of").click()
        page.get_by_role("button", name="other alone:").wait_for()
        shot(page, "hostile-disk")
        page.get_by_role("button", name="other alone:").click()
        wait_for_status(page, "of the last write of <i>m</i>, other alone is on the disk")
        page.get_by_role("tab", name="Ask").click()
        page.locator(".ready button").first.wait_for()
        page.get_by_role("tab", name="See").click()
        page.get_by_role("button", name="Draw the graph").click()
        page.get_by_text("states", exact=True).last.wait_for()
        page.get_by_role("tab", name="Compare").click()
        page.get_by_role("button", name="Compare", exact=True).click()
        page.get_by_text("They differ.").wait_for()

        assert "<b onmouseover=document.title=4>world</b>" == page.locator("h1").inner_text()
        assert page.title().startswith("<b onmouseover")
        for wrong in ("script", "i", "svg[onload]", "b", "img[onerror]"):
            assert 0 == page.locator(f"#explore {wrong}").count(), wrong


def test_the_page_says_that_it_waits_for_code_that_never_returns(
    browser: Browser, tmp_path: Path
) -> None:
    file, ends = tmp_path / "endless.py", tmp_path / "ends"
    endless = HOSTILE.replace("'<script>document.title=2</script>'", "'never return'")
    file.write_text(endless.replace("ENDS", str(ends)))
    session = Session()
    session.answer("open", {"target": str(file)})
    with serving(session) as address:
        page = browser.new_page()
        try:
            page.goto(address)
            page.get_by_text("Loading the world").wait_for()
            page.get_by_text("Still waiting: the code of the model has not returned").wait_for()
        finally:
            ends.touch()
            page.close()
