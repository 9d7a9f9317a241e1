"""A run as a sequence chart on a terminal.

    step | lifelines, arrows          | the event
                                      |   its changes, old → new

An arrow stands in the row of the step that receives the message; the text says which step
sent it.  Left of the steps' numbers, a bracket marks the cycle.  Right of them, a thick line
marks the time while the network is split.  If there are too many members for the width, the
text is shown without lifelines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import frozen

from joinproto.check.pictures import is_svg
from joinproto.check.report import Trace
from joinproto.cli.show.cells import width as cells
from joinproto.cli.show.cells import wrap
from joinproto.cli.show.glyphs import BOXES, Glyphs
from joinproto.cli.show.lanes import Lanes
from joinproto.cli.show.layout import Text, painted
from joinproto.cli.show.paint import Paint, plain
from joinproto.cli.show.pieces import Line, Piece, Role, line, visible
from joinproto.cli.show.story import Moment, Story, story_of
from joinproto.cli.show.words import (
    closing,
    cycle_begins,
    cycle_ends,
    fairness,
    headline,
    initial_lines,
    sentence,
    statements_of,
)

WIDTH_MIN = 30

TEXT_MIN = 28
TEXT_GOOD = 42
"""Cells for the text next to the lifelines: the least width, and the preferred width."""

STEPS_PER_HEAD = 12
"""Steps between two lines with the members' names: about one screen."""


def chart(trace: Trace, *, width: int = 80, glyphs: Glyphs = BOXES, paint: Paint = plain) -> str:
    """Return the chart of `trace`, no line wider than `width` cells (at least 30)."""
    return painted(_Chart.of(story_of(trace), max(width, WIDTH_MIN), glyphs).rows(), paint)


@frozen
class _Chart:
    story: Story
    width: int
    glyphs: Glyphs
    lanes: Lanes | None
    digits: int
    gutter: int
    has_cycle: bool
    has_split: bool

    @classmethod
    def of(cls, story: Story, width: int, glyphs: Glyphs) -> _Chart:
        digits = len(str(len(story.trace.steps)))
        has_cycle = story.loop_at is not None and not story.stops
        has_split = any(moment.apart for moment in story.moments)
        gutter = digits + 2 * has_cycle + 2 * has_split + 2
        lanes = Lanes.fit(story.lifelines, width - gutter - TEXT_GOOD, glyphs) or Lanes.fit(
            story.lifelines, width - gutter - TEXT_MIN, glyphs
        )
        return cls(story, width, glyphs, lanes, digits, gutter, has_cycle, has_split)

    def rows(self) -> Iterator[list[Piece]]:
        yield from self._full_width(line(Piece(headline(self.story.trace), Role.TITLE)))
        yield []
        yield from self._full_width(line(Piece("at first", Role.QUIET)))
        for statement in initial_lines(self.story):
            yield from self._full_width(statement, first=2, indent=6)
        for text in _picture(self.story.moments[0]):
            yield from self._full_width(text.line, first=text.first, indent=text.indent)
        yield []
        if self.lanes and (legend := self._legend()):
            yield from self._full_width(line(Piece(legend, Role.QUIET)))
            yield []
        yield from self._heads(self.story.moments[0])
        for moment in self.story.moments:
            yield from self._moment(moment)
        yield []
        reasons = fairness(self.story.trace)
        if reasons:
            yield from self._full_width(line(Piece("this run is fair:", Role.CYCLE)))
            for reason in reasons:
                yield from self._full_width(line(reason), first=2, indent=4)
            yield []
        for statement in closing(self.story):
            yield from self._full_width(statement, indent=2)

    def _legend(self) -> str:
        """Return the meaning of this chart's signs."""
        glyphs, moments = self.glyphs, self.story.moments
        steps = [moment for moment in moments if moment.step is not None]
        signs = [
            (f"{glyphs.own} acts", not all(_arrives(one) or one.crashes for one in steps)),
            (f"{glyphs.dash}{glyphs.to_right} receives", any(map(_arrives, steps))),
            (f"{glyphs.crash} crashes", any(one.went_down for one in steps)),
            (f"{glyphs.start} starts", any(one.came_up for one in steps)),
            (f"{glyphs.dead} is down", any(one.down for one in moments)),
            (
                f"{glyphs.own}{glyphs.joint}{glyphs.own} together",
                any(one.is_joint for one in steps),
            ),
            (
                "NAME* is on disk",
                any("*" in key for at in moments[0].states.values() for key in at),
            ),
        ]
        return "   ".join(text for text, occurs in signs if occurs)

    def _moment(self, moment: Moment) -> Iterator[list[Piece]]:
        is_last = moment is self.story.moments[-1]
        if moment.step is not None:
            row = self.lanes.step(moment) if self.lanes else []
            number = str(moment.number)
            yield from self._next_to_lifelines(moment, row, self._texts(moment), number=number)
            yield self._row(moment, self._gap(moment))
            left = len(self.story.trace.steps) - moment.number
            if not moment.number % STEPS_PER_HEAD and left > STEPS_PER_HEAD // 3:
                yield from self._heads(moment)
        if self.has_cycle and moment.number == self.story.loop_at:
            begin = [Text(cycle_begins(), 0)]
            gap, mark = self._gap(moment), self.glyphs.top
            yield from self._next_to_lifelines(moment, gap, begin, mark=mark)
            yield self._left(moment, mark=self.glyphs.side) + self._gap(moment)
        end = cycle_ends(self.story)
        if is_last and end is not None:
            mark = self.glyphs.bottom if self.has_cycle else ""
            gap, texts = self._gap(moment), [Text(end, 0)]
            yield from self._next_to_lifelines(moment, gap, texts, mark=mark)

    def _texts(self, moment: Moment) -> Iterator[Text]:
        """Yield a step's sentence, then its statements; each other member is named once."""
        acts = moment.step.member if moment.step else None
        named = acts
        yield Text(sentence(moment, self.story), 0)
        for statement in statements_of(moment):
            name = statement.member if statement.member != acts else None
            if name is None:
                yield Text(statement, 2, 4)
            else:
                label = self.glyphs.text(visible(name))
                indent = min(cells(label) + 4, 12)
                if name == named:
                    yield Text(statement, indent, indent + 2)
                else:
                    whole = line(Piece(label, Role.NAME), Piece("  "), *statement.pieces)
                    yield Text(whole, 2, indent + 2)
            named = name
        yield from _picture(moment)

    def _next_to_lifelines(
        self,
        moment: Moment,
        row: list[Piece],
        texts: Iterable[Text],
        *,
        number: str = "",
        mark: str = "",
    ) -> Iterator[list[Piece]]:
        """Yield `row` with the first text at its right; the lifelines go on next to other texts."""
        room = self.width - self.gutter - (self.lanes.width + 1 if self.lanes else 0)
        for text in texts:
            line_ = self.glyphs.line(text.line)
            for words in wrap(line_, room, first=text.first, indent=text.indent):
                lanes = [*row, Piece(" ")] if self.lanes else []
                yield [*self._left(moment, number, mark), *lanes, *words]
                row, number, mark = self._gap(moment), "", ""

    def _row(self, moment: Moment, row: list[Piece]) -> list[Piece]:
        return [*self._left(moment), *row]

    def _left(self, moment: Moment, number: str = "", mark: str = "") -> list[Piece]:
        """Return the columns left of the lifelines: cycle, step number, split."""
        begin = self.story.loop_at
        inside = self.has_cycle and begin is not None and moment.number > begin
        bracket = mark or (self.glyphs.side if inside else " ")
        wall = self.glyphs.apart if moment.apart else " "
        return [
            Piece(f"{bracket} " if self.has_cycle else "", Role.CYCLE),
            Piece(number.rjust(self.digits), Role.NUMBER),
            Piece(f" {wall}" if self.has_split else "", Role.SPLIT),
            Piece("  "),
        ]

    def _heads(self, moment: Moment) -> Iterator[list[Piece]]:
        if self.lanes:
            for row in self.lanes.heads(self.width - self.gutter):
                yield self._row(moment, row)
            yield self._row(moment, self._gap(moment))

    def _gap(self, moment: Moment) -> list[Piece]:
        return self.lanes.gap(moment) if self.lanes else []

    def _full_width(
        self, statement: Line, *, first: int = 0, indent: int = 0
    ) -> Iterator[list[Piece]]:
        """Yield `statement` over the whole width."""
        line_ = self.glyphs.line(statement)
        for row in wrap(line_, self.width, first=first, indent=indent):
            yield list(row)


def _arrives(moment: Moment) -> bool:
    return moment.step is not None and moment.step.message is not None


def _picture(moment: Moment) -> Iterator[Text]:
    """Yield the rows of the model's own picture of a state, if the picture is text."""
    if moment.picture and not is_svg(moment.picture):
        for row in moment.picture.splitlines():
            blanks = 2 + len(row) - len(row.lstrip(" "))
            words = visible(row.strip(" ")) if row.strip(" ") else ""
            yield Text(line(Piece(words, Role.QUIET)), blanks, blanks)
