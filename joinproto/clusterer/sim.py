"""Machines, network and time of a story, in one process: hosts around the steps of `coordinator`.

The network keeps the order of messages between two nodes and nothing else; a link that is cut
loses what is under way.  Polling takes no story time, and a round that led nowhere is repeated
only after something has changed; so a step of a story comes to an end.

Chance is its caller's: `choose(n)` says which of n things that may happen now does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Any

from attrs import Factory, define, frozen

from joinproto.clusterer import broker, coordinator
from joinproto.clusterer.broker import Disk
from joinproto.clusterer.config import Config
from joinproto.clusterer.identities import of_node
from joinproto.clusterer.messages import (
    Answer,
    Apply,
    Arm,
    AskAwaited,
    AskLock,
    AskStatus,
    BootBroker,
    Booted,
    Down,
    Keep,
    NewConfig,
    Off,
    Poke,
    Receive,
    Reply,
    Send,
    Silence,
    Start,
    StopBroker,
    Tick,
    TimeUp,
    Wipe,
)
from joinproto.clusterer.reading import NotConfig, of_json
from joinproto.clusterer.state import State, Who
from joinproto.clusterer.status import WAITING, Status
from joinproto.clusterer.story import Deed, Op, Story
from joinproto.errors import LimitReached

Choose = Callable[[int], int]
ACTIONS_MAX = 200_000
"""In one step of a story; beyond that it would go on for ever."""
RETRIES_MAX = 8
"""Rounds that a refused lock is repeated without anything else having changed."""


@define
class Machine:
    """One machine.  `state` None: the node is off, and `why` says since what.

    `boots`: what its broker is about to do.  `seen`: the count of changes at which its last
    round began.  `ends_at`: when its shutdown timer runs out, in story seconds.
    """

    name: str
    disk: Disk = Factory(Disk)
    state: State | None = None
    why: str = "never started"
    boots: BootBroker | None = None
    seen: int = -1
    retries: int = 0
    ends_at: float | None = None
    starts: int = 0

    @property
    def is_up(self) -> bool:
        return self.state is not None


class Deeds(Enum):
    """When a step's deeds are done, where chance decides: uniform choice alone meets few of the
    orders in which one deed comes after all that follows from another.
    """

    FIRST = "first"
    BETWEEN = "between"
    LAST = "last"


@frozen
class Act:
    """Something that may happen now."""

    do: Callable[..., None]
    args: tuple[Any, ...]


class Sim:
    """All machines of one run of a story."""

    def __init__(self, story: Story, choose: Choose | None = None) -> None:
        self.story = story
        self.choose = choose
        self.machines: dict[str, Machine] = {}
        self.disks: dict[str, Disk] = {}
        self.links: dict[tuple[str, str], deque[Any]] = {}
        self.cut: set[frozenset[str]] = set()
        self.now = 0.0
        self.changes = 0
        self.tokens = 0
        self.made: dict[str, int] = {}
        self.wiped: set[str] = set()
        self.before: dict[str, str | None] = {}
        self.replies: dict[str, str] = {}
        self.events: list[str] = []
        self._deeds = Deeds.FIRST
        for name in story.nodes:
            self._create(name)

    # -- a step ------------------------------------------------------------------------------

    def play(self, deeds: tuple[Deed, ...]) -> None:
        """Do what a step says, and all that follows until nothing changes any more."""
        self.wiped, self.replies = set(), {}
        self.before = {name: disk.data for name, disk in self.disks.items()}
        for machine in self.machines.values():
            machine.retries = 0
        waits = [deed for deed in deeds if deed.op is Op.WAIT]
        queues: dict[str, deque[Deed]] = {}
        for deed in deeds:
            if deed.op is not Op.WAIT:
                queues.setdefault(deed.node or f"{deed.op.value} {len(queues)}", deque()).append(
                    deed
                )
        if self.choose is None:
            for deed in deeds:
                self._do(deed)
            queues = {}
        else:
            self._deeds = tuple(Deeds)[self.choose(len(Deeds))]
        self._settle(queues)
        for deed in waits:
            self._wait(deed.seconds)

    def _settle(self, queues: dict[str, deque[Deed]]) -> None:
        for _ in range(ACTIONS_MAX):
            acts = self._possible(queues)
            if not acts:
                return
            chosen = acts[self.choose(len(acts)) if self.choose is not None else 0]
            chosen.do(*chosen.args)
        raise LimitReached(
            f"a step of the story has not come to rest after {ACTIONS_MAX:,} events",
            next="send the story: something repeats for ever",
        )

    def _possible(self, queues: dict[str, deque[Deed]]) -> list[Act]:
        """Return what may happen now; without chance, the first: messages, boots, then polls."""
        acts: list[Act] = [Act(self._deed, (queues, key)) for key in queues]
        if acts and self._deeds is Deeds.FIRST:
            return acts
        deeds, acts = acts, []
        acts += [Act(self._deliver, key) for key, link in self.links.items() if link]
        if self.choose is None and acts:
            return acts
        up = [machine for _, machine in sorted(self.machines.items()) if machine.is_up]
        acts += [Act(self._boot, (one,)) for one in up if one.boots is not None]
        if self.choose is None and acts:
            return acts
        if self._deeds is Deeds.BETWEEN:
            acts += deeds
        for one in up:
            state = one.state
            if state is None:
                continue
            if state.status in WAITING and state.round is None and one.seen != self.changes:
                acts.append(Act(self._tick, (one,)))
            if state.status is Status.READY and any(
                self._answers(one.name, name) for name in state.dead
            ):
                acts.append(Act(self._step, (one, Poke())))
        return acts or deeds

    def _deed(self, queues: dict[str, deque[Deed]], key: str) -> None:
        deed = queues[key].popleft()
        if not queues[key]:
            del queues[key]
        self._do(deed)

    def _tick(self, machine: Machine) -> None:
        machine.seen = self.changes
        self.tokens += 1
        self._step(machine, Tick(self.tokens, machine.disk.record))

    def _boot(self, machine: Machine) -> None:
        does, machine.boots = machine.boots, None
        if does is None:
            return
        broker.boot(machine.name, does, self.disks, self.reaches, lambda: self._label(machine.name))
        self._step(machine, Booted())

    def _label(self, node: str) -> str:
        self.made[node] = self.made.get(node, 0) + 1
        return f"{node}/{self.made[node]}"

    # -- the network -------------------------------------------------------------------------

    def reaches(self, one: str, other: str) -> bool:
        return not self.cut or frozenset((one, other)) not in self.cut

    def _answers(self, one: str, other: str) -> bool:
        machine = self.machines.get(other)
        return machine is not None and machine.is_up and self.reaches(one, other)

    def _send(self, sender: str, to: str, content: Any) -> None:
        if self._answers(sender, to):
            self.links.setdefault((sender, to), deque()).append(content)
        else:
            self._lost(sender, to, content)

    def _lost(self, sender: str, to: str, content: Any) -> None:
        """Tell whoever has asked that no answer comes, and whoever tells that nobody heard."""
        machine = self.machines.get(sender)
        if machine is None or not machine.is_up:
            return
        if isinstance(content, AskStatus | AskAwaited | AskLock):
            self._step(machine, Silence(to, content.token))
        elif isinstance(content, NewConfig):
            self._step(machine, Down(to))

    def _deliver(self, sender: str, to: str) -> None:
        content = self.links[sender, to].popleft()
        if isinstance(content, NewConfig):
            self.events.append(f"{sender} tells {to} of {content.held.config}")
        machine = self.machines.get(to)
        if machine is not None and machine.is_up:
            self._step(machine, Receive(sender, content))

    def _drop(self, lost: Callable[[str, str], bool]) -> None:
        """Lose what is under way on these links; a question is answered by silence."""
        for (sender, to), link in list(self.links.items()):
            if not lost(sender, to):
                continue
            contents = list(link)
            link.clear()
            for content in contents:
                self._lost(sender, to, content)
        for machine in list(self.machines.values()):
            round_ = None if machine.state is None else machine.state.round
            if round_ is None:
                continue
            for name in sorted(round_.left):
                if lost(machine.name, name) or lost(name, machine.name):
                    self._step(machine, Silence(name, round_.token))

    # -- a node ------------------------------------------------------------------------------

    def _step(self, machine: Machine, event: Any) -> None:
        before = machine.state
        if before is None:
            return
        step = coordinator.step(before, event)
        after = machine.state = step.state
        if after.status is not before.status:
            self.events.append(f"{machine.name}: {after.status.value} ({after.why.case})")
        if after is not before and _essence(after) != _essence(before):
            self.changes += 1
        elif after.why.case == "a lock is held by another" and before.round is not None:
            machine.retries += 1
            if machine.retries <= RETRIES_MAX:
                machine.seen = -1
        for effect in step.effects:
            self._perform(machine, effect)

    def _perform(self, machine: Machine, effect: Any) -> None:
        disk = machine.disk
        match effect:
            case Send(to, content):
                self._send(machine.name, to, content)
            case Keep(held, identity):
                disk.stored, disk.identity = held, identity
            case Wipe():
                if disk.data is not None and disk.data == self.before.get(machine.name):
                    self.wiped.add(machine.name)
                broker.wipe(disk)
            case StopBroker():
                broker.stop(machine.name, self.disks)
                self.changes += 1
            case BootBroker():
                machine.boots = effect
            case Arm(seconds):
                machine.ends_at = None if seconds is None else self.now + seconds
            case Answer(reply):
                self.replies[machine.name] = reply.value
            case Off(why):
                self._off(machine, why)

    def _off(self, machine: Machine, why: str) -> None:
        if machine.state is None:
            return
        machine.state, machine.why, machine.boots = None, why, None
        machine.ends_at = None
        broker.stop(machine.name, self.disks)
        self.changes += 1
        name = machine.name
        self._drop(lambda sender, to: name in (sender, to))
        for other in self.machines.values():
            if other.is_up:
                self._step(other, Down(name))

    # -- deeds -------------------------------------------------------------------------------

    def _create(self, name: str) -> None:
        if name not in self.machines:
            machine = Machine(name)
            self.machines[name], self.disks[name] = machine, machine.disk

    def _do(self, deed: Deed) -> None:
        name = deed.node or ""
        self.events.append(f"{deed.op.value} {name}".strip())
        machine = self.machines.get(name)
        match deed.op:
            case Op.CREATE:
                self._create(name)
            case Op.CUT:
                self._cut(deed)
            case Op.HEAL:
                self._heal(deed)
            case _ if machine is None:
                if deed.op is Op.APPLY:
                    self.replies[name] = Reply.OFF.value
            case Op.START:
                self._start(machine, deed)
            case Op.STOP | Op.CRASH:
                self._off(machine, "stopped" if deed.op is Op.STOP else "crashed")
            case Op.RESET:
                self._off(machine, "reset")
                machine.why = "reset"
                machine.disk = self.disks[name] = Disk()
            case Op.DELETE:
                self._off(machine, "deleted")
                del self.machines[name], self.disks[name]
            case Op.APPLY:
                self.replies[name] = Reply.OFF.value
                self._step(machine, Apply(self._config(deed)))

    def _start(self, machine: Machine, deed: Deed) -> None:
        if machine.is_up:
            return
        machine.starts += 1
        machine.seen, machine.retries = -1, 0
        who = Who(machine.name, self.story.variant, self.story.release)
        machine.state = State(who=who)
        fresh = f"{machine.name}#{self._fresh(machine.name)}"
        start = Start(record=machine.disk.record, given=self._config(deed), fresh=fresh)
        self._step(machine, start)

    def _fresh(self, name: str) -> int:
        key = f"{name}#"
        self.made[key] = self.made.get(key, 0) + 1
        return self.made[key]

    def _config(self, deed: Deed) -> Config | None:
        if deed.config is None:
            return None
        try:
            return of_json(deed.config, self.story.release).config
        except NotConfig:
            return None

    def _cut(self, deed: Deed) -> None:
        left, right = deed.between or ((), ())
        pairs = {frozenset((one, other)) for one in left for other in right if one != other}
        self.cut |= pairs
        self.changes += 1
        self._drop(lambda sender, to: frozenset((sender, to)) in pairs)
        for one, other in (sorted(pair) for pair in pairs):
            for name, gone in ((one, other), (other, one)):
                disk = self.disks.get(name)
                if disk is not None and disk.runs:
                    disk.ran -= {gone}
                machine = self.machines.get(name)
                if machine is not None:
                    self._step(machine, Down(gone))

    def _heal(self, deed: Deed) -> None:
        if deed.between is None:
            self.cut.clear()
        else:
            left, right = deed.between
            self.cut -= {frozenset((one, other)) for one in left for other in right}
        self.changes += 1
        for name, disk in self.disks.items():
            if disk.runs:
                disk.ran |= set(broker.cluster(name, self.disks, self.reaches))

    def _wait(self, seconds: float) -> None:
        """Let story time pass; shutdown timers run out in their order."""
        until = self.now + seconds
        while True:
            due = [
                (one.ends_at, name)
                for name, one in self.machines.items()
                if one.ends_at is not None and one.ends_at <= until
            ]
            if not due:
                self.now = until
                return
            at, name = min(due)
            self.now = max(self.now, at)
            machine = self.machines[name]
            machine.ends_at = None
            if machine.state is not None:
                self._step(machine, TimeUp(machine.state.timer))
            self._settle({})


def _essence(state: State) -> tuple[Any, ...]:
    """Return what another node's round could find changed."""
    return (state.status, state.held, state.achieved, state.awaited, state.identity)


def identity_of(machine: Machine) -> str | None:
    """Return the identity of the node, whatever its data."""
    if machine.state is not None:
        return of_node(machine.state.identity)
    return of_node(machine.disk.identity)
