"""Learning: the consequences when a view is chosen, or another member is ready in it.

Source: join protocol, 3.3 to 3.5; rule S2.
"""

from __future__ import annotations

from joinproto.join.backups import look_back
from joinproto.join.messages import Learned, Ready, Refusal
from joinproto.join.step_context import StepContext
from joinproto.join.view import View


def learn(m: StepContext, now: float, views: tuple[View, ...]) -> None:
    """Take over chosen views, each the successor of the one before; the last is the new tip."""
    before = m.record.lineage.find(views[0].parent) if views[0].parent else None
    tip = views[-1]
    m.say(*map(Learned, views))
    m.observations = m.observations.for_tip(tip)
    m.source = None
    m.was_active = False
    m.free_until = None
    m.tries = 0
    m.timers = m.timers.learned()
    m.patience_until = None
    # If the closed view ran during this process, the CLOSE ends this process as well.  A process
    # that was started later learns the CLOSE from others, and takes part in the restart.
    if not tip.is_open and (m.ready_in is not None or m.saw_it_run or m.closes):
        m.is_done = True
    if not tip.is_open:
        m.closes_until = None
    elif _went_on_without(m, now, before, views):
        m.closes_until = None
        m.say(Refusal(m.config.member, "it may not stop the others: they went on without it"))
    if m.leave_told and m.seat in tip.members:
        m.leaves = False
        m.say(Refusal(m.config.member, "it may not leave: no store would stay, or too few"))
    m.leave_told = False
    if m.leaves and m.seat not in tip.members:
        # It stays until the others know: see `hear_ready`.
        _end_if_others_know(m, tip)
    look_back(m)


def _went_on_without(
    m: StepContext, now: float, before: View | None, views: tuple[View, ...]
) -> bool:
    """Return whether the time of this member's wish to close is over, and a view lacks the member.

    `before`: the view before `views`.
    """
    # The wish has a time, because a member that answers one ballot late is left out of one view,
    # and is in the next.
    is_late = m.closes_until is not None and now >= m.closes_until
    return is_late and any(m.seat not in view.members for view in (before, *views) if view)


def hear_ready(m: StepContext, peer: str, heard: Ready) -> None:
    tip = m.view
    if tip is None or heard.view != tip.id or heard.seat.member != peer:
        return
    m.see_it_run()
    # A member that is frozen becomes neither ready nor active in this view any more.
    if heard.seat in m.observations.ready or m.is_frozen:
        return
    m.observations = m.observations.with_ready(heard.seat)
    if m.ready_in == tip.id and heard.seat in tip.members:
        # The peer may have learned the view after our `Ready`, and ignored that.
        m.send(peer, Ready(tip.id, m.seat))
    if m.leaves and m.seat not in tip.members:
        _end_if_others_know(m, tip)


def _end_if_others_know(m: StepContext, tip: View) -> None:
    if m.config.outside:
        # Every member can ask the register; one member that is ready has the data.
        others, enough = tip.members, 1
    else:
        others = tip.electors - {m.seat}
        enough = len(tip.electors) // 2 + 1 - len(tip.electors - others)
    if len(m.observations.ready & others) >= enough:
        m.is_done = True
