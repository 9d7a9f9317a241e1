"""Updating: from which member a member gets its data, and which members it feeds.

Source: join protocol, 3.5; rules I7 and J1.
"""

from __future__ import annotations

from joinproto.errors import MisuseError
from joinproto.join.messages import ServeUpdate, StartUpdate, WantUpdate, Welcome
from joinproto.join.phases import Phase
from joinproto.join.state import Known
from joinproto.join.step_context import StepContext
from joinproto.join.view import View, names_of


def find_source(m: StepContext) -> None:
    """Start an update from a member that is ready, if this member needs one."""
    tip = m.view
    if m.phase is not Phase.UPDATING or m.source is not None or tip is None:
        return
    names = names_of(m.observations.ready) & m.observations.in_reach
    source = min(names, default=None)
    if source is not None:
        _start_update(m, source, tip, beside=False)


def hear_welcome(m: StepContext, peer: str, welcome: Welcome) -> None:
    tip = m.view
    is_waiting = m.phase is Phase.JOINING and m.source is None
    if tip is not None and tip.id == welcome.view:
        m.see_it_run()
    # This member's data must not change while its answer counts.
    is_waiting = is_waiting and not m.is_frozen
    if is_waiting and tip is not None and welcome.view == tip.id:
        _start_update(m, peer, tip, beside=True)


def hear_want_update(m: StepContext, peer: str, wanted: WantUpdate) -> None:
    tip = m.view
    if tip is not None and wanted.view == tip.id and m.ready_in == tip.id:
        m.act(ServeUpdate(peer, tip))


def require_thawed(it: Known) -> None:
    """Raise `MisuseError` if this member is frozen, so that its data must not change."""
    if it.is_frozen:
        raise MisuseError(
            f"{it.config.member} is told of new data while the next view is chosen",
            next="ask `is_frozen` before the data of an update is touched, and wait",
        )


def _start_update(m: StepContext, source: str, tip: View, *, beside: bool) -> None:
    m.source = source
    to = None if beside else tip.position
    m.act(StartUpdate(source, tip, to, beside))
    m.send(source, WantUpdate(tip.id))
