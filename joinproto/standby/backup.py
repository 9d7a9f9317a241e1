"""The backup repeats the primary's actions in the primary's order, and reports its position.

Source: hot standby, H2, H5, H6, H9.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from attrs import frozen

from joinproto.machine import step
from joinproto.machine.values import evolve
from joinproto.standby.events import Effect, Keep, KeepView, Leave, Make, Remove, Send
from joinproto.standby.messages import (
    CaughtUp,
    Change,
    Changed,
    Content,
    Copy,
    Declared,
    Deleted,
    FromBackup,
    FromPrimary,
    Has,
    Join,
    Kind,
    Refuse,
    Subscribe,
    Surplus,
    View,
    Viewed,
    Wired,
    WiringItem,
)
from joinproto.standby.primary_state import Who
from joinproto.standby.replica_state import (
    ReplicaState,
    changed,
    copied_in,
    declared,
    deleted,
    given_up,
    mirrored,
)
from joinproto.standby.replicates import Level


@frozen(kw_only=True)
class Following:
    """The state of a broker that follows or looks for a primary.

    `view`: the youngest view it knows.  `primary`: the primary with which it has a link, or None.
    `done`: the number of the last message on this link.  `wired`: the number of the primary's last
    declaration or deletion that this broker has done, None before the wiring comes; until then
    `early` keeps declarations and deletions.  `missing`: the queues that the backup still catches
    up with.
    """

    who: Who
    replica: ReplicaState = ReplicaState()
    view: View = View()
    primary: str | None = None
    done: int = 0
    wired: int | None = None
    early: tuple[Declared | Deleted, ...] = ()
    missing: frozenset[str] = frozenset()

    @property
    def is_member(self) -> bool:
        """Return whether the youngest view that it knows lists it as up to date."""
        return self.who.me in self.view.members


Step: TypeAlias = step.Step[Following, Effect]
Taken: TypeAlias = tuple[Following, tuple[Effect, ...]]


def linked(state: Following, primary: str) -> Step:
    """Return the step for a new link: the backup sends `Join`."""
    state = evolve(lost(state), primary=primary)
    who = state.who
    return Step(state, (Send(primary, Join(name=who.me, view=state.view, default=who.default)),))


def lost(state: Following) -> Following:
    """Return the state without the link; the replica keeps every change received so far: H8."""
    return evolve(state, primary=None, done=0, wired=None, early=(), missing=frozenset())


def follow(state: Following, sender: str, content: Content) -> Step:
    """Return a backup's step for a message; it ignores a message that is not from its primary."""
    if sender != state.primary:
        return Step(state)
    if isinstance(content, Refuse):
        return Step(lost(state), (Leave(sender, content.why),))
    if isinstance(content, Wired) and _is_older(state, content.view):
        why = (
            f"{sender} serves in generation {content.view.generation}, but this backup knows the"
            f" younger generation {state.view.generation}"
        )
        return Step(lost(state), (Leave(sender, why),))
    if isinstance(content, FromBackup):
        why = f"{sender} is primary, but sent a message of a backup: {type(content).__name__}"
        return Step(lost(state), (Leave(sender, why),))
    state = evolve(state, done=state.done + 1)
    state, effects = _taken(state, sender, content)
    return Step(state, (*effects, Send(sender, Has(state.done))))


def _is_older(state: Following, view: View) -> bool:
    """Return whether the view is of an older generation than the backup's own: H2."""
    return state.who.rules.generations and view.generation < state.view.generation


def _taken(state: Following, sender: str, content: FromPrimary) -> Taken:
    match content:
        case Wired():
            return _wired(state, sender, content)
        case Declared() | Deleted():
            return _event(state, sender, content)
        case Viewed(view):
            if state.who.rules.generations and view.age < state.view.age:
                return state, ()
            return evolve(state, view=view), (KeepView(view),)
        case Surplus(queue=queue, drops=drops, next=coming):
            return _given_up(state, queue, drops, coming)
        case Copy(queue=queue, messages=messages):
            replica = copied_in(state.replica, queue, messages)
            return evolve(state, replica=replica), (Keep((Change(queue=queue, puts=messages),)),)
        case Changed(changes=changes):
            replica = state.replica
            for change in changes:
                replica = changed(state.who.rules, replica, change)
            return evolve(state, replica=replica), (Keep(changes),)
        case CaughtUp(queue=queue):
            return evolve(state, missing=state.missing - {queue}), ()
        case never:
            assert_never(never)


def _wired(state: Following, sender: str, wired: Wired) -> Taken:
    """Take over the primary's wiring, then do the events that the wiring does not include: H6."""
    rules = state.who.rules
    found = mirrored(rules, state.replica, wired.things)
    effects: list[Effect] = [*map(Remove, found.removes), *map(Make, found.makes)]
    view = wired.view
    # Another primary's view always replaces the backup's own, also within one generation.
    # Otherwise: c is promoted, waits for b and dies; b is promoted into the same generation; c
    # follows b, but keeps its own view.  Of one primary's views, an older one is not kept.
    is_anothers = view.primary != state.view.primary
    if not rules.generations or is_anothers or view.age >= state.view.age:
        effects.append(KeepView(view))
        state = evolve(state, view=view)
    wired_keys = {thing.key for thing in wired.things}
    wants = [name for name in found.replica.copied() if (Kind.QUEUE.value, name) in wired_keys]
    early = state.early
    state = evolve(
        state, replica=found.replica, wired=wired.events, early=(), missing=frozenset(wants)
    )
    effects += [Send(sender, _subscribe(state, name)) for name in wants]
    for content in early:
        state, more = _event(state, sender, content)
        effects += more
    return state, tuple(effects)


def _subscribe(state: Following, name: str) -> Subscribe:
    queue = state.replica.queues[name]
    if state.who.rules.by_identity:
        return Subscribe(queue=name, id=queue.id, has=queue.messages.ids)
    return Subscribe(queue=name, id=queue.id, has=(), last=queue.next - 1 if queue.next else None)


def _event(state: Following, sender: str, content: Declared | Deleted) -> Taken:
    """Do a declaration or deletion unless the primary's wiring includes it already: LC6.

    Keep it until the wiring comes.  The prototype cannot tell whether the wiring includes it.
    """
    if state.who.rules.numbers_wiring:
        if state.wired is None:
            return evolve(state, early=(*state.early, content)), ()
        if content.event <= state.wired:
            return state, ()
        state = evolve(state, wired=content.event)
    thing = content.thing
    old = state.replica.things.get(thing.key)
    if isinstance(content, Deleted):
        if old is None or old.id != thing.id:
            return state, ()
        missing = state.missing - {thing.name} if thing.kind is Kind.QUEUE else state.missing
        state = evolve(state, replica=deleted(state.replica, thing), missing=missing)
        return state, (Remove(thing),)
    if old is not None and (old.id == thing.id or not state.who.rules.deletes_absent):
        return state, ()
    state = evolve(state, replica=declared(state.replica, thing))
    effects: list[Effect] = [Make(thing)] if old is None else [Remove(old), Make(thing)]
    if _is_copied(thing):
        effects.append(Send(sender, _subscribe(state, thing.name)))
    return state, tuple(effects)


def _is_copied(thing: WiringItem) -> bool:
    return thing.kind is Kind.QUEUE and thing.level is Level.ALL


def _given_up(state: Following, queue: str, drops: tuple[str, ...], coming: int) -> Taken:
    """Remove the messages that the primary lacks, by their identities: H9."""
    there = state.replica.queues.get(queue)
    gone = () if there is None else tuple(one for one in there.messages if one.id in set(drops))
    state = evolve(state, replica=given_up(state.replica, queue, drops, coming))
    return state, (Keep((Change(queue=queue, takes=gone),)),) if gone else ()
