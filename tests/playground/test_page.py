"""The playground as a person uses it, in Chromium, served by a plain file server."""

from __future__ import annotations

import base64
import json
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.playground.conftest import WAIT_MS
from tests.playground.serving import serve
from tools.histories.trees import loaded
from tools.playground.__main__ import PACKAGES

pytestmark = [pytest.mark.landing, pytest.mark.needs("chromium", "node", "npm")]

ROOT = Path(__file__).resolve().parents[2]
FIRST = (ROOT / "docs/examples/my_first_try.py").read_text("utf-8")


def check(page: Any, tab: str) -> str:
    """Press Check; return the page's message."""
    page.locator(f"#{tab} button.primary").click()
    page.locator(f"#{tab} .headline, #{tab} .failure").wait_for()
    return str(page.locator(f"#{tab} .outcome").inner_text())


def write(page: Any, text: str) -> None:
    """Put a model into the editor."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def make_stores(folder: Path) -> list[Path]:
    """Make the data directories of three nodes, which an example carries."""
    made = []
    for name in ("node-a", "node-b", "node-c"):
        held = json.loads((ROOT / f"docs/examples/rescue/{name}.info").read_text("utf-8"))
        for file in held["stores"][0]["files"]:
            if file["data"] is not None:
                at = folder / name / file["name"]
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(zlib.decompress(base64.b64decode(file["data"])))
        made.append(folder / name)
    return made


def test_a_world_that_holds_is_reported_with_its_states(page: Any) -> None:
    """The world is found by its name, and its counts are those of the engine."""
    page.locator("#find").fill("two-phase")
    page.locator("[data-world=two-phase-commit]").click()

    text = check(page, "worlds")

    assert "HOLDS" in text.upper()
    assert f"{2**3 + 4**3 + 6**3} distinct states" in text


def test_a_world_that_is_violated_shows_its_run(page: Any) -> None:
    """The run is the page of `joinproto check --trace run.html`, and can be stepped through."""
    page.evaluate("location.hash = 'worlds/note-lone-restart'")

    text = check(page, "worlds")
    run = page.frame_locator("iframe.report")
    run.get_by_role("button", name="Next").click()

    assert "VIOLATED, as expected" in text
    assert "Step 2 of 8" in run.locator(".panel").inner_text()


def test_an_address_of_an_unknown_world_is_reported(page: Any) -> None:
    page.evaluate("location.hash = 'worlds/%'")

    page.get_by_role("heading", name="There is no world called %").wait_for()


def test_a_model_with_a_mistake_is_marked_at_its_line(page: Any) -> None:
    page.locator("#tab-model").click()
    write(page, FIRST.replace('self.phase = "founder"', "self.phase = founder"))

    text = check(page, "model")

    assert "model.py:21" in text
    assert "NameError" in text
    page.locator(".cm-lint-marker-error").wait_for()


def test_a_model_is_mended_and_checked_by_keyboard(page: Any) -> None:
    """Ctrl+Enter checks the model; its text is still there after a reload of the page."""
    page.locator("#tab-worlds").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Enter")
    page.locator("#model .headline").wait_for()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("\n# mended\n")
    page.reload()

    assert "model" == page.evaluate("location.hash.slice(1)")
    assert page.locator(".cm-content").get_by_text("# mended").count() or (
        "# mended" in page.evaluate("localStorage.getItem('joinproto-model')")
    )


def test_a_shipped_world_is_edited(page: Any) -> None:
    """The editor shows a copy of its file, which is built with the world's own options."""
    page.evaluate("location.hash = 'worlds/dining-philosophers'")
    page.get_by_role("button", name="Edit a copy").click()
    page.get_by_text("A copy of the file that builds dining-philosophers").wait_for()

    assert "VIOLATED" in check(page, "model")


def test_a_world_is_stepped_through(page: Any) -> None:
    page.evaluate("location.hash = 'worlds/two-phase-commit'")
    page.get_by_role("button", name="Step through it").first.click()
    view = page.frame_locator("iframe.explorer")
    view.locator(".step", has_text="rm1 prepare").or_(
        view.locator(".step").filter(has_text="prepare")
    ).first.click()
    view.get_by_text("step 1 of 1").wait_for()

    assert "step" == page.evaluate("location.hash.slice(1)")


def test_a_person_finds_why_a_mutant_breaks(page: Any) -> None:
    """The mistake is chosen, the run that was found is walked, and the false part is opened."""
    page.locator("#find").fill("votes twice")
    page.locator("[data-world=durable-vote]").click()
    page.locator("select[name=mutant]").select_option("no-persist")
    check(page, "worlds")
    page.get_by_role("button", name="Walk this run").click()
    view = page.frame_locator("iframe.explorer")
    view.get_by_text("step 8 of 8").wait_for()
    view.locator(".claims").first.locator("summary", has_text="one leader, ever").click()
    view.locator(".tree .bad").first.wait_for()

    assert "len(view.monitor) <= 1 is not so" in view.locator(".tree .bad").first.inner_text()
    assert "m2: crash" in view.locator(".run").text_content()


def test_a_person_finds_the_nearest_state_with_two_active_members(page: Any) -> None:
    page.evaluate("location.hash = 'worlds/note-lone-restart'")
    page.get_by_role("button", name="Step through it").first.click()
    view = page.frame_locator("iframe.explorer")
    view.get_by_role("tab", name="Ask").click()
    group = view.get_by_role("group", name="Two members show phase")
    group.get_by_text("active", exact=True).click()
    view.get_by_role("button", name="Walk there").click()
    view.get_by_text("step 4 of 4").wait_for()

    assert 2 == view.locator(".card", has_text="active").count()


def test_a_person_finds_the_first_difference_of_an_edited_copy_and_its_world(page: Any) -> None:
    """The same is shown for a model and its version before the last change."""
    view = page.frame_locator("iframe.explorer")
    page.evaluate("location.hash = 'worlds/durable-vote'")
    page.get_by_role("button", name="Edit a copy").click()
    page.get_by_text("A copy of the file that builds durable-vote").wait_for()
    page.locator("#model-step").click()
    view.get_by_role("tab", name="Compare").click()
    view.get_by_role("button", name="with durable-vote, of which this is a copy").click()
    view.get_by_text("They are the same, as far as they were searched.").wait_for()
    page.locator("#tab-model").click()
    page.locator("#starts").select_option(index=0)
    check(page, "model")
    write(page, FIRST.replace('if self.phase == "founder"', 'if self.phase != "joined"'))
    page.locator("#model-step").click()
    view.get_by_role("heading", name="who-founds").wait_for()
    view.get_by_role("tab", name="Compare").click()
    view.get_by_role("button", name="with the model before its last change").click()
    view.get_by_text("They differ.").wait_for()

    assert "They part at the beginning" in view.locator("#panel-compare").inner_text()
    assert 0 == view.get_by_text("This address is of another world").count()


@pytest.mark.parametrize(
    ("right", "wrong_text", "line", "message"),
    [
        ("case _:", "case _", 26, "syntax error"),
        ('{"founder"})', "{founder})", 40, "property 'one founder' raised NameError"),
        ("World(\n", "World(\n        nonsense=3,\n", 36, "unexpected keyword argument"),
    ],
)
def test_each_kind_of_mistake_is_reported_with_its_place(
    page: Any, right: str, wrong_text: str, line: int, message: str
) -> None:
    """The mistakes are in the syntax, in a claim and in an argument of `World`."""
    page.locator("#tab-model").click()
    write(page, FIRST.replace(right, wrong_text))

    text = check(page, "model")

    assert f"model.py:{line}: " in text
    assert message in text
    assert "next: " in text
    page.locator(".cm-activeLine .cm-lintRange-error").first.wait_for()


def drop(page: Any, folders: list[Path]) -> None:
    """Drop directories on the page as the operating system does."""
    box = page.locator("#drop").bounding_box()
    chromium = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        chromium.send(
            "Input.dispatchDragEvent",
            {
                "type": kind,
                "x": box["x"] + 20,
                "y": box["y"] + 20,
                "data": {"items": [], "files": [*map(str, folders)], "dragOperationsMask": 1},
            },
        )
    page.locator("#stores li").nth(len(folders) - 1).wait_for()


@pytest.mark.parametrize(
    ("story", "verdict"),
    [
        ("galera-killed-in-turn", "UNPROVEN: fd1ec621.. (n1) and fd490136.. (n2) are the latest"),
        ("rabbitmq-stopped-in-turn", "PROVEN: c@localhost (c@localhost) is the latest store"),
        ("etcd-away", "TIE: a (a) and c (c) have every committed entry, and the same"),
        ("postgresql-forked-17", "DIVERGED: These directories have gone different ways"),
    ],
)
def test_directories_of_real_servers_are_judged(
    page: Any, tmp_path: Path, story: str, verdict: str
) -> None:
    """The directories are as servers left them; each is called by its dropped name."""
    kept = ROOT / "tests/recovery/foreign/data" / story
    for packed in kept.glob("*.tree"):
        loaded(packed.read_text("utf-8")).write(tmp_path / packed.stem)
    folders = [one for held in (kept, tmp_path) for one in sorted(held.iterdir()) if one.is_dir()]
    page.locator("#tab-recover").click()
    drop(page, folders)
    page.locator("#pick").click()

    text = " ".join(page.locator("#recover-outcome pre").inner_text().split())
    assert verdict in text
    assert "emscripten" not in text


def test_three_directories_are_judged_when_they_are_dropped(page: Any, tmp_path: Path) -> None:
    """The directories are real, and dropped as the operating system does."""
    page.locator("#tab-recover").click()
    drop(page, make_stores(tmp_path))
    page.locator("#pick").click()

    text = page.locator("#recover-outcome pre").inner_text()
    assert "PROVEN: b" in text
    assert "node-b" in text


def test_a_directory_is_added_by_a_button(page: Any, tmp_path: Path) -> None:
    """The button can be used by keyboard.  With one store alone, the verdict is unproven."""
    page.locator("#tab-recover").click()
    page.locator("#folder-input").set_input_files(make_stores(tmp_path)[0])
    page.locator("#stores li").wait_for()
    page.locator("#pick").click()

    text = page.locator("#recover-outcome pre").inner_text()
    assert "UNPROVEN: " in text
    assert "node-a" in text


def test_an_endless_model_is_stopped(page: Any) -> None:
    """The worker is ended and another starts, which searches as before."""
    page.locator("#tab-model").click()
    write(page, FIRST.replace("match event:", "while True: pass\n        match event:"))
    page.locator("#model-check").click()
    page.locator("#status[data-state=busy]").wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()
    page.locator("#model .failure", has_text="stopped").wait_for()
    write(page, FIRST)

    assert "one founder" in check(page, "model")


def test_a_long_search_reports_its_progress_and_is_stopped(page: Any) -> None:
    page.evaluate("location.hash = 'worlds/two-phase-commit'")
    page.locator("input[name=members]").fill("7")
    page.locator("#world button.primary").click()
    page.locator(".progress .words", has_text="states").wait_for()
    page.get_by_role("button", name="Stop", exact=True).click()

    page.locator("#worlds .failure", has_text="stopped").wait_for()


def test_a_model_cannot_reach_another_host(
    page: Any, tmp_path: Path, script_errors: list[str]
) -> None:
    """The page's security policy holds in the worker: dropped files cannot be sent on."""
    asked: list[str] = []
    sends = (
        "import js\n"
        "request = js.XMLHttpRequest.new()\n"
        "request.open('GET', '{place}', False)\n"
        "request.send()\n"
    )
    with serve(tmp_path, asked) as other:
        page.locator("#tab-model").click()
        write(page, sends.replace("{place}", other + "stolen") + FIRST)
        refused = check(page, "model")

    write(page, sends.replace("{place}", page.url.partition("#")[0] + "worlds.json") + FIRST)
    page.locator("#model-check").click()
    page.locator("#model .headline").wait_for()
    script_errors.clear()

    assert [] == asked
    assert "NetworkError" in refused


def test_a_model_cannot_run_a_script_in_the_page(
    page: Any, tmp_path: Path, script_errors: list[str]
) -> None:
    """A model may write any report; a script in it could take the page to another host."""
    asked: list[str] = []
    with serve(tmp_path, asked) as other:
        leaves = (
            "import js, pyodide.ffi, tools.playground.answers\n"
            f"parts = pyodide.ffi.to_js([\"top.location = '{other}stolen'\"])\n"
            "script = js.URL.createObjectURL(js.Blob.new(parts))\n"
            "report = f'<!DOCTYPE html><p>a report</p><script src=\"{script}\"></script>'\n"
            "tools.playground.answers.page = lambda *_, **__: report\n"
        )
        page.locator("#tab-model").click()
        write(page, leaves + FIRST)
        text = check(page, "model")
        page.frame_locator("iframe.report").get_by_text("a report").wait_for()
        until = time.monotonic() + WAIT_MS / 1_000
        while not script_errors and time.monotonic() < until:
            page.wait_for_timeout(50)  # the browser says that it did not run the script

    assert "one founder" in text
    assert [] == asked
    assert script_errors
    assert all("violates the following Content Security Policy" in text for text in script_errors)
    script_errors.clear()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_each_tab_is_accessible(page: Any, scheme: str, width: int) -> None:
    """axe-core checks this.  No tab is wider than the screen of a phone or a desktop."""
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": 800})
    page.reload()
    found: dict[str, list[str]] = {}
    source = (PACKAGES / "node_modules/axe-core/axe.min.js").read_text("utf-8")
    check(page, "worlds")
    for tab in ("worlds", "model", "step", "recover"):
        page.locator(f"#tab-{tab}").click()
        page.evaluate(source)
        violations = page.evaluate("axe.run(document, {iframes: false}).then((r) => r.violations)")
        found[tab] = [f"{one['id']}: {one['nodes'][0]['html']}" for one in violations]

        assert page.evaluate("document.documentElement.scrollWidth") <= width, tab

    assert {"worlds": [], "model": [], "step": [], "recover": []} == found
