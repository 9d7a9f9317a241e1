"""Turns: how long this member waits for a ballot, and when it may begin one.

`timers.py` measures how long answers take, and knows which member's turn it is.
"""

from __future__ import annotations

from joinproto.join.choice_messages import Prepare
from joinproto.join.phases import Phase
from joinproto.join.state import Known
from joinproto.join.view import names_of

TRIES_MAX = 4
"""After this many failed ballots the waiting time no longer grows."""


def rank(it: Known) -> int:
    """Return how many peers in reach go before this member: the least name goes first."""
    return sum(1 for name in it.observations.in_reach if name < it.config.member)


def pause(it: Known) -> float:
    return it.timers.patience(it.config.patience)


def patience(it: Known) -> float:
    """Return the seconds until a ballot: the least name in reach is first, the others back off."""
    # The wait doubles with each failed ballot.  Otherwise: where disks are slow, a ballot takes
    # longer than the wait, and the next ballot makes its promises worthless.  The different waits
    # also bring two rivals out of step.
    return pause(it) * (1 + rank(it)) * 2.0 ** min(max(0, it.tries - 1), TRIES_MAX)


def shutdown_patience(it: Known) -> float:
    """Return the seconds for which a shutdown outlives a view without the member that asked."""
    # In that time the others' ballots end, and a later ballot takes this member in again.
    return pause(it) * 2.0**TRIES_MAX


def taking_in(it: Known, now: float) -> float | None:
    """Return when it is this member's turn to begin a ballot for a newcomer that all hear.

    If all members began at once, they would end each other's ballots.  None if the view's members
    are still getting ready, or if this member's ballot waits for answers: neither is cut short.
    """
    tip = it.view
    if tip is None or it.phase in (Phase.UPDATING, Phase.READY) or it.choice.is_free:
        return None
    here = names_of(tip.members) & it.observations.in_reach
    before = here - names_of(it.observations.guests)
    return now + pause(it) * sum(1 for name in before if name < it.config.member)


def turn(it: Known, now: float) -> float | None:
    """Return when it is this member's turn to begin a ballot, None if it is its turn now."""
    if _is_held(it, now, it.config.member):
        return it.timers.next_turn(pause(it), rank(it))
    return it.timers.deferred_until(it.observations.in_reach, pause(it) * (1 + rank(it)))


def is_out_of_turn(it: Known, now: float, peer: str, asked: Prepare) -> bool:
    """Return whether a ballot of `peer` is ignored, as if it were lost on its way."""
    # Otherwise a member that is started again and again makes all ballots begin again.  Without
    # heartbeats every ballot is heard, because no message makes an ignored member ask again.
    if not it.config.heartbeat:
        return False
    promised = it.record.promised
    is_later = promised is not None and asked.ballot > promised
    return asked.parent == it.choice.parent and is_later and _is_held(it, now, peer)


def _is_held(it: Known, now: float, by_other_than: str) -> bool:
    """Return whether a ballot under way, of another than `by_other_than`, still has its time.

    A later ballot would end it.
    """
    until = it.timers.held_until(by_other_than, pause(it))
    is_own = it.timers.holder == it.config.member
    is_alive = it.choice.attempt is not None if is_own else it.choice.is_frozen
    return is_alive and until is not None and now < until
