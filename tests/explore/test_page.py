"""The page in Chromium, each part used as a person would use it; screenshots in `out/explore/`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("starlette", reason="pip install 'joinproto[web]'")

from joinproto.check.catalogue import load
from joinproto.cli.commands.explore import redirect_file
from joinproto.cli.exploring import session_of
from joinproto.explore.export import export
from joinproto.explore.session import Session
from tests.explore.browsing import opened, page_of, shot, wait_for_status
from tests.explore.serving import serving
from tests.needs import need
from tools.web import AXE, bring

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.landing, pytest.mark.needs("chromium")]

ROOT = Path(__file__).resolve().parents[2]
FIRST_TRY = "docs/examples/my_first_try.py"
MODEL = "docs/examples/my_model.py"


def test_a_private_file_leads_the_browser_to_the_page(browser: Browser) -> None:
    """The browser's command line names the file; its request then comes from no page."""
    session = Session()
    session.answer("open", {"target": FIRST_TRY})
    with (
        serving(session) as address,
        redirect_file(address) as file,
        opened(browser, file.as_uri()) as page,
    ):
        assert address == page.url.partition("#")[0]


def test_the_first_step_is_there_after_one_request(browser: Browser) -> None:
    """Another request would be another wait, so the page holds all that it shows first."""
    session = Session()
    session.answer("open", {"target": "join"})
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    with serving(session) as address:
        page.goto(address)
        page.locator(".step").first.wait_for()
        page.close()

    assert [address] == [one for one in asked if not one.startswith("data:")]


def test_a_person_walks_by_the_keyboard_alone(browser: Browser) -> None:
    with page_of(browser, FIRST_TRY) as page:
        page.keyboard.press("1")
        wait_for_status(page, "Step 1: m1: wait no longer.")
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        wait_for_status(page, "Step 2")
        page.keyboard.press("Home")
        wait_for_status(page, "At the beginning.")
        page.keyboard.press("ArrowRight")
        wait_for_status(page, "At step 1")
        page.keyboard.press("?")
        assert page.get_by_role("dialog", name="Help and keys").is_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("w")
        wait_for_status(page, "Nothing more can change")

        assert "1" != page.locator(".place").inner_text()


def test_a_person_finds_why_a_claim_is_broken(browser: Browser) -> None:
    """With a ready question, the shortest run there, and the part that does not hold."""
    with page_of(browser, FIRST_TRY) as page:
        page.get_by_role("tab", name="Ask").click()
        page.get_by_role("button", name="“one founder” is broken").click()
        page.get_by_role("button", name="Walk there").click()
        wait_for_status(page, "Broken here: one founder.")
        page.locator(".claims summary", has_text="one founder").click()
        part = page.locator(".tree .bad").first
        part.wait_for()
        shot(page, "broken")

        assert "{one, other} != {'founder'}" in part.inner_text()
        assert "was looking" in page.locator(".card.changed").inner_text()


def test_a_person_asks_for_the_nearest_state(browser: Browser) -> None:
    """With an expression, and with a pattern of steps."""
    with page_of(browser, MODEL) as page:
        page.keyboard.press("/")
        page.keyboard.type('count("joined") == 1')
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="after 3 steps").wait_for()
        shot(page, "ask")
        page.locator("#pattern").fill("m1 sends join me to m2\nnot: m2 receives *\nm2 crashes")
        page.get_by_role("button", name="Find a run").click()
        page.get_by_role("heading", name="The pattern").wait_for()
        page.locator("#where").fill("m9.phase")
        page.get_by_role("button", name="Find", exact=True).click()

        assert "'m9' is not known here" in page.locator(".answer [role=alert]").inner_text()


def test_a_person_sees_levels_counts_and_the_graph(browser: Browser) -> None:
    with page_of(browser, MODEL) as page:
        page.get_by_role("tab", name="See").click()
        page.get_by_text("16 states, 6 levels: all that there are.").wait_for()
        page.get_by_role("button", name="Draw the graph").click()
        page.get_by_text("8 nodes for 16 states").wait_for()
        shot(page, "see")
        page.get_by_role("button", name="m1 founder, m2 joined").click()
        wait_for_status(page, "At a nearest state of that node.")

        assert page.get_by_role("tab", name="Walk").get_attribute("aria-selected") == "true"


def test_without_its_libraries_the_page_says_how_to_get_them(browser: Browser) -> None:
    with page_of(browser, MODEL) as page:
        page.route("**/vendor/*", lambda route: route.abort("blockedbyclient"))
        page.get_by_role("tab", name="See").click()
        page.get_by_text("uPlot is not here").wait_for()
        page.get_by_role("button", name="Draw the graph").click()
        page.get_by_role("button", name="m1 founder, m2 joined").click()
        wait_for_status(page, "At a nearest state of that node.")


def test_a_person_finds_the_first_difference_of_two_versions(browser: Browser) -> None:
    """A mistake of the catalogue is chosen, claims differ, and both are walked in step."""
    with page_of(browser, "durable-vote") as page:
        page.get_by_role("tab", name="Compare").click()
        page.get_by_role("button", name="with the mistake no-persist").click()
        page.get_by_text("They differ.").wait_for()
        page.locator("tr.changed").get_by_role("button").first.click()
        page.get_by_role("heading", name="In step").wait_for()
        shot(page, "compare")

        assert "✗" in page.get_by_role("region", name="The other").inner_text()


def test_a_person_compares_the_claims_of_two_runs(browser: Browser, tmp_path: Path) -> None:
    both = [("m1", "wait no longer"), ("m2", "wait no longer")]
    heard = [both[0], ("m1", "receive is anybody there from m2")]
    runs = []
    for name, steps in (("one.json", both), ("two.json", heard)):
        trace = [{"member": member, "label": label} for member, label in steps]
        (tmp_path / name).write_text(json.dumps({"world": "who-founds", "trace": trace}))
        runs.append(str(tmp_path / name))
    session = session_of(runs, {}, world=FIRST_TRY)
    with serving(session) as address, opened(browser, address) as page:
        page.get_by_role("tab", name="Compare").click()
        page.get_by_text("Claims first differ after 2 steps: one founder.").wait_for()
        page.locator(".two-runs tr.changed summary").first.click()
        shot(page, "two-runs")
        page.get_by_role("button", name="Show both there").click()
        row = page.locator(".claims-of-both tr.changed")
        row.wait_for()
        shot(page, "two-runs-claims")

        assert ["one founder"] == [
            text.removesuffix("differs") for text in row.locator("th").all_inner_texts()
        ]
        assert ["✗ broken", "✓ holds"] == row.locator("td").all_inner_texts()


def test_a_person_puts_back_an_older_copy_of_a_disk(browser: Browser) -> None:
    with page_of(browser, "durable-vote") as page:
        page.locator(".step", has_text="m1").first.click()
        wait_for_status(page, "Step 1")
        page.get_by_role("button", name="Faults of the disk of m1").click()
        page.get_by_role("button", name=re.compile("As after step 0")).wait_for()
        shot(page, "disk")
        page.get_by_role("button", name=re.compile("As after step 0")).click()
        wait_for_status(page, "the disk of m1 is as it was after step 0")
        page.get_by_role("button", name="← Back").click()
        wait_for_status(page, "At step 2")
        page.locator(".step", has_text="the disk of m1 is as it was").wait_for()

        assert "step 2 of 3" == page.locator(".place").inner_text()

        page.keyboard.press("End")
        page.locator(".step", has_text="m2").first.click()
        wait_for_status(page, "Step 4: m2")
        page.get_by_role("button", name="Faults of the disk of m2").click()
        page.get_by_role("button", name="Lose the disk of m2").click()
        wait_for_status(page, "the disk of m2 is lost")
        assert "step 6 of 6" == page.locator(".place").inner_text()


def test_a_person_injects_a_fault(browser: Browser) -> None:
    with page_of(browser, FIRST_TRY) as page:
        page.keyboard.press("1")
        wait_for_status(page, "Step 1")
        page.get_by_role("button", name="Faults of m2").click()
        page.get_by_role("button", name="Crash m2").click()
        wait_for_status(page, "m2 crashes")
        page.get_by_role("button", name="cut a link").click()
        page.get_by_role("button", name="Cut this link").click()
        wait_for_status(page, "the link of m1 and m2 is cut")
        shot(page, "fault")

        assert "step 3 of 3" == page.locator(".place").inner_text()
        assert page.locator(".badge.down").first.is_visible()


def test_a_person_sees_the_row_that_a_step_took(browser: Browser) -> None:
    with page_of(browser, "join") as page:
        page.keyboard.press("w")
        wait_for_status(page, "Walked: 20 steps.")
        for _ in range(20):
            if page.locator(".decision").count():
                page.locator(".decision summary").click()
                page.locator(".decision").get_by_text(
                    re.compile("reads no|not looked")
                ).first.wait_for()
                if page.locator("tr.taken").count():
                    break
            page.keyboard.press("ArrowLeft")
            page.wait_for_timeout(50)
        shot(page, "row")

        assert "➜" in page.locator("tr.taken").first.inner_text()


def test_an_address_holds_the_run(browser: Browser) -> None:
    with page_of(browser, MODEL) as page:
        page.keyboard.press("1")
        wait_for_status(page, "Step 1")
        page.keyboard.press("1")
        wait_for_status(page, "Step 2")
        fragment = page.evaluate("location.hash")
        words = page.locator(".row.here").get_attribute("aria-label")
    with page_of(browser, MODEL, path=fragment) as page:
        wait_for_status(page, "possible")
        assert words == page.locator(".row.here").get_attribute("aria-label")
    with page_of(browser, FIRST_TRY, path=fragment) as page:
        assert "of another world" in page.locator(".notice").inner_text()
    bad = fragment.replace("run=", "run=AAAAAA")
    with page_of(browser, MODEL, path=bad) as page:
        assert "no longer fits" in page.locator(".notice").inner_text()


@pytest.mark.parametrize("target", [MODEL, "/tmp/from-a-stranger.py"])
def test_an_address_loads_no_file_and_evaluates_nothing(browser: Browser, target: str) -> None:
    """An address may come from anyone: it may only choose steps of the world that is open."""
    asked: list[tuple[str, Any]] = []

    class Recorded(Session):
        def answer(self, verb: str, arguments: Any = None) -> Any:
            asked.append((verb, arguments))
            return super().answer(verb, arguments)

    session = Recorded()
    session.open(load(MODEL, {}))
    more = "&run=AAAAAA&where=len(view)&columns=len(view)&until=len(view)&target=/tmp/other.py"
    with (
        serving(session) as address,
        opened(browser, f"{address}#world={target}{more}") as page,
    ):
        assert page.locator(".notice").count()

    assert {"world", "state"} <= {verb for verb, _ in asked}
    assert {verb for verb, _ in asked} <= {"world", "state", "follow", "questions", "reload"}
    assert not [given for _, given in asked if "len(view)" in str(given) or "/tmp" in str(given)]


def test_an_edited_model_is_loaded_again(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "my_model.py"
    source = (ROOT / MODEL).read_text(encoding="utf-8")
    file.write_text(source, encoding="utf-8")
    with page_of(browser, str(file)) as page:
        page.keyboard.press("1")
        wait_for_status(page, "Step 1")
        file.write_text(source.replace("found the cluster", "be the founder"), encoding="utf-8")
        page.locator(".notice", has_text="The file changed").wait_for()

        assert "the first 0 fit" in page.locator(".notice").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessibility_is_checked_by_axe(browser: Browser, scheme: Any, tmp_path: Path) -> None:
    need("npm")
    bring([AXE], tmp_path)
    axe = (tmp_path / "axe.js").read_text(encoding="utf-8")
    with page_of(browser, MODEL, color_scheme=scheme) as page:
        page.keyboard.press("w")
        wait_for_status(page, "Nothing more")
        for tab in ("Walk", "Ask", "See", "Compare"):
            page.get_by_role("tab", name=tab).click()
            page.wait_for_timeout(500)
            page.evaluate(axe)
            found = page.evaluate("axe.run({resultTypes: ['violations']})")
            shot(page, f"{tab.lower()}-{scheme}")
            wrong = [
                (one["id"], [node["html"][:120] for node in one["nodes"][:3]])
                for one in found["violations"]
            ]
            assert [] == wrong, tab


def test_on_a_phone_nothing_is_wider_than_the_screen(browser: Browser) -> None:
    size = {"width": 360, "height": 740}
    with page_of(browser, MODEL, viewport=size, has_touch=True, is_mobile=True) as page:
        page.locator(".step").first.tap()
        wait_for_status(page, "Step 1")
        shot(page, "phone")
        for tab in ("Walk", "Ask", "See", "Compare"):
            page.get_by_role("tab", name=tab).tap()
            page.wait_for_timeout(300)
            assert 360 >= page.evaluate("document.documentElement.scrollWidth"), tab


def test_logs_of_a_real_program_become_a_run(browser: Browser) -> None:
    logs = sorted(map(str, (ROOT / "tests/cli/validate/rabbitmq").glob("*.log")))
    session = session_of(
        logs,
        {},
        world="docs/examples/rabbitmq_nodes.py",
        patterns=ROOT / "docs/examples/rabbitmq_nodes.toml",
    )
    with serving(session) as address, opened(browser, address) as page:
        page.get_by_role("tab", name="Logs").click()
        page.get_by_text("All 95 lines are steps that members take.").wait_for()
        shot(page, "logs")
        page.get_by_role("button", name="Walk this run").click()
        wait_for_status(page, "The run that the logs tell.")

        assert "step 97 of 97" == page.locator(".place").inner_text()


def test_the_exported_page_works_from_disk_with_the_network_off(
    browser: Browser, tmp_path: Path
) -> None:
    session = Session()
    session.answer("open", {"target": MODEL})
    file = tmp_path / "page.html"
    wrote = export(session, file)
    with opened(browser, file.as_uri(), offline=True) as page:
        page.keyboard.press("w")
        wait_for_status(page, "step")
        page.get_by_role("tab", name="See").click()
        page.get_by_text("16 states, 6 levels").wait_for()
        page.get_by_role("button", name="Draw the graph").click()
        page.get_by_text("8 nodes for 16 states").wait_for()
        page.get_by_role("tab", name="Ask").click()
        page.get_by_role("button", name="“a member joined” is so").click()
        page.get_by_role("heading", name="after 3 steps").wait_for()
        page.get_by_role("button", name="Walk there").click()
        wait_for_status(page, "after 3 steps")
        shot(page, "export")

    assert 16 == wrote["states"]
