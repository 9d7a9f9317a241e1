"""Balloting: when a member begins a ballot, and its reaction to the results.

`proposing.py` says which view to propose; `choice.py` or `outside.py` choose it.

Source: join protocol, 3.3 to 3.5 and 3.7.
"""

from __future__ import annotations

from attrs import evolve

from joinproto.codec.malformed import Malformed, Verbatim
from joinproto.join.answers import Answer
from joinproto.join.backoff import is_out_of_turn, patience, pause
from joinproto.join.backups import look_back, notice, seats_gone_back
from joinproto.join.choice_messages import (
    AskRegister,
    ChoiceMessage,
    Chosen,
    FreeToPropose,
    Learned,
    Outbid,
    OutOfStep,
    PersistRecord,
    Prepare,
    Promise,
    SendTo,
    Voted,
)
from joinproto.join.chooser import Step
from joinproto.join.greeting import hello, tell
from joinproto.join.learning import learn
from joinproto.join.messages import CompareAndSet, ReadRegister, Ready, Waiting
from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from joinproto.join.proposing import expected, proposal
from joinproto.join.state import Known
from joinproto.join.step_context import StepContext
from joinproto.join.view import Seat, View, names_of
from joinproto.machine.vocabulary import Reason

IMPOSSIBLE = "what the stores say cannot be"
"""A case of `Waiting` that no correct run reports: an operator must look at the stores."""


def reason_to_begin(it: Known) -> str | None:
    """Return why this member would begin a ballot, None if it would not."""
    tip = it.view
    if not it.choice.may_begin or it.choice.is_free:
        return None
    if tip is None:
        names = it.observations.in_reach | {it.config.member}
        return "found" if it.config.electors <= names or _may_found(it, names) else None
    if not tip.is_open:
        return "restart"
    if it.phase is Phase.FROZEN:
        return "finish"
    if it.record.held == tip.id and it.ready_in != tip.id:
        return "restarted"
    if it.phase is Phase.INITIALIZING:
        return "other options"
    if it.leaves:
        return "leave"
    if it.closes:
        return "close"
    if it.observations.guests:
        return "take in"
    if it.observations.lacks(tip, it.seat):
        return "give up"
    return None


def begin(m: StepContext, now: float) -> None:
    """Begin a ballot of this member."""
    m.tries += 1
    m.observations = m.observations.for_new_ballot()
    take(m, now, m.choice.begin(also=m.observations.in_reach))
    if m.choice.attempt is not None:
        ballot = m.choice.attempt.ballot
        m.timers = m.timers.given_to(now, m.config.member).asking(now, ballot)
    if may_be_ignored(m):
        m.wait_until(now + pause(m) / 2)


def ask_again(m: StepContext, now: float) -> None:
    """Ask the members that have not answered this member's ballot, if it is free for a view."""
    if m.choice.is_free:
        take(m, now, m.choice.ask(m.observations.silent(set(m.observations.in_reach))))


def may_be_ignored(it: Known) -> bool:
    """Return whether a ballot of this member is under way that others may ignore.

    See `is_out_of_turn`.
    """
    return bool(it.config.heartbeat) and it.choice.is_asking


def insist(m: StepContext, now: float) -> None:
    """Ask in this member's ballot again, before the others' turns.

    A new ballot would have to collect all answers again.
    """
    attempt = m.choice.attempt
    if attempt is not None and attempt.answered != {m.seat}:
        m.timers = m.timers.insisting(attempt.ballot)
    take(m, now, m.choice.ask(m.observations.in_reach))
    m.wait_until(now + pause(m) / 2)


def consider(m: StepContext, now: float, *, is_patient: bool) -> None:
    """Decide on the next view, if this member's ballot is free for one.

    `is_patient`: decide only if all members that are expected to answer have answered.
    """
    if not m.choice.is_free:
        return
    if is_patient and m.observations.silent(expected(m)):
        return
    m.leave_told = m.leaves
    try:
        view = proposal(m, now)
        if view is not None:
            m.observations = m.observations.without_answers()  # another ballot asks again
            take(m, now, m.choice.propose(view))
    except Malformed as error:
        # The chain has a fork, or data was changed from outside.
        m.say(Waiting("3.4", IMPOSSIBLE, Reason.NO_CLEAN_STORE, str(error)))


def hear_choice(m: StepContext, now: float, peer: str, message: ChoiceMessage) -> None:
    if isinstance(message, Prepare) and is_out_of_turn(m, now, peer, message):
        return
    asked = message if message.parent == m.choice.parent else None
    heard, choice, odd = m.observations, m.choice, frozenset[Seat]()
    if isinstance(message, Promise) and _collects(m, message):
        heard = _answered(m, peer, message)
        odd = seats_gone_back(m, heard)
        choice = choice.without(odd)
    # A step that raises must have changed nothing.
    step = choice.receive(peer, message)
    if isinstance(message, Promise | Voted):
        m.timers = m.timers.answered(now, message.ballot)
    if heard is not m.observations:
        m.observations = heard
        look_back(m, heard.answers)
        if m.verdict is not None:
            return
        for name in notice(m, odd):
            m.send(name, hello(m))  # so that the member itself finds out
    if isinstance(message, Chosen) and message.has_frames:
        # This comes before the view is written.  Otherwise: a process that ends just after the
        # write is ready in that view at its next start.
        look_back(m, shown=[message.views[-1].id], lineage=step.choice.record.lineage)
        if m.verdict is not None:
            return
    take(m, now, step)
    if isinstance(asked, Prepare) and m.record.promised == asked.ballot:
        m.timers = m.timers.given_to(now, peer)


def _answered(it: Known, peer: str, promise: Promise) -> Observations:
    """Return the observations with the promise's answer.

    Raises `Malformed` if the promise has no answer, or the answer of a seat that is not its voter.
    """
    answer = promise.answer
    if answer is None or answer.seat != promise.voter:
        raise Malformed("answer", Verbatim(str(answer)), f"the status of {peer}, which sent it")
    return it.observations.answered(answer, promise.misses)


def take(m: StepContext, now: float, step: Step) -> None:
    """Take over the choice's next state, and perform its actions."""
    m.choice = step.choice
    if m.choice.is_frozen:
        m.observations = m.observations.without_ready()
    for effect in step.effects:
        match effect:
            case PersistRecord(record):
                m.persist = record
            case SendTo(to, Promise() as promise):
                answer = _answer_for(m, promise)
                # The member that asks is heard.
                misses = m.observations.misses(m.view, m.seat) - {to}
                m.send(to, evolve(promise, answer=answer, misses=misses))
            case SendTo(to, message):
                m.send(to, message)
            case Learned(views):
                learn(m, now, views)
                _tell_of_the_end(m, views[-1])
                read_register(m, now)
            case OutOfStep(sender, _):
                m.send(sender, hello(m, sender))
            case AskRegister(parent, view):
                m.act(CompareAndSet(parent, view))
            case Outbid():
                m.patience_until = now + patience(m)
            case FreeToPropose():
                consider(m, now, is_patient=True)
                if m.choice.is_free:
                    # It does not wait longer: by then others begin ballots of their own.
                    m.wait_until(now + 2 * pause(m))


def _tell_of_the_end(m: StepContext, tip: View) -> None:
    """Tell all peers in reach of a CLOSE, because a member that ends now cannot tell it later."""
    if m.is_done and not tip.is_open:
        # A peer may have no connection to the member that proposed the CLOSE.  If there is an
        # outside register, members of the view ask the register themselves.
        asking = names_of(tip.members) if m.config.outside else set()
        for name in sorted(m.observations.in_reach - asking):
            if tip.parent is not None and m.ready_in == tip.parent:
                # Otherwise the peer thinks that it was started after the CLOSE.
                m.send(name, Ready(tip.parent, m.seat))
            tell(m, name, tip.parent, tip.number - 1)


def read_register(m: StepContext, now: float) -> None:
    """Ask the outside register, if there is one, whether the tip has a successor."""
    tip = m.view
    if m.config.outside and m.config.heartbeat and tip is not None and tip.is_open:
        m.act(ReadRegister(tip.id, now))


def _may_found(it: Known, names: frozenset[str]) -> bool:
    found_with = it.config.found_with
    return found_with is not None and len(it.config.electors & names) >= found_with


def _collects(it: Known, promise: Promise) -> bool:
    attempt = it.choice.attempt
    is_open = attempt is not None and attempt.proposed is None
    return is_open and promise.parent == it.choice.parent


def _answer_for(m: StepContext, promise: Promise) -> Answer:
    if promise.parent != m.choice.parent:
        # This happens only in worlds without a rule: a store with a tip answers as an empty store.
        return Answer(seat=m.seat, options=m.config.digest)
    m.leave_told = m.leaves
    return m.status
