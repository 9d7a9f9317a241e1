"""`python -m tools.fixes`: the tables and pictures of docs/incidents.md, made by the checker.

Each cell is a search of a small world (`tools.fix_worlds`), or, in the last row, of shipped
members.  `safety`: which fault defeats which fix, and how.  `liveness`: after which faults one
cluster can still come to serve acknowledged data.  `python -m tools.docs` writes only the tables;
this command also writes the pictures.
"""

from __future__ import annotations

import textwrap
from functools import cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import click
from attrs import evolve, frozen

from joinproto.check import World, check
from joinproto.cli.show.amounts import plural
from joinproto_worlds.incidents.entries import ENTRIES, incident_of
from joinproto_worlds.incidents.shipped import VOTES, members
from tools.docs_tables import WIDTH, fenced
from tools.fix_worlds import (
    DESTROYED,
    FAULTS,
    FIXES,
    OLD,
    SPLIT,
    STANDS_STILL,
    world,
)

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "incidents.md"
Matrix = Literal["safety", "liveness"]
MATRICES: tuple[Matrix, ...] = ("safety", "liveness")
GOOD: dict[Matrix, str] = {"safety": "safe", "liveness": "goes on"}
WAITS = "waits for a person"
OURS = "the join protocol that ships"

AGAIN: dict[str, Any] = {"recovers": True, "reaches": ("RESTART",), "proposers": 2}
BLANK: dict[str, Any] = {**VOTES.given, **AGAIN, "scene": "blank-founder", "views": 2}
SHIPPED: dict[str, dict[str, Any]] = {
    "no fault": {**VOTES.given, **AGAIN, "members": 2, "scene": "stopped", "views": 2},
    "database": BLANK,
    "volume": BLANK,
    "two volumes": {**VOTES.given, **AGAIN, "scene": "blank-majority", "views": 2},
    "older copy": {**VOTES.given, **AGAIN, "scene": "put-back", "views": 3, "frames": 2},
    "half copy": {
        **VOTES.given,
        **AGAIN,
        "members": 2,
        "scene": "half-copied",
        "views": 4,
        "crashes": 1,
        "frames": 1,
    },
    "fast restart": {
        **VOTES.given,
        "members": 2,
        "wiped": "a",
        "crashes": 1,
        "views": 1,
        "recovers": True,
        "reaches": ("FOUND",),
    },
    "killed": {**VOTES.given, **AGAIN, "members": 2, "scene": "stopped", "views": 2},
    "register": {**VOTES.given, **AGAIN, "members": 2, "scene": "stopped", "views": 2},
    "cut": {**VOTES.given, "partitions": 1, "views": 1, "proposers": 1, "reaches": ("FOUND",)},
}
"""The bounds of the shipped members: `joinproto_worlds.join.bounds`."""


@frozen
class Cell:
    """A finding.  `harm`: in words, or ""; `steps`: the length of the shortest run to the harm."""

    good: str
    harm: str = ""
    steps: int | None = None

    @property
    def words(self) -> str:
        if not self.harm or self.steps is None:
            return self.harm or self.good
        return (
            f"{self.harm}, {plural(self.steps, 'step')}" if self.steps else f"{self.harm}, at once"
        )


@cache
def cell(matrix: Matrix, fix: str, fault: str) -> Cell:
    if fix == OURS:
        return _shipped(matrix, fault)
    names = [STANDS_STILL] if matrix == "liveness" else [DESTROYED, SPLIT, OLD]
    for name in names:
        found = _steps_to(world(fix, fault), name)
        if found is not None:
            return Cell(GOOD[matrix], name, found)
    return Cell(GOOD[matrix])


def _steps_to(incident: World, name: str) -> int | None:
    """Return the steps of the shortest run that breaks a claim, or None."""
    claims = [
        claim for claim in incident.properties if claim.name == name or claim.kind == "sometimes"
    ]
    report = check(evolve(incident, properties=claims))
    return None if report.trace is None else len(report.trace.steps)


@cache
def _searched(fault: str) -> tuple[str, bool]:
    """Return the violated `always`, or "", and whether any claim is violated or not reached."""
    given = SHIPPED[fault]
    same = next(name for name, other in SHIPPED.items() if other == given)
    if same != fault:
        return _searched(same)
    report = check(
        members(given.get("members", 3), **{k: v for k, v in given.items() if k != "members"})
    )
    broken = [it for it in report.properties if it.kind == "always" and it.result == "violated"]
    stands = any(it.result in ("violated", "not-reached") for it in report.properties)
    return (broken[0].name if broken else ""), stands


def _shipped(matrix: Matrix, fault: str) -> Cell:
    broken, stands = _searched(fault)
    return Cell(GOOD[matrix], broken if matrix == "safety" else WAITS if stands else "")


def rows() -> list[tuple[str, str]]:
    """Return the name and the words of each fix, and of the join protocol as the last."""
    return [*FIXES.items(), (OURS, OURS)]


def table(matrix: str) -> str:
    """Return a matrix as a table in Markdown, with its picture.

    `matrix` may also be "worlds", for all incidents, or "faults", for the list of faults.
    """
    if matrix == "worlds":
        return incidents()
    if matrix == "faults":
        return "\n".join(f"* **{name}**: {words}" for name, (words, _) in FAULTS.items())
    which = next(item for item in MATRICES if item == matrix)
    grid = [["", *FAULTS]]
    grid += [[words, *(cell(which, fix, one).words for one in FAULTS)] for fix, words in rows()]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    grid.insert(1, ["-" * width for width in widths])
    lines = [
        "| " + " | ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)) + " |"
        for row in grid
    ]
    image = f"![{matrix}: fix by fault](incidents-{matrix}.svg)"
    return "\n".join([image, "", "```text", *lines, "```"])


ALSO = {
    "nats-first-starter": "etcd-blank-majority",
    "mongodb-member-0": "redis-empty",
    "redpanda-root": "redis-empty",
    "galera-pod-0": "galera-last-leaver",
    "openstack-helm-clock": "galera-last-leaver",
    "cnpg-partition": "github-2018",
    "artemis-two-live": "github-2018",
    "nats-removal": "github-2018",
}
"""Incidents without a world of the shipped members: another incident's world has their events."""


NO_FIX = {
    "mongodb-member-0": "none is named in the thread",
    "nats-first-starter": "none: the thread is closed without one",
    "nats-orphans": "none: the thread is open",
    "opensearch-bootstrap-pod": "none is named in the thread",
    "openstack-helm-clock": "none: read from the script that is deployed, and told in no thread",
    "openstack-helm-uuid": "none: read from the script that is deployed, and told in no thread",
    "rabbitmq-server-0": "none: the maintainers say that server-0 is special",
    "stripe-2019": "none as a rule: a person restarted the shard",
}
"""Incidents without a fix, with the reason."""


def incidents() -> str:
    """Return all incidents with the results of their worlds, and then their sources."""
    lines: list[str] = []
    sources: list[str] = []
    for _, found in groupby(ENTRIES, key=lambda item: incident_of(item.name)):
        worlds = list(found)
        name = incident_of(worlds[0].name)
        ends = dict.fromkeys(("", "-fixed", "-left", "-ours"), "")
        for item in worlds:
            ending = item.name.removeprefix(f"incident-{name}")
            ends[ending] = "holds" if item.steps is None else f"broken in {item.steps}"
        said = {
            "deployed": ends[""],
            "fix": ends["-fixed"] or NO_FIX[name],
            "left": ends["-left"],
            "ours": ends["-ours"] or (f"as {ALSO[name]}" if name in ALSO else ""),
        }
        lines += [name, *_indented(worlds[0].about)]
        lines += _indented("; ".join(f"{key}: {value}" for key, value in said.items() if value))
        sources.append(f"[{name}]({worlds[0].link})")
    return f"{fenced(lines)}\n\nThe sources: {', '.join(sources)}."


def _indented(words: str) -> list[str]:
    return textwrap.wrap(words, WIDTH, initial_indent="    ", subsequent_indent="    ")


WIDE, HIGH, LEFT, TOP = 96, 34, 190, 46
COLOURS = {"": "#d8efd8", "harm": "#f4c7c3", "waits": "#fbe7b2"}


def shown(matrix: Matrix) -> dict[tuple[str, str], str]:
    """Return the words of each cell, by fix and fault, as docs/incidents.md has them."""
    text = PAGE.read_text("utf-8").partition(f"<!-- incidents: {matrix} -->")[2]
    lines = text.partition("<!-- end -->")[0].splitlines()
    cells = [[part.strip(" *") for part in line.split("|")[1:-1]] for line in lines if "|" in line]
    head, _, *body = cells
    return {
        (row[0], fault): said for row in body for fault, said in zip(head[1:], row[1:], strict=True)
    }


def picture(matrix: Matrix) -> str:
    """Return the page's matrix as a picture: green is good, red is harm, yellow stands still."""
    said = shown(matrix)
    width, height = LEFT + WIDE * len(FAULTS) + 8, TOP + HIGH * len(rows()) + 8
    title = f"<title>{matrix}: fix by fault</title>"
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">',
        title,
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for at, fault in enumerate(FAULTS):
        parts.append(_text(LEFT + WIDE * at + WIDE / 2, TOP - 14, fault, "middle"))
    for line, (_, words) in enumerate(rows()):
        y = TOP + HIGH * line
        parts.append(_text(LEFT - 8, y + HIGH / 2 + 4, words, "end"))
        for at, fault in enumerate(FAULTS):
            parts += _drawn(said[words, fault], LEFT + WIDE * at, y)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _drawn(words: str, x: int, y: int) -> list[str]:
    first, _, second = words.partition(", ")
    kind = "" if words in GOOD.values() else "waits" if first in (STANDS_STILL, WAITS) else "harm"
    box = (
        f'<rect x="{x + 1}" y="{y + 1}" width="{WIDE - 2}" height="{HIGH - 2}"'
        f' fill="{COLOURS[kind]}"/>'
    )
    if len(first) > 15:
        head, _, tail = first.rpartition(" ")
        first, second = head, f"{tail}, {second}" if second else tail
    middle = x + WIDE / 2
    lines = [(first, 14), (second, 27)] if second else [(first, 21)]
    return [box, *(_text(middle, y + at, said, "middle", 11) for said, at in lines)]


def _text(x: float, y: float, said: str, anchor: str, size: int = 12) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"'
        f' fill="#1a1a1a">{escape(said)}</text>'
    )


def path_of(matrix: Matrix) -> Path:
    return ROOT / "docs" / f"incidents-{matrix}.svg"


@click.command(epilog="Example: python -m tools.fixes")
def main() -> None:
    """Write the pictures of both matrices, and the tables in docs/incidents.md."""
    from tools import docs  # imported here, because `docs` imports this module

    PAGE.write_text(docs.regenerate(PAGE.read_text("utf-8")), "utf-8")
    for matrix in MATRICES:
        path_of(matrix).write_text(picture(matrix), "utf-8")


if __name__ == "__main__":
    main()
