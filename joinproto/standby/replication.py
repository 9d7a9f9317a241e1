"""The messages that a primary sends to its backups: wiring, older messages, and current changes.

These functions make a step by changing a `PrimaryStep`.

Source: hot standby, H4 to H7, H9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define, field

from joinproto.machine.values import evolve
from joinproto.standby.catch_up import Order, is_after
from joinproto.standby.events import Effect, Leave, Send
from joinproto.standby.messages import (
    CaughtUp,
    Change,
    Changed,
    Copy,
    FromPrimary,
    Join,
    Kind,
    Refuse,
    Subscribe,
    Surplus,
    Wired,
    WiringItem,
)
from joinproto.standby.primary_state import Follower, PrimaryState
from joinproto.standby.queue import MessageQueue
from joinproto.standby.replicates import Level


@define(eq=False)
class PrimaryStep:
    """A step under construction: the state and the effects so far."""

    state: PrimaryState
    effects: list[Effect] = field(factory=list)

    def change(self, **changes: Any) -> None:
        """Change fields of the state."""
        self.state = evolve(self.state, **changes)

    def set_follower(self, name: str, one: Follower) -> None:
        self.change(followers={**self.state.followers, name: one})

    def tell(self, name: str, content: FromPrimary) -> int:
        """Send a message to a backup that has a link; return the message's number on the link."""
        one = self.state.followers[name]
        self.set_follower(name, evolve(one, sent=one.sent + 1))
        self.effects.append(Send(name, content))
        return one.sent + 1


def joined(step: PrimaryStep, join: Join) -> None:
    """Answer a backup's `Join`: with the wiring, or with a refusal."""
    state, who, theirs = step.state, step.state.who, join.view
    rule = why = ""
    if join.name == who.me:
        rule, why = "H1", f"{who.me} was asked to follow itself"
    elif join.default is not who.default:
        rule = "H7"
        why = (
            f"the default level of {join.name} is {join.default.value}, but that of the primary"
            f" {who.me} is {who.default.value}: give both the same"
        )
    elif (
        who.rules.generations
        and theirs.generation == state.view.generation
        and theirs.primary != state.view.primary
        # Without this line: c is promoted, waits for b, and dies before b hears of this; b is
        # promoted into the same generation, and refuses c for ever.  This is needless: c's view has
        # b as a member, so c confirmed no message without b, and b did not follow c.
        and who.me not in theirs.members
    ):
        rule = "H2"
        why = (
            f"{theirs.primary} and {state.view.primary} are both primary"
            f" in generation {theirs.generation}"
        )
    if rule:
        refuse = Refuse(rule=rule, why=why, view=state.view)
        step.effects += (Send(join.name, refuse), Leave(join.name, why))
        return
    step.set_follower(join.name, Follower())
    things = [one for one in state.replica.things.values() if is_mirrored(state, one)]
    things.sort(key=lambda one: (_RANK[one.kind], one.name))
    step.tell(join.name, Wired(view=state.view, things=tuple(things), events=state.events))


_RANK = {Kind.EXCHANGE: 0, Kind.QUEUE: 1, Kind.BINDING: 2}


def is_mirrored(state: PrimaryState, thing: WiringItem) -> bool:
    """Return whether the primary sends this item to backups: H6, H7; LC1, LC5 of the document."""
    rules = state.who.rules
    if thing.kind is Kind.BINDING and not rules.mirrors_bindings:
        return False
    return thing.level is not Level.NONE or not rules.chooses


def subscribed(step: PrimaryStep, name: str, wants: Subscribe) -> None:
    """Answer a backup that asks for a queue, and note which messages it lacks.

    The answer names the backup's messages that the primary lacks (not in the prototype: LM1).
    """
    queue = step.state.replica.queues.get(wants.queue)
    if name not in step.state.followers or queue is None or queue.id != wants.id:
        return  # the queue was deleted meanwhile, and this link brings the deletion
    if step.state.who.rules.by_identity:
        here = frozenset(queue.messages.ids)
        has = frozenset(wants.has)
        drops = tuple(one for one in wants.has if one not in here)
        lacks = MessageQueue.of(one for one in queue.messages if one.id not in has)
        step.tell(name, Surplus(queue=wants.queue, drops=drops, next=queue.next))
    else:
        last = -1 if wants.last is None else wants.last
        lacks = MessageQueue.of(
            one for one in queue.messages if wants.last is None or is_after(one.sequence, last)
        )
    one = step.state.followers[name]
    step.set_follower(name, evolve(one, copying={**one.copying, wants.queue: lacks}))
    _ended(step, name, wants.queue)


def fed(step: PrimaryStep, name: str, queue: str, count: int) -> None:
    """Send up to `count` older messages of a queue to a backup: H5."""
    one = step.state.followers.get(name)
    if one is None or queue not in one.copying:
        return
    back = step.state.who.order is Order.LIFO
    rest, messages = one.copying[queue].split(count, back=back)
    step.set_follower(name, evolve(one, copying={**one.copying, queue: rest}))
    step.tell(name, Copy(queue=queue, messages=messages))
    _ended(step, name, queue)


def _ended(step: PrimaryStep, name: str, queue: str) -> None:
    """Send `CaughtUp` for a queue once all its older messages are sent: H5."""
    one = step.state.followers[name]
    if queue not in one.copying or one.copying[queue].blocks:
        return
    # From here on, no message of this queue is confirmed before this backup has it.  The backup was
    # sent all messages that were confirmed before.
    level = {**one.level, queue: one.sent + 1}
    step.set_follower(name, evolve(one, copying=_without(one.copying, queue), level=level))
    step.tell(name, CaughtUp(queue=queue))


def spread(step: PrimaryStep, changes: tuple[Change, ...]) -> dict[str, int]:
    """Send the changes to all backups; return the last number sent to each backup.

    A backup that still copies a queue gets its new messages at once, but with `Order.FIFO` after
    the older ones.  Older messages that are removed before they were sent are not sent.
    """
    numbers: dict[str, int] = {}
    for name in sorted(step.state.followers):
        mine = _for_one(step, name, changes)
        for part in (mine,) if step.state.who.rules.whole_transactions else _apart(mine):
            if part:
                step.tell(name, Changed(changes=part))
        numbers[name] = step.state.followers[name].sent
        for queue in sorted({change.queue for change in changes}):
            _ended(step, name, queue)
    return numbers


def _for_one(step: PrimaryStep, name: str, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    one = step.state.followers[name]
    copying = dict(one.copying)
    mine: list[Change] = []
    for change in changes:
        if change.queue not in one.asked:
            continue  # the backup has not asked for the queue, and gets its contents later
        puts, takes = change.puts, change.takes
        if change.queue in copying:
            rest = copying[change.queue]
            takes = tuple(message for message in takes if not rest.has(message))
            for message in change.takes:
                rest = rest.without(message)
            if step.state.who.order is Order.FIFO:
                for message in puts:
                    rest = rest.put(message)
                puts = ()
            copying[change.queue] = rest
        if puts or takes:
            mine.append(Change(queue=change.queue, puts=puts, takes=takes))
    step.set_follower(name, evolve(one, copying=copying))
    return tuple(mine)


def _apart(changes: tuple[Change, ...]) -> tuple[tuple[Change, ...], ...]:
    """Return each message's change alone, as the prototype sends them (LM3)."""
    found = []
    for change in changes:
        found += [(Change(queue=change.queue, puts=(one,)),) for one in change.puts]
        found += [(Change(queue=change.queue, takes=(one,)),) for one in change.takes]
    return tuple(found)


def wiring_spread(step: PrimaryStep, content: FromPrimary, thing: WiringItem) -> dict[str, int]:
    """Tell all backups of a change of an item that replicates; return its number on each link."""
    if not is_mirrored(step.state, thing):
        return {}
    return {name: step.tell(name, content) for name in sorted(step.state.followers)}


def forget(step: PrimaryStep, queue: str) -> None:
    """Forget how far each backup has copied a queue that was deleted."""
    followers = {
        name: evolve(one, copying=_without(one.copying, queue), level=_without(one.level, queue))
        for name, one in step.state.followers.items()
    }
    step.change(followers=followers)


def _without(items: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: item for key, item in items.items() if key != name}
