"""The report of a check as text.

A check that finds nothing has shown something only if it exercised its subject; so the parts that
were *not* exercised are in every report, also of a good one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from joinproto.check.report import Report
from joinproto.cli.show import findings
from joinproto.cli.show.amounts import count, plural
from joinproto.cli.show.cells import width as cells
from joinproto.cli.show.cells import wrap
from joinproto.cli.show.findings import MARKS
from joinproto.cli.show.glyphs import BOXES, Glyphs
from joinproto.cli.show.paint import Paint, plain
from joinproto.cli.show.pieces import Line, Piece, Role, line, visible

WIDTH_MIN = 40

IDLE_MAX = 30
"""Items never exercised: at most this many are listed; the JSON report has all."""


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

    `run`: the chart of its run, which comes before all that was counted.  `command`: the command
    line that gave it, for the next one to type.  `has_sizes`: whether the world can be built with
    another number of members.
    """
    width = max(width, WIDTH_MIN)

    def laid_out(texts: Iterable[_Text]) -> str:
        return "\n".join(
            "".join(paint(piece.text, piece.role) for piece in row).rstrip(" ")
            for text in texts
            for row in wrap(glyphs.line(text.line), width, first=text.first, indent=text.indent)
        )

    rest = laid_out(_texts(report, command or findings.command(report), width, has_sizes))
    return "\n".join([laid_out(_head(report)), *([f"\n{run}\n"] if run else []), rest])


@frozen
class _Text:
    line: Line
    first: int = 2
    indent: int = 4


_EMPTY = _Text(line(), 0, 0)


def _head(report: Report) -> Iterator[_Text]:
    where = f"{visible(report.world)} with {plural(report.members, 'member')}: "
    yield _Text(line(Piece(where, Role.TITLE), findings.result(report)), 0, 2)
    if report.about:
        yield _Text(line(visible(report.about)), 2, 2)
    for item in report.properties:
        if item.result == "violated" and item.about:
            yield _Text(line(Piece(f"“{visible(item.name)}”", Role.NAME), f": {item.about}"))


def _texts(report: Report, command: str, width: int, has_sizes: bool) -> Iterator[_Text]:
    for fact in findings.costs(report):
        yield _Text(line(Piece(fact.heading.ljust(9), Role.QUIET), fact.text), 2, 11)
    yield from _properties(report)
    yield from _idle(report)
    if report.notes:
        yield from _heading("notes")
        for note in report.notes:
            yield _Text(line(visible(note)))
    following = list(findings.next_commands(report, visible(command), has_sizes=has_sizes))
    if following:
        yield from _heading("next")
        yield from _next(following, width)


def _next(facts: list[findings.Fact], width: int) -> Iterator[_Text]:
    """Yield commands with their purposes; below each other where a row is too short."""
    longest = max(cells(fact.heading) for fact in facts) + 2
    together = 2 + longest + max(cells(fact.text) for fact in facts) <= width
    for fact in facts:
        typed, use = Piece(fact.heading, Role.ACTION), Piece(fact.text, Role.QUIET)
        if together:
            yield _Text(line(typed, " " * (longest - cells(fact.heading)), use))
        else:
            yield _Text(line(typed), 2, 6)
            yield _Text(line(use), 4, 6)


def _heading(text: str) -> Iterator[_Text]:
    yield _EMPTY
    yield _Text(line(Piece(text, Role.TITLE)), 0)


def _properties(report: Report) -> Iterator[_Text]:
    yield from _heading("properties")
    rows = [(MARKS[item.result], item.kind, visible(item.name)) for item in report.properties]
    marks = max((len(mark.text) for mark, _, _ in rows), default=0) + 2
    kinds = max((len(kind) for _, kind, _ in rows), default=0) + 2
    names = min(max((cells(name) for _, _, name in rows), default=0), 30) + 2
    for item, (mark, kind, name) in zip(report.properties, rows, strict=True):
        words = line(
            mark,
            " " * (marks - len(mark.text)),
            Piece(kind.ljust(kinds), Role.QUIET),
            Piece(name, Role.NAME),
            " " * max(names - cells(name), 2),
            findings.remark(item),
        )
        yield _Text(words, 2, 2 + marks + kinds if marks + kinds < 30 else 4)


def _idle(report: Report) -> Iterator[_Text]:
    idle = list(findings.not_exercised(report))
    early = findings.ended_early(report)
    yield from _heading("not exercised" if idle else "exercised")
    if not idle and early:
        yield _Text(line(f"so far {findings.exercised(report)}: {early}"))
        return
    if not idle:
        yield _Text(
            line(f"everything: {findings.exercised(report)}, every claim was put to a test")
        )
        return
    for statement in idle[:IDLE_MAX]:
        yield _Text(line(Piece(statement, Role.WARN)))
    if len(idle) > IDLE_MAX:
        yield _Text(line(f"and {count(len(idle) - IDLE_MAX)} more; --json lists all"))
    taken = f"taken: {findings.exercised(report)}" + (f"; {early}" if early else "")
    yield _Text(line(Piece(taken, Role.QUIET)))
