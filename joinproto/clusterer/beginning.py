"""The beginning of a younger config, and the end of a transition: U3, U4 and U6.

Compatibility is decided before the identities of the two configs are merged.

Source: Clusterer; the real coordinator's `begin_transition`.
"""

from __future__ import annotations

from collections.abc import Iterable

from joinproto.clusterer.booting import ask_services, drop_members, stop_broker, store_members
from joinproto.clusterer.config import Held
from joinproto.clusterer.identities import (
    data_of,
    fits,
    leaving,
    renewed,
    returning,
    says_of_all,
    stamped,
    tidy,
    transferred,
    with_the_same,
)
from joinproto.clusterer.messages import (
    NO_NODES,
    Arm,
    Boot,
    BootBroker,
    Effect,
    Keep,
    Members,
    NewConfig,
    Off,
    Send,
    Unlock,
    Wipe,
)
from joinproto.clusterer.state import RoundKind, State, Step, Why, moved
from joinproto.clusterer.status import Status, Turn
from joinproto.clusterer.tables import Fits
from joinproto.machine.values import evolve


def config_messages(
    nodes: Iterable[str], held: Held, *, achieved: bool = False
) -> tuple[Send, ...]:
    """Return the messages that spread a config."""
    return tuple(Send(node, NewConfig(held, achieved)) for node in sorted(nodes))


def unachieved_config_messages(state: State, nodes: frozenset[str], held: Held) -> tuple[Send, ...]:
    """Return the messages that spread a config which is not achieved yet.

    In our variant, a node that does not know the gospel's identity sends the config only to the
    other nodes of the config, if it knows one.  One of these that knows the identity sends the
    config on to the gospel.  Otherwise: the gospel's message to this node is lost, and the gospel
    is reset.  The blank gospel takes the config as naming itself, but a node that knew the former
    gospel takes it as naming the former.
    """
    gospel, ids = held.config.gospel, held.ids
    known = state.contacts.union(name for name, _ in ids.pairs) - state.dead
    others = (known & held.config.nodes) - {gospel, state.who.me}
    if state.who.rules.ours and gospel is not None and ids.get(gospel) is None and others:
        nodes -= {gospel}
    return config_messages(nodes, held)


def begin(step: Step, new: Held) -> Step:
    """Return the step that begins a config.  `new`: the config with the identities it came with."""
    before = step.state
    me, rules, config = before.who.me, before.who.rules, new.config
    achieved = None if before.blank and rules.ours else before.achieved
    case = fits(new, achieved, me, rules)
    turn = Turn(
        named=me in config.nodes,
        compatible=case.outcome is Fits.COMPATIBLE,
        ready=before.status is Status.READY,
    )
    begun = _released(moved(step, "begin", turn))
    if not turn.named:
        return _left(begun, new, stops=turn.ready)
    heads = rules.ours and begun.state.status is not Status.READY
    held = tidy(transferred(new, before.achieved, rules), me, before.identity, heads=heads)
    if begun.state.status is Status.READY:
        if rules.ours:
            held = stamped(held, before.achieved)
        others = config.nodes - {me}
        tells = config_messages((before.contacts | others), held, achieved=True)
        if rules.ours:
            held = evolve(held, ids=with_the_same(held.ids, before.identity))
        stored = begun.then(Keep(held, before.identity))
        return drop_members(stored, config.nodes).then(
            *tells, achieved=held, held=held, contacts=others, dead=NO_NODES
        )
    if rules.ours:
        held = returning(held, before.achieved, me)
    waiting = (stop_broker(begun, ran=True) if turn.ready else begun).then(
        *unachieved_config_messages(before, before.contacts, held),
        held=held,
        contacts=NO_NODES,
        dead=NO_NODES,
        awaited=None,
        joining=NO_NODES,
    )
    if not config.is_single(me):
        return waiting
    wipes = config.gospel is None and begun.state.status is Status.JOINING
    return succeed(waiting.then(why=Why("U4", "alone")), Boot.FOUND, wipes=wipes)


def _left(step: Step, new: Held, *, stops: bool) -> Step:
    """Store a config without this node, and leave: U6."""
    state = step.state
    if state.who.rules.ours:
        # A gospel that was reset must see that this config names its former self.
        new = tidy(transferred(new, state.achieved, state.who.rules), state.who.me, state.identity)
        new = leaving(new, state.who.me)
    out = step.then(Keep(new, state.identity))
    out = (stop_broker(out, ran=True, leaves=True) if stops else out).then(
        *unachieved_config_messages(state, state.contacts, new),
        achieved=new,
        held=new,
        contacts=NO_NODES,
        dead=NO_NODES,
    )
    if state.status is Status.SHUTDOWN:
        return out.then(Off("the config does not name this node"))
    return armed(out)


def armed(step: Step) -> Step:
    """Return the step with a new shutdown timer; with a timeout of 0 s the node ends at once."""
    timeout = step.state.config_now.config.shutdown_timeout
    if timeout == 0:
        return moved(step, "time up").then(Off("this node's shutdown_timeout is 0"))
    number = step.state.timer + 1
    return step.then(Arm(timeout if isinstance(timeout, int) else None, number), timer=number)


def succeed(
    step: Step,
    how: Boot,
    *,
    wipes: bool = False,
    forget: frozenset[str] = NO_NODES,
    source: str | None = None,
) -> Step:
    """Return the step after a transition has succeeded: store the config, then boot the broker.

    `wipes`: delete the data first.  `forget`: nodes that are no longer members.  `source`: the
    identity of a ready node, whose data this node must get.
    """
    state = step.state
    held, identity = state.config_now, state.identity
    data, founds = data_of(source), how is Boot.FOUND
    if state.who.rules.ours:
        if (wipes or state.status is Status.JOINING) and (founds or data):
            identity = renewed(identity, data)
        if how is not Boot.JOIN or not says_of_all(held):
            held = stamped(held, state.achieved)
        held = tidy(evolve(held, ids=with_the_same(held.ids, identity)), state.who.me, identity)
    why, token = state.why, 0 if state.round is None else state.round.token
    gone = _released(moved(step, "success")).then(why=why)
    if wipes:  # a node that is killed now deletes its data at its next start, and joins
        gone = store_members(gone, Members(given_up=True))
    going = gone.then(
        Keep(held, identity),
        *((Wipe(),) if wipes else ()),
        held=held,
        achieved=held,
        identity=identity,
    )
    boots = BootBroker(how, held.config.nodes, forget, held.config.ram)
    return ask_services(going, boots, token)


def ended(step: Step, why: str) -> Step:
    """Return the step that ends a waiting node without storing anything."""
    return _released(moved(step, "conflict")).then(Off(why))


def _released(step: Step) -> Step:
    """Return the step that gives up the round under way and its locks."""
    state = step.state
    if state.round is None and state.lock is None:
        return step
    return Step(evolve(state, round=None, lock=None), (*step.effects, *_unlocks(state)))


def rested(state: State) -> Step:
    """Return the step after a round without a decision: the next round begins with a tick."""
    mine = state.lock is not None and state.lock.node == state.who.me
    lock = None if mine else state.lock
    return Step(evolve(state, round=None, lock=lock), _unlocks(state))


def _unlocks(state: State) -> tuple[Effect, ...]:
    """Return the messages that give back the other nodes' locks that this round has taken."""
    round_ = state.round
    if round_ is None or round_.what is not RoundKind.LOCKS:
        return ()
    others = sorted(round_.taken - {state.who.me})
    return tuple(Send(node, Unlock(round_.token)) for node in others)
