"""Answers of frozen stores about themselves, and conclusions about a view.

A store that has answered stands still, so an answer stays true until its store learns the
successor.  That is why answers may be collected one by one, late and twice.

A single answer can decide much: if its store was never ready in a view, no client was served there.
So each answer is compared with the others first.  A disk that was restored from a backup says less
than it once said, and a member that trusted it would lose frames acknowledged after the backup.

Source: join protocol, 3.3, 3.4 and 3.6.  The words *never served*, *covers*, *sure* and *went
back* have their one definition here; initialization, the recovery tool and the checker all ask
`Evidence`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

from attrs import frozen

from joinproto.codec.malformed import Malformed, Verbatim
from joinproto.join.ids import ViewId
from joinproto.join.lineage import Lineage
from joinproto.join.position import PositionOrder, compare_positions
from joinproto.join.view import Position, Seat, View


@frozen(kw_only=True, cache_hash=True)
class Answer:
    """A store's status about the tip that it shares with the asker.

    `held`, `position`, `update_unfinished`: from its record.  `ran_on`: its process has been ready
    in a view.  `was_active`: its member knows that the tip was active.
    `options`: the digest of the options that must match (I2), N included.  `is_marked`: the
    operator permits a restart from the tip.  `leaves`: its member asks to be left out.
    """

    seat: Seat
    transient: bool = False
    held: ViewId | None = None
    position: Position | None = None
    update_unfinished: bool = False
    ran_on: bool = False
    was_active: bool = False
    options: str = ""
    is_marked: bool = False
    leaves: bool = False

    def __str__(self) -> str:
        at = "-" if self.position is None else f"{self.position.seq}"
        words = [f"{self.seat.member} at {at}"]
        words += ["unfinished"] if self.update_unfinished else []
        words += ["ran on"] if self.ran_on else []
        words += ["active"] if self.was_active else []
        words += ["marked"] if self.is_marked else []
        words += ["leaves"] if self.leaves else []
        return ", ".join(words)


@frozen
class Evidence:
    """Answers about the tip of `lineage`, one for each seat.

    `answers`: the answers that count.  `went_back`: the answers of stores that are older copies,
    which count as lost disks.
    """

    lineage: Lineage
    answers: tuple[Answer, ...]
    went_back: tuple[Answer, ...] = ()

    @classmethod
    def of(cls, lineage: Lineage, answers: Iterable[Answer]) -> Evidence:
        """Return the evidence with its answers sorted by seat, without stores that went back."""
        by_seat = sorted(answers, key=lambda item: item.seat)
        tip = lineage.tip
        if tip is None or all(item.held == tip.id for item in by_seat):
            return cls(lineage, tuple(by_seat))  # no member can have been ready in a later view
        shown = views_shown(lineage, by_seat)
        odd = [item for item in by_seat if forgets(item, lineage, shown) is not None]
        if not odd:
            return cls(lineage, tuple(by_seat))
        return cls(lineage, tuple(item for item in by_seat if item not in odd), tuple(odd))

    def was_never_served(self, view: View) -> bool:
        """Return whether these answers show that no client was served in `view`.

        No client is served in a CLOSE.  Any other view is active only after all its members were
        ready in it, which a store remembers.  A store whose `held` is older never was ready in it,
        and now never will be, because it is frozen.  Seats are compared: a transient member that
        was started again has another store id, and its answer says nothing about this view.
        """
        if not view.is_open:
            return True
        return any(
            answer.seat in view.members and last_ready(answer, self.lineage) < view.number
            for answer in self.answers
        )

    def covers(self, answer: Answer) -> bool:
        """Return whether the store has every frame that was committed up to the tip."""
        if self._is_unfinished(answer):
            return False
        for view in self._from_tip_back():
            if self._has_held(answer, view):
                return True
            if not self.was_never_served(view):
                return False
            # No client was served in this view, so a store whose data ends at its start has all.
            if self._is_at_start(answer, view):
                return True
        return False

    def is_sure(self, answer: Answer) -> bool:
        """Return whether the store covers the tip, with no sign of a total failure since.

        A member that ran on knows all events since it was ready.  A member that was stopped knows
        this only of views in which no client was served.
        """
        if self._is_unfinished(answer):
            return False
        for view in self._from_tip_back():
            if self._has_held(answer, view) and answer.ran_on:
                return True
            if not self.was_never_served(view):
                return False
            if self._is_at_start(answer, view):
                return True
            if not view.is_open:
                return False
        return False

    def is_clean(self, answer: Answer) -> bool:
        """Return whether the tip is a CLOSE and the store has all data up to it."""
        tip = self.lineage.tip
        if tip is None or tip.is_open or answer.transient or self._is_unfinished(answer):
            return False
        return self._is_at_start(answer, tip)

    def highest(self, among: Iterable[Answer]) -> Answer:
        """Return an answer of a store with the most data.

        `among` is not empty.  Raises `Malformed` if two of them cannot be ordered.  Sources can
        always be ordered, because frames are sent only after all members of a view were ready in
        it; two that cannot be ordered show a split brain.
        """
        best, *others = among
        for other in others:
            order = compare_positions(best.position, other.position, (self.lineage,))
            if order in (PositionOrder.INCOMPARABLE, PositionOrder.UNKNOWN):
                found = Verbatim(f"{best} beside {other}, {order.value}")
                raise Malformed("positions of two sources", found, "one behind the other")
            if order is PositionOrder.BEHIND:
                best = other
        return best

    def _from_tip_back(self) -> Iterator[View]:
        """Yield the tip, its parent and so on, as far as they are kept."""
        return reversed(self.lineage.views)

    def _is_unfinished(self, answer: Answer) -> bool:
        return answer.update_unfinished

    def _is_at_start(self, answer: Answer, view: View) -> bool:
        # The whole position: an equal `seq` may be in a tail that this view has dropped.
        return answer.position == view.position

    def _has_held(self, answer: Answer, view: View) -> bool:
        return answer.held == view.id


def views_shown(lineage: Lineage, answers: Iterable[Answer]) -> frozenset[ViewId]:
    """Return the views in which all members were ready, as these answers or the chain show.

    Frames are sent in a view, and it is active, only after each of its members has written down
    that it was ready in it, and said so.
    """
    shown = {view.position.view for view in lineage.views if view.position is not None}
    # Where `activated` is new, a member was active in the view before.
    steps = pairwise(lineage.views)
    shown |= {before.id for before, view in steps if view.activated and not before.activated}
    for answer in answers:
        if answer.position is not None:
            shown.add(answer.position.view)
        if answer.was_active and lineage.tip is not None and lineage.tip.is_open:
            shown.add(lineage.tip.id)
    return frozenset(shown)


def forgets(answer: Answer, lineage: Lineage, shown: Collection[ViewId]) -> View | None:
    """Return the newest view in which this store was ready, although its answer denies that.

    The view is one of `shown`.  The store's disk is then an older copy.  None if there is no such
    view.
    """
    last = last_ready(answer, lineage)
    for view in reversed(lineage.views):
        if view.number <= last:
            return None
        if view.id in shown and answer.seat in view.members:
            return view
    return None


def last_ready(answer: Answer, lineage: Lineage) -> int:
    """Return the number of the newest view in which the answer's store was ready.

    0 if there is none, or if it is forgotten: a forgotten view is older than all kept views.
    """
    return 0 if answer.held is None else lineage.number_of(answer.held) or 0
