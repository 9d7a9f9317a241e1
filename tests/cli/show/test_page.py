"""The page of a run: complete, self-contained, and safe for any content."""

import base64
import hashlib
import re
import subprocess
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest
from attrs import define, field
from hypothesis import given, settings

from joinproto.check.report import Trace
from joinproto.cli.show.cells import width
from joinproto.cli.show.markup import EMPTY_ELEMENTS, element, text
from joinproto.cli.show.page import page
from joinproto.cli.show.pieces import visible
from joinproto.cli.show.rows import CELL, EDGE, LEFT, NARROW, Notice, Plan, StepRow
from joinproto.cli.show.story import story_of
from joinproto.cli.show.words import (
    closing,
    cycle_ends,
    fairness,
    headline,
    sentence,
    statements_of,
)
from tests.cli.show import traces
from tests.cli.show.strategies import any_trace


@define
class Node:
    """An element; its text is the text of everything in it."""

    tag: str
    attributes: dict[str, str]
    parts: list["Node | str"] = field(factory=list)

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    def all(self, wanted: Callable[["Node"], bool]) -> list["Node"]:
        """Return every element below this one that is `wanted`, in order."""
        found = []
        for part in self.parts:
            if isinstance(part, Node):
                found += [part] if wanted(part) else []
                found += part.all(wanted)
        return found

    def tags(self, tag: str) -> list["Node"]:
        return self.all(lambda node: node.tag == tag)

    def kinds(self, kind: str) -> list["Node"]:
        return self.all(lambda node: kind in node.attributes.get("class", "").split())


class Reader(HTMLParser):
    """Reads a page strictly: every element is closed, and in the right order."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.root = Node("", {})
        self.open = [self.root]
        self.feed(source)
        self.close()
        assert [self.root] == self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag}: an attribute twice"
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].parts.append(node)
        if tag not in EMPTY_ELEMENTS:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in EMPTY_ELEMENTS, f"{tag} is closed at once"
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> within <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)


def read(trace: Trace | None) -> Node:
    """Return the root of the page of `trace`."""
    return Reader(page(traces.report(trace), options={"members": 3})).root


def blanks(words: str) -> str:
    """Return `words` with single blanks, as a browser shows them."""
    return " ".join(words.split())


def step_of(root: Node, number: int) -> Node:
    """Return the list's item of a step."""
    (item,) = root.all(lambda node: node.attributes.get("id") == f"step-{number}")
    return item


def test_every_statement_stands_at_its_step(trace: Trace) -> None:
    """Without a script, the page has every sentence, change, sent message and rule."""
    root, story = read(trace), story_of(trace)

    for moment in story.moments[1:]:
        item = step_of(root, moment.number)
        texts = [blanks(node.text) for node in item.tags("h3") + item.tags("li")]
        wanted = [sentence(moment, story).text, *(words.text for words in statements_of(moment))]

        assert [] == [words for words in wanted if not any(blanks(words) in text for text in texts)]


def test_every_members_state_stands_at_every_step(trace: Trace) -> None:
    """The page shows the old and new value of a change, and values that did not change."""
    root, story = read(trace), story_of(trace)

    for moment in story.moments:
        cards = step_of(root, moment.number).kinds("card")

        assert len(story.members) == len(cards)
        for name, card in zip(story.members, cards, strict=True):
            assert card.tags("h4")[0].text.startswith(visible(name))
            rows = {row.tags("th")[0].text: row for row in card.tags("tr")}
            for key, value in moment.states.get(name, {}).items():
                shown = rows[visible(key)].tags("td")[0] if key else card.kinds("status")[0]
                assert shown.text.endswith(visible(value))
            for change in moment.changes:
                if change.member == name and change.attribute and change.before is not None:
                    old = rows[visible(change.attribute)].tags("del")[0]
                    assert visible(change.before) == old.text


def test_a_change_is_marked_in_words_too(trace: Trace) -> None:
    """Colour is never the only sign."""
    root = read(trace)

    for moment in story_of(trace).moments:
        cards = step_of(root, moment.number).kinds("card")
        marked = [card for card in cards if [node.text for node in card.kinds("marker")]]

        assert len(moment.changed) == len(marked)
        assert all("changed" in card.text for card in marked)


def test_every_step_is_in_the_drawing(trace: Trace) -> None:
    """A step is a row that links to its words, and that has them for screen readers.

    This is true of the drawing for a wide screen, and of the one for a narrow screen.
    """
    root, story = read(trace), story_of(trace)
    for drawing in (*root.kinds("wide"), *root.kinds("narrow")):
        rows = drawing.kinds("row")

        assert [f"#step-{number + 1}" for number in range(len(trace.steps))] == [
            row.attributes["href"] for row in rows
        ]
        for row, moment in zip(rows, story.moments[1:], strict=True):
            assert sentence(moment, story).text in row.attributes["aria-label"]


def test_no_words_leave_the_drawing_for_a_narrow_screen(trace: Trace) -> None:
    plan = Plan(story_of(trace), narrow=True)
    room = plan.width - LEFT - EDGE
    rows = plan.rows

    assert 5 < len(trace.initial) or plan.width <= NARROW
    for row in rows:
        for block in row.blocks if isinstance(row, StepRow) else ():
            longest = max(CELL * width(line.text) for line in block.lines)
            assert longest <= (block.x if block.to_left else plan.width - block.x)
        for line in row.lines if isinstance(row, Notice) else ():
            assert CELL * width(line.text) <= room


def test_the_title_is_the_headline_of_the_run(trace: Trace) -> None:
    """It has the claim, the world, and the number of steps."""
    root = read(trace)
    (title,), (heading,) = root.tags("head")[0].tags("title"), root.tags("h1")
    expected = headline(trace, world="two-phase-commit", members=len(trace.initial))

    assert expected == title.text == heading.text


def test_the_end_is_reported(trace: Trace) -> None:
    """The page has the claim, the end of the cycle, why it is fair, and messages on their way."""
    words = blanks(read(trace).kinds("words")[0].text)
    story = story_of(trace)
    wanted = [item.text for item in closing(story)] + list(fairness(trace))
    end = cycle_ends(story)
    wanted += [end.text] if end is not None else []

    assert [] == [item for item in wanted if blanks(item) not in words]


@cache
def usual_names() -> tuple[set[str], set[str]]:
    """Return the names of elements and attributes that pages have."""
    runs = traces.five_members(), traces.split_and_heal(), traces.lasso()
    nodes = [node for trace in runs for node in read(trace).all(lambda _: True)]
    return {node.tag for node in nodes}, {name for node in nodes for name in node.attributes}


@settings(max_examples=settings().max_examples // 3)  # a page takes a tenth of a second
@given(any_trace())
def test_any_text_is_shown_as_text_and_never_as_markup(trace: Trace) -> None:
    """No content becomes an element, an attribute or a script."""
    root = read(trace)
    tags, names = usual_names()

    for node in root.all(lambda _: True):
        assert node.tag in tags
        assert set(node.attributes) <= names
    assert 1 == len(root.tags("script"))
    assert not any(name.startswith("on") for name in names)


def test_the_page_requests_no_address(trace: Trace) -> None:
    """The page names no address and no other file, and its script requests none."""
    root = read(trace)

    for node in root.all(lambda _: True):
        for name, value in node.attributes.items():
            assert name not in ("src", "srcset", "action", "style")
            if name in ("href", "marker-end"):
                assert value.startswith(("#", "url(#"))
    assert "@import" not in root.tags("style")[0].text
    assert {"#hatch"} == set(re.findall(r"url\(([^)]*)\)", root.tags("style")[0].text))
    for word in ("fetch(", "XMLHttpRequest", "import(", "WebSocket", "http"):
        assert word not in root.tags("script")[0].text


def test_only_our_own_style_and_script_may_run(trace: Trace) -> None:
    """The policy has the hashes of their content, so any other style or script is refused."""
    root = read(trace)
    (policy,) = (
        node.attributes["content"]
        for node in root.tags("meta")
        if node.attributes.get("http-equiv") == "Content-Security-Policy"
    )

    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        (node,) = root.tags(tag)
        digest = hashlib.sha256(node.text.encode("utf-8")).digest()

        assert f"{tag}-src 'sha256-{base64.b64encode(digest).decode('ascii')}'" in policy


def test_claims_coverage_test_and_json_follow_the_run() -> None:
    """The page also shows the parts that were not exercised; the test and the JSON are folded."""
    root = read(traces.exchange())
    body = blanks(root.tags("main")[0].text)
    folded = {node.tags("summary")[0].text: node.text for node in root.kinds("fold")}

    for words in ("VIOLATED", "NEVER met", "case of a table: I6", "8,832 distinct"):
        assert words in body
    assert "1,024" in folded["Steps taken"]
    assert "I4" in folded["Cases of tables taken"]
    assert 'run.step("prepare", "rm1")' in folded["The run as a pytest test"]
    assert '"peak_rss_bytes": 98234112' in folded["The report as JSON"]


def test_a_report_without_a_run_is_a_page_too() -> None:
    """If all claims hold, the page still shows the coverage."""
    root = read(None)

    assert "two-phase-commit with 3 members: holds" == root.tags("h1")[0].text
    assert [] == root.tags("svg")
    assert "Not exercised" in root.text


def test_broken_lifelines_bands_and_the_bracket_are_drawn() -> None:
    """A crash breaks the lifeline, a split has a shaded band, and a cycle has a bracket."""
    crash = read(traces.crash_and_restart()).kinds("wide")[0]
    split = read(traces.split_and_heal()).kinds("wide")[0]
    cycle = read(traces.lasso()).kinds("wide")[0]

    # b is down at first, up, down, up; a is up, then down.
    assert (3, 3) == (len(crash.kinds("life")), len(crash.kinds("dead")))
    assert (1, 1) == (len(split.kinds("band")), len(split.kinds("band-other")))
    assert 1 == len(cycle.kinds("cycle-line"))
    assert [] == read(traces.stuck()).kinds("cycle-line")
    assert 1 == len(split.kinds("lost"))
    assert 1 == len(split.kinds("doubled"))


def test_text_that_is_not_markup_is_escaped() -> None:
    """Text between tags and in attributes is escaped; markup is not escaped twice."""
    inner = element("b", "<&>")

    assert str(element("p", inner, "'\"", title='"x"', hidden=True, class_=None)) == (
        '<p title="&quot;x&quot;" hidden><b>&lt;&amp;&gt;</b>&#x27;&quot;</p>'
    )
    assert text("\ud800") == "\\ud800"


@pytest.mark.landing
@pytest.mark.needs("chromium")
def test_in_a_browser_the_panel_shows_the_first_step(tmp_path: Path) -> None:
    """The script runs under the page's own policy, and fills the panel from the list."""
    file = tmp_path / "run.html"
    file.write_text(page(traces.report(traces.exchange())), encoding="utf-8")
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
        "--no-first-run", "--disable-background-networking", "--disable-component-update",
        "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", file.as_uri(),
    ]  # fmt: skip

    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=120)

    (panel,) = re.findall(r'<aside class="panel".*?</aside>', done.stdout, re.DOTALL)
    assert "Step 1 of 5" in panel
    assert "prepare" in panel
    assert 'aria-current="step"' in done.stdout
