"""The frames that the logs show: which store had which frames since when, and each journal.

Data that grow with the number of frames are in a file (`spill.py`); only stretches are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from attrs import Factory, define, frozen

from joinproto.cli.validate.spill import Column, Spill, Stretches
from joinproto.join.ids import ViewId
from joinproto.join.view import Seat

Frame = tuple[ViewId, int]
T = TypeVar("T")


@frozen
class Stretch:
    """Frames of one view in a journal, from `first` to `last`; `before`: the stretch before it."""

    view: ViewId
    first: int
    last: int
    before: Stretch | None = None


def cut(journal: Stretch | None, last: int) -> Stretch | None:
    """Return the part of a journal up to frame `last`."""
    while journal is not None and journal.first > last:
        journal = journal.before
    if journal is None or journal.last <= last:
        return journal
    return Stretch(journal.view, journal.first, last, journal.before)


def put(journal: Stretch | None, view: ViewId, first: int, last: int) -> Stretch | None:
    """Return a journal with these frames in place of all from frame `first` on."""
    kept = cut(journal, first - 1)
    if last < first:
        return kept
    if kept is not None and kept.view == view and kept.last == first - 1:
        return Stretch(view, kept.first, last, kept.before)
    return Stretch(view, first, last, kept)


def holds(journal: Stretch | None, view: ViewId, first: int, last: int) -> bool:
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
    """The frames of one store.  `is_whole`: the logs show them from the first on.

    `assumed`: if they do not, the last of the frames that the store had when its logs begin.
    """

    is_whole: bool = False
    frames: Stretch | None = None
    assumed: int = 0


@define(eq=False)
class Held:
    """The frames of one view that one seat had durably, and since when."""

    frames: Stretches
    _times: Column
    _many: list[tuple[int, int, int]] = Factory(list)

    def had(self, seq: int, at: int) -> None:
        if seq not in self.frames:
            self.frames.add(seq, seq)
            self._times[seq] = at + 1

    def had_many(self, first: int, last: int, at: int) -> None:
        self._many.append((first, last, at))
        self.frames.add(first, last)

    def since(self, seq: int) -> int | None:
        """Return the time since which the seat had a frame; None if it never had it."""
        if seq not in self.frames:
            return None
        times = [at for first, last, at in self._many if first <= seq <= last]
        own = self._times[seq]
        return min([*times, own - 1] if own else times)


@define(eq=False)
class Contents:
    """The digests of the frames of one view, and the runs whose logs reported them first."""

    _digests: Column
    _runs: Column

    def first_to_differ(self, seq: int, digest: str, run: int) -> int | None:
        """Return the number of the run that reported another digest before, or None."""
        is_now, was = hash(digest) or 1, self._digests[seq]
        if not was:
            self._digests[seq] = is_now
            self._runs[seq] = run
            return None
        return self._runs[seq] if was != is_now else None


@frozen
class Claim:
    """The sequencer counted this frame, and all before it, as committed; `at`: when."""

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
class Kept(Generic[T]):
    """Values of three numbers each, in a file.  `made_of`: makes a value from its numbers."""

    _numbers: Column
    _made_of: Callable[[int, int, int], T]
    _count: int = 0

    def add(self, one: int, two: int, three: int) -> None:
        for value in (one, two, three):
            self._numbers[self._count] = value
            self._count += 1

    def __iter__(self) -> Iterator[T]:
        for at in range(0, self._count, 3):
            yield self._made_of(*(self._numbers[at + part] for part in range(3)))


@define(eq=False)
class Frames:
    """All frames of all runs."""

    spill: Spill = Factory(Spill)
    held: dict[ViewId, dict[Seat, Held]] = Factory(dict)
    contents: dict[ViewId, Contents] = Factory(dict)
    different: dict[Frame, set[int]] = Factory(dict)
    claims: Kept[Claim] = Factory(
        lambda self: Kept(self.spill.column(), self._claim_of), takes_self=True
    )
    claimed: dict[ViewId, int] = Factory(dict)
    reads: Kept[ReadAnswered] = Factory(
        lambda self: Kept(self.spill.column(), ReadAnswered), takes_self=True
    )
    _views: list[ViewId] = Factory(list)
    _number_of: dict[ViewId, int] = Factory(dict)

    def of(self, view: ViewId, seat: Seat) -> Held:
        """Return this seat's frames of the view."""
        seats = self.held.setdefault(view, {})
        if seat not in seats:
            seats[seat] = Held(Stretches(), self.spill.column())
        return seats[seat]

    def says(self, view: ViewId, seq: int, digest: str, run: int) -> None:
        """Note the digest that the log of a run shows for a frame."""
        if view not in self.contents:
            self.contents[view] = Contents(self.spill.column(), self.spill.column())
        other = self.contents[view].first_to_differ(seq, digest, run)
        if other is not None:
            self.different.setdefault((view, seq), {other}).add(run)

    def claim(self, view: ViewId, seq: int, at: int) -> None:
        """Note that the sequencer counts this frame as committed."""
        self.claimed[view] = max(seq, self.claimed.get(view, 0))
        self.claims.add(self._number_of.setdefault(view, len(self._number_of)), seq, at)
        if len(self._views) < len(self._number_of):
            self._views.append(view)

    def _claim_of(self, view: int, seq: int, at: int) -> Claim:
        return Claim(self._views[view], seq, at)
