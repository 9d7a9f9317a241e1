"""The positions in the drawn chart: rows from the top, lifelines from the left.

All lengths are in pixels of the drawing at its natural size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from attrs import define, field, frozen

from joinproto.cli.show.cells import clip, width, wrap
from joinproto.cli.show.pieces import Line, Piece, Role, line, visible
from joinproto.cli.show.story import Moment, Story
from joinproto.cli.show.words import cycle_begins, cycle_ends, told, verdict

LEFT = 72
"""Left of the lifelines: the cycle's bracket and the steps' numbers."""

EDGE = 24
"""Kept free at the right."""

CELL = 7.3
"""Width of a character; a little more than most fonts take, so that no text is cut."""

NOTICE_CELL = 8.4
"""The same, of the larger and bolder letters of a notice."""

ARROW = 30
"""From the top of a step's row to its arrow: room for the words above."""

STATEMENT = 18
BESIDE = 14
"""From a lifeline to the words next to it."""

HEADS = 48
NOTICE = 40
STATEMENTS_MAX = 4
STEPS_PER_HEAD = 10

PITCHES = {1: 420, 2: 330, 3: 250, 4: 195, 5: 160, 6: 140, 7: 128, 8: 118}
PITCH_MIN = 110
"""From one lifeline to the next, by the number of members; more of them stand closer."""

NARROW = 500
"""Width of texts on a narrow screen, where the lifelines leave that room."""
NARROW_PITCH_MIN = 80


@frozen
class Block:
    """Statements below one another, next to the lifeline at `x`; at its left or right."""

    lines: tuple[Line, ...]
    x: float
    to_left: bool


@frozen
class StepRow:
    """The row of a step.  `y`: of its arrow."""

    moment: Moment
    top: float
    height: float
    blocks: tuple[Block, ...]

    @property
    def y(self) -> float:
        """Return where the arrow of the step stands."""
        return self.top + ARROW


@frozen
class Notice:
    """A row of words: where a cycle begins or ends, how the run ends."""

    lines: tuple[Line, ...]
    top: float
    height: float


@frozen
class Heads:
    """A row with the names of the members, as they are after `moment`."""

    moment: Moment
    top: float
    height: float = HEADS


Row = StepRow | Notice | Heads


@define
class Plan:
    """The rows of the chart of `story`, its lifelines `pitch` apart; `steps`: by number.

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
        """Return how narrow the drawing may be shown: below that its text is too small."""
        return round(0.76 * self.width)

    def x(self, name: str) -> float:
        """Return where the lifeline of `name` stands."""
        return LEFT + self.pitch * (self.story.lifelines.index(name) + 0.5)

    def _put(self, row: Row) -> None:
        self.rows.append(row)
        if isinstance(row, StepRow):
            self.steps[row.moment.number] = row
        self.height += row.height

    def _notice(self, words: Line, *, more: float = 0) -> None:
        room = int((self.width - LEFT - EDGE) / NOTICE_CELL)
        lines = tuple(Line(pieces) for pieces in wrap(words, room, first=0, indent=0))
        self._put(Notice(lines, self.height, NOTICE + more + STATEMENT * (len(lines) - 1)))

    def _add(self, moment: Moment) -> None:
        left = len(self.story.trace.steps) - moment.number
        if moment.step is not None:
            blocks = tuple(self._blocks(moment))
            lines = max((len(block.lines) for block in blocks), default=0)
            self._put(StepRow(moment, self.height, ARROW + STATEMENT * lines + 16, blocks))
        if not moment.number % STEPS_PER_HEAD and (not moment.number or left > 2):
            self._put(Heads(moment, self.height))
        if not self.story.stops and moment.number == self.story.loop_at:
            self._notice(cycle_begins())
        end = cycle_ends(self.story)
        if not left and end is not None:
            self._notice(end)

    def _blocks(self, moment: Moment) -> Iterator[Block]:
        """Yield the texts at the lifelines: in a joint step at each, else at one."""
        statements = told(moment)
        if moment.is_joint:
            yield from self._joint_blocks(moment, statements)
            return
        acts = moment.step.member if moment.step else None
        if acts is None or acts not in self.story.lifelines:
            return
        mine = [_named(item, acts) for item in statements]
        x = self.x(acts)
        right, left = self.width - EDGE - x, x - LEFT
        to_left = _room_for(mine) > right and left > right
        yield Block(_clipped(mine, (left if to_left else right) - BESIDE), x, to_left)

    def _joint_blocks(self, moment: Moment, statements: Sequence[Line]) -> Iterator[Block]:
        """Yield a block for each member of a joint step, up to the next one's lifeline."""
        names = sorted(set(moment.changed) & set(self.story.lifelines), key=self.x)
        said = {name: [item for item in statements if item.member == name] for name in names}
        free_from = float(LEFT)
        for name, after in zip(names, [*names[1:], None], strict=False):
            x, need = self.x(name), _room_for(said[name])
            right = (self.width if after is None else self.x(after)) - x
            left = x - free_from
            to_left = need > right and left > need
            yield Block(_clipped(said[name], (left if to_left else right) - BESIDE), x, to_left)
            free_from = x + need


def _room_for(statements: Sequence[Line]) -> float:
    """Return the pixels that `statements` take, from the lifeline they stand at."""
    return CELL * max(width(item.text) for item in statements) + BESIDE


def _named(statement: Line, acts: str) -> Line:
    if statement.member in (None, acts):
        return statement
    return line(Piece(visible(statement.member or ""), Role.NAME), " ", *statement.pieces)


def _clipped(statements: Sequence[Line], room: float) -> tuple[Line, ...]:
    """Return the first statements, cut to `room`: in full they stand below the chart."""
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
