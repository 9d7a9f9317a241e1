"""The frames that the logs show: which store had which frames since when, and each journal.

Data that grow with the number of frames are in a file (`spill.py`); only ranges are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from attrs import Factory, define, frozen

from joinproto.cli.validate.spill import Column, Ranges, Spill
from joinproto.join.ids import ViewId
from joinproto.join.view import Seat

Frame = tuple[ViewId, int]
T = TypeVar("T")


@frozen
class JournalRange:
    """Frames of one view in a journal, from `first` to `last`; `before`: the earlier frames."""

    view: ViewId
    first: int
    last: int
    before: JournalRange | None = None


def cut(journal: JournalRange | None, last: int) -> JournalRange | None:
    """Return the part of a journal up to frame `last`."""
    while journal is not None and journal.first > last:
        journal = journal.before
    if journal is None or journal.last <= last:
        return journal
    return JournalRange(journal.view, journal.first, last, journal.before)


def put(journal: JournalRange | None, view: ViewId, first: int, last: int) -> JournalRange | None:
    """Return a journal with these frames in place of all its frames from `first` on."""
    kept = cut(journal, first - 1)
    if last < first:
        return kept
    if kept is not None and kept.view == view and kept.last == first - 1:
        return JournalRange(view, kept.first, last, kept.before)
    return JournalRange(view, first, last, kept)


def holds(journal: JournalRange | None, view: ViewId, first: int, last: int) -> bool:
    """Return whether a journal has these frames, as frames of this view."""
    while journal is not None and journal.first > last:
        journal = journal.before
    return last < first or (
        journal is not None
        and journal.view == view
        and journal.first <= first
        and last <= journal.last
    )


@define(eq=False)
class Journal:
    """The frames of one store.  `is_whole`: the logs show them from the first frame on.

    `assumed`: if they do not, the last frame that the store had when its logs begin.
    """

    is_whole: bool = False
    frames: JournalRange | None = None
    assumed: int = 0


@define(eq=False)
class HeldFrames:
    """The frames of one view that one seat had durably, and since when."""

    frames: Ranges
    _times: Column
    _ranges: list[tuple[int, int, int]] = Factory(list)

    def add(self, seq: int, at: int) -> None:
        if seq not in self.frames:
            self.frames.add(seq, seq)
            self._times[seq] = at + 1

    def add_range(self, first: int, last: int, at: int) -> None:
        self._ranges.append((first, last, at))
        self.frames.add(first, last)

    def since(self, seq: int) -> int | None:
        """Return the time since which the seat had a frame; None if it never had it."""
        if seq not in self.frames:
            return None
        times = [at for first, last, at in self._ranges if first <= seq <= last]
        own = self._times[seq]
        return min([*times, own - 1] if own else times)


@define(eq=False)
class FrameDigests:
    """The digests of the frames of one view, and the runs whose logs reported them first."""

    _digests: Column
    _runs: Column

    def first_to_differ(self, seq: int, digest: str, run: int) -> int | None:
        """Return the number of the run that first reported the frame, if its digest differs."""
        new, first = hash(digest) or 1, self._digests[seq]
        if not first:
            self._digests[seq] = new
            self._runs[seq] = run
            return None
        return self._runs[seq] if first != new else None


@frozen
class Acknowledged:
    """The sequencer counted this frame, and all before it, as committed, at the time `at`."""

    view: ViewId
    seq: int
    at: int


@frozen
class ReadAnswered:
    """Reads that began at `began` were answered by `run` with all frames up to `seq`."""

    began: int
    seq: int
    run: int


@define(eq=False)
class StoredTriples(Generic[T]):
    """Values of three numbers each, in a file.  `make`: makes a value from its numbers."""

    _numbers: Column
    _make: Callable[[int, int, int], T]
    _count: int = 0

    def add(self, one: int, two: int, three: int) -> None:
        for value in (one, two, three):
            self._numbers[self._count] = value
            self._count += 1

    def __iter__(self) -> Iterator[T]:
        for at in range(0, self._count, 3):
            yield self._make(*(self._numbers[at + part] for part in range(3)))


@define(eq=False)
class Frames:
    """All frames of all runs."""

    spill: Spill = Factory(Spill)
    held: dict[ViewId, dict[Seat, HeldFrames]] = Factory(dict)
    contents: dict[ViewId, FrameDigests] = Factory(dict)
    different: dict[Frame, set[int]] = Factory(dict)
    acknowledged: StoredTriples[Acknowledged] = Factory(
        lambda self: StoredTriples(self.spill.column(), self._acknowledged_of), takes_self=True
    )
    acknowledged_last: dict[ViewId, int] = Factory(dict)
    reads: StoredTriples[ReadAnswered] = Factory(
        lambda self: StoredTriples(self.spill.column(), ReadAnswered), takes_self=True
    )
    _views: list[ViewId] = Factory(list)
    _number_of: dict[ViewId, int] = Factory(dict)

    def of(self, view: ViewId, seat: Seat) -> HeldFrames:
        """Return this seat's frames of the view."""
        seats = self.held.setdefault(view, {})
        if seat not in seats:
            seats[seat] = HeldFrames(Ranges(), self.spill.column())
        return seats[seat]

    def add_digest(self, view: ViewId, seq: int, digest: str, run: int) -> None:
        """Note the digest that the log of a run shows for a frame."""
        if view not in self.contents:
            self.contents[view] = FrameDigests(self.spill.column(), self.spill.column())
        other = self.contents[view].first_to_differ(seq, digest, run)
        if other is not None:
            self.different.setdefault((view, seq), {other}).add(run)

    def acknowledge(self, view: ViewId, seq: int, at: int) -> None:
        """Note that the sequencer counts this frame as committed."""
        self.acknowledged_last[view] = max(seq, self.acknowledged_last.get(view, 0))
        self.acknowledged.add(self._number_of.setdefault(view, len(self._number_of)), seq, at)
        if len(self._views) < len(self._number_of):
            self._views.append(view)

    def _acknowledged_of(self, view: int, seq: int, at: int) -> Acknowledged:
        return Acknowledged(self._views[view], seq, at)
