"""The claims about nodes of the Clusterer after any events, independent of the nodes' rules."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

from attrs import Factory, define, field

from joinproto.clusterer.config import Config
from joinproto.clusterer.messages import Answer, Event, NewConfig, Receive
from joinproto.clusterer.state import State
from joinproto.clusterer.status import Status
from tools.swarms.clusterer_machines import Broker, Machine, Machines

BY_ITSELF = "another is ready by itself"


@define
class GospelChecker:
    """A check that ready gospels stay ready.

    `known`: pairs of identities: a node that was ready, and a node that it knew then.  A reset
    changes an identity.
    """

    known: set[tuple[str, str]] = Factory(set)

    def check_step(self, before: State, event: Event, after: State) -> str | None:
        """Return the error of a step, or None."""
        if after.runs and after.held is not None:
            ready = _node(after.identity)
            self.known.update((ready, _node(other)) for _, other in after.held.ids.pairs)
        return None if self._names_node_before_reset(before, event) else _stops(before, after)

    def _names_node_before_reset(self, before: State, event: Event) -> bool:
        """Return whether the sender of a config knows the node only as it was before its reset.

        The sender was not ready since then, so it does not know the new identity.  The gospel
        cannot know which node's data the config names either: it stops its broker, and keeps its
        data until another node is ready with the data that the config names.
        """
        if not (isinstance(event, Receive) and isinstance(event.content, NewConfig)):
            return False
        ids = event.content.held.ids
        sender, named = _node(ids.get(event.sender)), _node(ids.get(before.who.me))
        now = _node(before.identity)
        return bool(named) and named != now and (sender, now) not in self.known


def _node(identity: str | None) -> str:
    """Return the node's part of an identity."""
    return (identity or "").partition("~")[0]


def _stops(before: State, after: State) -> str | None:
    """Return the error of a ready node that stops although its next config names it, or None."""
    me, old, new = before.who.me, before.held, after.held
    if not (before.runs and after.status is Status.JOINING) or old is None or new is None:
        return None
    was_out = (new.since.get(me) or 0) > old.config.version
    if new.config.gospel != me or not old.config.version or was_out:
        return None
    return f"{me}, the gospel of {new.config}, is ready, and stops"


@define
class Message:
    """An acknowledged message.  `holders`: the machines that are known to have it.

    `members`: the nodes that are in every config since the acknowledgement.  A config whose gospel
    is neither a member nor a holder gives the message up.  `given_up`: the reason why the operator
    has given the message up, or "".
    """

    number: int
    label: str
    holders: set[str]
    members: frozenset[str]
    given_up: str = ""


@define
class Oracle:
    """The expectations of one run.

    `version`: the newest config's version.  `configs`: the configs that were applied since the last
    time of rest.  `were_cut`: the nodes that were cut off since then.  `kinds`: how often each
    action was taken.  `log`: the run's log.  `problems`: the violated claims.
    """

    machines: Machines
    chance: Random
    version: int = 0
    configs: list[Config] = Factory(list)
    were_cut: set[str] = Factory(set)
    messages: list[Message] = Factory(list)
    kinds: Counter[str] = Factory(Counter)
    log: list[str] = Factory(list)
    problems: list[str] = Factory(list)
    events: int = 0
    _replies: list[tuple[Config, asyncio.Future[Answer]]] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.machines.wiping = self._note_wiped

    @property
    def all(self) -> list[Machine]:
        return list(self.machines.all.values())

    def _note_given_up(self, config: Config) -> None:
        """Add a config, and note which messages the operator gives up with it."""
        self.configs.append(config)
        for one in self.messages:
            self._judge(one, config)

    def _judge(self, one: Message, config: Config) -> None:
        gospel = None if config.gospel is None else self.machines.all[config.gospel].broker
        if gospel is None:
            self._give_up(one, f"version {config.version} resets")
        elif gospel.label not in self._labels(one):
            self._give_up(one, f"the gospel of version {config.version} has other data")
        elif config.gospel not in one.holders | one.members:
            self._give_up(one, f"the gospel of version {config.version} was left out")
        elif self._is_joining(config.gospel or ""):
            self._give_up(one, f"the gospel of version {config.version} was giving its data up")
        elif not one.holders & config.nodes:
            self._give_up(one, f"all nodes that had it are left out of version {config.version}")
        one.members &= config.nodes

    def _note_wiped(self, broker: Broker) -> None:
        """Note the messages of a node that is wiped, if a newer config names it as the gospel."""
        host = self.machines.all[broker.name].host
        held = None if host is None else host.state.held
        now = 0 if held is None else held.config.version
        for config in self.configs:
            if config.gospel == broker.name and config.version > now:
                why = f"the gospel of version {config.version} gave its data up for version {now}"
                for one in self.messages:
                    if one.number in broker.kept:
                        self._give_up(one, why)

    def _is_joining(self, name: str) -> bool:
        host = self.machines.all[name].host
        return host is not None and host.state.status in (Status.JOINING, Status.BOOTING)

    def _labels(self, one: Message) -> set[str]:
        """Return the labels of the sets of data that have a message."""
        brokers = [each.broker for each in self.all]
        return {broker.label for broker in brokers if one.number in broker.kept}

    @staticmethod
    def _give_up(one: Message, why: str) -> None:
        one.given_up = one.given_up or why

    def _newer_config(self, machine: Machine) -> Config | None:
        """Return the newest held config if `machine` has not had it, and it names `machine`.

        The operator starts a node that was left out with this config.  Otherwise the node would end
        at once, before it learns of the config.
        """
        states = [each.host.state for each in self.all if each.host is not None]
        held = [state.held.config for state in states if state.held is not None]
        youngest = max(held, key=lambda config: config.version, default=None)
        if youngest is None or youngest.version <= machine.ended_with:
            return None
        return youngest if machine.name in youngest.nodes else None

    def _restless(self) -> list[str]:
        """Return a sentence for each node that is not at rest.

        A node is at rest if it is ready, pending, shut down or left out.
        """
        found = []
        for one in self.all:
            host = one.host
            if host is None:
                if not one.is_left_out:
                    found.append(f"{one.name} is off: {one.ended}")
                continue
            state = host.state
            if not state.runs and state.status.value not in ("pending", "shutdown"):
                found.append(
                    f"{one.name} is {state.status.value}, version {one.version}, waits for"
                    f" {sorted(state.waits_for)}: {state.why.case}; {host.failure}"
                )
        return found

    def _violations(self) -> list[str]:
        """Return a sentence for each claim that is violated at rest."""
        found = []
        ready = [one for one in self.all if one.is_ready]
        for one in ready:
            host = one.host
            if host is None or host.state.held is None:
                continue
            held = host.state.held
            for name in sorted(held.config.nodes - {one.name}):
                other = self.machines.all[name]
                if other.host is not None and other.version < held.config.version:
                    found.append(f"{one.name} has {held.config}; {name} has {other.version}")
                its = None if other.host is None else other.host.state.held
                if its is None or not other.is_ready or its.config != held.config:
                    continue
                cases = (host.state.why.case, other.host.state.why.case)  # type: ignore[union-attr]
                if one.broker.label != other.broker.label:
                    if BY_ITSELF in cases:
                        continue
                    found.append(
                        f"{one.name} and {name} are ready with {held.config}, and have the data"
                        f" {one.broker.label} and {other.broker.label}"
                    )
                elif {*one.broker.kept} != {*other.broker.kept}:
                    found.append(f"{one.name} and {name} have different messages")
                if held.ids.get(name) is None:
                    found.append(f"{one.name} does not know {name}")
        return found + self._accepted_twice() + self._lost()

    def _accepted_twice(self) -> list[str]:
        """Return a sentence for each accepted config that is not the first content of its version.

        The replies of all nodes are compared.
        """
        found, accepted = [], dict[int, Config]()
        for config, answer in self._replies:
            if answer.done() and answer.result().reply.is_accepted:
                first = accepted.setdefault(config.version, config)
                if first != config:
                    found.append(f"{config} was accepted, and {first} before it")
        return found

    def _lost(self) -> list[str]:
        """Return a sentence for each message that is lost and was not given up."""
        found = []
        for one in self.messages:
            if one.given_up:
                continue
            has = {each.name for each in self.all if one.number in each.broker.kept}
            serving = [each for each in self.all if each.is_ready and each.name in one.holders]
            lacks = [each.name for each in serving if each.name not in has]
            if lacks or not has:
                found.append(
                    f"message {one.number} of {one.label}, which {sorted(one.holders)} had, is not"
                    f" at {lacks or 'any node'}"
                )
        return found

    def _settle_messages(self) -> None:
        """Note which nodes have each message at rest, and forget old messages."""
        for one in self.messages:
            one.holders |= {each.name for each in self.all if one.number in each.broker.kept}
        self.messages = [one for one in self.messages if not one.given_up][-50:]
