"""`make site`: every link works from disk, and no page loads a file from another host."""

from __future__ import annotations

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from attrs import define, field

from joinproto_worlds.incidents.entries import ENTRIES, incident_of
from tools.site import form, places, words
from tools.site.__main__ import build

WIDTHS = {"wide": "1280,1400", "phone": "500,1400"}
LEAST_BYTES = 20_000
"""A picture of an empty page has fewer bytes."""


@define
class Page(HTMLParser):
    """The links, anchors and loaded files of a page."""

    links: list[str] = field(factory=list)
    loads: list[str] = field(factory=list)
    anchors: set[str] = field(factory=set)

    def __attrs_post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given:
            self.loads.append(given["src"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon"):
            self.loads.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the built site."""
    out = tmp_path_factory.mktemp("site")
    build(out)
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Return every page of the site."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        # `joinproto check --out` wrote the report of a run; the site only copies it.
        if "runs" in path.relative_to(site).parts or path.name == "404.html":
            continue
        page = Page()
        page.feed(path.read_text("utf-8"))
        found[path] = page
    return found


@pytest.mark.landing
@pytest.mark.needs("npm", "material")
def test_every_link_leads_to_a_file_and_an_anchor(site: Path, pages: dict[Path, Page]) -> None:
    """A browser follows the links from disk."""
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            known = pages[target].anchors if target in pages else {anchor}
            if not target.is_file() or (anchor and anchor not in known):
                broken.append(f"{path.relative_to(site)}: {link}")

    assert len(pages) > 40
    assert [] == broken


@pytest.mark.landing
@pytest.mark.needs("npm", "material")
def test_no_page_loads_a_file_from_another_host(site: Path, pages: dict[Path, Page]) -> None:
    """The site is read on a machine without a network."""
    loads = {(path, load) for path, page in pages.items() for load in page.loads}

    assert loads
    assert [] == [load for _, load in loads if re.match(r"https?:|//", load)]
    assert [] == [load for path, load in loads if not (path.parent / load).is_file()]


@pytest.mark.landing
@pytest.mark.needs("chromium", "npm", "material")
@pytest.mark.parametrize("width", WIDTHS)
def test_a_browser_shows_pages_that_are_not_empty(site: Path, tmp_path: Path, width: str) -> None:
    for name in ("index", "search", "glossary"):
        picture = tmp_path / f"{name}.png"
        _browser(f"--window-size={WIDTHS[width]}", f"--screenshot={picture}", site / f"{name}.html")

        assert picture.stat().st_size > LEAST_BYTES


@pytest.mark.landing
@pytest.mark.needs("chromium", "npm", "material")
def test_a_browser_searches_without_a_server(site: Path) -> None:
    shown = _browser("--dump-dom", f"file://{site / 'index.html'}?q=lease")

    assert "matching documents" in shown
    assert "Time, timeouts and" in shown


@pytest.mark.landing
@pytest.mark.needs("chromium", "npm", "material")
def test_a_browser_finds_an_incident_by_a_line_of_a_log(site: Path) -> None:
    """No page of `docs/` has this line."""
    shown = _browser("--dump-dom", f"file://{site / 'index.html'}?q=INCONSISTENT_CLUSTER_ID")

    found = re.findall(r'href="([^"?#]*\.html)', shown.partition("md-search-result__list")[2])

    assert "kafka-second-quorum.html" in {Path(link).name for link in found[:3]}


@pytest.mark.landing
@pytest.mark.needs("chromium", "npm", "material")
def test_a_browser_draws_mermaid_pictures(site: Path) -> None:
    """A drawing replaces the text of the picture."""
    shown = _browser("--dump-dom", site / "search.html")

    assert '<pre class="mermaid">' in (site / "search.html").read_text("utf-8")
    assert '<div class="mermaid">' in shown


def _browser(*options: object) -> str:
    """Run a browser without a window, and return its output."""
    program = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    return subprocess.run(
        [*program, "--virtual-time-budget=15000", *map(str, options)],
        capture_output=True,
        text=True,
        check=True,
        timeout=180,
    ).stdout


@pytest.mark.parametrize(
    ("page", "text", "wanted"),
    [
        ("index.md", "[a](docs/tutorial.md#x)", "[a](tutorial.md#x)"),
        ("tutorial.md", "[a](../README.md)", "[a](index.md)"),
        ("how-to/time.md", "[a](../../CHANGELOG.md)", "[a](../changelog.md)"),
        ("tutorial.md", "[a](examples/my_lock.py)", "[a](examples/my_lock.py.md)"),
        ("ci.md", "[a](examples/with_pytest)", "[a](examples/with_pytest/index.md)"),
        ("zen.md", "[a](../models/joinproto_worlds/zen/world.py)", "a"),
        ("ci.md", "[a](https://example.org) [b](#c)", "[a](https://example.org) [b](#c)"),
    ],
)
def test_a_link_is_written_as_the_site_needs_it(page: str, text: str, wanted: str) -> None:
    """A link to a file outside the site becomes plain text."""
    assert wanted == places.relinked(text, page)


def test_each_incident_has_a_page_with_its_name_story_and_source() -> None:
    pages = places.incidents()

    for item in ENTRIES:
        text = pages[f"incidents/{incident_of(item.name)}.md"]
        assert all(part in text for part in (item.name, item.happened, item.spoken, item.link))
        assert f"incidents/{incident_of(item.name)}.md" in places.incident_links()


def test_a_paragraph_stays_in_its_list_item() -> None:
    """A code host needs three spaces before the paragraph, and MkDocs four."""
    text = "4. four:\n\n        a command\n\n   and more\n   of it.\n5. five"

    wanted = text.replace("   and", "    and").replace("\n5.", "\n\n5.")

    assert wanted == form.adapted(text)


def test_a_state_whose_name_looks_like_a_bar_is_renamed() -> None:
    """The theme paints a state black if its name begins like that of a bar (fork, join)."""
    text = "```mermaid\nstateDiagram-v2\n    joining --> up : joining\n```"

    wanted = text.replace("joining -->", "in_joining -->").replace(
        "\n```", '\n    state "joining" as in_joining\n```'
    )

    assert wanted == form.adapted(text)


def test_the_first_use_of_a_word_becomes_a_link() -> None:
    text = "# The elector\n\n`elector`, an elector\nand electors.\n\n    elector\n"

    linked = words.linked(text, "protocol.md", "glossary.md")

    assert text.replace("an elector", "an [elector](glossary.md#word-elector)") == linked


def test_a_page_about_models_links_no_word_of_the_protocol() -> None:
    """On that page, a view is the argument of a claim."""
    linked = words.linked("A view of the world.", "model.md", "glossary.md")

    assert "A view of the [world](glossary.md#word-world)." == linked
