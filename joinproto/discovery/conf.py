"""Reading the lines of `rabbitmq.conf`: keys, values, and lines that are not settings.

The format is cuttlefish's: `key = value`; `#` begins a comment, except in a value in single quotes;
a part of a key may contain a dot, written `\\.`.  This module does not know which keys exist.
"""

from __future__ import annotations

import re

from attrs import frozen

_WORD = r"(?:\\\.|[A-Za-z0-9_-])+"
_KEY = rf"{_WORD}(?:\.{_WORD})*"
_SETTING = re.compile(
    rf"[ \t]*({_KEY})[ \t]*=[ \t]*(?:'([^']*)'|([^#'\s][^#]*?|))[ \t]*(?:#.*)?", re.ASCII
)
_INCLUDE = re.compile(r"[ \t]*include[ \t]+(\S+)[ \t]*(?:#.*)?")


@frozen
class Line:
    """One setting in a file.

    `number`: the number of its line, from 1.  `parts`: the parts of its key, in which `\\.` is a
    dot.  `is_term`: the setting is in Erlang terms, which no schema checks.
    """

    number: int
    key: str
    value: str
    is_term: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", self.key))


@frozen
class NotRead:
    """A line that is not a setting, and why."""

    number: int
    text: str
    why: str
    next: str


def read(raw: bytes) -> tuple[list[Line], list[NotRead]]:
    """Return the settings in their order, and the lines that are not settings."""
    lines: list[Line] = []
    wrong: list[NotRead] = []
    for number, found in enumerate(raw.splitlines(), start=1):
        try:
            line = found.decode("utf-8")
        except UnicodeDecodeError as error:
            shown = found.decode("utf-8", "replace").strip()
            why = f"byte {error.start + 1} of the line is not UTF-8"
            wrong.append(NotRead(number, _short(shown), why, "save the file as UTF-8"))
            continue
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        setting = _SETTING.fullmatch(line)
        if setting and (setting[2] is not None or setting[3]):
            lines.append(
                Line(number, setting[1], setting[2] if setting[2] is not None else setting[3])
            )
        else:
            wrong.append(_not_read(number, line))
    return lines, wrong


def _not_read(number: int, line: str) -> NotRead:
    shown = _short(line.strip())
    included = _INCLUDE.fullmatch(line)
    if included:
        why = "an included file is not read here"
        return NotRead(number, shown, why, f"check {_short(included[1])} by itself")
    if "=" not in line:
        why, what = (
            "there is no = between a key and a value",
            "write `key = value`, or # before a comment",
        )
        return NotRead(number, shown, why, what)
    key, _, value = line.partition("=")
    if not re.fullmatch(_KEY, key.strip(), re.ASCII):
        why = f"{_short(key.strip())!r} is not a key"
        return NotRead(
            number, shown, why, "write words of letters, digits, _ and -, with dots between"
        )
    if not value.strip() or value.strip().startswith("#"):
        return NotRead(number, shown, "there is no value", "write a value, or remove the line")
    return NotRead(
        number, shown, "a quoted value has no closing '", "write the value between two '"
    )


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
