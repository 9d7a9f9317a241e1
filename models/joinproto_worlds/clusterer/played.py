"""A story as the one member of a world: the events inside a step of the story come in any order.

Source: Clusterer; the scenes are in `scenes.py`, the claims in `claims.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum
from itertools import permutations
from typing import Any, ClassVar

from attrs import Factory, define, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.clusterer.actions import do
from joinproto.clusterer.broker import Disk
from joinproto.clusterer.config import Config, Held
from joinproto.clusterer.identities import of_node
from joinproto.clusterer.locking import least
from joinproto.clusterer.messages import (
    AskAwaited,
    AskLock,
    AskService,
    AskStatus,
    Awaited,
    Content,
    Down,
    Effect,
    Keep,
    KeepMembers,
    Members,
    Question,
    ServiceTold,
    Told,
)
from joinproto.clusterer.simulator import (
    Act,
    Actions,
    Machine,
    Queues,
    Simulator,
    blank,
    queued,
)
from joinproto.clusterer.state import RoundKind, State
from joinproto.clusterer.story import Action, Op
from joinproto.machine.world import Death
from joinproto_worlds.clusterer.scenes import Scene, scene
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation

EAGER = AskStatus | Told | AskAwaited | Awaited | AskService | ServiceTold
"""The questions of rounds and their answers, but not those about locks."""
KILLED = "killed"


class LinkEnd(Enum):
    """A mark on a link: the sender closed the connection here, and opens another afterwards."""

    END = "end"


END = LinkEnd.END


@frozen
class Loss:
    """A node loses its connection with another node, which notices that later.

    `arrives`: whether messages that `node` sent before still arrive.
    """

    node: str
    other: str
    arrives: bool

    def __str__(self) -> str:
        sent = ", and what it sent arrives" if self.arrives else ""
        return f"{self.node} loses its connection with {self.other}{sent}"


@frozen
class NodeView:
    """The observation of a machine.  `status`: "off" where no node runs.  `stored`: the version on
    its disk.  `why`: why no node runs.

    `first`: its broker boots, or runs, as the first broker of its config.  `runs`: whether its
    broker runs.  `knows`: the nodes of its config whose identities it knows.
    """

    name: str
    status: str
    config: Config | None
    stored: int | None
    data: str | None
    why: str
    first: bool
    runs: bool
    knows: frozenset[str]

    @property
    def ready(self) -> bool:
        return self.status == "ready"

    def __str__(self) -> str:
        version = "" if self.config is None else f" v{self.config.version}"
        return f"{self.name} {self.status}{version} {self.data or '-'}"


@frozen
class SceneView:
    """The observation of all machines.  `step`: the next step of the story.  `ended`: all steps of
    the story were taken, and no event is left.

    `broken`: errors that no single state shows, such as a version that went down.
    """

    nodes: tuple[NodeView, ...]
    step: int
    ended: bool
    broken: frozenset[str]

    def __str__(self) -> str:
        return "; ".join(map(str, self.nodes))

    def of(self, name: str) -> NodeView:
        """Return one machine; there is one of this name in every scene that asks."""
        return next(one for one in self.nodes if one.name == name)

    @property
    def ready(self) -> tuple[NodeView, ...]:
        return tuple(one for one in self.nodes if one.ready)


mutated = inside(lambda played: mutation(played.mutant))


@define(kw_only=True)
class RunningScene(Simulator):
    """A scene under way.  `mutant`: the rule that is left out.

    `at`: the next step of the story; -1: the story has not begun.  `queues`: the events of the last
    step that have not happened yet.
    `kills`: how often a node may still be killed before an effect.  A killed node is started again
    before the story continues.  `delivers`: its messages under way may still arrive.  `tears_too`:
    its power may be cut as well, which takes its broker and its unsynced writes.  `is_half_open`:
    connections end at one end first; `losses`: how often a connection may still do so while both
    nodes run.
    """

    write_effects: ClassVar[tuple[type, ...]] = (Keep, KeepMembers)

    title: str
    variant: str
    mutant: str | None
    kills: int
    delivers: bool
    tears_too: bool = False
    is_half_open: bool = False
    losses: int = 0
    at: int = -1
    queues: Queues = Factory(dict)
    broken: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        title: str,
        variant: str,
        mutant: str | None = None,
        kills: int = 0,
        *,
        delivers: bool = False,
        tears: bool = False,
        losses: int = 0,
    ) -> RunningScene:
        story = scene(title, variant).story
        return cls(
            blank(story.nodes),
            rules=story.variant,
            release=story.release,
            title=title,
            variant=variant,
            mutant=mutant,
            kills=kills,
            delivers=delivers,
            tears_too=tears,
            is_half_open=losses > 0,
            losses=losses,
        )

    @property
    def scene(self) -> Scene:
        return scene(self.title, self.variant)

    def start(self) -> None:
        """Play the history before the scene, in order and by all rules."""
        if self.at >= 0:
            return
        for step in self.scene.story.steps[: self.scene.before]:
            self.play(step.do)
            self.scene.write(self)
        self.begin_search(self.scene.before)

    def begin_search(self, at: int) -> None:
        """Begin the search with the step number `at`: from here on, events come in every order."""
        self.choose, self.actions_when = _all_orders, Actions.BETWEEN
        self.at = at
        self.begin()
        self.rest()
        self._forget_history()

    @mutated
    def choices(self) -> Iterator[Any]:
        if self.at < 0:
            return
        names = [act.name for act in self._acts()]
        yield from names
        if not names and self.at < len(self.scene.story.steps):
            yield f"step {self.at}"
        for name in names if self.kills else ():
            yield from self.deaths(name, {False, self.delivers}, tears=self.tears_too)
        if self.losses and (names or self.at < len(self.scene.story.steps)):
            yield from self._losses()

    @mutated
    def receive(self, event: str | Loss | Death[str]) -> Any:
        if self.at < 0 or (isinstance(event, Death) and not self.kills):
            return NOT_ENABLED
        self._sort()
        before = {name: (disk.identity, disk.stored) for name, disk in self.disks.items()}
        if not self.enact(event):
            return NOT_ENABLED
        self._forget_history()
        self.broken |= _version_errors(before, self.disks)
        return None

    def happen(self, act: str | Loss) -> bool:
        self._sort()
        if isinstance(act, Loss):
            return self._lose_connection(act)
        chosen = next((one for one in self._acts() if one.name == act), None)
        if chosen is not None:
            chosen.do(*chosen.args)
            if not self.scene.rounds_are_split:
                _exchange(self)
            return True
        if act != f"step {self.at}" or self.at == len(self.scene.story.steps) or self._acts():
            return False
        self.scene.write(self)
        self.begin()
        self.queues = queued(self.scene.story.steps[self.at].do)
        self.at += 1
        return True

    # -- connections that end at one end first -------------------------------------------------

    def _losses(self) -> Iterator[Loss]:
        for one, other in permutations(sorted(self.machines), 2):
            if self._answers(one, other) and self.runs(one) and self._is_open(one, other):
                yield Loss(one, other, arrives=False)
                if self.links.get((one, other)):
                    yield Loss(one, other, arrives=True)

    def _is_open(self, one: str, other: str) -> bool:
        """Return whether neither node has lost this connection unnoticed by the other."""
        links = (self.links.get((one, other), ()), self.links.get((other, one), ()))
        return not any(END in link for link in links)

    def _lose_connection(self, loss: Loss) -> bool:
        """End a connection at the end of one node, which hears no more messages over it."""
        if loss not in self._losses() or not self.losses:
            return False
        self.losses -= 1
        one, other = loss.node, loss.other
        self.links.pop((other, one), None)
        sent = self.links.get((one, other), ()) if loss.arrives else ()
        self.links[one, other] = (*sent, END)
        self._notice_loss(one, other)
        return True

    def _notice_loss(self, name: str, other: str) -> None:
        """Tell a node that its connection has ended; the node asks an open question once more.

        A node does not see that a message was lost, so all nodes that wait ask again.
        """
        self.stir()
        self.tell(name, Down(other))
        state = self.machines[name].state
        question = None if state is None else _open_question(state, other)
        if question is not None:
            self.send(name, other, question)

    def gone(self, name: str) -> None:
        if not self.is_half_open or self.at < 0:
            super().gone(name)
            return
        for other in sorted(self.machines):
            if self.runs(other) and self.reaches(name, other):
                self.links[name, other] = (*self.links.get((name, other), ()), END)

    def send(self, sender: str, to: str, content: Content) -> None:
        """Send a message; it is lost without notice if the other end has closed the connection."""
        if END not in self.links.get((to, sender), ()):
            super().send(sender, to, content)

    def deliver(self, sender: str, to: str) -> None:
        if self.links[sender, to][0] is not END:
            super().deliver(sender, to)
            return
        self.take(sender, to)
        self._notice_loss(to, sender)

    def dies(self, name: str) -> None:
        self.kills -= 1
        self.off(self.machines[name], KILLED, loses=not self.arrives)

    def perform(self, name: str, effect: Effect) -> None:
        if not self.tears_too or not isinstance(effect, self.write_effects):
            super().perform(name, effect)
            return
        disk = self.machines[name].disk
        self.disk[name] = _files(disk)
        super().perform(name, effect)
        self.write(name, _files(disk))
        del self.disk[name]

    def lose_power(self, name: str, *, is_writing: bool = False) -> None:
        disk = self.machines[name].disk
        self.disk[name] = _files(disk)
        super().lose_power(name, is_writing=is_writing)
        disk.stored, disk.identity, disk.record = self.disk.pop(name)
        disk.runs = False

    def _acts(self) -> list[Act]:
        """Return the events that may happen now, also the restarts of killed nodes."""
        killed = [
            one.name
            for _, one in sorted(self.machines.items())
            if one.why == KILLED and not one.is_up
        ]
        again = [Act(f"start {name}", do, (self, self._start(name))) for name in killed]
        return [*self.possible(self.queues), *again]

    def _start(self, name: str) -> Action:
        """Return the action that starts a killed node: its last start in the story."""
        actions = [one for step in self.scene.story.steps[: self.at] for one in step.do]
        starts = [one for one in actions if (one.op, one.node) == (Op.START, name)]
        return starts[-1] if starts else Action(op=Op.START, node=name)

    def _sort(self) -> None:
        self.machines = dict(sorted(self.machines.items()))
        self.links = dict(sorted(self.links.items()))

    def _forget_history(self) -> None:
        """Forget the history and keep only the present state."""
        self.links = {ends: link for ends, link in self.links.items() if link}
        self.wiped, self.before, self.replies, self.events = set(), {}, {}, []
        self._numbers, self._keys, self._full = {}, [], []
        for machine in self.machines.values():
            machine.stirred &= machine.state is not None and machine.state.waits
            machine.ends_at = None

    @mutated
    def shows(self) -> SceneView:
        if self.at < 0:
            return SceneView((), 0, ended=False, broken=self.broken)
        nodes = tuple(_shown(one) for _, one in sorted(self.machines.items()))
        ended = self.at == len(self.scene.story.steps) and not self._acts()
        return SceneView(nodes, self.at, ended, self.broken)


def _open_question(state: State, to: str) -> Question | None:
    """Return a node's question that another node has not answered yet, if there is one."""
    round_ = state.round
    if round_ is None or to not in round_.left:
        return None
    match round_.what:
        case RoundKind.STATUS:
            return AskStatus(state.identity, round_.token)
        case RoundKind.AWAITED:
            return AskAwaited(round_.token)
        case RoundKind.SERVICES:
            return AskService(round_.token)
        case RoundKind.LOCKS:
            return AskLock(round_.token) if to == least(round_, state.who.me) else None


def _all_orders(_: int) -> int:
    """Stand for the simulator's `choose`; the search itself tries all orders."""
    return 0


def _files(disk: Disk) -> tuple[Held | None, str | None, Members]:
    """Return a node's files: its config with its identity, and its members."""
    return disk.stored, disk.identity, disk.record


def _shown(machine: Machine) -> NodeView:
    state, disk = machine.state, machine.disk
    return NodeView(
        name=machine.name,
        status="off" if state is None else state.status.value,
        config=None if state is None or state.held is None else state.held.config,
        stored=None if disk.stored is None else disk.stored.config.version,
        data=disk.data,
        why=machine.why if state is None else "",
        first=state is not None and state.goes_first,
        runs=disk.runs,
        knows=frozenset(
            name for name, _ in (state.held.ids.pairs if state is not None and state.held else ())
        ),
    )


def _exchange(sim: Simulator) -> None:
    """Deliver messages of `EAGER` until no link begins with one."""
    while True:
        links = sorted(sim.links.items())
        heads = [key for key, link in links if link and isinstance(link[0], EAGER)]
        if not heads:
            return
        for key in heads:
            while sim.links[key] and isinstance(sim.links[key][0], EAGER):
                sim.deliver(*key)


def _version_errors(
    before: Mapping[str, tuple[str | None, Held | None]], disks: Mapping[str, Disk]
) -> frozenset[str]:
    for name, disk in disks.items():
        identity, stored = before.get(name, (None, None))
        if stored is None or disk.stored is None or of_node(disk.identity) != of_node(identity):
            continue
        if disk.stored.config.version < stored.config.version:
            return frozenset({"a version went down"})
    return frozenset()
