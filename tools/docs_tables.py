"""The tables and diagrams in the documentation, made from the shipped tables.

The NAME of `<!-- drawing: NAME -->` is one that `joinproto draw` lists, or a legend of `SETS`, or
`discovery-rules`.  Tables and legends are plain text; a machine is a diagram.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from joinproto.cli.diagrams.catalog import drawings, tables
from joinproto.clusterer.tables import SETS as CLUSTERER
from joinproto.discovery import boot, cleanup, keep
from joinproto.discovery.rules import RULES, ReleaseRule
from joinproto.errors import UsageProblem
from joinproto.join import succession
from joinproto.machine import sets
from joinproto.machine.markdown import COLUMNS, row_of
from joinproto.machine.terms import Group, Members, Named
from joinproto.reconcile.tables import SETS as RECONCILE
from joinproto.standby.tables import SETS as STANDBY

SETS = {
    "sets": (sets.I, sets.C, sets.D, sets.E, sets.T, sets.A, sets.R, sets.K),
    "chain-sets": (
        succession.SEATS,
        succession.A,
        succession.V,
        succession.S,
        succession.K,
        succession.C,
        succession.STAYING,
    ),
    "discovery-sets": boot.SETS,
    "discovery-cleanup-sets": cleanup.SETS,
    "discovery-keep-sets": keep.SETS,
    "clusterer-sets": CLUSTERER,
    "reconcile-sets": RECONCILE,
    "standby-sets": STANDBY,
}

WIDTH = 96


def legend(groups: Iterable[Group]) -> Iterator[str]:
    """Yield one line for each named set: its name and its definition."""
    for group in groups:
        match group:
            case Named(name, inner):
                yield f"{name} = {inner}"
            case Members(name):
                yield f"{name} = all members that this member knows of, and itself"


def table(name: str) -> str:
    """Return the table, drawing or legend of that name, as Markdown."""
    if name == "discovery-rules":
        return fenced(columns([("releases", "what they do"), *map(_rule, RULES.values())]))
    if name in SETS:
        return fenced(legend(SETS[name]))
    known = drawings()
    if name not in known:
        raise UsageProblem(
            f"there is no drawing {name!r}", next="joinproto draw   lists what can be drawn"
        )
    if known[name].kind != "table":
        return known[name].as_text("markdown")
    (found,) = (one for one in tables() if one.name == name)
    rows = [row_of(case) for case in found.cases]
    return fenced(columns([COLUMNS[:-1], *(row[:-1] for row in rows)], [row[-1] for row in rows]))


def _rule(one: ReleaseRule) -> tuple[str, str]:
    return str(one.ages), one.what


def fenced(lines: Iterable[str]) -> str:
    return "\n".join(("```text", *lines, "```"))


def columns(rows: Sequence[Sequence[str]], then: Sequence[str] = ()) -> list[str]:
    """Return rows of cells as lines of at most `WIDTH` characters, with wrapped cells.

    The first row is the header.  `then`: texts for separate lines after each of the other rows.
    """
    words = [[_longest(text) for text in column] for column in zip(*rows, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    least = list(map(max, words))
    while sum(widths) + 2 * len(widths) > WIDTH and widths != least:
        at = max(range(len(widths)), key=lambda one: (widths[one] > least[one], widths[one]))
        widths[at] -= 1
    lines: list[str] = []
    for row, follows in zip_longest(rows, ["", *then], fillvalue=""):
        cells = [_wrapped(text, wide) for text, wide in zip(row, widths, strict=True)]
        for parts in zip_longest(*cells, fillvalue=""):
            line = "  ".join(map(str.ljust, parts, widths))
            lines.append(line.rstrip())
        inset = " " * (widths[0] + 2)
        lines += [f"{inset}{line}" for line in _wrapped(follows and f"then {follows}", WIDTH - 8)]
    return lines


def _longest(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _wrapped(text: str, wide: int) -> list[str]:
    return textwrap.wrap(text, wide, break_on_hyphens=False, break_long_words=False)
