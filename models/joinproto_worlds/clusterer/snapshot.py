"""The state of a simulation as a value, and back."""

from __future__ import annotations

from collections import deque
from typing import Any

from attrs import frozen

from joinproto.clusterer.broker import Disk
from joinproto.clusterer.config import Held
from joinproto.clusterer.messages import BootBroker, BootNothing, Members
from joinproto.clusterer.sim import Deeds, Machine, Queues, Sim, queued
from joinproto.clusterer.state import State
from joinproto.clusterer.story import Story


@frozen
class MachineShot:
    """One machine with its disk."""

    name: str
    state: State | None
    why: str
    boots: BootBroker | BootNothing | None
    stirred: bool
    token: int
    retries: int
    stored: Held | None
    identity: str | None
    record: Members
    data: str | None
    members: frozenset[str]
    runs: bool


@frozen
class Link:
    """What is under way on one link."""

    sender: str
    to: str
    contents: tuple[Any, ...]


@frozen
class Left:
    """How many deeds of a queue are still to be done."""

    key: str
    count: int


@frozen
class Snapshot:
    """All machines, the network, and how far the story has come: `step` is the next one."""

    step: int
    left: tuple[Left, ...]
    machines: tuple[MachineShot, ...]
    links: tuple[Link, ...]
    cut: frozenset[frozenset[str]]
    made: tuple[tuple[str, int], ...]


def taken(sim: Sim, step: int, queues: Queues) -> Snapshot:
    """Return the state of a simulation."""
    return Snapshot(
        step=step,
        left=tuple(Left(key, len(deeds)) for key, deeds in sorted(queues.items())),
        machines=tuple(_shot(one) for _, one in sorted(sim.machines.items())),
        links=tuple(
            Link(sender, to, tuple(link))
            for (sender, to), link in sorted(sim.links.items())
            if link
        ),
        cut=frozenset(sim.cut),
        made=tuple(sorted(sim.made.items())),
    )


def _shot(machine: Machine) -> MachineShot:
    disk = machine.disk
    return MachineShot(
        name=machine.name,
        state=machine.state,
        why=machine.why,
        boots=machine.boots,
        stirred=machine.stirred and machine.state is not None and machine.state.waits,
        token=machine.token,
        retries=machine.retries,
        stored=disk.stored,
        identity=disk.identity,
        record=disk.record,
        data=disk.data,
        members=disk.members,
        runs=disk.runs,
    )


def restored(story: Story, shot: Snapshot) -> Sim:
    """Return the simulation of a state; chance lists all that may happen."""
    sim = Sim(story, lambda _: 0, nodes=())
    sim.deeds_when = Deeds.BETWEEN
    for one in shot.machines:
        disk = Disk(one.stored, one.identity, one.record, one.data, one.members, one.runs)
        sim.machines[one.name] = Machine(
            one.name, disk, one.state, one.why, one.boots, one.stirred, one.token, one.retries
        )
        sim.disks[one.name] = disk
    sim.links = {(link.sender, link.to): deque(link.contents) for link in shot.links}
    sim.cut = set(shot.cut)
    sim.made = dict(shot.made)
    return sim


def queues_of(story: Story, shot: Snapshot) -> Queues:
    """Return the deeds of the step under way that are still to be done."""
    if not shot.left:
        return {}
    whole = queued(story.steps[shot.step - 1].do)
    return {one.key: deque(list(whole[one.key])[-one.count :]) for one in shot.left}
