"""The positions in the drawn chart: rows from the top, lifelines from the left.

All lengths are in pixels of the drawing at its natural size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from joinproto.cli.show.cells import clip, width, wrap
from joinproto.cli.show.pieces import Line, Piece, Role, line, visible
from joinproto.cli.show.story import Moment, Story
from joinproto.cli.show.words import cycle_begins, cycle_ends, statements_of, verdict

LEFT = 72
"""The width left of the lifelines, for the cycle's bracket and the steps' numbers."""

EDGE = 24
"""The width that is kept free at the right."""

CELL = 7.3
"""The width of a character; a little more than in most fonts, so that no text is cut."""

NOTICE_CELL = 8.4
"""The width of a character in a notice, whose letters are larger and bolder."""

ARROW_Y = 30
"""The height from the top of a step's row to its arrow, for the words above the arrow."""

LINE_HEIGHT = 18
TEXT_GAP = 14
"""The distance from a lifeline to the words next to it."""

HEADS_HEIGHT = 48
NOTICE_HEIGHT = 40
STATEMENTS_MAX = 4
STEPS_PER_HEAD = 10

PITCHES = {1: 420, 2: 330, 3: 250, 4: 195, 5: 160, 6: 140, 7: 128, 8: 118}
PITCH_MIN = 110
"""The distance between lifelines, by the number of members; `PITCH_MIN` for more members."""

NARROW = 500
"""The width of the narrow drawing, unless its lifelines would be too close together."""
NARROW_PITCH_MIN = 80


@frozen
class Block:
    """Statements below one another, next to the lifeline at `x`."""

    lines: tuple[Line, ...]
    x: float
    to_left: bool


@frozen
class StepRow:
    """The row of a step."""

    moment: Moment
    top: float
    height: float
    blocks: tuple[Block, ...]

    @property
    def y(self) -> float:
        """Return the vertical position of the step's arrow."""
        return self.top + ARROW_Y


@frozen
class Notice:
    """A row that says that a cycle begins or ends, or how the run ends."""

    lines: tuple[Line, ...]
    top: float
    height: float


@frozen
class Heads:
    """A row with the names of the members, as they are after `moment`."""

    moment: Moment
    top: float
    height: float = HEADS_HEIGHT


Row = StepRow | Notice | Heads


@define
class Plan:
    """The rows of the chart of `story`, with lifelines `pitch` apart.

    `steps`: the rows of steps, by the step's number.
    `narrow`: for a screen that is too narrow for the usual pitch.
    """

    story: Story
    narrow: bool = False
    pitch: float = field(init=False)
    rows: list[Row] = field(init=False, factory=list)
    steps: dict[int, StepRow] = field(init=False, factory=dict)
    height: float = field(init=False, default=8.0)

    def __attrs_post_init__(self) -> None:
        lanes = max(len(self.story.lifelines), 1)
        self.pitch = PITCHES.get(lanes, PITCH_MIN)
        if self.narrow:
            self.pitch = min(self.pitch, max((NARROW - LEFT - EDGE) / lanes, NARROW_PITCH_MIN))
        for moment in self.story.moments:
            self._add(moment)
        self._notice(verdict(self.story.trace), more=12)

    @property
    def width(self) -> float:
        """Return the width of the drawing."""
        return LEFT + self.pitch * max(len(self.story.lifelines), 1) + EDGE

    @property
    def width_min(self) -> float:
        """Return the least width to show the drawing in; below it, its text is too small."""
        return round(0.76 * self.width)

    def x(self, name: str) -> float:
        """Return the horizontal position of the lifeline of `name`."""
        return LEFT + self.pitch * (self.story.lifelines.index(name) + 0.5)

    def _put(self, row: Row) -> None:
        self.rows.append(row)
        if isinstance(row, StepRow):
            self.steps[row.moment.number] = row
        self.height += row.height

    def _notice(self, words: Line, *, more: float = 0) -> None:
        room = int((self.width - LEFT - EDGE) / NOTICE_CELL)
        lines = tuple(Line(pieces) for pieces in wrap(words, room, first=0, indent=0))
        self._put(Notice(lines, self.height, NOTICE_HEIGHT + more + LINE_HEIGHT * (len(lines) - 1)))

    def _add(self, moment: Moment) -> None:
        left = len(self.story.trace.steps) - moment.number
        if moment.step is not None:
            blocks = tuple(self._blocks(moment))
            lines = max((len(block.lines) for block in blocks), default=0)
            self._put(StepRow(moment, self.height, ARROW_Y + LINE_HEIGHT * lines + 16, blocks))
        if not moment.number % STEPS_PER_HEAD and (not moment.number or left > 2):
            self._put(Heads(moment, self.height))
        if not self.story.stops and moment.number == self.story.loop_at:
            self._notice(cycle_begins())
        end = cycle_ends(self.story)
        if not left and end is not None:
            self._notice(end)

    def _blocks(self, moment: Moment) -> Iterator[Block]:
        """Yield the texts next to the lifelines.

        In a joint step: the texts of each changed member; otherwise only those of the member that
        acts.
        """
        statements = statements_of(moment)
        if moment.is_joint:
            yield from self._joint_blocks(moment, statements)
            return
        acts = moment.step.member if moment.step else None
        if acts is None or acts not in self.story.lifelines:
            return
        own = [_named(item, acts) for item in statements]
        x = self.x(acts)
        right, left = self.width - EDGE - x, x - LEFT
        to_left = _room_for(own) > right and left > right
        yield Block(_clipped(own, (left if to_left else right) - TEXT_GAP), x, to_left)

    def _joint_blocks(self, moment: Moment, statements: Sequence[Line]) -> Iterator[Block]:
        """Yield a block for each member of a joint step, cut before the next lifeline."""
        names = sorted(set(moment.changed) & set(self.story.lifelines), key=self.x)
        by_member = {name: [item for item in statements if item.member == name] for name in names}
        free_from = float(LEFT)
        for name, after in zip(names, [*names[1:], None], strict=False):
            own = by_member[name]
            x, need = self.x(name), _room_for(own)
            right = (self.width if after is None else self.x(after)) - x
            left = x - free_from
            to_left = need > right and left > need
            yield Block(_clipped(own, (left if to_left else right) - TEXT_GAP), x, to_left)
            free_from = x + need


def _room_for(statements: Sequence[Line]) -> float:
    """Return the width that `statements` take, from the lifeline next to them."""
    return CELL * max(width(item.text) for item in statements) + TEXT_GAP


def _named(statement: Line, acts: str) -> Line:
    if statement.member in (None, acts):
        return statement
    return line(Piece(visible(statement.member or ""), Role.NAME), " ", *statement.pieces)


def _clipped(statements: Sequence[Line], room: float) -> tuple[Line, ...]:
    """Return the first statements, cut to `room`; the list below the chart has them in full."""
    shown = statements[:STATEMENTS_MAX]
    if len(statements) > STATEMENTS_MAX:
        rest = len(statements) - STATEMENTS_MAX + 1
        shown = [*statements[: STATEMENTS_MAX - 1], line(Piece(f"and {rest} more", Role.QUIET))]
    return tuple(cut(statement, room) for statement in shown)


def cut(statement: Line, room: float) -> Line:
    """Return `statement` cut to `room` pixels."""
    left = int(room / CELL)
    if width(statement.text) <= left:
        return statement
    kept: list[Piece] = []
    for piece in statement.pieces:
        part = clip(piece.text, left, more="…")
        left -= width(part)
        kept.append(Piece(part, piece.role))
        if part != piece.text or left <= 0:
            break
    return Line(tuple(kept), statement.member)
