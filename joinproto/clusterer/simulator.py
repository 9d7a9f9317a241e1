"""Machines, network and time of a story, in one process: hosts around the steps of `coordinator`.

The network keeps the order of messages from one node to another, but no other order; a link that is
cut loses the messages under way.  Polling takes no story time.  A round without a decision is
repeated only after a change, or up to `RETRIES_MAX` times after a lock was refused or the round was
given up; so a step of a story comes to an end.

The caller chooses the next event: `choose(n)` returns the number of one of n possible events.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from heapq import heappop, heappush
from typing import Any, get_args

from attrs import Factory, define, field, frozen

from joinproto.clusterer import broker, coordinator
from joinproto.clusterer.actions import do
from joinproto.clusterer.broker import Disk
from joinproto.clusterer.identities import of_node
from joinproto.clusterer.messages import (
    BootBroker,
    Booted,
    BootFailed,
    BootNothing,
    BrokerGone,
    Content,
    Down,
    Effect,
    Event,
    NewConfig,
    Poke,
    Question,
    Receive,
    Reported,
    Silence,
    Tick,
    TimeUp,
    token_of,
)
from joinproto.clusterer.perform import perform
from joinproto.clusterer.reading import Release
from joinproto.clusterer.simulator_ports import MachinePorts
from joinproto.clusterer.state import State
from joinproto.clusterer.status import WAITING, Status
from joinproto.clusterer.story import Action, Op, Story
from joinproto.clusterer.variants import Variant
from joinproto.errors import LimitReached
from joinproto.machine.world import MachineWorld

Choose = Callable[[int], int]
Queues = dict[str, deque[Action]]
QUESTIONS, ANSWERS = get_args(Question), get_args(Reported)
ACTIONS_MAX = 200_000
"""The limit of events in one step of a story; a step with more would go on for ever."""
PLAIN_MAX = 1_000
"""In the plain order, nodes poll in turn after this many events per machine in one step.
Otherwise the node with the least name could begin so often that no other round ends."""
TOKENS = 16
"""A node numbers its rounds modulo this.  Links keep the order of messages, so no answer is so late
that it could belong to a later round with the same number."""
RETRIES_MAX = 8
"""The limit of rounds of a node that are repeated without any other change, after a lock was
refused or the round was given up.  Real nodes repeat them for ever."""


@define
class Machine:
    """One machine.

    `state`: None if the node is off; `why`: the event that stopped it.  `boots`: the boot that its
    broker is about to make.  `stirred`: something has changed since its last round began, so it
    polls again.  `token`: the number of its last round; `retries`: how many rounds of this step
    were repeated.  `ends_at`: when its shutdown timer runs out, in story seconds.
    """

    name: str
    disk: Disk = Factory(Disk)
    state: State | None = None
    why: str = "never started"
    boots: BootBroker | BootNothing | None = None
    stirred: bool = False
    token: int = 0
    retries: int = 0
    ends_at: float | None = None

    @property
    def is_up(self) -> bool:
        return self.state is not None


def blank(names: Iterable[str]) -> dict[str, Machine]:
    """Return machines that were never started."""
    return {name: Machine(name) for name in names}


class Actions(Enum):
    """The time of a step's actions in a random order: before, between or after other events.

    A uniform choice alone would seldom do an action after all consequences of another action.
    """

    FIRST = "first"
    BETWEEN = "between"
    LAST = "last"


@frozen
class Act:
    """An event that may happen now.  `name`: no other possible event has it."""

    name: str
    do: Callable[..., None]
    args: tuple[Any, ...]


@define(kw_only=True)
class Simulator(MachineWorld[Event, Effect]):
    """All machines of one run, and their network.

    `rules`, `release`: the variant and release of all nodes.  `cut`: the pairs of nodes whose link
    is cut.  `now`: the story's time in seconds.  `made`: for each name, how many labels or
    identities were made.

    For the current step: `before`: the data of each node at its beginning; `wiped`: the nodes that
    have deleted these data; `replies`, `events`: the step's report.
    """

    machines: dict[str, Machine] = field(kw_only=False)
    choose: Choose | None = field(default=None, kw_only=False)
    rules: Variant = Variant.OURS
    release: Release = Release.SEED
    cut: set[frozenset[str]] = Factory(set)
    now: float = 0.0
    made: dict[str, int] = Factory(dict)
    wiped: set[str] = Factory(set)
    before: dict[str, str | None] = Factory(dict)
    replies: dict[str, str] = Factory(dict)
    events: list[str] = Factory(list)
    actions_when: Actions = Actions.FIRST
    # In the plain order, `_full` is a heap of the numbers of links that have messages; `_keys` and
    # `_numbers` map numbers to links and back.
    _numbers: dict[tuple[str, str], int] = Factory(dict)
    _keys: list[tuple[str, str]] = Factory(list)
    _full: list[int] = Factory(list)

    @classmethod
    def of_story(cls, story: Story, choose: Choose | None = None) -> Simulator:
        """Return blank machines, on which the story begins."""
        return Simulator(blank(story.nodes), choose, rules=story.variant, release=story.release)

    @property
    def disks(self) -> dict[str, Disk]:
        return {name: machine.disk for name, machine in self.machines.items()}

    # -- a step ------------------------------------------------------------------------------

    def play(self, actions: tuple[Action, ...]) -> None:
        """Do a step's actions and all events that follow, until no more events can happen."""
        self.begin()
        waits = [action for action in actions if action.op is Op.WAIT]
        queues = queued(actions)
        if self.choose is None:
            for action in actions:
                do(self, action)
            queues = {}
        else:
            self.actions_when = tuple(Actions)[self.choose(len(Actions))]
        self._settle(queues)
        for action in waits:
            self._wait(action.seconds)

    def begin(self) -> None:
        """Begin a step with an empty report."""
        self.wiped, self.replies = set(), {}
        self.before = {name: disk.data for name, disk in self.disks.items()}
        for machine in self.machines.values():
            machine.retries = 0

    def _settle(self, queues: Queues) -> None:
        for number in range(ACTIONS_MAX):
            acts = self.possible(queues)
            if not acts:
                return
            if self.choose is not None:
                at = self.choose(len(acts))
            else:
                at = 0 if number < PLAIN_MAX * len(self.machines) else number % len(acts)
            acts[at].do(*acts[at].args)
        raise LimitReached(
            f"a step of the story has not come to rest after {ACTIONS_MAX:,} events",
            next="report the story to the authors of joinproto: its events repeat for ever",
        )

    def possible(self, queues: Queues) -> list[Act]:
        """Return the events that may happen now.

        In the plain order, return one message; without messages, the boots; without boots, the
        polls and the pokes.
        """
        acts: list[Act] = [Act(f"do {key}", self._action, (queues, key)) for key in queues]
        if acts and self.actions_when is Actions.FIRST:
            return acts
        actions, acts = acts, []
        if self.choose is None and (full := self._first_full()) is not None:
            return [Act(f"{full[0]} to {full[1]}", self.deliver, full)]
        acts += [
            Act(f"{key[0]} to {key[1]}", self.deliver, key)
            for key, link in (self.links.items() if self.choose is not None else ())
            if link
        ]
        up = [machine for _, machine in sorted(self.machines.items()) if machine.is_up]
        acts += [Act(f"boot {one.name}", self._boot, (one,)) for one in up if one.boots is not None]
        if self.choose is None and acts:
            return acts
        if self.actions_when is Actions.BETWEEN:
            acts += actions
        for one in up:
            state = one.state
            if state is None:
                continue
            if state.status in WAITING and state.round is None and one.stirred:
                acts.append(Act(f"poll {one.name}", self._tick, (one,)))
            if state.status is Status.READY and any(
                self._answers(one.name, name) for name in state.dead
            ):
                acts.append(Act(f"poke {one.name}", self.tell, (one.name, Poke())))
        return acts or actions

    def _action(self, queues: Queues, key: str) -> None:
        action = queues[key].popleft()
        if not queues[key]:
            del queues[key]
        do(self, action)

    def _tick(self, machine: Machine) -> None:
        machine.stirred = False
        machine.token = (machine.token + 1) % TOKENS
        self.tell(machine.name, Tick(machine.token))

    def stir(self) -> None:
        """Make every waiting node begin a new round."""
        for machine in self.machines.values():
            machine.stirred = True

    def _boot(self, machine: Machine) -> None:
        does, machine.boots = machine.boots, None
        if does is None:
            return
        name = machine.name
        boots = isinstance(does, BootBroker) and broker.boot(
            name, does, self.disks, self.reaches, lambda: self.label(name)
        )
        self.tell(name, Booted() if boots else BootFailed())

    def count(self, what: str) -> int:
        """Return the next number, from 1, for a label or an identity; each `what` has its own."""
        self.made[what] = self.made.get(what, 0) + 1
        return self.made[what]

    def label(self, name: str) -> str:
        """Return the label of a new set of data."""
        return f"{name}/{self.count(name)}"

    def create(self, name: str) -> None:
        """Add a blank machine, unless there is one of this name."""
        self.machines.setdefault(name, Machine(name))

    # -- the network -------------------------------------------------------------------------

    def reaches(self, one: str, other: str) -> bool:
        return not self.cut or frozenset((one, other)) not in self.cut

    def _answers(self, one: str, other: str) -> bool:
        return self.runs(other) and self.reaches(one, other)

    def send(self, sender: str, to: str, content: Content) -> None:
        if self._answers(sender, to):
            link = self.links.get((sender, to), ())
            if self.choose is None and not link:
                number = self._numbers.setdefault((sender, to), len(self._keys))
                if number == len(self._keys):
                    self._keys.append((sender, to))
                heappush(self._full, number)
            self.links[sender, to] = (*link, content)
        else:
            self._lost(sender, to, content)

    def _first_full(self) -> tuple[str, str] | None:
        """Return the link with messages that was used first, or None."""
        while self._full:
            key = self._keys[self._full[0]]
            if self.links[key]:
                return key
            heappop(self._full)
        return None

    def _lost(self, sender: str, to: str, content: Content) -> None:
        """Tell the sender of a lost question or config that the receiver does not get it."""
        if not self.runs(sender):
            return
        if isinstance(content, QUESTIONS):
            self.tell(sender, Silence(to, token_of(content)))
        elif isinstance(content, NewConfig):
            self.tell(sender, Down(to))

    def deliver(self, sender: str, to: str) -> None:
        content = self.take(sender, to)
        if isinstance(content, NewConfig):
            self.events.append(f"{sender} tells {to} of {content.held.config}")
        if self.runs(to):
            self.tell(to, Receive(sender, content))

    def drop(self, lost: Callable[[str, str], bool]) -> None:
        """Lose the messages on the links for which `lost` holds; their questions get no answer."""
        for (sender, to), link in list(self.links.items()):
            if lost(sender, to):
                self.links[sender, to] = ()
                for content in link:
                    self._lost(sender, to, content)
        for machine in list(self.machines.values()):
            round_ = None if machine.state is None else machine.state.round
            for name in sorted(round_.left) if round_ is not None else ():
                is_cut = lost(machine.name, name) or lost(name, machine.name)
                link = self.links.get((name, machine.name), ())
                if round_ and is_cut and not any(isinstance(one, ANSWERS) for one in link):
                    self.tell(machine.name, Silence(name, round_.token))

    # -- a node ------------------------------------------------------------------------------

    def runs(self, name: str) -> bool:
        machine = self.machines.get(name)
        return machine is not None and machine.is_up

    def step(self, name: str, event: Event) -> tuple[Effect, ...]:
        """Give a node an event; a node that is off ignores it."""
        machine = self.machines[name]
        before = machine.state
        if before is None:
            return ()
        step = coordinator.step(before, event)
        after = machine.state = step.state
        if after.status is not before.status:
            self.events.append(f"{machine.name}: {after.status.value} ({after.why.case})")
        if after is not before and _essence(after) != _essence(before):
            self.stir()
        elif before.round is not None and after.round is None and _is_repeated(after, event):
            machine.retries += 1
            if machine.retries <= RETRIES_MAX:
                machine.stirred = True
        return step.effects

    def perform(self, name: str, effect: Effect) -> None:
        perform(effect, MachinePorts(self, self.machines[name]))

    def stop_broker(self, machine: Machine) -> None:
        """Stop a broker.  In the other variants than ours, the others' brokers report its end."""
        runs, machine.disk.runs = machine.disk.runs, False
        self.stir()
        if runs and self.rules is not Variant.OURS:
            for name, other in self.machines.items():
                if other is not machine and other.disk.runs and self.reaches(name, machine.name):
                    self.tell(name, BrokerGone(machine.name))

    def off(self, machine: Machine, why: str, *, loses: bool = False) -> None:
        """End the node.  `loses`: the messages that it has sent are lost, too."""
        if machine.state is None:
            return
        machine.state, machine.why, machine.boots = None, why, None
        machine.ends_at = None
        self.stop_broker(machine)
        name = machine.name
        self.drop(lambda sender, to: to == name or (loses and sender == name))
        self.gone(name)

    def gone(self, name: str) -> None:
        """Tell all others that the connections with a node have ended."""
        for other in self.machines:
            if self.runs(other):
                self.tell(other, Down(name))

    # -- time --------------------------------------------------------------------------------

    def _wait(self, seconds: float) -> None:
        """Advance the story's time; shutdown timers run out in the order of their times."""
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
                self.tell(name, TimeUp(machine.state.timer))
            self._settle({})


def queued(actions: tuple[Action, ...]) -> Queues:
    """Return the actions of a step except waits, by node; a node's actions keep their order."""
    queues: Queues = {}
    for action in actions:
        if action.op is not Op.WAIT:
            queues.setdefault(action.node or f"{action.op.value} {len(queues)}", deque()).append(
                action
            )
    return queues


def _is_repeated(state: State, event: Event) -> bool:
    """Return whether a round that has ended must be repeated although no node has changed.

    That is a round that was given up, or that a refused lock ended.  Otherwise: in the document's
    variant, a node whose identity a does not know asks a; a gives up its round, begins again with
    its old notes, and polls no more.
    """
    is_answer = isinstance(event, Silence) or (
        isinstance(event, Receive) and isinstance(event.content, ANSWERS)
    )
    return not is_answer or state.why.case == "a lock is held by another"


def _essence(state: State) -> tuple[Any, ...]:
    """Return the parts of the state that another node's round can notice."""
    return (state.status, state.held, state.achieved, state.awaited, state.identity)


def identity_of(machine: Machine) -> str | None:
    """Return the identity of a machine's node, without its data."""
    if machine.state is not None:
        return of_node(machine.state.identity)
    return of_node(machine.disk.identity)
