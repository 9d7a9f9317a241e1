"""Reads: they are confirmed if the view that a member serves still stood after they began.

A member may serve in a view that all others have left, until it learns the next view.  Frames that
the others acknowledge meanwhile are not on its disk.  So a read waits until a majority of the
electors has said, after the read began, that they have answered no ballot about the view's
successor.  Then no majority had chosen a successor when the read began.  Every frame acknowledged
until then is of this view or an earlier one, and so on the disk of each member of the view.

    read      begins, and waits                  Confirm   ->   the electors
              a majority: it may be answered     <- Confirmed

Reads that come while a round is under way wait for the next round, so only one is under way.
An outside register is asked instead of the electors: it names the only successor.

Source: join protocol, 3.8; "ReadIndex" in Ongaro, "Consensus: Bridging Theory and Practice"
(2014), section 6.4, as in etcd-io/raft, `read_only.go`.
"""

from __future__ import annotations

from attrs import evolve

from joinproto.codec.malformed import Verbatim, require
from joinproto.join.greeting import tell
from joinproto.join.messages import Confirm, Confirmed, ReadRegister, ReadsConfirmed
from joinproto.join.phases import Phase
from joinproto.join.state import Known
from joinproto.join.step_context import StepContext
from joinproto.join.view import View, names_of


def read(m: StepContext, now: float) -> None:
    """Have reads that came together confirmed by the next round, which may begin at once.

    The reads' number is the new `reads.called`, which does not change if they cannot be confirmed.
    """
    tip = m.view
    if m.phase is not Phase.ACTIVE or tip is None or older_electors(m):
        return
    m.reads = evolve(m.reads, called=m.reads.called + 1)
    if not m.reads.asked:
        _begin(m, now, tip)


def older_electors(it: Known) -> frozenset[str]:
    """Return the electors that do not know `Confirm`, if no majority can confirm without them."""
    tip = it.view
    if tip is None or it.config.outside:
        return frozenset()
    others = frozenset(seat for seat in tip.electors if seat.member in it.observations.older)
    return frozenset() if tip.is_majority(tip.electors - others) else names_of(others)


def doubt(m: StepContext, peer: str) -> None:
    """Ask a peer over a new connection whether the view stands, if its vote matters.

    Otherwise: a member that was cut off is connected again, counts an elector that has gone on,
    and opens in the old view until it hears better.
    """
    tip = m.view
    if tip is None or m.config.outside or m.ready_in != tip.id:
        return
    if peer in names_of(tip.electors) - m.observations.older:
        m.reads = evolve(m.reads, last=m.reads.last + 1)
        m.observations = m.observations.with_doubt(peer, m.reads.last)
        m.send(peer, Confirm(tip.id, m.reads.last))


def confirm_again(m: StepContext, now: float) -> None:
    """Repeat the questions without an answer, because a message may have been lost."""
    tip = m.view
    if tip is None or m.ready_in != tip.id:
        return
    names = set(m.observations.doubted)
    if m.reads.asked:
        if m.config.outside:
            m.act(ReadRegister(tip.id, now, m.reads.asked))
            return
        names |= names_of(tip.electors - m.reads.confirmed - {m.seat})
    _ask(m, tip, names)


def hear_confirm(m: StepContext, peer: str, asked: Confirm) -> None:
    """Answer that the view stands, or tell its successor."""
    tip = m.view
    if tip is None:
        return
    if tip.id == asked.view:
        if m.seat in tip.electors and not m.is_frozen:
            m.send(peer, Confirmed(tip.id, asked.number, m.seat))
        return
    number = m.record.lineage.number_of(asked.view)
    if number is not None:
        tell(m, peer, asked.view, number)


def hear_confirmed(m: StepContext, now: float, peer: str, heard: Confirmed) -> None:
    require("seat", heard.seat.member == peer, heard.seat.member, f"{peer}, which sent it")
    tip = m.view
    if tip is None or tip.id != heard.view or m.ready_in != tip.id:
        return
    # Numbers grow as long as the process runs, and a process that is started again is not ready
    # in a view in which it was before.  So only an answer to this question has this number.
    require(
        "number", heard.number <= m.reads.last, Verbatim(str(heard.number)), "one that was asked"
    )
    m.observations = m.observations.without_doubt(peer, heard.number)
    if m.reads.asked and heard.number >= m.reads.asked:
        m.reads = evolve(m.reads, confirmed=m.reads.confirmed | {heard.seat})
        _count(m, now, tip)


def register_confirms(m: StepContext, now: float, question: int) -> None:
    """Confirm the reads that wait for this question: the register names no successor of the tip."""
    if m.view is not None and question and question == m.reads.asked:
        _finish(m, now, m.view)


def void(m: StepContext) -> None:
    """Forget the waiting reads, because the member no longer serves."""
    if m.reads.asked or m.reads.confirmed:
        m.reads = evolve(m.reads, asked=0, confirmed=frozenset())


def _begin(m: StepContext, now: float, tip: View) -> None:
    number = m.reads.last + 1
    own = frozenset({m.seat}) & tip.electors
    m.reads = evolve(m.reads, last=number, asked=number, covers=m.reads.called, confirmed=own)
    if m.config.outside:
        m.act(ReadRegister(tip.id, now, number))
        return
    _ask(m, tip, names_of(tip.electors - own))
    _count(m, now, tip)


def _ask(m: StepContext, tip: View, names: set[str] | frozenset[str]) -> None:
    for name in sorted((names & m.observations.in_reach) - m.observations.older):
        m.send(name, Confirm(tip.id, m.reads.last))


def _count(m: StepContext, now: float, tip: View) -> None:
    if tip.is_majority(m.reads.confirmed):
        _finish(m, now, tip)


def _finish(m: StepContext, now: float, tip: View) -> None:
    m.act(ReadsConfirmed(m.reads.covers))
    is_more = m.reads.called > m.reads.covers
    m.reads = evolve(m.reads, asked=0, confirmed=frozenset())
    if is_more:
        _begin(m, now, tip)
