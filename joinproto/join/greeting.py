"""Greeting: a member's hello to peers, and its answer to one.

Source: join protocol, 3.6; rules I2, I4, J1 to J3.
"""

from __future__ import annotations

from attrs import evolve

from joinproto.join.admission import Admit, Newcomer, admission, mismatch, newcomer
from joinproto.join.backoff import taking_in
from joinproto.join.backups import look_back
from joinproto.join.choice_messages import Chosen
from joinproto.join.ids import ViewId
from joinproto.join.messages import Abort, Hello, Ready, Refusal, Refused, Welcome
from joinproto.join.phases import Phase
from joinproto.join.state import Connections, Known
from joinproto.join.step_context import StepContext
from joinproto.join.view import names_of
from joinproto.machine.vocabulary import Reason


def hello(it: Known, to: str = "") -> Hello:
    """Return this member's greeting to the member `to`."""
    lineage = it.record.lineage
    tip = lineage.tip
    return Hello(
        it.status,
        None if tip is None else tip.id,
        lineage.length,
        lineage.initial,
        it.config.cluster_name,
        frozenset() if tip is not None and it.seat in tip.members else it.observations.in_reach,
        meeting(it, to),
    )


def meeting(it: Known, peer: str) -> str:
    """Return the identifier of this process and its connection to `peer`."""
    return f"{it.setup.seed}.{_connections_to(it, peer)}"


def count_connection(m: StepContext, peer: str) -> None:
    """Count a new connection to `peer`."""
    others = frozenset(one for one in m.connections if one.peer != peer)
    m.connections = others | {Connections(peer, _connections_to(m, peer) + 1)}


def _connections_to(it: Known, peer: str) -> int:
    return next((one.times for one in it.connections if one.peer == peer), 0)


def hello_to_members(m: StepContext) -> None:
    for name in m.neighbours:
        m.send(name, hello(m, name))


def tell(m: StepContext, peer: str, tip: ViewId | None, number: int) -> None:
    """Tell `peer`, which has that tip, the views chosen after it, if they are kept."""
    later = Chosen.telling(peer, tip, number, m.record)
    if later is not None:
        m.send(peer, later)


def row_of(it: Known, heard: Hello) -> Newcomer:
    """Return the row of the admission table for a member that says hello."""
    return newcomer(
        heard,
        it.record.lineage,
        it.config,
        is_active=it.was_active,
        is_copy=it.is_copy(heard.status.seat),
        in_reach=it.observations.in_reach,
    )


def hear_hello(m: StepContext, now: float, peer: str, heard: Hello) -> None:
    tip = m.view
    is_same_tip = tip is not None and heard.tip == tip.id
    said = heard.status
    # `was_active` is about the sender's tip, so it says nothing about ours if that is another one.
    of_tip = said if is_same_tip or not said.was_active else evolve(said, was_active=False)
    look_back(m, [of_tip])
    if m.verdict is not None:
        return
    if heard.status.ran_on and tip is not None and tip.is_open and heard.tip == tip.id:
        m.see_it_run()
    m.notice(heard.status.seat)
    m.timers = m.timers.greeted_by(peer, ran_on=heard.status.ran_on)
    row = row_of(m, heard)
    case = admission().choose((row,), 0)
    match case.outcome:
        case Admit.REFUSE:
            found, expected = mismatch(case.name, heard, m.record.lineage, m.config)
            reason = case.reason or Reason.WRONG_STORE
            m.send(peer, Refused(reason, found, expected, heard.meeting))
            m.say(Refusal(peer, f"{case.label} {case.name}: {found}"))
            if row.is_foreign or row.has_diverged:
                _cannot_join(m, peer, Abort(reason, expected, f"{found}, as {peer}", False))
        case Admit.TELL:
            tell(m, peer, heard.tip, heard.number)
        case Admit.ASK:
            m.send(peer, hello(m, peer))
        case Admit.UPDATE if tip is not None and m.phase is Phase.ACTIVE:
            m.send(peer, Welcome(tip.id))
        case Admit.TAKE_IN if tip is not None and m.seat in tip.members:
            m.observations = m.observations.with_guest(
                heard.status.seat, transient=heard.status.transient
            )
            m.wait_until(taking_in(m, now))
        case Admit.WAIT if row.is_apart:
            # Every member heard the newcomer before, but one does not hear it now.
            m.observations = m.observations.without_guest(heard.status.seat)
        case Admit.KNOWN if tip is not None and m.ready_in == tip.id:
            m.send(peer, Ready(tip.id, m.seat))


def hear_refused(m: StepContext, peer: str, refused: Refused) -> None:
    if refused.reason is Reason.STORE_WENT_BACK:
        why = f"found {refused.found}, expected {refused.expected}"
        m.say(Refusal(peer, f"{refused.reason.value}: {why}"))
        m.observations = evolve(m.observations, went_back=m.observations.went_back | {peer})
        return
    # Otherwise: an operator corrects the options and starts this member again, and a late refusal
    # of the former process ends it; or a peer that has another store by now counts as a stranger.
    if refused.meeting not in ("", meeting(m, peer)):
        m.say(Refusal(peer, f"it refused an earlier process or connection: {refused.reason.value}"))
        return
    m.say(Refusal(peer, f"it refuses us: {refused.reason.value}"))
    expected = f"{refused.expected}, says {peer}"
    _cannot_join(m, peer, Abort(refused.reason, refused.found, expected, False))


def _cannot_join(m: StepContext, peer: str, verdict: Abort) -> None:
    """Note that `peer` can never be in one cluster with this store; abort if no cluster is left.

    A running view is not disturbed.  Before a view runs, all electors and members stop (I2, I4).  A
    newcomer stops if all members in reach refuse it.  A member that waits for others stops if so
    many of them are strangers that it would wait for ever.
    """
    tip = m.view
    seats = frozenset() if tip is None else tip.members | tip.electors
    names = m.config.electors | names_of(seats)
    if peer not in names:
        return
    m.observations = m.observations.with_stranger(peer)
    if tip is None or not tip.is_open:
        is_over = True
    elif m.seat not in tip.members:
        is_over = not (names & m.observations.in_reach) - m.observations.strangers
    elif verdict.reason is not Reason.WRONG_STORE or m.phase is Phase.ACTIVE:
        is_over = False
    else:
        is_over = m.observations.is_cut_off(tip, m.seat, m.config)
    if is_over:
        m.verdict = verdict
