"""The primary: clients change its queues, backups copy the changes, and then it confirms them.

Source: hot standby, H2, H4 to H9.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from joinproto.machine import step as shape
from joinproto.machine.values import evolve
from joinproto.standby.confirming import settle
from joinproto.standby.events import (
    Commit,
    Confirm,
    Declare,
    Delete,
    Draft,
    Effect,
    Gone,
    Make,
    More,
    New,
    OfPrimary,
    Received,
    Remove,
    Superseded,
    Tick,
    Turn,
    ViewWritten,
    Write,
)
from joinproto.standby.events import Written as OwnStore
from joinproto.standby.messages import (
    Change,
    Content,
    Declared,
    Deleted,
    FromPrimary,
    Has,
    Join,
    Kind,
    Refuse,
    Subscribe,
    View,
    WiringItem,
)
from joinproto.standby.primary_state import Pending, PrimaryState, Who
from joinproto.standby.replica_state import changed, declared, deleted, numbered
from joinproto.standby.replicates import Level, replicates
from joinproto.standby.replication import (
    PrimaryStep,
    fed,
    forget,
    joined,
    spread,
    subscribed,
    wiring_spread,
)

# The settings of a queue and of a message, or else the default, decide whether they replicate.
#
# Source: hot standby, H7; LC5.


def leveled(who: Who, thing: WiringItem) -> WiringItem:
    """Return the item with its level of replication; all items of the prototype replicate (LC5)."""
    if not who.rules.chooses:
        return evolve(thing, level=Level.ALL)
    found = replicates(who.variant, who.default, queue=thing.says, durable_queue=thing.durable)
    return evolve(thing, level=found.level)


def is_copied(who: Who, queue: WiringItem, message: New) -> bool:
    """Return whether a new message on this queue replicates."""
    if not who.rules.chooses:
        return True
    return replicates(
        who.variant,
        who.default,
        queue=queue.says,
        message=message.replicate,
        durable_queue=queue.durable,
        durable_message=message.durable,
    ).message


Step: TypeAlias = shape.Step[PrimaryState, Effect]


def lead(state: PrimaryState, event: Received | Gone | OfPrimary) -> Step:
    """Return a primary's step for an event."""
    step = PrimaryStep(state)
    _take(step, event)
    if step.state is not state:
        settle(step)
    return Step(step.state, tuple(step.effects))


def _take(step: PrimaryStep, event: Received | Gone | OfPrimary) -> None:
    state = step.state
    match event:
        case Received(sender, content):
            _received(step, sender, content)
        case Commit(token, drafts):
            _committed(step, token, drafts)
        case Declare(token, thing):
            _declared(step, token, thing)
        case Delete(token, thing):
            _deleted(step, token, thing)
        case OwnStore(token):
            written = (
                evolve(one, written=one.written or one.token == token) for one in state.pending
            )
            step.change(pending=tuple(written))
        case More(backup, queue, count):
            fed(step, backup, queue, count)
        case Gone(backup):
            _drop(step, backup)
        case ViewWritten(view):
            if state.proposal is not None and state.proposal.view == view:
                step.change(proposal=evolve(state.proposal, written=True))
        case Superseded(view):
            _superseded(step, view)
        case Tick(now):
            if state.deadline is not None and now >= state.deadline:
                # H8: the primary goes on waiting for the expected backups that have a link.
                step.change(awaited=state.awaited & state.followers.keys(), deadline=None)
        case never:
            assert_never(never)


def _drop(step: PrimaryStep, backup: str) -> None:
    state = step.state
    left = {name: one for name, one in state.followers.items() if name != backup}
    # H8: before the deadline an expected backup may come back.
    awaited = state.awaited if state.deadline is not None else state.awaited - {backup}
    step.change(followers=left, awaited=awaited)


def _received(step: PrimaryStep, sender: str, content: Content) -> None:
    if isinstance(content, FromPrimary | Refuse):
        return  # the message was sent on a link that this broker had as a backup
    match content:
        case Join(view=view):
            if step.state.who.rules.generations and (view.generation > step.state.view.generation):
                _superseded(step, view)
                return
            _drop(step, sender)
            joined(step, content)
        case Subscribe():
            subscribed(step, sender, content)
        case Has(number):
            one = step.state.followers.get(sender)
            if one is not None and one.done < number <= one.sent:
                step.set_follower(sender, evolve(one, done=number))
        case never:
            assert_never(never)


def _superseded(step: PrimaryStep, view: View) -> None:
    """End this primary's service if the view is younger than its own: H2."""
    if step.state.who.rules.generations and view.age > step.state.view.age:
        why = f"{view.primary} is primary of the younger generation {view.generation}"
        step.effects.append(Turn(why))


def _committed(step: PrimaryStep, token: int, drafts: tuple[Draft, ...]) -> None:
    changes: list[Change] = []
    shared: list[Change] = []
    who = step.state.who
    for draft in drafts:
        replica = step.state.replica
        queue, thing = replica.queues.get(draft.queue), replica.thing(draft.queue)
        if queue is None or thing is None:
            continue
        puts = numbered(queue, ((one.id, one.durable) for one in draft.puts))
        changes.append(Change(queue=draft.queue, puts=puts, takes=draft.takes))
        copied = tuple(
            message
            for message, one in zip(puts, draft.puts, strict=True)
            if is_copied(who, thing, one)
        )
        takes = tuple(one for one in draft.takes if queue.messages.has(one))
        mine = Change(queue=draft.queue, puts=copied, takes=takes)
        if copied or takes:
            shared.append(mine)
        step.change(replica=changed(who.rules, replica, mine, len(puts)))
    is_kept = any(one.durable for change in changes for one in (*change.puts, *change.takes))
    if is_kept:
        step.effects.append(Write(token, tuple(changes)))
    sent = spread(step, tuple(shared))
    has_puts = any(draft.puts for draft in drafts)
    if not (who.rules.holds_transfers if has_puts else who.rules.holds_acknowledgements):
        step.effects.append(Confirm(token))
        return
    queues = tuple(sorted({change.queue for change in shared}))
    _hold(step, Pending(token=token, queues=queues, sent=sent, written=not is_kept))


def _hold(step: PrimaryStep, pending: Pending) -> None:
    step.change(pending=(*step.state.pending, pending))


def _declared(step: PrimaryStep, token: int, thing: WiringItem) -> None:
    thing = leveled(step.state.who, thing)
    old = step.state.replica.things.get(thing.key)
    if old is not None and old.id == thing.id:
        step.effects.append(Confirm(token))
        return
    if old is not None:
        if old.kind is Kind.QUEUE:
            forget(step, old.name)
        step.effects.append(Remove(old))
    step.effects.append(Make(thing))
    step.change(replica=declared(step.state.replica, thing), events=step.state.events + 1)
    _wired(step, token, Declared(event=step.state.events, thing=thing))


def _deleted(step: PrimaryStep, token: int, thing: WiringItem) -> None:
    old = step.state.replica.things.get(thing.key)
    if old is None:
        step.effects.append(Confirm(token))
        return
    if old.kind is Kind.QUEUE:
        forget(step, old.name)
    step.effects.append(Remove(old))
    step.change(replica=deleted(step.state.replica, old), events=step.state.events + 1)
    _wired(step, token, Deleted(event=step.state.events, thing=old))


def _wired(step: PrimaryStep, token: int, content: Declared | Deleted) -> None:
    holds = step.state.who.rules.holds_declarations
    # LC2: a client's declaration, like a transfer, is confirmed once it is on our own disk.
    # Otherwise: a primary without backups confirms a queue, loses power, and the queue is gone.
    if holds:
        step.effects.append(Write(token))
    sent = wiring_spread(step, content, content.thing)
    if holds:
        _hold(step, Pending(token=token, queues=(), sent=sent, written=False))
    else:
        step.effects.append(Confirm(token))
