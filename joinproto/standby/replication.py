"""The messages of a primary to its backups: wiring, older data, and current changes.

Source: hot standby, H4 to H7, H9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
from joinproto.standby.primary_state import Follower, PrimaryState, with_follower
from joinproto.standby.queue import MessageQueue
from joinproto.standby.replicates import Level

Told = tuple[PrimaryState, tuple[Effect, ...]]
"""The next state, and the messages to send."""


def told(state: PrimaryState, name: str, content: FromPrimary) -> Told:
    """Return the state after sending something to a backup that has a link."""
    one = state.followers[name]
    state = with_follower(state, name, evolve(one, sent=one.sent + 1))
    return state, (Send(name, content),)


def joined(state: PrimaryState, join: Join) -> Told:
    """Return the answer to a backup's first word: the wiring, or that it may not follow."""
    who, theirs = state.who, join.view
    rule = why = ""
    if join.name == who.me:
        rule, why = "H1", f"{who.me} is asked to follow itself"
    elif join.default is not who.default:
        rule = "H7"
        why = f"its default is {join.default.value}, the primary's is {who.default.value}"
    elif (
        who.practice.generations
        and theirs.generation == state.view.generation
        and theirs.primary != state.view.primary
        # Otherwise: c is promoted, waits for b, and dies before b hears of it; b is promoted into
        # the same generation, and c would never follow it.  In a view of b nothing is confirmed
        # without b, which followed no other primary of its generation.
        and who.me not in theirs.members
    ):
        rule = "H2"
        why = (
            f"{theirs.primary} and {state.view.primary} are both primary"
            f" in generation {theirs.generation}"
        )
    if rule:
        refuse = Refuse(rule=rule, why=why, view=state.view)
        return state, (Send(join.name, refuse), Leave(join.name, why))
    state = with_follower(state, join.name, Follower())
    things = tuple(one for one in state.stock.things.values() if is_mirrored(state, one))
    things = tuple(sorted(things, key=lambda one: (_RANK[one.kind], one.name)))
    return told(state, join.name, Wired(view=state.view, things=things, events=state.events))


_RANK = {Kind.EXCHANGE: 0, Kind.QUEUE: 1, Kind.BINDING: 2}


def is_mirrored(state: PrimaryState, thing: WiringItem) -> bool:
    """Return whether the backups are told of it: H6, H7; not all by the document (LC1, LC5)."""
    practice = state.who.practice
    if thing.kind is Kind.BINDING and not practice.mirrors_bindings:
        return False
    return thing.level is not Level.NONE or not practice.chooses


def subscribed(state: PrimaryState, name: str, wants: Subscribe) -> Told:
    """Return the actions for a backup that wants a queue: its surplus, then the messages that it
    lacks.
    """
    queue = state.stock.queues.get(wants.queue)
    if name not in state.followers or queue is None or queue.id != wants.id:
        return state, ()  # it was deleted meanwhile: the backup is told on this link
    if state.who.practice.by_identity:
        here = frozenset(queue.line.ids)
        has = frozenset(wants.has)
        drops = tuple(one for one in wants.has if one not in here)
        lacks = MessageQueue.of(one for one in queue.line if one.id not in has)
        state, sent = told(state, name, Surplus(queue=wants.queue, drops=drops, next=queue.next))
    else:
        last = -1 if wants.last is None else wants.last
        lacks = MessageQueue.of(
            one for one in queue.line if wants.last is None or is_after(one.sequence, last)
        )
        sent = ()
    one = state.followers[name]
    one = evolve(one, copying={**one.copying, wants.queue: lacks})
    state, more = _ended(with_follower(state, name, one), name, wants.queue)
    return state, (*sent, *more)


def fed(state: PrimaryState, name: str, queue: str, count: int) -> Told:
    """Return the state after sending up to `count` messages that were there before: H5."""
    one = state.followers.get(name)
    if one is None or queue not in one.copying:
        return state, ()
    rest, messages = one.copying[queue].split(count, back=state.who.order is Order.LIFO)
    state = with_follower(state, name, evolve(one, copying={**one.copying, queue: rest}))
    state, sent = told(state, name, Copy(queue=queue, messages=messages))
    state, more = _ended(state, name, queue)
    return state, (*sent, *more)


def _ended(state: PrimaryState, name: str, queue: str) -> Told:
    """H5: a queue is caught up when nothing earlier is missing."""
    one = state.followers[name]
    if queue not in one.copying or one.copying[queue].blocks:
        return state, ()
    rest = {key: line for key, line in one.copying.items() if key != queue}
    # From here on nothing is confirmed without it: all that was, it was sent before.
    level = {**one.level, queue: one.sent + 1}
    state = with_follower(state, name, evolve(one, copying=rest, level=level))
    return told(state, name, CaughtUp(queue=queue))


def spread(
    state: PrimaryState, changes: tuple[Change, ...]
) -> tuple[PrimaryState, dict[str, int], tuple[Effect, ...]]:
    """Return the state after sending all backups the changes with their numbers.

    A backup that still copies a queue gets new messages at once, last-in first-out; messages
    removed before they were sent need not be sent.
    """
    numbers: dict[str, int] = {}
    effects: tuple[Effect, ...] = ()
    for name in sorted(state.followers):
        one, mine = _for_one(state, state.followers[name], changes)
        state = with_follower(state, name, one)
        parts = (mine,) if state.who.practice.whole_transactions else _apart(mine)
        for part in parts:
            if part:
                state, sent = told(state, name, Changed(changes=part))
                effects += sent
        numbers[name] = state.followers[name].sent
        for queue in sorted({change.queue for change in changes}):
            state, sent = _ended(state, name, queue)
            effects += sent
    return state, numbers, effects


def _for_one(
    state: PrimaryState, one: Follower, changes: tuple[Change, ...]
) -> tuple[Follower, tuple[Change, ...]]:
    copying = dict(one.copying)
    mine: list[Change] = []
    for change in changes:
        if change.queue not in one.asked:
            continue  # not asked for yet: it is sent later, from the contents then
        puts, takes = change.puts, change.takes
        if change.queue in copying:
            rest = copying[change.queue]
            takes = tuple(message for message in takes if not rest.has(message))
            for message in change.takes:
                rest = rest.without(message)
            if state.who.order is Order.FIFO:
                for message in puts:
                    rest = rest.put(message)
                puts = ()
            copying[change.queue] = rest
        if puts or takes:
            mine.append(Change(queue=change.queue, puts=puts, takes=takes))
    return evolve(one, copying=copying), tuple(mine)


def _apart(changes: tuple[Change, ...]) -> tuple[tuple[Change, ...], ...]:
    """Return each message's change alone, as the prototype sends them (LM3)."""
    found = []
    for change in changes:
        found += [(Change(queue=change.queue, puts=(one,)),) for one in change.puts]
        found += [(Change(queue=change.queue, takes=(one,)),) for one in change.takes]
    return tuple(found)


def wiring_spread(
    state: PrimaryState, content: FromPrimary, thing: WiringItem
) -> tuple[PrimaryState, dict[str, int], tuple[Effect, ...]]:
    """Return the state after telling all backups of a declaration or deletion."""
    numbers: dict[str, int] = {}
    effects: tuple[Effect, ...] = ()
    if not is_mirrored(state, thing):
        return state, numbers, effects
    for name in sorted(state.followers):
        state, sent = told(state, name, content)
        effects += sent
        numbers[name] = state.followers[name].sent
    return state, numbers, effects


def forgotten(state: PrimaryState, queue: str) -> PrimaryState:
    """Return the state without the copies under way for a queue that was deleted."""

    def left(items: Mapping[str, Any]) -> dict[str, Any]:
        return {name: item for name, item in items.items() if name != queue}

    followers = {
        name: evolve(one, copying=left(one.copying), level=left(one.level))
        for name, one in state.followers.items()
    }
    return evolve(state, followers=followers)
