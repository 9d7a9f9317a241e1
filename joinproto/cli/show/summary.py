"""The report of a check as text.

A check without findings shows something only if it exercised its subject.  So every report, also a
good one, lists the parts that were *not* exercised.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from joinproto.check.report import Report
from joinproto.cli.show import findings
from joinproto.cli.show.amounts import plural
from joinproto.cli.show.cells import width as cells
from joinproto.cli.show.findings import MARKS
from joinproto.cli.show.glyphs import BOXES, Glyphs
from joinproto.cli.show.layout import Text, claims, fact_line, heading, laid_out, listed
from joinproto.cli.show.paint import Paint, plain
from joinproto.cli.show.pieces import Piece, Role, line, visible

WIDTH_MIN = 40

IDLE_MAX = 30
"""The most parts that were never exercised that are listed; the JSON report has all."""


def summary(
    report: Report,
    *,
    width: int = 80,
    glyphs: Glyphs = BOXES,
    paint: Paint = plain,
    command: str = "",
    has_sizes: bool = True,
    run: str = "",
) -> str:
    """Return the report as text, no line wider than `width` cells (at least 40).

    `run`: the chart of the report's run, which comes before the counts.  `command`: the command
    line that gave the report, from which the next commands are made.  `has_sizes`: whether the
    world can be built with another number of members.
    """
    how: dict[str, Any] = {"width": max(width, WIDTH_MIN), "glyphs": glyphs, "paint": paint}
    rest = _texts(report, command or findings.command(report), how["width"], has_sizes)
    head = laid_out(_head(report), **how)
    return "\n".join([head, *([f"\n{run}\n"] if run else []), laid_out(rest, **how)])


def _head(report: Report) -> Iterator[Text]:
    where = f"{visible(report.world)} with {plural(report.members, 'member')}: "
    yield Text(line(Piece(where, Role.TITLE), findings.result(report)), 0, 2)
    if report.about:
        yield Text(line(visible(report.about)), 2, 2)
    for item in report.properties:
        if item.result == "violated" and item.about:
            yield Text(line(Piece(f"“{visible(item.name)}”", Role.NAME), f": {item.about}"))


def _texts(report: Report, command: str, width: int, has_sizes: bool) -> Iterator[Text]:
    for item in findings.costs(report):
        yield fact_line(item.heading, item.text)
    yield from claims(
        [
            (MARKS[item.result], item.kind, item.name, findings.remark(item))
            for item in report.properties
        ]
    )
    yield from _idle(report)
    if report.notes:
        yield from heading("notes")
        for note in report.notes:
            yield Text(line(visible(note)))
    following = list(findings.next_commands(report, visible(command), has_sizes=has_sizes))
    if following:
        yield from heading("next")
        yield from _next(following, width)


def _next(facts: list[findings.Fact], width: int) -> Iterator[Text]:
    """Yield commands with their purposes; a purpose is below its command if a row is too short."""
    longest = max(cells(fact.heading) for fact in facts) + 2
    together = 2 + longest + max(cells(fact.text) for fact in facts) <= width
    for fact in facts:
        typed, use = Piece(fact.heading, Role.ACTION), Piece(fact.text, Role.QUIET)
        if together:
            yield Text(line(typed, " " * (longest - cells(fact.heading)), use))
        else:
            yield Text(line(typed), 2, 6)
            yield Text(line(use), 4, 6)


def _idle(report: Report) -> Iterator[Text]:
    idle = list(findings.not_exercised(report))
    early = findings.ended_early(report)
    yield from heading("not exercised" if idle else "exercised")
    if not idle and early:
        yield Text(line(f"so far {findings.exercised(report)}: {early}"))
        return
    if not idle:
        yield Text(line(f"everything: {findings.exercised(report)}, every claim was put to a test"))
        return
    yield from listed(idle, IDLE_MAX)
    taken = f"taken: {findings.exercised(report)}" + (f"; {early}" if early else "")
    yield Text(line(Piece(taken, Role.QUIET)))
