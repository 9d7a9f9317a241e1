"""One step in the drawn chart: its arrow, its marks, and the texts at the lifelines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import frozen

from joinproto.check.report import MessageText
from joinproto.cli.show.cells import width
from joinproto.cli.show.markup import Markup, as_svg_text, element, join
from joinproto.cli.show.pieces import Line, Piece, Role, line, visible
from joinproto.cli.show.rows import CELL, EDGE, LEFT, LINE_HEIGHT, TEXT_GAP, Plan, StepRow, cut
from joinproto.cli.show.story import RECEIVE, START, Moment
from joinproto.cli.show.words import event_line, sentence


def step_row(plan: Plan, row: StepRow) -> Markup:
    """Return the row of one step, as a link to its words below the chart."""
    return _Step(plan, row).markup()


@frozen
class _Step:
    plan: Plan
    row: StepRow

    @property
    def moment(self) -> Moment:
        return self.row.moment

    def markup(self) -> Markup:
        story, number = self.plan.story, self.moment.number
        words = sentence(self.moment, story).text
        return element(
            "a",
            element("title", words),
            element(
                "rect",
                x=0.0,
                y=self.row.top,
                width=self.plan.width,
                height=self.row.height,
                rx=6.0,
                class_="hit",
            ),
            element(
                "text",
                str(number),
                x=LEFT - 18.0,
                y=self.row.y + 5,
                class_="number",
                text_anchor="end",
            ),
            *self._event(),
            *self._marks(),
            *(self._statement(block.lines, block.x, block.to_left) for block in self.row.blocks),
            href=f"#step-{number}",
            class_="row",
            aria_label=f"Step {number}: {words}",
            data_step=str(number),
            data_x=f"{self._acts_at:g}",
            data_top=f"{self.row.top:g}",
            data_height=f"{self.row.height:g}",
        )

    def _event(self) -> Iterator[Markup]:
        step = self.moment.step
        assert step is not None
        if self.moment.is_network:
            yield from self._wall()
        elif self.moment.is_joint:
            yield from self._together()
        elif step.message is not None:
            yield from self._message()
        elif step.member in self.plan.story.lifelines:
            x = self.plan.x(step.member)
            if not self.moment.crashes and step.action != START:
                yield self._circle(x, 5.0, "dot")
            yield self._label(event_line(self.moment, self.plan.story), x)
        else:
            yield self._label(sentence(self.moment, self.plan.story), self._middle)

    def _message(self) -> Iterator[Markup]:
        """Yield an arrow to each receiver; the arrow of a lost message ends before the receiver."""
        step = self.moment.step
        assert step is not None
        assert step.message is not None
        lives, sender = self.plan.story.lifelines, step.message.sender
        to = self.moment.addressees(lives)
        places = [self.plan.x(name) for name in to]
        if sender not in lives or to == (sender,) or not to:
            x = places[0] if places else self._middle
            yield self._circle(x, 5.0, "dot")
            yield self._label(self._message_label(step.message), x)
            return
        start = self.plan.x(sender)
        yield from self._flight(start)
        for end in places:
            yield from self._arrow(start, end)
        yield self._label(
            self._message_label(step.message), (start + sum(places) / len(places)) / 2
        )

    def _arrow(self, start: float, end: float) -> Iterator[Markup]:
        lost = self.moment.is_lost
        kind = " lost" if lost else " doubled" if self.moment.is_doubled else ""
        stop = end - (26 if lost else 6) * (1 if end > start else -1)
        y = self.row.y
        head = None if lost else "url(#head)"
        yield element("line", x1=start, x2=stop, y1=y, y2=y, class_=f"arrow{kind}", marker_end=head)
        if lost:
            yield _cross(stop, y)

    def _message_label(self, message: MessageText) -> Line:
        """Return the words at an arrow: the message's fate, its text, and the step that sent it."""
        step = self.moment.step
        parts = [Piece(visible(message.content), Role.MESSAGE)]
        if self.moment.is_lost or self.moment.is_doubled:
            parts.insert(0, Piece("lost: " if self.moment.is_lost else "doubled: ", Role.CRASH))
        elif step is not None and step.action != RECEIVE:
            event = event_line(self.moment, self.plan.story).pieces[0]
            parts.insert(0, Piece(f"{event.text} ", Role.CRASH))
        if self.moment.sent_in is not None:
            parts.append(Piece(f"  from step {self.moment.sent_in}", Role.QUIET))
        return line(*parts)

    def _flight(self, x: float) -> Iterator[Markup]:
        """Yield a line from the step that sent the message; it is shown together with this step."""
        sent = self.plan.steps.get(self.moment.sent_in or 0)
        if sent is not None:
            yield element("line", x1=x, x2=x, y1=sent.y, y2=self.row.y, class_="flight")
            yield element("circle", cx=x, cy=sent.y, r=8.0, class_="flight-from")

    def _wall(self) -> Iterator[Markup]:
        y = self.row.y
        yield element("line", x1=float(LEFT), x2=self.plan.width - EDGE, y1=y, y2=y, class_="wall")
        yield self._label(sentence(self.moment, self.plan.story), self._middle, above=17)
        for name in self.plan.story.lifelines:
            if self.moment.side:
                x, one = self.plan.x(name), name in self.moment.side
                shape = "side one" if one else "side other"
                yield self._circle(x, 9.0, shape)
                number = Line((Piece("1" if one else "2", Role.SPLIT),))
                yield as_svg_text(number, x=x, y=y + 4, text_anchor="middle", class_="side-number")

    def _together(self) -> Iterator[Markup]:
        lives = self.plan.story.lifelines
        places = [self.plan.x(name) for name in self.moment.changed if name in lives]
        if places:
            y = self.row.y
            yield element("line", x1=min(places), x2=max(places), y1=y, y2=y, class_="joint")
        for x in places:
            yield self._circle(x, 5.0, "dot")
        middle = (min(places) + max(places)) / 2 if places else self._middle
        yield self._label(sentence(self.moment, self.plan.story), middle)

    def _marks(self) -> Iterator[Markup]:
        """Yield a cross where a member goes down, and a ring where a member comes up."""
        for name in self.plan.story.lifelines:
            if name in self.moment.went_down:
                yield _cross(self.plan.x(name), self.row.y)
            elif name in self.moment.came_up:
                yield self._circle(self.plan.x(name), 6.0, "ring")

    def _circle(self, x: float, radius: float, kind: str) -> Markup:
        return element("circle", cx=x, cy=self.row.y, r=radius, class_=kind)

    def _label(self, words: Line, x: float, *, above: float = 9) -> Markup:
        """Return `words` above the arrow, around `x` and inside the chart."""
        shown = cut(words, self.plan.width - LEFT - EDGE)
        half = CELL * width(shown.text) / 2
        x = max(LEFT + half, min(x, self.plan.width - EDGE / 2 - half))
        return as_svg_text(shown, x=x, y=self.row.y - above, text_anchor="middle", class_="label")

    def _statement(self, lines: Sequence[Line], x: float, to_left: bool) -> Markup:
        side = -1 if to_left else 1
        return join(
            as_svg_text(
                words,
                x=x + side * (TEXT_GAP - 2),
                y=self.row.y + 4 + LINE_HEIGHT * (number + 1) - 2,
                text_anchor="end" if to_left else "start",
                class_="said",
            )
            for number, words in enumerate(lines)
        )

    @property
    def _acts_at(self) -> float:
        """Return the horizontal position to scroll to when the step is shown."""
        step = self.moment.step
        member = step.member if step is not None else None
        return self.plan.x(member) if member in self.plan.story.lifelines else self._middle

    @property
    def _middle(self) -> float:
        return (LEFT + self.plan.width - EDGE) / 2


def _cross(x: float, y: float) -> Markup:
    arm = 6
    path = (
        f"M{x - arm:g} {y - arm:g}L{x + arm:g} {y + arm:g}"
        f"M{x - arm:g} {y + arm:g}L{x + arm:g} {y - arm:g}"
    )
    return element("path", d=path, class_="cross")
