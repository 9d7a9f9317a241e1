"""The nodes at the start of a plan: as they report themselves, or as the current config makes them.

Source: Clusterer, U3 to U7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from attrs import frozen

from joinproto.clusterer.broker import Disk
from joinproto.clusterer.config import Config, Held
from joinproto.clusterer.identities import data_of
from joinproto.clusterer.messages import NO_NODES, Members
from joinproto.clusterer.reading import Release
from joinproto.clusterer.simulator import Choose, Machine, Simulator, blank
from joinproto.clusterer.state import State, Who
from joinproto.clusterer.status import Status
from joinproto.clusterer.story import Action, Op
from joinproto.clusterer.variants import Variant
from joinproto.clusterer.writing import as_json
from joinproto.machine.world import copied


class Up(Enum):
    """The state of a machine before the new config, as `--status` names it."""

    READY = "ready"
    OFF = "off"
    RESET = "reset"  # it is off, and its disk is empty
    BLANK = "blank"  # it runs, but has no data of clients that could be lost


@frozen(kw_only=True)
class NodeSaid:
    """The state that a running node reports.

    `achieved`: the config with which the next one is compared.  `blank`: its data were given up.
    """

    name: str
    status: Status
    identity: str
    held: Held
    achieved: Held | None
    members: frozenset[str] = NO_NODES
    ran: frozenset[str] = NO_NODES
    blank: bool = False


@frozen
class Now:
    """All machines before the new config.

    `made`: for each node, how many labels and identities were made so far.
    """

    machines: tuple[Machine, ...]
    made: Mapping[str, int]
    release: Release
    variant: Variant

    def sim(self, choose: Choose | None) -> Simulator:
        """Return a simulation that begins with copies of these machines."""
        return Simulator(
            {one.name: copied(one) for one in self.machines},
            choose,
            rules=self.variant,
            release=self.release,
            made=dict(self.made),
        )


def formed(
    current: Config, new: Config, statuses: Mapping[str, Up], release: Release, variant: Variant
) -> Now:
    """Return a cluster that has reached the current config, and the new config's other nodes.

    `statuses`: the statuses of nodes that are not ready.
    """
    names = sorted(current.nodes | new.nodes)
    sim = Simulator(blank(names), rules=variant, release=release)
    first = min(current.disc, default=None)
    members = sorted(current.nodes)
    sim.play(tuple(_start(name, current if name == first else None) for name in members))
    sim.play(tuple(_start(name) for name in names if name not in current.nodes))
    for name in names:
        up = statuses.get(name, Up.READY)
        if up in (Up.OFF, Up.RESET):
            sim.play((Action(op=Op.STOP if up is Up.OFF else Op.RESET, node=name),))
    return Now(tuple(sim.machines.values()), sim.made, release, variant)


def as_said(names: Iterable[str], said: Mapping[str, NodeSaid], release: Release) -> Now:
    """Return the nodes as they report themselves; nodes that did not answer count as off."""
    machines = tuple(
        _machine(said[name], release) if name in said else Machine(name, why="it does not answer")
        for name in sorted(names)
    )
    return Now(machines, {}, release, Variant.OURS)


def _machine(said: NodeSaid, release: Release) -> Machine:
    status, me = said.status, said.name
    if status is Status.BOOTING:  # its boot is not simulated: the node decides again
        status = Status.JOINING if said.blank or said.achieved is None else Status.REJOINING
    others = said.held.config.nodes - {me}
    record = Members(members=said.members, ran=said.ran, given_up=said.blank)
    state = State(
        who=Who(me, release=release),
        status=status,
        identity=said.identity,
        achieved=said.achieved,
        held=said.held,
        contacts=others if status is Status.READY else NO_NODES,
        record=record,
    )
    disk = Disk(
        stored=said.achieved,
        identity=said.identity,
        record=record,
        data=None if said.blank else data_of(said.identity) or f"of {me}",
        members=said.members,
        runs=status is Status.READY,
    )
    return Machine(me, disk, state, stirred=True)


def _start(name: str, given: Config | None = None) -> Action:
    config: dict[str, Any] | None = None if given is None else as_json(given)
    return Action(op=Op.START, node=name, config=config)
