"""Links to the glossary: the first use of each of its words on a page of the site.

On a code host the pages read as they are written, without these links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ORDINARY = {
    *("N", "accept", "action", "base", "batch", "case", "clean", "client", "dirty", "driver"),
    *("empty", "event", "fact", "foreign", "host", "layer", "learn", "level", "link", "mark"),
    *("none", "owner", "phase", "pick", "plan", "promise", "ready", "relation", "row", "source"),
    *("state", "step", "store", "sure", "update", "vote", "active", "covers", "chosen", "held"),
}
"""Words of the glossary that often have their everyday meaning, and so never become links."""
OF_A_SEARCH = "Searching"
"""The only section used for pages about models, where words such as `view` mean other things."""
SEARCHES = re.compile(
    r"(how-to/|tutorial|model|semantics|search|spark|ci|coming-from-|benchmarks|readme)"
)
ROW = re.compile(r"(?m)^\| (?!word |-)(.+?) \| (.+) \|$")
# Texts that may get no link inside: code, links, HTML and bold text.
KEPT = re.compile(r"(`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>]+>|\*\*[^*]+\*\*)")


def anchor(word: str) -> str:
    """Return the anchor of a word in the site's glossary."""
    return "word-" + re.sub(r"\W+", "-", word.lower()).strip("-")


def linkable(page: str) -> list[str]:
    """Return the words of the glossary that become links on a page, the longest first."""
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    found = {
        word.strip("`")
        for section in text.split("\n## ")[1:]
        if not SEARCHES.match(page) or section.startswith(OF_A_SEARCH)
        for words, _ in ROW.findall(section)
        for word in words.split(", ")
    }
    return sorted(found - ORDINARY, key=lambda word: (-len(word), word))


def anchored(text: str) -> str:
    """Return the glossary with an anchor before each of its words."""

    def row(found: re.Match[str]) -> str:
        words, means = found.groups()
        marks = "".join(f'<a id="{anchor(word.strip("`"))}"></a>' for word in words.split(", "))
        return f"| {marks}{words} | {means} |"

    return ROW.sub(row, text)


def linked(text: str, page: str, glossary: str) -> str:
    """Return a page's text with a link at the first use of each word in its paragraphs.

    `glossary` is the address of the glossary as seen from this page.
    """
    patterns = {
        word: re.compile(rf"(?<![\w/-]){re.escape(word)}(?:s|es)?(?![\w/-])")
        for word in linkable(page)
    }
    lines = []
    for line, is_prose in _lines(text):
        parts = KEPT.split(line) if is_prose else [line]
        if is_prose:
            for at in range(0, len(parts), 2):
                parts[at] = _first_uses(parts[at], patterns, glossary)
        lines.append("".join(parts))
    return "\n".join(lines)


def _first_uses(part: str, patterns: dict[str, re.Pattern[str]], glossary: str) -> str:
    """Put links into a piece of prose, and remove linked names from `patterns`."""
    made: list[str] = []
    for word, pattern in list(patterns.items()):
        found = pattern.search(part)
        if found is None:
            continue
        del patterns[word]
        made.append(f"[{found[0]}]({glossary}#{anchor(word)})")
        # No other pattern matches this mark, so that no link gets a link inside.
        part = f"{part[: found.start()]}\0{len(made) - 1}\0{part[found.end() :]}"
    return re.sub("\0(\\d+)\0", lambda found: made[int(found[1])], part)


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it is prose, not code, a heading, a table or HTML."""
    fence = ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(```+)", line)
        if mark and (not fence or line.strip() == fence):
            fence = "" if fence else mark[1]
            yield line, False
        else:
            is_other = line.startswith(("    ", "#", "|", "<"))
            yield line, not fence and not is_other
