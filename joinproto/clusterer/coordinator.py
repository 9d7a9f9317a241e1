"""One step of a node: `step(state, event) -> Step`.

Source: Clusterer, U1, U3, U6 and U7; the real coordinator.
"""

from __future__ import annotations

from typing import assert_never

from joinproto.clusterer import booting, locking, transitioner
from joinproto.clusterer.beginning import armed, begin, config_messages, unachieved_config_messages
from joinproto.clusterer.config import Config, Held, compare, default
from joinproto.clusterer.identities import (
    combined,
    config_at_start,
    noted,
    tidy,
    transferred,
    updated,
)
from joinproto.clusterer.messages import (
    NO_NODES,
    Answer,
    Apply,
    AskAwaited,
    AskLock,
    AskService,
    AskStatus,
    Awaited,
    Booted,
    BootFailed,
    BrokerGone,
    Content,
    Died,
    Down,
    Effect,
    Event,
    Keep,
    Locked,
    NewConfig,
    Off,
    Paused,
    Poke,
    Receive,
    Reply,
    Send,
    ServiceTold,
    Silence,
    Start,
    Stop,
    StopBroker,
    Tick,
    TimeUp,
    Told,
    Unlock,
    Wipe,
)
from joinproto.clusterer.state import State, Step, Why, moved
from joinproto.clusterer.status import Status
from joinproto.clusterer.tables import FROM_OPERATOR, FROM_PEER, Does, News
from joinproto.clusterer.why import both_contents
from joinproto.machine.values import evolve

REPLIES = {
    Does.BEGIN: Reply.BEGINS,
    Does.PASS_ON: Reply.IN_TRANSITION,
    Does.REFUSE_OLDER: Reply.OLDER,
    Does.REFUSE_SAME: Reply.SAME,
    Does.REFUSE_OTHER: Reply.OTHER,
    Does.REFUSE_INVALID: Reply.INVALID,
    Does.REFUSE_NOW: Reply.NOT_NOW,
    Does.REFUSE_BROKER: Reply.BROKER,
}


def step(state: State, event: Event) -> Step:
    """Return the next state of a node, and the effects for its host."""
    if state.is_over:
        return Step(state)
    ends = booting.seen_to_end(Step(state), event)
    return booting.seen_to_run(ends.and_then(_handled(ends.state, event)), event)


def _handled(state: State, event: Event) -> Step:
    match event:
        case Receive(sender, content):
            return _received(state, sender, content)
        case Start():
            return _start(state, event)
        case Tick(token, yields):
            return transitioner.ask(state, token, yields=yields)
        case Silence(node, token):
            return transitioner.heard(state, node, token, None)
        case Apply(config):
            return _apply(state, config)
        case Booted():
            return _booted(state)
        case BootFailed():
            again = booting.stop_broker(Step(state), ran=False)
            return begin(again, state.config_now) if state.status is Status.BOOTING else Step(state)
        case Died(why):
            return Step(state, (Off(why, fails=True),)) if state.runs else Step(state)
        case Stop(why):
            has_broker = state.status in (Status.BOOTING, Status.READY)
            ends = booting.stop_broker(Step(state), ran=state.runs) if has_broker else Step(state)
            return ends.then(Off(why))
        case Paused(paused):
            return _paused(state, paused=paused)
        case Down(node):
            return _down(state, node)
        case BrokerGone():
            return Step(state)  # `booting.seen_to_end` has noted it
        case Poke():
            return _poke(state)
        case TimeUp(number):
            if state.status is Status.PENDING and number == state.timer:
                return moved(Step(state), "time up").then(
                    Off("this node's shutdown_timeout is over")
                )
            return Step(state)
    assert_never(event)


def _received(state: State, sender: str, content: Content) -> Step:
    match content:
        case AskStatus(identity, token):
            return _asked(state, sender, identity, token)
        case NewConfig(held, achieved):
            return news(state, held, sender, achieved=achieved)
        case AskAwaited(token):
            nodes = state.awaited if state.status is Status.REJOINING else None
            return Step(state, (Send(sender, Awaited(token, nodes)),))
        case Told(token) | Awaited(token) | Locked(token) | ServiceTold(token):
            return transitioner.heard(state, sender, token, content)
        case AskLock(token):
            return locking.wanted(state, sender, token)
        case Unlock(token):
            return locking.freed(state, sender, token)
        case AskService(number):
            return booting.service_asked(state, sender, number)
    assert_never(content)


def _start(state: State, start: Start) -> Step:
    """Begin with the given config or the stored one: U1.

    The stored config counts unless the given one is younger.  If both have the same version but
    other content, the node (ours) tells the operator, who changed the config without its version.
    """
    me, record = state.who.me, start.record
    stored = record.stored
    identity = record.identity if stored is not None and record.identity else start.fresh
    taken = config_at_start(start.given, None if stored is None else stored.config, default(me))
    is_stored = stored is not None and taken.new == stored.config
    new = stored if is_stored and stored is not None else Held(taken.new)
    if not is_stored and (stored is None or state.who.rules.ours):
        new = tidy(new, me, identity)
    # A node that was killed may have left its broker running.
    clears = (StopBroker(), Wipe()) if record.members.given_up else (StopBroker(),)
    begun = evolve(state, identity=identity, achieved=stored, record=record.members)
    refused = (Answer(Reply.OTHER),) if taken.differs and state.who.rules.ours else ()
    return begin(Step(begun, (*refused, *clears)), new)


def _asked(state: State, sender: str, identity: str, token: int) -> Step:
    """Answer with config and status, and note the asker's identity: U3, U7."""
    who, held = state.who, state.held
    if held is None:
        return Step(state, (Send(sender, Told(token, None, Status.PREBOOT)),))
    found = noted(held, sender, identity)
    answer = Send(sender, Told(token, found.held, state.says))
    if state.waits and not who.rules.ours:
        asked = Step(evolve(state, held=found.held), (answer,))
        return begin(asked, found.held) if found.changed else asked
    if found.changed:
        # The name now belongs to another node, or to one with other data.  The earlier notes stay,
        # because the next config that begins is compared with them.
        answer = Send(sender, Told(token, held, state.says))
        return _once_more(Step(state, (answer,)))
    if not state.waits and who.rules.ours and held.ids.get(sender) is None:
        return _once_more(Step(state, (answer,)))  # the asking node has not joined yet
    kept: tuple[Effect, ...] = ()
    if state.status is Status.READY and who.rules.ours and found.held != held:
        kept = (Keep(found.held, state.identity),)
    known = evolve(state, held=found.held)
    if not state.waits:
        known = evolve(known, achieved=found.held)
    return _once_more(Step(known, (*kept, answer)))


def _once_more(step: Step) -> Step:
    """Start the shutdown timer anew if a pending node was asked for its status: U6."""
    if step.state.status is not Status.PENDING:
        return step
    return armed(step)


def news(state: State, remote: Held, sender: str | None, *, achieved: bool = False) -> Step:
    """Return the step after a config from a peer, or (`sender` None) from an operator."""
    held = state.held
    age = compare(remote.config, held.config) if held is not None else None
    case = FROM_PEER.choose((News(status=state.status, age=age, paused=state.paused),), 0)
    match case.outcome:
        case Does.BEGIN:
            return begin(Step(state), remote)
        case Does.FORWARD:
            others = state.config_now.config.nodes - {state.who.me, sender}
            known = remote
            if state.who.rules.ours:
                # A gospel that is blank by now must see that its former self is meant.
                known = transferred(remote, state.achieved, state.who.rules)
            return begin(Step(state, unachieved_config_messages(state, others, known)), remote)
        case Does.SEND_OURS if sender is not None:
            if state.status is Status.READY:
                return Step(state, config_messages({sender}, state.config_now, achieved=True))
            ours = transitioner.learned(state, sender, remote, achieved=achieved)
            return Step(
                evolve(state, held=ours),
                unachieved_config_messages(state, frozenset({sender}), ours),
            )
        case Does.NOTE if sender is not None:
            return _note(state, remote, sender, achieved=achieved)
        case Does.REMEMBER if sender is not None:
            return Step(evolve(state, contacts=state.contacts | {sender}))
    return Step(state)


def _note(state: State, remote: Held, sender: str, *, achieved: bool) -> Step:
    """Note the facts from a sender with the same config; a ready node's facts are certain."""
    rules, held = state.who.rules, state.config_now
    said = remote.ids.get(sender)
    tells = achieved and state.status is Status.READY and rules.ours
    if tells and booting.missed_its_leaving(state, remote, sender):
        return begin(Step(state), remote)
    if tells and not booting.has_the_same_data(state, remote, sender):
        return Step(evolve(state, why=Why("U3", "another is ready by itself")))
    if achieved or not rules.ours:
        held = updated(held, sender, remote, rules)
        if tells and held != state.held:  # the sender has joined or founded since
            held = evolve(held, since=combined(remote.since, held.since))
    elif not state.waits:
        return Step(state)
    elif said is not None and held.ids.get(sender) is None:
        held = noted(held, sender, said).held
    heads = rules.ours and state.waits
    held = tidy(held, state.who.me, state.identity, heads=heads)
    if state.waits:
        return Step(evolve(state, held=held))
    kept = () if held == state.held else (Keep(held, state.identity),)
    return Step(evolve(state, held=held, achieved=held), kept)


def _apply(state: State, config: Config | None) -> Step:
    """Take or refuse an operator's config, and answer: U1, U7."""
    held = state.held
    age = compare(config, held.config) if config is not None and held is not None else None
    row = News(status=state.status, age=age, paused=state.paused)
    case = FROM_OPERATOR.choose((row,), 0)
    why = ""
    if case.outcome is Does.REFUSE_OTHER and config is not None and held is not None:
        why = both_contents(held.config, config)
    answered = Step(state, (Answer(REPLIES[case.outcome], why),))
    if config is None or case.outcome not in (Does.BEGIN, Does.PASS_ON):
        return answered
    new = Held(config)
    if state.who.rules.ours:
        new = tidy(new, state.who.me, state.identity)
    if case.outcome is Does.BEGIN:
        return begin(answered, new)
    return answered.and_then(news(state, new, None))


def _booted(state: State) -> Step:
    """The config is achieved: tell its nodes, and the nodes that asked meanwhile."""
    if state.status is not Status.BOOTING:
        return Step(state)
    others = state.config_now.config.nodes - {state.who.me}
    tell = config_messages(state.contacts | others, state.config_now, achieved=True)
    why = state.why
    booted = booting.booted(moved(Step(state), "booted"))
    return booted.then(*tell, contacts=others, dead=NO_NODES, why=why)


def _paused(state: State, *, paused: bool) -> Step:
    """Note that the broker was paused, or that its pause has ended.

    A paused node took no config.  After the pause it sends its own config, so that others tell it
    of younger ones.  A report that comes when the node is no longer ready is outdated.
    """
    is_ready = state.status is Status.READY
    after = Step(evolve(state, paused=paused and is_ready))
    if paused is state.paused or paused or not is_ready:
        return after
    return after.then(*config_messages(state.contacts, state.config_now, achieved=True))


def _down(state: State, node: str) -> Step:
    lock = None if state.lock is not None and state.lock.node == node else state.lock
    dead = state.dead | ({node} & state.contacts) if state.status is Status.READY else state.dead
    return Step(evolve(state, lock=lock, dead=dead))


def _poke(state: State) -> Step:
    """Send the config to the members that were away, in case they are back: U7."""
    if state.status is not Status.READY:
        return Step(state)
    return Step(
        evolve(state, dead=NO_NODES), config_messages(state.dead, state.config_now, achieved=True)
    )
