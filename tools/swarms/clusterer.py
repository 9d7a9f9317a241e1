"""Random runs of the shipped Clusterer: drawn events, and an oracle that shares no code with it.

A run is a number of bursts of drawn events.  After a burst all links heal and all nodes are
started.  Then within `REST_SECONDS` of virtual time:

    each node is ready, or has ended because it is left out
    no node that a config names has an older config, if some node is ready with that config
    nodes that are ready with one config have the same list of messages, and know each other's
    identities, unless they have two sets of data, and one says that another is ready by itself

and in all steps:

    a gospel that is ready with a config, and was not left out, stays ready when the next config
    comes, unless the sender of that config has not been ready since the gospel was reset
    no two contents of one version are accepted
    no message is lost that was acknowledged by all nodes of a config, unless the operator gave it
    up: all nodes that had it were reset, or left out of a config, or a config named a gospel that
    has other data (or reset), or the gospel of a config under way was reset

Source: Clusterer, U1 to U7; docs/clusterer.md.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

from attrs import define, frozen

from joinproto.clusterer.config import Config
from joinproto.clusterer.messages import Event
from joinproto.clusterer.reading import Release
from joinproto.clusterer.state import State, Step
from tools.swarms.clusterer_machines import Machine, Machines
from tools.swarms.clusterer_oracle import GospelChecker, Message, Oracle
from tools.swarms.virtual import VirtualLoop, one_holder

REST_SECONDS = 240.0
LOOK_SECONDS = 0.5
CALM_LOOKS = 8
STOP_SECONDS = 10.0


@frozen
class Found:
    """The result of one run.  `log`: its log.  `steps`: calls of the nodes' step function.

    `events`: the number of drawn events; `kinds`: their numbers by kind.  `messages`: the number of
    published messages.
    """

    seed: int
    problems: tuple[str, ...]
    log: tuple[str, ...]
    events: int
    steps: int
    seconds: float
    kinds: Counter[str]
    messages: int


@define
class Swarm(Oracle):
    """One run: the drawn events, and the checks at rest after each burst."""

    def say(self, line: str) -> None:
        self.log.append(f"{asyncio.get_running_loop().time():9.3f}  {line}")

    async def run(self, bursts: int) -> None:
        await self._form()
        for _ in range(bursts):
            await self.rest()
            if self.problems:
                return
            await self._burst()
        await self.rest()

    async def _form(self) -> None:
        first = self._config(self.machines.names)
        for one in self.all:
            if self.chance.random() < 0.7:
                self._start(one, first if self.chance.random() < 0.5 else None)
            await self._pause()

    # -- drawn events ------------------------------------------------------------------------

    async def _burst(self) -> None:
        actions = (
            (5, self.apply), (4, self.start), (3, self.stop), (3, self.kill), (2, self.cut),
            (2, self.heal), (1, self.power), (1, self.reset), (1, self.pause), (1, self.resume),
            (2, self.publish), (1, self.apply_twice), (1, self.together),
            (1, self.readmit), (2, self.lose),
        )  # fmt: skip
        for _ in range(self.chance.randint(1, 8)):
            weights = [weight for weight, _ in actions]
            (do,) = self.chance.choices([action for _, action in actions], weights)
            self.kinds[do.__name__] += 1
            self.events += 1
            if (work := do(self.chance.choice(self.all))) is not None:
                await work
            await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(self.chance.choice((0.0, 0.01, 0.1, 0.7, 3.0, 12.0)))

    def _config(self, names: str | list[str], *, version: int | None = None) -> Config:
        if version is None:
            self.version = version = self.version + 1
        gospel = None if self.chance.random() < 0.08 else self.chance.choice(list(names))
        timeout = None if self.machines.release is Release.HEAD else self.chance.choice((0, 2, 60))
        return Config(version, frozenset(names), gospel=gospel, shutdown_timeout=timeout)

    def _some_names(self) -> list[str]:
        names = self.machines.names
        most = len(names)
        return self.chance.sample(names, min(most, self.chance.choice((most, most, 1, 2, 3))))

    def apply(self, one: Machine) -> None:
        self._apply(one, self._config(self._some_names()))

    def apply_twice(self, one: Machine) -> None:
        """Give a second content of one version to the same node, which must not take it.

        An operator must not give two contents of one version to two nodes: if both take theirs,
        the nodes stay apart until a newer config comes (U1, docs/clusterer.md).
        """
        self._apply(one, self._config(self._some_names()))
        self._apply(one, self._config(self._some_names(), version=self.version))

    def _apply(self, one: Machine, config: Config) -> None:
        answer = one.apply(config)
        self.say(f"{config}, gospel {config.gospel or 'reset'}, at {one.name}")
        if answer is not None:
            self._replies.append((config, answer))
            self._note_given_up(config)

    def _start(self, one: Machine, given: Config | None) -> None:
        if one.process is None:
            self.say(f"start {one.name}" + ("" if given is None else f" with {given}"))
            if given is not None:
                self._note_given_up(given)
            one.start(given)

    def start(self, one: Machine) -> None:
        given = self._config(self._some_names()) if self.chance.random() < 0.15 else None
        self._start(one, given)

    def readmit(self, _: Machine) -> None:
        """Start a node that was left out, with a config that names all nodes."""
        out = [each for each in self.all if each.process is None and each.is_left_out]
        if out:
            self._start(self.chance.choice(out), self._config(self.machines.names))

    def stop(self, one: Machine) -> None:
        self.say(f"stop {one.name}")
        one.stop()

    def kill(self, one: Machine) -> None:
        self.say(f"kill -9 {one.name}")
        self._kill(one)

    def _kill(self, one: Machine) -> None:
        """Kill a node, and give up each message of its configs that some member may lack.

        A killed node does not know whether another node ran longer.
        """
        for message in self.messages:
            if one.name in message.members and message.members - message.holders:
                self._give_up(message, f"{one.name} was not stopped in order")
        one.kill()

    def power(self, one: Machine) -> None:
        """Cut the power of one machine, or of all."""
        is_total = self.chance.random() < 0.3
        self.say("power cut: " + ("all" if is_total else one.name))
        for each in self.all if is_total else [one]:
            self._kill(each)
            each.lose_power(self.chance)

    async def together(self, one: Machine) -> None:
        """Stop all nodes, start them at one moment, and then give one of them a config."""
        self.say("all are stopped, and started again")
        for each in self.all:
            each.stop()
        await asyncio.sleep(STOP_SECONDS)
        for each in self.all:
            each.start(None)
        await asyncio.sleep(self.chance.choice((0.0, 0.1, 0.5, 0.7, 1.0, 1.5)))
        self._apply(one, self._config(self.machines.names))

    def reset(self, one: Machine) -> None:
        self.say(f"reset {one.name}")
        one.reset()
        gospels = {config.gospel for config in self.configs}
        for message in self.messages:
            message.holders.discard(one.name)
            if not message.holders:
                self._give_up(message, "all nodes that had it were reset")
            elif one.name in gospels:
                self._give_up(message, f"{one.name} was reset while it was to be the gospel")

    def cut(self, one: Machine) -> None:
        other = self.chance.choice([each for each in self.all if each is not one])
        self.say(f"cut {one.name} from {other.name}")
        self.machines.links.cut_pair(one.name, other.name)
        self.were_cut |= {one.name, other.name}

    def lose(self, one: Machine) -> None:
        other = self.chance.choice([each for each in self.all if each is not one])
        self.say(f"{one.name} loses its connection with {other.name}")
        self.machines.links.lose(one.name, other.name)

    def heal(self, _: Machine) -> None:
        self.say("heal")
        self.machines.links.heal()

    def pause(self, one: Machine) -> None:
        if one.broker.runs:
            self.say(f"pause the broker of {one.name}")
            one.broker.paused = True

    def resume(self, _: Machine) -> None:
        for one in self.all:
            one.broker.resume()

    def publish(self, one: Machine) -> None:
        """Publish a message, if all nodes of a config that are up run together."""
        host = one.host
        if host is None or not one.is_ready or not one.broker.serves or host.state.held is None:
            return
        config = host.state.held.config
        if not config.version:
            return  # the data of a blank machine count only until a config names it elsewhere
        up = [each for each in self.all if each.name in config.nodes and each.process is not None]
        together = [each for each in up if each.is_ready and each.host is not None
                    and each.host.state.held is not None
                    and each.host.state.held.config == config and each.broker.serves]  # fmt: skip
        links = self.machines.links
        if len(together) < len(up) or any(
            not links.are_open(a.name, b.name) for a in up for b in up if a is not b
        ):
            return
        if host.state.record.ran - {each.name for each in up}:
            return  # a broker acknowledges only after it has noticed which nodes are gone
        number = self.machines.next_number("message")
        have = one.broker.publish(number)
        if {each.name for each in up} <= {*have}:
            holders = {each.name for each in up}
            off = [self.machines.all[name] for name in config.nodes - holders]
            if any(each.ended != "stopped" or each.name in self.were_cut for each in off):
                return  # it is unknown what these nodes knew when they ended
            message = Message(number, one.broker.label, holders, config.nodes)
            self.messages.append(message)
            for each in self.configs:  # some may still be under way
                if each.version > config.version:
                    self._judge(message, each)

    # -- claims ----------------------------------------------------------------------------

    async def rest(self) -> None:
        """Wait until all nodes are at rest, and check the claims.

        If a node waits for a node that is left out, all get a newer config.
        """
        self.say("all links heal, and all nodes are started")
        self.machines.links.heal()
        found = await self._rested()
        if found and not self.machines.faults and self._waits_for_left_out():
            config = self._config(self.machines.names)
            self.say(
                f"a node waits for one that is left out: {config}, gospel {config.gospel}, at all"
            )
            self._note_given_up(config)
            for one in self.all:
                if one.process is None:
                    one.start(config)
                else:
                    one.apply(config)
            found = await self._rested()
        self.problems += self.machines.faults + found
        self.configs, self.were_cut = [], set()
        if not found:
            self._settle_messages()

    async def _rested(self) -> list[str]:
        """Return [] after `CALM_LOOKS` looks without an error, else the errors at the end."""
        loop = asyncio.get_running_loop()
        end = loop.time() + REST_SECONDS
        found = ["never looked"]
        calm = 0
        while loop.time() < end and calm < CALM_LOOKS and not self.machines.faults:
            self.resume(self.all[0])
            for one in self.all:
                if one.name in self.were_cut and one.broker.serves:
                    one.broker.handle_partition()
                if one.process is None:
                    self._start_again(one)
            await asyncio.sleep(LOOK_SECONDS)
            found = self._restless() or self._violations()
            calm = 0 if found else calm + 1
        return found

    def _start_again(self, one: Machine) -> None:
        if not one.is_left_out:
            one.start(None)
        elif (config := self._newer_config(one)) is not None:
            one.start(config)

    def _waits_for_left_out(self) -> bool:
        states = [one.host.state for one in self.all if one.host is not None]
        waited = {name for state in states for name in state.waits_for if state.waits}
        out = {one.name for one in self.all if one.host is None and one.is_left_out}
        out |= {state.who.me for state in states if state.status.value in ("pending", "shutdown")}
        return bool(waited & out)


def run(seed: int, bursts: int, names: str = "") -> Found:
    from joinproto.clusterer import coordinator

    chance = Random(seed)
    names = names or "abcd"[: chance.choice((2, 3, 3, 4))]
    release = chance.choice((Release.SEED, Release.HEAD))
    machines = Machines(names, chance, release)
    swarm = Swarm(machines, chance)
    steps, gospels = 0, GospelChecker()
    step = coordinator.step

    def counted(state: State, event: Event) -> Step:
        nonlocal steps
        steps += 1
        found = step(state, event)
        if (why := gospels.check_step(state, event, found.state)) is not None:
            machines.faults.append(why)
        return found

    async def play() -> None:
        try:
            await swarm.run(bursts)
        finally:
            for one in swarm.all:
                one.kill()
            await asyncio.sleep(30.0)

    coordinator.step = counted
    try:
        with one_holder(), asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(play())
            seconds = runner.get_loop().time()
    finally:
        coordinator.step = step
    return Found(
        seed=seed,
        problems=tuple(swarm.problems),
        log=tuple(swarm.log),
        events=swarm.events,
        steps=steps,
        seconds=seconds,
        kinds=swarm.kinds,
        messages=machines.next_number("message") - 1,
    )
