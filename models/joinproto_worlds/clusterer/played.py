"""A story as the one member of a world: each of its steps is one thing that may happen.

Source: Clusterer; the scenes are in `scenes.py`, the claims in `claims.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.clusterer.config import Config
from joinproto.clusterer.deeds import do
from joinproto.clusterer.identities import of_node
from joinproto.clusterer.messages import (
    AskAwaited,
    AskService,
    AskStatus,
    Awaited,
    ServiceTold,
    Told,
)
from joinproto.clusterer.sim import KILLED, Act, Queues, Sim, queued
from joinproto.clusterer.story import Deed, Op
from joinproto_worlds.clusterer.scenes import scene
from joinproto_worlds.clusterer.snapshot import Snapshot, queues_of, restored, taken
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation

EAGER = AskStatus | Told | AskAwaited | Awaited | AskService | ServiceTold
"""What is asked in a round, and its answers."""
DIES = ", killed before effect "


@frozen
class NodeShown:
    """A machine.  `status`: "off" where no node runs.  `stored`: the version on its disk.

    `first`: its broker boots, or runs, as the first one of its config.  `runs`: its broker.
    """

    name: str
    status: str
    config: Config | None
    stored: int | None
    data: str | None
    why: str
    first: bool
    runs: bool

    @property
    def ready(self) -> bool:
        return self.status == "ready"

    def __str__(self) -> str:
        version = "" if self.config is None else f" v{self.config.version}"
        return f"{self.name} {self.status}{version} {self.data or '-'}"


@frozen
class Shown:
    """All machines.  `ended`: the story is told, and nothing changes any more.

    `broken`: what no state alone shows: a version that went down.
    """

    nodes: tuple[NodeShown, ...]
    step: int
    ended: bool
    broken: frozenset[str]

    def __str__(self) -> str:
        return "; ".join(map(str, self.nodes))

    def of(self, name: str) -> NodeShown:
        """Return one machine; there is one of this name in every scene that asks."""
        return next(one for one in self.nodes if one.name == name)

    @property
    def ready(self) -> tuple[NodeShown, ...]:
        return tuple(one for one in self.nodes if one.ready)


mutated = inside(lambda played: mutation(played.mutant))


@define
class Played:
    """A scene under way.  `mutant`: a rule that is not kept.

    `kills`: how often a node may still be killed between two effects.  It is started again before
    the story goes on.
    """

    title: str
    variant: str
    mutant: str | None = None
    kills: int = 0
    shot: Snapshot | None = None
    broken: frozenset[str] = frozenset()

    def start(self) -> None:
        """Play what comes before, in the plain order and by all rules."""
        if self.shot is not None:
            return
        play = scene(self.title, self.variant)
        sim = Sim(play.story)
        for step in play.story.steps[: play.before]:
            sim.play(step.do)
            play.write(sim)
        sim.begin()
        self.shot = taken(sim, play.before, {})

    @mutated
    def choices(self) -> Iterator[str]:
        if self.shot is None:
            return
        story = scene(self.title, self.variant).story
        names = [act.name for act in self._acts(*self._restored())]
        yield from names
        if not names and self.shot.step < len(story.steps):
            yield f"step {self.shot.step}"
        for name in names if self.kills else ():
            sim, queues = self._restored()
            self._do(name, sim, queues)
            yield from (f"{name}{DIES}{at}" for at in range(sim.performed))

    @mutated
    def receive(self, event: Any) -> Any:
        if self.shot is None or not isinstance(event, str):
            return NOT_ENABLED
        before, play = self.shot, scene(self.title, self.variant)
        sim, queues = self._restored()
        step = before.step
        name, _, at = event.partition(DIES)
        if at and self.kills:
            sim.dies_at = int(at)
            self.kills -= 1
        if not self._do(name, sim, queues):
            if at or event != f"step {step}" or step == len(play.story.steps):
                return NOT_ENABLED
            if self._acts(sim, queues):
                return NOT_ENABLED
            play.write(sim)
            sim.begin()
            step, queues = step + 1, queued(play.story.steps[step].do)
        self.shot = taken(sim, step, queues)
        self.broken |= _broken(before, self.shot)
        return None

    def _restored(self) -> tuple[Sim, Queues]:
        story = scene(self.title, self.variant).story
        if self.shot is None:
            raise AssertionError("not started")
        return restored(story, self.shot), queues_of(story, self.shot)

    def _acts(self, sim: Sim, queues: Queues) -> list[Act]:
        """Return what may happen now: who was killed is started again."""
        killed = [
            one.name
            for _, one in sorted(sim.machines.items())
            if one.why == KILLED and not one.is_up
        ]
        again = [Act(f"start {name}", do, (sim, self._start(name))) for name in killed]
        return [*sim.possible(queues), *again]

    def _start(self, name: str) -> Deed:
        """Return the start of a node that was killed: as it was started last."""
        steps = scene(self.title, self.variant).story.steps[: self.shot.step if self.shot else 0]
        deeds = [one for step in steps for one in step.do if (one.op, one.node) == (Op.START, name)]
        return deeds[-1] if deeds else Deed(op=Op.START, node=name)

    def _do(self, name: str, sim: Sim, queues: Queues) -> bool:
        """Do what has this name, with what follows at once; False: it may not happen."""
        act = next((one for one in self._acts(sim, queues) if one.name == name), None)
        if act is None:
            return False
        act.do(*act.args)
        if not scene(self.title, self.variant).splits:
            _exchange(sim)
        return True

    @mutated
    def shows(self) -> Shown:
        shot = self.shot
        if shot is None:
            return Shown((), 0, ended=False, broken=self.broken)
        story = scene(self.title, self.variant).story
        ended = shot.step == len(story.steps) and not self._acts(*self._restored())
        nodes = tuple(
            NodeShown(
                name=one.name,
                status="off" if one.state is None else one.state.status.value,
                config=None
                if one.state is None or one.state.held is None
                else one.state.held.config,
                stored=None if one.stored is None else one.stored.config.version,
                data=one.data,
                why=one.why if one.state is None else "",
                first=one.state is not None and one.state.goes_first,
                runs=one.runs,
            )
            for one in shot.machines
        )
        return Shown(nodes, shot.step, ended, self.broken)


def _exchange(sim: Sim) -> None:
    """Deliver all questions and answers of rounds that no config is under way before."""
    while True:
        links = sorted(sim.links.items())
        heads = [key for key, link in links if link and isinstance(link[0], EAGER)]
        if not heads:
            return
        for key in heads:
            link = sim.links[key]
            while link and isinstance(link[0], EAGER):
                sim.deliver(*key)


def _broken(before: Snapshot, after: Snapshot) -> frozenset[str]:
    was = {one.name: one for one in before.machines}
    found = set()
    for one in after.machines:
        old = was.get(one.name)
        if old is None or old.stored is None or one.stored is None:
            continue
        if of_node(one.identity) != of_node(old.identity):
            continue
        if one.stored.config.version < old.stored.config.version:
            found.add("a version went down")
    return frozenset(found)
