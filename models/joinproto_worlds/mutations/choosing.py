"""Mutations of the choice of a view, and of the proofs in answers.

Source: join protocol, 3.3, 3.4, 3.6 and 3.7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from attrs import evolve

from joinproto.join.answers import Answer, Evidence, last_ready
from joinproto.join.choice import Choice
from joinproto.join.choice_messages import (
    Accept,
    ChoiceMessage,
    Chosen,
    PersistRecord,
    Prepare,
    Promise,
    SendTo,
    Voted,
)
from joinproto.join.chooser import Chooser, Step
from joinproto.join.lineage import Lineage
from joinproto.join.phases import Facts
from joinproto.join.state import Known
from joinproto.join.store import Accepted
from joinproto.join.view import Seat, View
from joinproto_worlds.mutations.mutation import Mutation, Patch, around, instead

CHOICE = "joinproto.join.choice"
CHOOSER = "joinproto.join.chooser"
OUTSIDE = "joinproto.join.outside"
ANSWERS = "joinproto.join.answers"
BACKUPS = "joinproto.join.backups"
CHOICE_MESSAGES = "joinproto.join.choice_messages"
SETTLING = "joinproto.join.fixpoint"


@around
def _unwritten(original: Callable[..., Step], *args: Any, **more: Any) -> Step:
    """Drop the step's first effect if it is a write, so that the record stays in memory."""
    step = original(*args, **more)
    first = step.effects[:1]
    is_written = bool(first) and isinstance(first[0], PersistRecord)
    return evolve(step, effects=step.effects[1:]) if is_written else step


@instead
def _by_name(_self: Choice, seats: Iterable[Seat], electors: frozenset[Seat]) -> int:
    return len({seat.member for seat in seats} & {seat.member for seat in electors})


@instead
def _one_less(self: Choice, seats: frozenset[Seat], electors: frozenset[Seat]) -> bool:
    return self._count_of(seats, electors) >= len(electors) // 2


@instead
def _most_founders(self: Chooser, answered: Iterable[Seat]) -> bool:
    names = {seat.member for seat in answered} & self.founders
    return 2 * len(names) > len(self.founders)


@around
def _as_if_empty(
    original: Callable[..., Step], self: Chooser, sender: str, message: ChoiceMessage
) -> Step:
    """Let a member that knows a view promise and vote as if it knew none."""
    is_asked = isinstance(message, Prepare | Accept) and message.parent is None
    if not is_asked or Chosen.telling(sender, None, 0, self.record) is None:
        return original(self, sender, message)
    ballot = message.ballot  # type: ignore[union-attr]
    if isinstance(message, Accept):
        return Step(self, (SendTo(sender, Voted(None, ballot, self.seat)),))
    return Step(self, (SendTo(sender, Promise(None, ballot, self.seat, None)),))


@instead
def _last(_self: Choice, told: Sequence[Accepted]) -> Accepted | None:
    return told[-1] if told else None


@instead
def _by_round(_self: Choice, told: Sequence[Accepted]) -> Accepted | None:
    return max(told, key=lambda item: item.ballot.round, default=None)


CHOOSING = (
    Mutation.of("ballots-not-persisted", CHOICE, "Choice.begin", _unwritten),
    Mutation(
        "promise-not-persisted",
        (
            Patch(CHOICE, "Choice._promise", _unwritten),
            Patch(
                OUTSIDE, "OutsideChoice._frozen", around(lambda frozen, self: (frozen(self)[0], ()))
            ),
        ),
    ),
    Mutation.of(
        "accepted-not-honoured", CHOICE, "Choice._binding", instead(property(lambda self: None))
    ),
    # Of several acceptances the one heard last, or one of the latest round, is proposed again.
    Mutation.of("last-acceptance-binds", CHOICE, "Choice._latest", _last),
    Mutation.of("round-alone-binds", CHOICE, "Choice._latest", _by_round),
    Mutation.of("stranger-votes", CHOICE, "Choice._count_of", _by_name),
    Mutation.of("minority", CHOICE, "Choice._is_majority", _one_less),
    Mutation.of("found-by-majority", CHOOSER, "Chooser._founders_answered", _most_founders),
    Mutation.of("later-view-not-told", CHOOSER, "Chooser._about_another", _as_if_empty),
    Mutation.of(
        "status-does-not-freeze",
        OUTSIDE,
        "OutsideChoice._frozen",
        instead(lambda self: (self.record, ())),
    ),
)
"""Mutations of the choice of a view."""


# -- proofs in answers -------------------------------------------------------------------------


@instead
def _held_by_position(self: Evidence, answer: Answer, view: View) -> bool:
    is_later = last_ready(answer, self.lineage) >= view.number
    return answer.position == view.position or is_later


@instead
def _as_many(_self: Evidence, answer: Answer, view: View) -> bool:
    one, other = answer.position, view.position
    return (0 if one is None else one.seq) == (0 if other is None else other.seq)


def _of_all(cls: type[Evidence], lineage: Lineage, answers: Iterable[Answer]) -> Evidence:
    by_seat = sorted(answers, key=lambda item: (item.seat.member, item.seat.store_id))
    return cls(lineage, tuple(by_seat))


_all_answers = instead(classmethod(_of_all))


def _without_frames(original: Any) -> Any:
    def telling(cls: type, *about: Any) -> Chosen | None:
        told = original.__func__(cls, *about)
        return None if told is None else evolve(told, has_frames=False)

    return classmethod(telling)


@around
def _tip_is_data(original: Callable[..., bool], self: Evidence, answer: Answer, view: View) -> bool:
    return view is self.lineage.tip or original(self, answer, view)


@around
def _unfinished_is_data(original: Callable[[Known], Facts], it: Known) -> Facts:
    found, tip = original(it), it.view
    if tip is None or it.record.position != tip.position:
        return found
    return evolve(found, has_data=True)


ANSWERING = (
    # A store whose data ends where a view starts counts as ready in that view.
    Mutation.of("held-derived", ANSWERS, "Evidence._has_held", _held_by_position),
    # A store whose update was cut off counts as whole.
    Mutation(
        "unfinished-counts",
        (
            Patch(ANSWERS, "Evidence._is_unfinished", instead(lambda self, answer: False)),
            Patch(SETTLING, "facts", _unfinished_is_data),
        ),
    ),
    # A member that knows the tip is counted as having held it.
    Mutation.of("tip-is-data", ANSWERS, "Evidence._has_held", _tip_is_data),
    # A store that has as many frames as a view starts with counts as having the same frames.
    Mutation.of("equal-number-covers", ANSWERS, "Evidence._is_at_start", _as_many),
    # A disk that was put back is believed.
    Mutation.of("backup-believed", ANSWERS, "forgets", instead(lambda *_: None)),
    # Other members believe such a disk; its own member still notices that the disk is old.
    Mutation.of("backup-answers", ANSWERS, "Evidence.of", _all_answers),
    # Other members do not believe such a disk; its own member does not notice, and gets ready.
    Mutation.of("backup-goes-on", BACKUPS, "look_back", instead(lambda *_, **__: None)),
    # A member that learns a view is not told that the view has frames.
    Mutation.of("backup-not-told", CHOICE_MESSAGES, "Chosen.telling", _without_frames),
)
"""Mutations of the proofs in answers."""
