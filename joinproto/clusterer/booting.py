"""The boot of a node's broker, and the stored list of the nodes that run with it.

The list survives the end of the broker.  A node asks the others about their brokers before it
boots, because a node that was ready may be off by now.

Source: Clusterer, U4 and U5; the real Clusterer's list of nodes that ran at the last stop.
"""

from __future__ import annotations

from joinproto.clusterer.config import Held, Notes
from joinproto.clusterer.identities import data_of, is_later, was_out
from joinproto.clusterer.messages import (
    NO_NODES,
    WITH_OTHERS,
    AskService,
    AskStatus,
    Boot,
    BootBroker,
    BootNothing,
    BrokerGone,
    Down,
    Event,
    Forget,
    KeepMembers,
    Members,
    NewConfig,
    Receive,
    Send,
    ServiceTold,
    Silence,
    StopBroker,
    TellService,
)
from joinproto.clusterer.state import OpenRound, RoundKind, State, Step
from joinproto.clusterer.status import Status
from joinproto.machine.values import evolve


def ask_services(step: Step, boots: BootBroker, token: int) -> Step:
    """Return the step that asks all others about their brokers, or boots if there are no others."""
    others = boots.nodes - {step.state.who.me}
    asked = tuple(Send(node, AskService(token)) for node in sorted(others))
    round_ = OpenRound(what=RoundKind.SERVICES, token=token, left=others)
    asking = step.then(*asked, boots=boots, peers_running=NO_NODES, round=round_)
    return asking if others else boot(asking)


def boot(step: Step) -> Step:
    """Return the step after all others have answered: the broker boots, if it can.

    If it must boot with others and no other broker runs, the host reports a failure (`BootFailed`).
    """
    state = step.state
    boots = state.boots
    if boots is None:
        raise AssertionError("no boot is under way")
    running = Notes.of(
        {
            name: said.says
            for name, said in state.round_now.answers
            if isinstance(said, ServiceTold)
            and runs_with(state, said)
            and has_wanted_data(state, name)
        }
    )
    peers = state.peers_running.union(name for name, _ in running.pairs)
    if is_alone(boots, running):
        return step.then(BootNothing(), round=None, boots=None)
    does = evolve(boots, members=state.record.members, running=running, went=_went(state, boots))
    return step.then(does, round=None, peers_running=peers)


def _went(state: State, boots: BootBroker) -> Notes[Notes[str] | None]:
    """Return the data of the nodes that ran with this one last, if it boots with `Boot.FIRST`."""
    if boots.how is not Boot.FIRST:
        return Notes()
    said = dict(state.round_now.answers)
    found = {name: said.get(name) for name in (state.record.ran & boots.nodes) - {state.who.me}}
    return Notes.of(
        {name: one.says if isinstance(one, ServiceTold) else None for name, one in found.items()}
    )


def runs_with(state: State, said: ServiceTold) -> bool:
    """Return whether another node's broker runs with the version of this node's config."""
    return said.runs and said.version == state.config_now.config.version


def has_wanted_data(state: State, node: str) -> bool:
    """Return whether a node that runs has the data with which this node must boot (ours).

    Otherwise: two nodes are ready by themselves; a third notes the data of one, and joins the
    other.
    """
    if state.boots is None or state.boots.how not in WITH_OTHERS or not state.who.rules.ours:
        return True
    return data_of(state.config_now.ids.get(node)) == data_of(state.identity)


def is_alone(boots: BootBroker, running: Notes[Notes[str]]) -> bool:
    """Return whether the node must boot with others, but no other broker runs."""
    return boots.how in WITH_OTHERS and not running.pairs


def service_asked(state: State, sender: str, number: int) -> Step:
    """Return the step that answers whether this node's broker runs, and can be joined."""
    version = -1 if state.held is None else state.held.config.version
    if state.status is Status.BOOTING or (state.runs and state.paused):
        return Step(state, (Send(sender, ServiceTold(number, False, version)),))
    return Step(state, (TellService(sender, number, version, state.says is Status.READY),))


# -- stored facts ----------------------------------------------------------------------------


def store_members(step: Step, members: Members) -> Step:
    """Return the step that stores these facts, unless they are stored already."""
    if members == step.state.record:
        return step
    return step.then(KeepMembers(members), record=members)


def booted(step: Step) -> Step:
    """Return the step after a boot, which stores the nodes that have reported that they run."""
    state = step.state
    boots = state.boots
    if boots is None:
        return step
    ran = state.peers_running | {state.who.me}
    former = NO_NODES if boots.how is Boot.FOUND else state.record.members & boots.nodes
    found = Members(members=(former | ran) - boots.forget, ran=ran, stopped=False)
    return store_members(step, found).then(boots=None, peers_running=NO_NODES)


def stop_broker(step: Step, *, ran: bool, leaves: bool = False) -> Step:
    """Return the step that stops the broker.  `ran`: the broker had booted."""
    after = step.then(StopBroker(leaves), boots=None, peers_running=NO_NODES)
    return store_members(after, evolve(step.state.record, stopped=True)) if ran else after


def drop_members(step: Step, nodes: frozenset[str]) -> Step:
    """Return the step after a config was stored without a restart: only `nodes` stay members.

    The config is stored first.  Otherwise: a forgets b, is killed before it has stored the config
    without b, and comes back with the config that names b; then b, forgotten by all, never comes.
    """
    state = step.state
    record = state.record
    ran, left = record.ran & nodes, record.members - nodes
    after = store_members(step, evolve(record, members=record.members & nodes, ran=ran))
    # One node is enough to remove them from the brokers' own lists.
    return (
        after.then(Forget(left))
        if left and state.who.me == min(ran, default=state.who.me)
        else after
    )


def still_left(state: State, nodes: frozenset[str]) -> frozenset[str]:
    """Return the left-out nodes that the broker must still forget.

    The broker may have to wait until they are off.  A node that is named again meanwhile must not
    be forgotten, because the broker would then refuse it.
    """
    return nodes - state.config_now.config.nodes


def seen_to_end(step: Step, event: Event) -> Step:
    """Return the step that stores that another node's broker has ended, if the event shows this.

    This is stored before the event is handled.  If the handling stops this node's broker, the list
    shows that this broker ran longer.
    """
    match event:
        case Down(node):
            return doubted(step, node)
        case (
            Receive(node, NewConfig(achieved=False) | AskStatus())
            | Receive(node, ServiceTold(number=-1, runs=False))
            | Silence(node, token=-1)
            | BrokerGone(node)
        ):
            return struck(step, node)
    return step


def doubted(step: Step, node: str) -> Step:
    """Return the step that asks a node, whose connection has ended, whether its broker runs.

    Without the question: the connection of a and b breaks, a takes b for gone, and stops.  b writes
    on, and stops.  a comes back, and goes first.  The question's number -1 belongs to no round.
    """
    state = step.state
    runs_with_it = state.record.ran if state.boots is None else state.peers_running
    is_asked = node in runs_with_it and (state.runs or state.boots is not None)
    return step.then(Send(node, AskService(-1))) if is_asked else step


def struck(step: Step, node: str) -> Step:
    """Return the step that removes another node, whose broker has ended, from the stored list.

    The list changes only while this node's broker boots or runs.
    """
    state, record = step.state, step.state.record
    if state.boots is not None:
        return step.then(peers_running=state.peers_running - {node})
    return store_members(step, evolve(record, ran=record.ran - {node})) if state.runs else step


def seen_to_run(step: Step, event: Event) -> Step:
    """Return the step that stores that another broker runs with this config, if the event shows it.

    The same event may have brought the config.
    """
    state, record = step.state, step.state.record
    match event:
        case Receive(node, NewConfig(held, achieved=True)) if state.boots is not None or state.runs:
            if held.config != state.config_now.config:
                return step  # the node runs with another config, and will tell when it has this one
            if state.who.rules.ours and not has_the_same_data(state, held, node):
                return step
            if state.boots is not None:
                return step.then(peers_running=state.peers_running | {node})
            both = (record.ran | {node}, record.members | {node})
            return store_members(step, evolve(record, ran=both[0], members=both[1]))
    return step


def has_the_same_data(state: State, remote: Held, sender: str) -> bool:
    """Return whether the sender's identity in its config names the data that this node has."""
    said, mine = remote.ids.get(sender), data_of(state.identity)
    if mine is None:  # identities of an earlier version
        is_known = said == state.config_now.ids.get(sender)
        return is_known or remote.ids.get(state.who.me) == state.identity
    return data_of(said) == mine


def missed_its_leaving(state: State, remote: Held, sender: str) -> bool:
    """Return whether this node missed a config that left it out, as a ready sender knows (ours).

    The answer is true only if the sender has this node's data, or knows of later data of the
    gospel.  The story that needs it: b is cut off, and a is given version 2 without b; version 3,
    given to b, names both; without this rule, each would continue with the data that it has then.
    """
    held, gospel = state.config_now, state.config_now.config.gospel
    if not was_out(remote, held, state.who.me) or gospel is None:
        return False
    ours, theirs = held.ids.get(gospel), remote.ids.get(gospel)
    is_newer = ours is not None and theirs is not None and is_later(theirs, ours)
    return is_newer or has_the_same_data(state, remote, sender)
