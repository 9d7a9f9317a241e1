"""The left half of a chart: one lifeline for each member, and the arrows that cross them.

A row is drawn cell by cell, each with its role, and then joined into pieces.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from attrs import define, field, frozen

from joinproto.cli.show.cells import clip, width
from joinproto.cli.show.glyphs import Glyphs
from joinproto.cli.show.pieces import Piece, Role, visible
from joinproto.cli.show.story import Moment

PITCH_MIN, PITCH_GOOD, PITCH_MAX = 3, 7, 12


@frozen
class Lanes:
    """Lifelines `pitch` cells apart, the first after `lead` cells."""

    members: tuple[str, ...]
    labels: tuple[str, ...]
    pitch: int
    lead: int
    glyphs: Glyphs

    @classmethod
    def fit(cls, members: Sequence[str], room: int, glyphs: Glyphs) -> Lanes | None:
        """Return lanes of at most `room` cells, or None if there is no room for them."""
        if not members or room // len(members) < PITCH_MIN:
            return None
        labels = tuple(glyphs.text(visible(name)) for name in members)
        longest = max(map(width, labels))
        pitch = min(room // len(members), max(longest + 2, PITCH_GOOD), PITCH_MAX)
        lead = longest // 2 if longest < pitch else 0
        return cls(tuple(members), labels, pitch, lead, glyphs)

    @property
    def width(self) -> int:
        """Return the number of cells in a row."""
        return self.pitch * len(self.members)

    def heads(self, room: int) -> Iterator[list[Piece]]:
        """Yield rows that name the lifelines: one row, or a row for each name if names are long."""
        if all(width(label) < self.pitch for label in self.labels):
            row: list[Piece] = []
            used = 0
            for at, label in enumerate(self.labels):
                start = max(self.x(at) - width(label) // 2, used)
                row += [Piece(" " * (start - used)), Piece(label, Role.NAME)]
                used = start + width(label)
            yield row
            return
        for at, label in enumerate(self.labels):
            lines = _Row(self, down=()).pieces(self.x(at))
            yield [*lines, Piece(clip(label, room - self.x(at)), Role.NAME)]

    def gap(self, moment: Moment) -> list[Piece]:
        """Return a row after `moment` without an event."""
        return _Row(self, moment.down).pieces()

    def step(self, moment: Moment) -> list[Piece]:
        """Return the row of the step that leads to `moment`."""
        row = _Row(self, moment.down)
        step = moment.step
        if step is None:
            return row.pieces()
        if moment.is_network:
            row.wall(moment.side)
        elif moment.is_joint:
            acting = {*moment.changed, *step.together}
            row.together([name for name in self.members if name in acting])
        elif step.message is not None:
            for name in moment.addressees(self.members):
                row.arrow(step.message.sender, name, lost=moment.is_lost, doubled=moment.is_doubled)
        elif step.member in self.members:
            row.mark(step.member, self.glyphs.own, Role.MESSAGE)
        for name in self.members:
            if name in moment.went_down:
                row.mark(name, self.glyphs.crash, Role.CRASH)
            elif name in moment.came_up:
                row.mark(name, self.glyphs.start, Role.START)
        return row.pieces()

    def x(self, number: int) -> int:
        """Return the cell of a lifeline; `number`: from 0."""
        return self.lead + number * self.pitch


@define
class _Row:
    lanes: Lanes
    down: Collection[str]
    cells: list[tuple[str, Role]] = field(init=False)

    def __attrs_post_init__(self) -> None:
        glyphs = self.lanes.glyphs
        self.cells = [(" ", Role.PLAIN)] * self.lanes.width
        for at, name in enumerate(self.lanes.members):
            life = glyphs.dead if name in self.down else glyphs.life
            self.cells[self.lanes.x(at)] = (life, Role.QUIET)

    def mark(self, name: str, glyph: str, role: Role) -> None:
        self.cells[self._x(name)] = (glyph, role)

    def arrow(self, sender: str | None, receiver: str, *, lost: bool, doubled: bool) -> None:
        glyphs = self.lanes.glyphs
        if sender not in self.lanes.members or sender == receiver:
            self.mark(receiver, glyphs.own, Role.MESSAGE)
            return
        here, there = self._x(sender), self._x(receiver)
        towards = 1 if there > here else -1
        # The arrow ends one cell before the receiver's lifeline, where its tip is drawn.
        self._fill(here, there - towards, glyphs.joint if doubled else glyphs.dash)
        end = glyphs.left_end if towards == 1 else glyphs.right_end
        self.cells[here] = (glyphs.dead if sender in self.down else end, Role.MESSAGE)
        head = glyphs.to_right if towards == 1 else glyphs.to_left
        tip = (glyphs.crash, Role.CRASH) if lost else (head, Role.MESSAGE)
        self.cells[there - towards] = tip

    def together(self, names: Sequence[str]) -> None:
        places = [self._x(name) for name in names]
        if places:
            self._fill(min(places), max(places), self.lanes.glyphs.joint)
        for name in names:
            self.mark(name, self.lanes.glyphs.own, Role.MESSAGE)

    def wall(self, side: Collection[str]) -> None:
        glyphs = self.lanes.glyphs
        end = self._x(self.lanes.members[-1])
        self.cells[:end] = [(glyphs.wall, Role.SPLIT)] * end
        for name in self.lanes.members:
            glyph = glyphs.cross
            if side:
                glyph = "1" if name in side else "2"
            self.mark(name, glyph, Role.SPLIT)

    def pieces(self, end: int | None = None) -> list[Piece]:
        """Return the row up to the cell `end`; adjacent cells of one role are one piece."""
        runs = groupby(self.cells[:end], key=lambda cell: cell[1])
        return [Piece("".join(text for text, _ in run), role) for role, run in runs]

    def _fill(self, one: int, other: int, dash: str) -> None:
        glyphs = self.lanes.glyphs
        crossed = {glyphs.life: glyphs.cross, glyphs.dead: dash, " ": dash}
        if dash == glyphs.joint:
            crossed[glyphs.life] = glyphs.joint_cross
        for at in range(min(one, other), max(one, other) + 1):
            glyph, _ = self.cells[at]
            self.cells[at] = (crossed.get(glyph, dash), Role.MESSAGE)

    def _x(self, name: str) -> int:
        return self.lanes.x(self.lanes.members.index(name))
