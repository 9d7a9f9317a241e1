"""The steps: each input of a host (`inputs.py`), and its effect on a draft of the next state.

`step(state, happen, now, inputs.Tick())` takes one.  `Member` explains the inputs for a host.

Source: join protocol, section 3.
"""

from __future__ import annotations

from typing import assert_never

from attrs import evolve

from joinproto.codec.malformed import Malformed
from joinproto.errors import MisuseError
from joinproto.join import inputs, messages
from joinproto.join.backoff import patience, pause, shutdown_patience, turn
from joinproto.join.backups import look_back
from joinproto.join.balloting import (
    ask_again,
    begin,
    consider,
    hear_choice,
    insist,
    may_be_ignored,
    read_register,
    reason_to_begin,
    take,
)
from joinproto.join.choice import Choice
from joinproto.join.choice_messages import Accept, Chosen, Nack, Prepare, Promise, Voted
from joinproto.join.fixpoint import report_awaited, settle
from joinproto.join.frames import appended
from joinproto.join.greeting import (
    count_connection,
    hear_hello,
    hear_refused,
    hello,
    hello_to_members,
)
from joinproto.join.heartbeats import hear_heartbeat, heartbeat
from joinproto.join.ids import ViewId
from joinproto.join.learning import hear_ready
from joinproto.join.observations import Observations
from joinproto.join.outside import OutsideChoice
from joinproto.join.phases import RUNNING, Phase
from joinproto.join.proposing import report_silent
from joinproto.join.reading import (
    confirm_again,
    doubt,
    hear_confirm,
    hear_confirmed,
    read,
    register_confirms,
)
from joinproto.join.state import Known, MemberState, Setup
from joinproto.join.step_context import StepContext, step
from joinproto.join.store import StoreRecord
from joinproto.join.timers import Timers
from joinproto.join.updating import hear_want_update, hear_welcome, require_thawed
from joinproto.join.view import Position, View

_FREE_HEARTBEATS = 2
"""The number of heartbeats for which an answer of the register counts."""


def start(
    now: float, setup: Setup, record: StoreRecord, *, in_reach: frozenset[str] = frozenset()
) -> tuple[MemberState, messages.Batch]:
    """Return the member of a process that starts now, and its first actions."""
    config = setup.config
    if record.transient != config.is_transient:
        raise MisuseError(
            f"{config.member} is {'' if config.is_transient else 'not '}transient, but its"
            f" record is {'' if record.transient else 'not'}".rstrip(),
            next="make the record with StoreRecord(transient=...) as configured",
        )
    kind = OutsideChoice if config.outside else Choice
    choice = kind(
        member=config.member,
        record=record,
        founders=config.electors,
        found_with=config.found_with,
    )
    state = MemberState(
        setup,
        choice,
        observations=Observations(in_reach=in_reach),
        next_heartbeat=now + config.heartbeat if config.heartbeat else None,
        timers=Timers(started=now, rounds=record.promised.round if record.promised else 0),
    )
    return step(state, _begin, now)


def _begin(m: StepContext, now: float) -> None:
    look_back(m)
    read_register(m, now)
    settle(m, now)


def happen(m: StepContext, now: float, what: inputs.Input) -> None:
    """Handle an input of the member."""
    match what:
        case inputs.Receive(peer, message):
            receive(m, now, peer, message)
        case inputs.PeerUp(peer, confirms):
            peer_up(m, now, peer, confirms)
        case inputs.PeerDown(peer):
            peer_down(m, now, peer)
        case inputs.Tick():
            tick(m, now)
        case inputs.UpdateOverwrites():
            update_overwrites(m, now)
        case inputs.UpdateProgress(position):
            update_progress(m, now, position)
        case inputs.UpdateDone(position):
            update_done(m, now, position)
        case inputs.Appended(view, seq, first):
            appended(m, view, seq, first)
        case inputs.Read():
            read(m, now)
        case inputs.Leave():
            leave(m, now)
        case inputs.ShutdownCluster():
            shutdown_cluster(m, now)
        case inputs.RegisterSays(view):
            register_says(m, now, view)
        case inputs.RegisterFree(parent, asked, question):
            register_free(m, now, parent, asked, question)
        case _:
            assert_never(what)


def peer_up(m: StepContext, now: float, peer: str, confirms: bool = True) -> None:
    if peer == m.config.member:
        return
    asks_in_vain = m.closes_until is not None and now < m.closes_until and _is_cut_off(m)
    m.observations = m.observations.with_peer(peer, confirms=confirms)
    count_connection(m, peer)
    if asks_in_vain and not _is_cut_off(m):
        # It was cut off for less time than the others' patience, so they have not given it up.
        m.closes_until = now + shutdown_patience(m)
    # Failed ballots say nothing about a ballot with this peer.  The peer's answer to a ballot that
    # began while it was away does not show how long messages take.
    m.tries = 0
    m.timers = evolve(m.timers, asked=())
    if m.phase in RUNNING:
        m.wait_until(now + patience(m))
        m.send(peer, hello(m, peer))
        doubt(m, peer)
        settle(m, now)


def peer_down(m: StepContext, now: float, peer: str) -> None:
    m.observations = m.observations.without_peer(peer)
    if m.view is None:
        # The peer may come back with another store, and a FOUND with its lost store would bind all
        # ballots.
        m.observations = m.observations.without_answer_of(peer)
    if m.timers.holder == peer and m.patience_until is not None:
        m.wait_until(now + patience(m))
    m.timers = m.timers.without(peer)
    if m.source == peer:
        m.source = None
    if m.closes_until is not None and _is_cut_off(m):
        # The others give this member up after their patience; once back, it may not stop them.
        m.closes_until = min(m.closes_until, now + pause(m))
    settle(m, now)


def receive(m: StepContext, now: float, peer: str, message: messages.JoinMessage) -> None:
    if m.phase not in RUNNING:
        return
    try:
        match message:
            case messages.Hello():
                hear_hello(m, now, peer, message)
            case messages.Welcome():
                hear_welcome(m, peer, message)
            case messages.Refused():
                hear_refused(m, peer, message)
            case messages.Ready():
                hear_ready(m, peer, message)
            case messages.WantUpdate():
                hear_want_update(m, peer, message)
            case messages.Heartbeat():
                hear_heartbeat(m, peer, message)
            case messages.Confirm():
                hear_confirm(m, peer, message)
            case messages.Confirmed():
                hear_confirmed(m, now, peer, message)
            case Prepare() | Promise() | Accept() | Voted() | Nack() | Chosen():
                hear_choice(m, now, peer, message)
    except Malformed as error:
        m.say(messages.Refusal(peer, str(error)))
        return
    settle(m, now)


def tick(m: StepContext, now: float) -> None:
    if m.phase not in RUNNING:
        return
    if m.next_heartbeat is not None and now >= m.next_heartbeat:
        m.next_heartbeat = now + m.config.heartbeat
        beat = heartbeat(m)
        for peer in sorted(m.observations.in_reach):
            m.send(peer, beat)
        confirm_again(m, now)
        read_register(m, now)
    if m.patience_until is not None and now >= m.patience_until:
        m.patience_until = None
        if m.choice.is_free:
            consider(m, now, is_patient=False)
            ask_again(m, now)
        elif may_be_ignored(m):
            if now >= m.timers.since + pause(m):
                report_silent(m)
            insist(m, now)
        elif (at := turn(m, now)) is not None and now < at:
            m.patience_until = at
        elif reason_to_begin(m) is not None:
            report_silent(m)
            begin(m, now)
    if m.says_at is not None and now >= m.says_at:
        m.says_at = None
        report_awaited(m)
    settle(m, now)


def update_overwrites(m: StepContext, now: float) -> None:
    require_thawed(m)
    if m.view is not None:
        m.unfinished_update()
    settle(m, now)


def update_progress(m: StepContext, now: float, position: Position | None) -> None:
    require_thawed(m)
    m.write(evolve(m.record, position=position, update_unfinished=False))
    settle(m, now)


def update_done(m: StepContext, now: float, position: Position | None) -> None:
    update_progress(m, now, position)
    m.source = None
    if m.phase is Phase.JOINING:
        hello_to_members(m)


def leave(m: StepContext, now: float) -> None:
    m.leaves = True
    if _is_in_open_view(m):
        m.patience_until = now
    else:
        _end(m, now)


def shutdown_cluster(m: StepContext, now: float) -> None:
    if _is_in_open_view(m):
        m.closes_until = now + (pause(m) if _is_cut_off(m) else shutdown_patience(m))
        m.patience_until = now
    else:
        _end(m, now)


def register_says(m: StepContext, now: float, view: View) -> None:
    if isinstance(m.choice, OutsideChoice) and m.phase in RUNNING:
        take(m, now, m.choice.decided(view))
        settle(m, now)


def register_free(
    m: StepContext, now: float, parent: ViewId, asked: float, question: int = 0
) -> None:
    # The answer counts from the time of the question, because it may be as old as that.
    tip = m.view
    if m.phase in RUNNING and tip is not None and tip.id == parent:
        until = asked + _FREE_HEARTBEATS * m.config.heartbeat
        m.free_until = max(until, m.free_until or until)
        # The tip's successor is chosen while this process runs.  Otherwise: a member that hears
        # no other learns of a CLOSE from the register alone, and restarts the cluster.
        m.see_it_run()
        register_confirms(m, now, question)
        settle(m, now)


def _is_in_open_view(it: Known) -> bool:
    tip = it.view
    return tip is not None and tip.is_open and it.seat in tip.members


def _is_cut_off(it: Known) -> bool:
    tip = it.view
    return tip is not None and not tip.is_majority(it.observations.reached(tip, it.seat))


def _end(m: StepContext, now: float) -> None:
    m.is_done = True
    settle(m, now)
