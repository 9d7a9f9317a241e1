"""A story as the one member of a world: each of its steps is one thing that may happen.

Source: Clusterer; the scenes are in `scenes.py`, the claims in `claims.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED
from joinproto.clusterer.config import Config
from joinproto.clusterer.identities import of_node
from joinproto.clusterer.messages import (
    AskAwaited,
    AskService,
    AskStatus,
    Awaited,
    ServiceTold,
    Told,
)
from joinproto.clusterer.sim import Sim, queued
from joinproto_worlds.clusterer.scenes import scene
from joinproto_worlds.clusterer.snapshot import Snapshot, queues_of, restored, taken
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation

EAGER = AskStatus | Told | AskAwaited | Awaited | AskService | ServiceTold
"""What is asked in a round, and its answers."""


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
    """A scene under way.  `mutant`: a rule that is not kept."""

    title: str
    variant: str
    mutant: str | None = None
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
        acts = restored(story, self.shot).possible(queues_of(story, self.shot))
        yield from (act.name for act in acts)
        if not acts and self.shot.step < len(story.steps):
            yield f"step {self.shot.step}"

    @mutated
    def receive(self, event: Any) -> Any:
        if self.shot is None or not isinstance(event, str):
            return NOT_ENABLED
        before, play = self.shot, scene(self.title, self.variant)
        sim = restored(play.story, before)
        queues = queues_of(play.story, before)
        step = before.step
        acts = {act.name: act for act in sim.possible(queues)}
        if event in acts:
            acts[event].do(*acts[event].args)
        elif event == f"step {step}" and not acts and step < len(play.story.steps):
            play.write(sim)
            sim.begin()
            step, queues = step + 1, queued(play.story.steps[step].do)
        else:
            return NOT_ENABLED
        if not play.splits:
            _exchange(sim)
        self.shot = taken(sim, step, queues)
        self.broken |= _broken(before, self.shot)
        return None

    @mutated
    def shows(self) -> Shown:
        shot = self.shot
        if shot is None:
            return Shown((), 0, ended=False, broken=self.broken)
        story = scene(self.title, self.variant).story
        ended = shot.step == len(story.steps) and not restored(story, shot).possible(
            queues_of(story, shot)
        )
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
