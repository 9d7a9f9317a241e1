"""Confirmations of a primary, and the backups that it counts as up to date.

Source: hot standby, H4, H8; LM4, LM5, LC2.
"""

from __future__ import annotations

from joinproto.machine.values import evolve
from joinproto.standby.events import Confirm, Effect, WriteView
from joinproto.standby.messages import View, Viewed
from joinproto.standby.primary_state import Keeper, Pending, PrimaryState, Proposal
from joinproto.standby.replication import Told, told


def settled(state: PrimaryState) -> Told:
    """Return the state after all that follows by itself: views, then confirmations."""
    effects: tuple[Effect, ...] = ()
    while True:
        state, arrived = _arrived(state)
        state, written = _view_written(state)
        state, proposed = _proposed(state)
        effects += (*arrived, *written, *proposed)
        if not (written or proposed):
            break
    state, confirmed = _confirmed(state)
    return state, (*effects, *confirmed)


def _arrived(state: PrimaryState) -> Told:
    """H8: the primary stops waiting for an expected backup that has all, and tells it."""
    effects: tuple[Effect, ...] = ()
    queues = state.stock.copied()
    for name in sorted(state.awaited & state.followers.keys()):
        if state.followers[name].is_whole(queues):
            state = evolve(state, awaited=state.awaited - {name})
            if name in state.view.members:
                state, sent = told(state, name, Viewed(state.view))
                effects += sent
    if not state.awaited and state.deadline is not None:
        state = evolve(state, deadline=None)
    return state, effects


def _view_written(state: PrimaryState) -> Told:
    """A proposal is a view once it is written wherever it must be: H4."""
    proposal = state.proposal
    if proposal is None or not proposal.written:
        return state, ()
    for name, number in proposal.sent.items():
        one = state.followers.get(name)
        # A broker that has gone is dropped by the next view, and needs no word of this one.
        if one is not None and one.done < number:
            return state, ()
    state = evolve(state, view=proposal.view, proposal=None)
    effects: tuple[Effect, ...] = ()
    for name in sorted(state.followers.keys() - proposal.sent.keys()):
        state, sent = told(state, name, Viewed(proposal.view))
        effects += sent
    return state, effects


def wanted(state: PrimaryState) -> tuple[str, ...]:
    """Return the brokers that should be in the view: those that have all messages, and those that
    had them and may come back.
    """
    queues = state.stock.copied()
    members = {state.who.me, *state.awaited, *(state.members & state.followers.keys())}
    members |= {name for name, one in state.followers.items() if one.is_whole(queues)}
    return tuple(sorted(members))


def _proposed(state: PrimaryState) -> Told:
    """H4: a broker that comes or goes is written down; one view at a time."""
    members = wanted(state)
    if state.proposal is not None or members == state.view.members:
        return state, ()
    now = state.view
    view = View(
        generation=now.generation, number=now.number + 1, primary=state.who.me, members=members
    )
    effects: tuple[Effect, ...] = (WriteView(view),)
    sent: dict[str, int] = {}
    if state.who.keeper is Keeper.OUTSIDE:
        for name in sorted(set(members) & state.followers.keys()):
            state, more = told(state, name, Viewed(view))
            effects += more
            sent[name] = state.followers[name].sent
    return evolve(state, proposal=Proposal(view=view, sent=sent)), effects


def _confirmed(state: PrimaryState) -> Told:
    required = state.required
    done = [one for one in state.pending if _is_done(state, one, required)]
    if not done:
        return state, ()
    left = tuple(one for one in state.pending if one not in done)
    return evolve(state, pending=left), tuple(Confirm(one.token) for one in done)


def _is_done(state: PrimaryState, one: Pending, required: frozenset[str]) -> bool:
    return one.written and all(_has(state, one, name) for name in required)


def _has(state: PrimaryState, one: Pending, name: str) -> bool:
    """Return whether this backup has the changes that the client waits for."""
    backup = state.followers.get(name)
    if backup is None or not backup.done:
        return False
    number = one.sent.get(name, 0)
    for queue in one.queues:
        if queue not in state.stock.queues:
            continue  # deleted meanwhile: nothing of it can be lost any more
        if queue in backup.level:
            number = max(number, backup.level[queue])
        elif name in state.members:
            return False  # H8: it comes back, and lacks messages from before its request
    return backup.done >= number
