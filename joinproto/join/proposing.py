"""Proposing: the view that a member proposes once enough seats have answered its ballot.

Source: join protocol, 3.4.
"""

from __future__ import annotations

from joinproto.join.answers import Evidence
from joinproto.join.awaiting import unanswered
from joinproto.join.backoff import pause
from joinproto.join.backups import look_back
from joinproto.join.messages import Abort, Forbids, Proposes, Refused, Waiting
from joinproto.join.state import Known
from joinproto.join.step_context import StepContext
from joinproto.join.succession import Next
from joinproto.join.successor import Proposer
from joinproto.join.view import Kind, View, names_of
from joinproto.machine.vocabulary import Reason

SILENT = "too few have answered"
"""The case of `Waiting` if no view can be chosen, for lack of a majority or of founders."""

BETTER = "others may be a majority that hears each other"
"""The case of `Waiting` if no majority of the members that answered hears each other."""


def proposal(m: StepContext, now: float) -> View | None:
    """Return the view to propose.  If there is none, report why, and return None.

    Raises `Malformed` if the stores contradict each other.
    """
    answers = {*m.observations.answers, m.status}
    look_back(m, answers)
    if m.verdict is not None:
        return None
    own = {item for item in answers if not m.is_copy(item.seat)}
    evidence = Evidence.of(m.record.lineage, own)
    promised = m.record.promised
    proposer = Proposer(
        config=m.config,
        seat=m.seat,
        guests=frozenset(seat for seat in m.observations.guests if not m.is_copy(seat)),
        transients=m.observations.transients,
        apart=m.observations.apart,
        closes=m.closes,
        nonce=m.setup.seed if promised is None else f"{m.setup.seed}:{promised.round}",
        time=m.setup.epoch + int(now * 1000),
        digest=m.setup.digest,
    )
    table, case = proposer.decide(evidence)
    if case.outcome is Next.ABORT:
        reason = case.reason or Reason.OPTIONS_DIFFER
        m.say(Forbids(case.label, case.name, reason, table.name))
        _abort_all(m, reason)
        return None
    if case.outcome.kind is None:
        m.waits(case.label, case.name, case.reason, table=table.name)
        return None
    view = proposer.view(case.outcome.kind, evidence)
    if _yields(m, now, proposer, view, evidence):
        names = " ".join(sorted(names_of(view.members)))
        detail = f"this one would be {names} alone"
        m.say(Waiting("3.4", BETTER, Reason.TOO_FEW_MEMBERS, detail))
        return None
    m.say(Proposes(case.label, case.name, view, table.name))
    return view


def expected(it: Known) -> set[str]:
    """Return the names of the peers whose answers are worth waiting for.

    They are the peers in reach.  A member that is not ready in the tip also waits for members
    that may be on their way back: more answers show more data.
    """
    tip = it.view
    names = set(it.observations.in_reach)
    if tip is None:
        names |= it.config.electors
    elif it.ready_in != tip.id:
        names |= names_of(tip.members | tip.electors)
    return names - {it.config.member}


def report_silent(m: StepContext) -> None:
    attempt = m.choice.attempt
    if attempt is not None:
        detail = unanswered(attempt, expected(m), m.observations, m.view, m.config, m.seat)
        m.waits("I1", SILENT, Reason.TOO_FEW_MEMBERS, detail)


def _yields(it: Known, now: float, proposer: Proposer, view: View, evidence: Evidence) -> bool:
    """Return whether this member lets others go first, because more of them may hear each other.

    It waits at most for one turn of each other member, in at most as many ballots.
    """
    tip = it.view
    if tip is None or view.kind is not Kind.CHANGE:
        return False
    turns = len(tip.members | tip.electors)
    until = it.timers.next_turn(pause(it), turns)
    if it.timers.turns > turns or now >= until:
        return False
    return proposer.yields(view, evidence, it.observations.misses(tip, it.seat))


def _abort_all(m: StepContext, reason: Reason) -> None:
    """Stop all initial members, because they cannot start together."""
    theirs = sorted({f"{item.options} at {item.seat.member}" for item in m.observations.answers})
    found = ", ".join([f"{m.config.digest} at {m.config.member}", *theirs])
    expected = "the same in all members"
    m.verdict = Abort(reason, found, expected, False)
    for item in sorted(m.observations.answers, key=lambda one: one.seat):
        m.send(item.seat.member, Refused(reason, found, expected))
