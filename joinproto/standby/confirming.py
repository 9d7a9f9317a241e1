"""Which requests a primary confirms, and which backups it counts as up to date.

Source: hot standby, H4, H8; LM4, LM5, LC2.
"""

from __future__ import annotations

from joinproto.standby.events import Confirm, WriteView
from joinproto.standby.messages import View, Viewed
from joinproto.standby.primary_state import Keeper, Pending, PrimaryState, Proposal
from joinproto.standby.replication import PrimaryStep


def settle(step: PrimaryStep) -> None:
    """Change the view as far as the present state allows, then confirm requests."""
    while True:
        _arrived(step)
        before = len(step.effects)
        _view_written(step)
        _proposed(step)
        if len(step.effects) == before:
            break
    _confirmed(step)


def _arrived(step: PrimaryStep) -> None:
    """Stop waiting for each expected backup that has caught up: H8.

    If the view has the backup, send it the view.
    """
    queues = step.state.replica.copied()
    for name in sorted(step.state.awaited & step.state.followers.keys()):
        if step.state.followers[name].is_whole(queues):
            step.change(awaited=step.state.awaited - {name})
            if name in step.state.view.members:
                step.tell(name, Viewed(step.state.view))
    if not step.state.awaited and step.state.deadline is not None:
        step.change(deadline=None)


def _view_written(step: PrimaryStep) -> None:
    """Make the proposed view the current one once every store that must keep it has it: H4."""
    proposal, followers = step.state.proposal, step.state.followers
    if proposal is None or not proposal.written:
        return
    # The next view drops a broker whose link is gone, so this view does not wait for that broker.
    sent = [
        (followers[name], number) for name, number in proposal.sent.items() if name in followers
    ]
    if any(one.done < number for one, number in sent):
        return
    step.change(view=proposal.view, proposal=None)
    for name in sorted(followers.keys() - proposal.sent.keys()):
        step.tell(name, Viewed(proposal.view))


def wanted(state: PrimaryState) -> tuple[str, ...]:
    """Return the brokers that should be in the view, sorted.

    They are the primary, the members with a link, the expected backups, and the other backups that
    have all messages.
    """
    queues = state.replica.copied()
    members = {state.who.me, *state.awaited, *(state.members & state.followers.keys())}
    members |= {name for name, one in state.followers.items() if one.is_whole(queues)}
    return tuple(sorted(members))


def _proposed(step: PrimaryStep) -> None:
    """Propose a view if brokers came or went, and no other proposal is under way: H4."""
    state, members = step.state, wanted(step.state)
    if state.proposal is not None or members == state.view.members:
        return
    view = View(
        generation=state.view.generation,
        number=state.view.number + 1,
        primary=state.who.me,
        members=members,
    )
    step.effects.append(WriteView(view))
    sent: dict[str, int] = {}
    if state.who.keeper is Keeper.OUTSIDE:
        told = sorted(set(members) & state.followers.keys())
        sent = {name: step.tell(name, Viewed(view)) for name in told}
    step.change(proposal=Proposal(view=view, sent=sent))


def _confirmed(step: PrimaryStep) -> None:
    state, required = step.state, step.state.required
    done = [one for one in state.pending if _is_done(state, one, required)]
    if done:
        step.change(pending=tuple(one for one in state.pending if one not in done))
        step.effects += (Confirm(one.token) for one in done)


def _is_done(state: PrimaryState, one: Pending, required: frozenset[str]) -> bool:
    return one.written and all(_has(state, one, name) for name in required)


def _has(state: PrimaryState, one: Pending, name: str) -> bool:
    """Return whether this backup has the changes that the client waits for."""
    backup = state.followers.get(name)
    if backup is None or not backup.done:
        return False
    number = one.sent.get(name, 0)
    for queue in one.queues:
        if queue not in state.replica.queues:
            continue  # the queue was deleted meanwhile, so none of its messages can be lost
        if queue in backup.level:
            number = max(number, backup.level[queue])
        elif name in state.members:
            return False  # H8: the backup came back, and still lacks messages of this queue
    return backup.done >= number
