"""The primary: clients change its queues, backups follow, and messages that they have are
confirmed.

Source: hot standby, H2, H4 to H9.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from joinproto.machine import step
from joinproto.machine.values import evolve
from joinproto.standby.confirming import settled
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
from joinproto.standby.primary_state import Pending, PrimaryState, Who, with_follower
from joinproto.standby.replica_state import changed, declared, deleted, numbered
from joinproto.standby.replicates import Level, replicates
from joinproto.standby.replication import (
    fed,
    forgotten,
    joined,
    spread,
    subscribed,
    wiring_spread,
)

# What replicates, at a primary: by the settings of a queue, a message and the default.
#
# Source: hot standby, H7; LC5.


def leveled(who: Who, thing: WiringItem) -> WiringItem:
    """Return the item with its level of replication; by the prototype everything replicates
    (LC5).
    """
    if not who.practice.chooses:
        return evolve(thing, level=Level.ALL)
    found = replicates(who.variant, who.default, queue=thing.says, durable_queue=thing.durable)
    return evolve(thing, level=found.level)


def is_copied(who: Who, queue: WiringItem, message: New) -> bool:
    """Return whether a new message on this queue replicates."""
    if not who.practice.chooses:
        return True
    return replicates(
        who.variant,
        who.default,
        queue=queue.says,
        message=message.replicate,
        durable_queue=queue.durable,
        durable_message=message.durable,
    ).message


Step: TypeAlias = step.Step[PrimaryState, Effect]


def lead(state: PrimaryState, event: Received | Gone | OfPrimary) -> Step:
    """Return a primary's step for an event."""
    match event:
        case Received(sender, content):
            return _received(state, sender, content)
        case Commit(token, drafts):
            return _committed(state, token, drafts)
        case Declare(token, thing):
            return _declared(state, token, thing)
        case Delete(token, thing):
            return _deleted(state, token, thing)
        case OwnStore(token):
            pending = tuple(
                evolve(one, written=True) if one.token == token else one for one in state.pending
            )
            return _settled(evolve(state, pending=pending))
        case More(backup, queue, count):
            state, sent = fed(state, backup, queue, count)
            return _settled(state, sent)
        case Gone(backup):
            return _settled(_without(state, backup))
        case ViewWritten(view):
            if state.proposal is None or state.proposal.view != view:
                return Step(state)
            return _settled(evolve(state, proposal=evolve(state.proposal, written=True)))
        case Superseded(view):
            return _superseded(state, view)
        case Tick(now):
            if state.deadline is None or now < state.deadline:
                return Step(state)
            # H8: who has a link is waited for all the same.
            there = state.awaited & state.followers.keys()
            return _settled(evolve(state, awaited=there, deadline=None))
        case never:
            assert_never(never)


def _settled(state: PrimaryState, effects: tuple[Effect, ...] = ()) -> Step:
    state, more = settled(state)
    return Step(state, (*effects, *more))


def _without(state: PrimaryState, backup: str) -> PrimaryState:
    left = {name: one for name, one in state.followers.items() if name != backup}
    # H8: before the deadline an expected backup may come again.
    awaited = state.awaited if state.deadline is not None else state.awaited - {backup}
    return evolve(state, followers=left, awaited=awaited)


def _received(state: PrimaryState, sender: str, content: Content) -> Step:
    if isinstance(content, FromPrimary | Refuse):
        return Step(state)  # it came on a link from before the promotion
    match content:
        case Join():
            if state.who.practice.generations and (content.view.generation > state.view.generation):
                return _superseded(state, content.view)
            state, sent = joined(_without(state, sender), content)
            return _settled(state, sent)
        case Subscribe():
            state, sent = subscribed(state, sender, content)
            return _settled(state, sent)
        case Has(number):
            one = state.followers.get(sender)
            if one is None or not one.done < number <= one.sent:
                return Step(state)
            return _settled(with_follower(state, sender, evolve(one, done=number)))
        case never:
            assert_never(never)


def _superseded(state: PrimaryState, view: View) -> Step:
    """H2: a broker is primary of a younger generation; nothing is confirmed any more."""
    if not state.who.practice.generations or view.age <= state.view.age:
        return Step(state)
    return Step(
        state, (Turn(f"{view.primary} is primary of the younger generation {view.generation}"),)
    )


def _committed(state: PrimaryState, token: int, drafts: tuple[Draft, ...]) -> Step:
    changes: list[Change] = []
    shared: list[Change] = []
    practice = state.who.practice
    for draft in drafts:
        queue, thing = state.stock.queues.get(draft.queue), state.stock.thing(draft.queue)
        if queue is None or thing is None:
            continue
        puts = numbered(queue, ((one.id, one.durable) for one in draft.puts))
        changes.append(Change(queue=draft.queue, puts=puts, takes=draft.takes))
        copied = tuple(
            message
            for message, one in zip(puts, draft.puts, strict=True)
            if is_copied(state.who, thing, one)
        )
        takes = tuple(one for one in draft.takes if queue.line.has(one))
        mine = Change(queue=draft.queue, puts=copied, takes=takes)
        if copied or takes:
            shared.append(mine)
        state = evolve(state, stock=changed(practice, state.stock, mine, len(puts)))
    state, sent, effects = spread(state, tuple(shared))
    is_kept = any(one.durable for change in changes for one in (*change.puts, *change.takes))
    if is_kept:
        effects = (Write(token, tuple(changes)), *effects)
    has_puts = any(draft.puts for draft in drafts)
    if not (practice.holds_transfers if has_puts else practice.holds_acknowledgements):
        return _settled(state, (*effects, Confirm(token)))
    queues = tuple(sorted({change.queue for change in shared}))
    return _held(state, token, queues, sent, effects, written=not is_kept)


def _held(
    state: PrimaryState,
    token: int,
    queues: tuple[str, ...],
    sent: dict[str, int],
    effects: tuple[Effect, ...],
    *,
    written: bool,
) -> Step:
    pending = Pending(token=token, queues=queues, sent=sent, written=written)
    return _settled(evolve(state, pending=(*state.pending, pending)), effects)


def _declared(state: PrimaryState, token: int, thing: WiringItem) -> Step:
    thing = leveled(state.who, thing)
    old = state.stock.things.get(thing.key)
    if old is not None and old.id == thing.id:
        return _settled(state, (Confirm(token),))
    if old is not None and old.kind is Kind.QUEUE:
        state = forgotten(state, old.name)
    made: tuple[Effect, ...] = (Make(thing),) if old is None else (Remove(old), Make(thing))
    state = evolve(state, stock=declared(state.stock, thing), events=state.events + 1)
    return _wired(state, token, Declared(event=state.events, thing=thing), made)


def _deleted(state: PrimaryState, token: int, thing: WiringItem) -> Step:
    old = state.stock.things.get(thing.key)
    if old is None:
        return _settled(state, (Confirm(token),))
    if old.kind is Kind.QUEUE:
        state = forgotten(state, old.name)
    state = evolve(state, stock=deleted(state.stock, old), events=state.events + 1)
    return _wired(state, token, Deleted(event=state.events, thing=old), (Remove(old),))


def _wired(
    state: PrimaryState, token: int, content: Declared | Deleted, made: tuple[Effect, ...]
) -> Step:
    state, sent, effects = wiring_spread(state, content, content.thing)
    if not state.who.practice.holds_declarations:
        return _settled(state, (*made, *effects, Confirm(token)))
    # LC2: a client's declaration is confirmed like a transfer: when it is on our own disk, too.
    # Otherwise: a primary without backups confirms a queue, loses power, and the queue is gone.
    return _held(state, token, (), sent, (*made, Write(token), *effects), written=False)
