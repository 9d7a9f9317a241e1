"""Rewrite Markdown that MkDocs and a code host read differently."""

from __future__ import annotations

import re

ITEM = re.compile(r"(?:[*-]|\d+\.) ")
INDENTED = re.compile(r" {1,3}(?=\S)")
STATES = re.compile(r"(?s)(```mermaid\nstateDiagram-v2\n)(.*?)(?=```)")
BAR = re.compile(r"(?m)(^ +|--> )((?:join|fork|choice)\w*)")
"""States whose names begin like those of a diagram's bars, so that the theme draws them black."""


def adapted(text: str) -> str:
    """Return a page's text in the form that MkDocs needs."""
    return STATES.sub(_with_aliases, _spaced(text))


def _with_aliases(found: re.Match[str]) -> str:
    names = dict.fromkeys(name for _, name in BAR.findall(found[2]))
    aliases = "".join(f'    state "{name}" as in_{name}\n' for name in names)
    # Aliases come after the arrows: the first state named in a diagram is drawn at its top.
    return found[1] + BAR.sub(r"\1in_\2", found[2]) + aliases


def _spaced(text: str) -> str:
    """Put an empty line before a list that follows a paragraph, and indent by four spaces a
    paragraph that continues an item.
    """
    lines: list[str] = []
    fenced = goes_on = False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        before = lines[-1] if lines else ""
        is_first = not before.strip()
        if is_first:
            goes_on = not fenced and INDENTED.match(line) is not None
        is_under_text = not is_first and not ITEM.match(before)
        is_in_item = before.startswith((" ", "#", "<!--")) and not goes_on
        if not fenced and ITEM.match(line) and is_under_text and not is_in_item:
            lines.append("")
        lines.append("    " + line.lstrip() if is_first and goes_on else line)
    return "\n".join(lines)
