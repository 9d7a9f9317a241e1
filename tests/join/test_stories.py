"""Stories of members, each with the rules of `docs/protocol.md` that it shows: see `story.py`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.join.story import read, with_present_results

STORIES = sorted((Path(__file__).parent / "stories").glob("*.txt"))
PROTOCOL = Path(__file__).resolve().parents[2] / "docs" / "protocol.md"
CITED = re.compile(r"docs/protocol\.md#([\w-]+)")
RULE = re.compile(r'<a id="(\w+)"></a>')

OF_TOOLS = {"R1", "R2"}
"""Rules about the recovery tool's output, which `tests/recovery/` shows."""


def cited(story: Path) -> list[str]:
    return CITED.findall("\n".join(read(story.read_text())[0].above))


def anchors() -> set[str]:
    """Return the anchors of `protocol.md`: the rules, and each heading as a page names it."""
    text = PROTOCOL.read_text()
    headings = re.findall(r"(?m)^#+ (.+)$", text)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {*RULE.findall(text), *(heading.replace(" ", "-") for heading in plain)}


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.stem)
def test_a_story_has_the_written_results(story: Path, rewrite: bool) -> None:
    """`--rewrite` writes the results again; commit only changes that you can explain."""
    came = with_present_results(story)

    if rewrite:
        story.write_text(came)
    assert story.read_text() == came


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.stem)
def test_a_story_shows_a_rule_of_the_protocol(story: Path) -> None:
    """A reader can read the story and the rule side by side."""
    assert cited(story)
    assert [] == [anchor for anchor in cited(story) if anchor not in anchors()]


def test_every_rule_of_the_protocol_but_those_of_tools_has_a_story() -> None:
    shown = {anchor for story in STORIES for anchor in cited(story)}

    assert OF_TOOLS == set(RULE.findall(PROTOCOL.read_text())) - shown


def test_a_story_with_another_result_is_found(tmp_path: Path) -> None:
    """So the test of written results can fail."""
    story = tmp_path / "story.txt"
    story.write_text("# Of one.\n\nstart a\nwait 1\n----\n  0.00 a  serves everybody\n")

    assert "# Of one.\n\nstart a\nwait 1\n----\n" == with_present_results(story)


@pytest.mark.parametrize("line", ["dance a", "crash nobody", "wait long", "start a wait_for=1"])
def test_a_line_that_cannot_be_played_is_named(tmp_path: Path, line: str) -> None:
    story = tmp_path / "story.txt"
    story.write_text(f"{line}\n----\n")

    with pytest.raises(ValueError, match=rf"story.txt: '{line}' cannot be done"):
        with_present_results(story)
