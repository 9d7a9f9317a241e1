"""Stores as the searched worlds have them: few views, small numbers, names instead of hashes.

The outcome of a restart depends on the views since the stores went apart, and on the order of
frames.  It does not depend on the hundreds of earlier views, or on the number of frames.  So all
views before the oldest view that matters become one beginning that all stores share, and frames
are counted only where a store or a view begins or ends.  Members decide by order and equality
alone, so they decide the same with these smaller values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import Factory, asdict, define, evolve, frozen

from joinproto.codec.json_form import filled
from joinproto.errors import UsageProblem
from joinproto.join.ids import Name, ViewId, by_content
from joinproto.join.lineage import Lineage
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Facts, Kind, Position, View

VIEWS_MAX = 40
"""Stores that went apart this many views ago, or more, are refused: their values nest too deep."""


@frozen
class Disk:
    """The disk with which a member of the world begins."""

    record: StoreRecord
    frames: tuple[Position, ...]


@frozen
class DiskScenario:
    """The disks to start from, by member.

    `chain`: the longest chain of views.  `kept`: frames that may have been acknowledged, so a
    restart must keep them.  `real`: for each frame of the world, its number in the stores.
    """

    disks: Mapping[str, Disk]
    chain: Lineage
    kept: frozenset[Position]
    real: Mapping[int, int]


def scene_of(records: Mapping[str, StoreRecord]) -> DiskScenario:
    """Return the stores of these members as a world has them; raises `UsageProblem`."""
    reduction = _Reduction.of(list(records.values()))
    disks = {name: reduction.disk(record) for name, record in records.items()}
    newest = max((disk.record.lineage for disk in disks.values()), key=lambda one: one.length)
    return DiskScenario(
        disks, newest, _kept_frames(disks), {rank: seq for seq, rank in reduction.ranks.items()}
    )


def _kept_frames(disks: Mapping[str, Disk]) -> frozenset[Position]:
    """Return the frames that are in the store of every member of their view whose store is here.

    The content of a missing store is not known, so it is assumed to hold them.  This is the strict
    assumption: the more frames may have been acknowledged, the more frames a restart must keep.
    """
    frames = {frame for disk in disks.values() for frame in disk.frames}
    return frozenset(
        frame for frame in frames if all(_holds(name, disk, frame) for name, disk in disks.items())
    )


def _holds(name: str, disk: Disk, frame: Position) -> bool:
    view = frame.view
    record = disk.record
    assert isinstance(view, Name)
    seats = {seat.store_id for seat in view.members if seat.member == name}
    if record.store_id not in seats:
        return True  # not a member of that view, so no frame waited for it
    if record.update_unfinished:
        held = None if record.held is None else record.lineage.number_of(record.held)
        return held is not None and held >= view.number
    return frame in disk.frames


# -- smaller -----------------------------------------------------------------------------------


@define
class _Reduction:
    """The smaller values of the stores.  `oldest`: the number of the first view that is kept.

    `start`: the position where that view begins.  `ranks`, `rounds`: the small number of each frame
    and ballot.  `known`: real views by id.  `views`: the small views made so far, by the real id.
    """

    oldest: int
    start: Position | None
    ranks: dict[int, int]
    rounds: dict[int, int]
    known: dict[ViewId, View]
    views: dict[ViewId, View] = Factory(dict)

    @classmethod
    def of(cls, records: Sequence[StoreRecord]) -> _Reduction:
        known = {view.id: view for one in records for view in one.lineage.views}
        accepted = [one.accepted.view for one in records if one.accepted is not None]
        known |= {view.id: view for view in accepted}
        oldest = _oldest(records, known)
        starts = [view.position for view in known.values() if view.number == oldest]
        start = starts[0] if starts else None
        ends = {
            position.seq
            for position in (*_positions(records), *(view.position for view in known.values()))
            if position is not None and _number(position.view, known) >= oldest
        }
        ballots = {one.promised.round for one in records if one.promised is not None}
        ballots |= {one.accepted.ballot.round for one in records if one.accepted is not None}
        return cls(oldest, start, _numbered(ends), _numbered(ballots), known)

    def disk(self, record: StoreRecord) -> Disk:
        lineage = self._lineage(record.lineage)
        made = StoreRecord(
            store_id=record.store_id,
            lineage=lineage,
            held=self._held(record),
            position=self._position(record.position),
            update_unfinished=record.update_unfinished,
            promised=None if record.promised is None else self._ballot(record.promised),
            accepted=None
            if record.accepted is None
            else Accepted(self._ballot(record.accepted.ballot), self._view(record.accepted.view)),
            mark=lineage.tip.id if record.is_marked and lineage.tip else None,
        )
        return Disk(made, () if made.update_unfinished else _frames(made.position, lineage))

    def _lineage(self, lineage: Lineage) -> Lineage:
        views = tuple(self._view(view) for view in lineage.views if view.number >= self.oldest)
        if not views:
            return Lineage()
        return Lineage(views, views[0].id if self.oldest == 1 else self._stand_in(views[0]).id)

    def _held(self, record: StoreRecord) -> ViewId | None:
        if record.held is None or record.held not in self.known:
            return None
        return self._view(self.known[record.held]).id

    def _position(self, position: Position | None) -> Position | None:
        if position is None or position == self.start:
            return None
        view = self._view(self.known[position.view])
        return Position(view.id, self.ranks[position.seq])

    def _ballot(self, ballot: Ballot) -> Ballot:
        return Ballot(self.rounds[ballot.round], ballot.store_id)

    def _view(self, view: View) -> View:
        made = self.views.get(view.id)
        if made is not None:
            return made
        parent: ViewId | None = None
        if view.number > self.oldest and view.parent is not None:
            parent = self._view(self.known[view.parent]).id
        elif view.number > 1:
            parent = self._stand_in(view).id
        position = self._position(view.position) if view.number > self.oldest else None
        facts = filled(Facts, view, parent=parent, position=position, time=0)
        made = View(**asdict(facts, recurse=False), id=by_content(facts))
        return self.views.setdefault(view.id, made)

    def _stand_in(self, view: View) -> _Forgotten:
        """Return the stand-in for all views before the oldest view that is kept."""
        name = Name(
            self.oldest - 1, Kind.CHANGE, view.members, view.electors, None, ("before",), None
        )
        return _Forgotten(name)


def _frames(end: Position | None, lineage: Lineage) -> tuple[Position, ...]:
    """Return the frames of a store that ends at `end`."""
    found: list[Position] = []
    while end is not None:
        view = lineage.find(end.view)
        assert view is not None
        first = 1 if view.position is None else view.position.seq + 1
        found += [Position(view.id, seq) for seq in range(end.seq, first - 1, -1)]
        end = view.position
    return tuple(reversed(found))


@frozen
class _Forgotten:
    """A view that stands for all views before the oldest view that is kept."""

    id: Name


def _numbered(found: set[int]) -> dict[int, int]:
    return {each: at for at, each in enumerate(sorted(found), 1)}


def _positions(records: Iterable[StoreRecord]) -> list[Position]:
    return [one.position for one in records if one.position is not None]


def _oldest(records: Sequence[StoreRecord], known: Mapping[ViewId, View]) -> int:
    """Return the number of the oldest view that can make a difference."""
    tips = [one.tip for one in records if one.tip is not None]
    newest = max((tip.number for tip in tips), default=1)
    numbers = [tip.number for tip in tips]
    numbers += [_number(one.view, known) for one in _positions(records)]
    numbers += [_number(one.held, known) for one in records if one.held is not None]
    oldest = min(numbers, default=1)
    while True:
        start = [view.position for view in known.values() if view.number == oldest]
        later = [
            _number(view.position.view, known)
            for view in known.values()
            if view.number > oldest and view.position is not None and view.position not in start
        ]
        if min(later, default=oldest) >= oldest:
            break
        oldest = min(later)
    if oldest < 1 or newest - oldest >= VIEWS_MAX:
        raise UsageProblem(
            f"these stores went apart at least {min(newest, VIEWS_MAX)} views ago, which is more"
            " than can be searched",
            next="leave out the oldest store; the restart will update it",
        )
    return oldest


def _number(view_id: ViewId, known: Mapping[ViewId, View]) -> int:
    """Return the number of a view, 0 if every store has forgotten it."""
    return known[view_id].number if view_id in known else 0


def marked(disk: Disk) -> Disk:
    """Return the disk with the operator's mark on its tip, if the tip is open."""
    tip = disk.record.tip
    is_open = tip is not None and tip.is_open
    return evolve(disk, record=evolve(disk.record, mark=tip.id if tip and is_open else None))
