"""Heartbeats tell where on the chain each member is, so that members notice missed messages.

Source: join protocol, 3.5.
"""

from __future__ import annotations

from joinproto.join.greeting import hello, tell
from joinproto.join.messages import Heartbeat
from joinproto.join.phases import Phase
from joinproto.join.state import Known
from joinproto.join.step_context import StepContext
from joinproto.join.view import Seat


def heartbeat(it: Known) -> Heartbeat:
    tip = it.view
    return Heartbeat(
        None if tip is None else tip.id, it.record.lineage.length, it.seat, it.is_frozen
    )


def hear_heartbeat(m: StepContext, peer: str, beat: Heartbeat) -> None:
    m.notice(beat.seat)
    lineage = m.record.lineage
    if lineage.id_at(beat.number) != beat.tip:
        # A heartbeat with a smaller number is older than our tip.  It does not show that its
        # sender has gone on, but it does not show the contrary either.
        if beat.number >= lineage.length:
            m.observations = m.observations.with_beyond(beat.seat)
        m.send(peer, hello(m, peer))
    elif beat.number < lineage.length:
        tell(m, peer, beat.tip, beat.number)
    elif beat.is_frozen:
        m.observations = m.observations.with_beyond(beat.seat)
    elif _waits_for(m, beat.seat):
        # Our hello was lost, or came before the peer was active; no other message starts this.
        m.send(peer, hello(m, peer))


def _waits_for(it: Known, seat: Seat) -> bool:
    """Return whether an answer to a hello would help: a Welcome, or that `seat` is ready."""
    if it.phase in (Phase.JOINING, Phase.UPDATING):
        return it.source is None
    return it.phase is Phase.READY and seat not in it.observations.ready
