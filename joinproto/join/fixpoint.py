"""Settling: after each event the phase follows from the facts, and the rest from the phase.

Source: join protocol, 3.3 to 3.5.
"""

from __future__ import annotations

from attrs import evolve

from joinproto.join import reading
from joinproto.join.awaiting import awaiting, detail_of, row_of
from joinproto.join.backoff import patience, pause
from joinproto.join.balloting import reason_to_begin
from joinproto.join.greeting import hello_to_members
from joinproto.join.messages import (
    Closing,
    OpenForClients,
    PhaseChanged,
    Ready,
    Stop,
)
from joinproto.join.phases import ON_LEAVING, RUNNING, Effect, Facts, Phase, machine
from joinproto.join.state import Known
from joinproto.join.step_context import StepContext
from joinproto.join.updating import find_source
from joinproto.join.view import View
from joinproto.machine.vocabulary import Store


def facts(it: Known) -> Facts:
    """Return the row for the table of phases."""
    choice = it.choice
    record, seat = choice.record, choice.seat
    tip = record.tip
    if tip is None:
        return Facts(is_aborted=it.verdict is not None, is_done=it.is_done)
    is_ready = it.ready_in == tip.id
    at_start = record.position == tip.position and not record.update_unfinished
    return Facts(
        is_aborted=it.verdict is not None,
        is_done=it.is_done or _leaves_alone(it, tip),
        has_tip=True,
        is_open=tip.is_open,
        is_member=seat in tip.members,
        is_frozen=choice.is_frozen,
        has_data=is_ready or at_start,
        is_ready=is_ready,
        was_ready=record.held == tip.id and not is_ready,
        has_options=is_ready or it.config.digest == tip.options_digest,
        all_ready=tip.members <= it.observations.ready | {seat},
        has_n=tip.activated or len(tip.members) >= tip.wait_for,
        hears_majority=_hears_majority(it, tip),
    )


def settle(m: StepContext, now: float) -> None:
    """Go to the phase that the facts justify, and perform the actions on the way."""
    if m.free_until is not None and now >= m.free_until:
        m.free_until = None
    table = machine()
    while True:
        before = m.phase
        if before not in RUNNING:
            return
        step = table.step(m, "settle", (facts(m),), 0)
        changed = before is not m.phase
        if changed:
            m.say(PhaseChanged(before, m.phase, step.case.label, step.case.name))
            if before in ON_LEAVING:
                _do(m, ON_LEAVING[before])
        for effect in step.case.effects:
            if changed or effect is Effect.HOLD:
                _do(m, Effect(effect))
        if not changed and Effect.HOLD not in step.case.effects:
            break
    find_source(m)
    _set_timers(m, now)


def report_awaited(m: StepContext) -> None:
    """Report the members that an idle member waits for."""
    about = m.observations, m.view, m.config, m.seat
    table = awaiting()
    case = table.choose((row_of(facts(m), *about),), 0)
    detail = detail_of(case.outcome, *about)
    m.waits(case.label, case.name, case.reason, detail, table.name)


def _do(m: StepContext, effect: Effect) -> None:
    tip = m.view
    match effect:
        case Effect.CLOSE_FOR_CLIENTS:
            m.close(_CLOSING.get(m.phase, Closing.NEXT_VIEW))
            reading.void(m)
        case Effect.OPEN_FOR_CLIENTS if tip is not None:
            m.was_active = True
            m.act(OpenForClients(tip, m.is_sequencer))
        case Effect.SAY_HELLO:
            hello_to_members(m)
        case Effect.HOLD if tip is not None:
            m.ready_in = tip.id
            m.saw_it_run = False
            m.write(evolve(m.record, held=tip.id))
            for name in m.neighbours:
                m.send(name, Ready(tip.id, m.seat))
        case Effect.STOP:
            m.act(Stop(m.record.state is Store.CLEAN))
        case Effect.ABORT if m.verdict is not None:
            m.act(m.verdict)


def _set_timers(m: StepContext, now: float) -> None:
    """Set the end of this member's wait for others, or the time of its next report."""
    waits = m.choice.is_free or reason_to_begin(m) is not None
    if not waits:
        m.patience_until = None
    elif m.patience_until is None:
        m.patience_until = now + patience(m)
    if m.phase is Phase.ACTIVE or m.patience_until is not None or m.source is not None:
        m.says_at = None
    elif m.says_at is None:
        m.says_at = now + pause(m)


def _leaves_alone(it: Known, tip: View) -> bool:
    """Return whether it leaves, and reaches no majority that could choose a view without it."""
    if not it.leaves or not tip.is_open or it.config.outside:
        return False
    return not tip.is_majority(it.observations.reached(tip, it.seat))


def _hears_majority(it: Known, tip: View) -> bool:
    if it.config.outside:
        # Otherwise it serves clients without the register, while others go on (3.7).
        return it.free_until is not None or not it.config.heartbeat
    return it.observations.is_majority(tip, it.seat)


_CLOSING = {
    Phase.SUSPENDED: Closing.NO_MAJORITY,
    Phase.STOPPED: Closing.STOPPED,
    Phase.ABORTED: Closing.ABORTED,
}
