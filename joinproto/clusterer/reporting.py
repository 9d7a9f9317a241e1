"""The printed result of a story's step: the state of each machine, with the reason.

Source: the format of stories, docs/clusterer.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from attrs import frozen

from joinproto.clusterer import broker
from joinproto.clusterer.simulator import Machine, Simulator, identity_of
from joinproto.clusterer.status import Status
from joinproto.clusterer.why import reason
from joinproto.codec.json_form import AtLeast

Shown = Literal["reset", "off", "joining", "rejoining", "ready", "pending"]
SHOWN: Mapping[Status, Shown] = {
    Status.PREBOOT: "joining",
    Status.JOINING: "joining",
    Status.REJOINING: "rejoining",
    Status.BOOTING: "joining",
    Status.READY: "ready",
    Status.PENDING: "pending",
}
"""The printed states.  After a step, no node has the status preboot or booting."""


@frozen(kw_only=True)
class NodeTold:
    """One machine after a step."""

    state: Annotated[
        Shown,
        "reset: off, and its disk is empty; pending: left out, and its shutdown timer runs",
    ]
    version: Annotated[
        int | None,
        AtLeast(0),
        "the version of its config; of a node that is off, of the stored config; null: none",
    ]
    data: Annotated[
        str | None, "the label of the data on its disk; equal labels mean equal data; null: no data"
    ]
    cluster: Annotated[
        tuple[str, ...], "the nodes of its cluster, with the node itself; empty: it is not ready"
    ]
    identity: Annotated[str | None, "the node's identity; null: none is stored"]
    waits_for: Annotated[tuple[str, ...], "the nodes that it needs before it can go on"]
    why: Annotated[str, "the reason, in a sentence"]


@frozen(kw_only=True)
class StepTold:
    """The result of one step of a story, when no more events can happen."""

    nodes: Annotated[Mapping[str, NodeTold], "each machine, by name"]
    wiped: Annotated[
        tuple[str, ...], "the nodes that deleted the data that they had when the step began"
    ]
    replies: Annotated[
        Mapping[str, str],
        "by node: the answer to an apply, or to a start whose config was not taken",
    ]


def told(sim: Simulator) -> StepTold:
    """Return the present state of all machines, as a story shows it."""
    return StepTold(
        nodes={name: _node(sim, one) for name, one in sorted(sim.machines.items())},
        wiped=tuple(sorted(sim.wiped)),
        replies=dict(sorted(sim.replies.items())),
    )


def _node(sim: Simulator, machine: Machine) -> NodeTold:
    state, disk = machine.state, machine.disk
    if state is None:
        stored = disk.stored
        return NodeTold(
            state="reset" if disk.is_blank else "off",
            version=None if stored is None else stored.config.version,
            data=disk.data,
            cluster=(),
            identity=identity_of(machine),
            waits_for=(),
            why=f"the node is off: {machine.why}",
        )
    ready = state.status is Status.READY
    others = broker.cluster(machine.name, sim.disks, sim.reaches) if ready else []
    return NodeTold(
        state=SHOWN[state.status],
        version=state.config_now.config.version,
        data=disk.data,
        cluster=tuple(sorted([machine.name, *others])) if ready else (),
        identity=identity_of(machine),
        waits_for=tuple(sorted(state.waits_for)),
        why=reason(state.why.rule, state.why.case, state.waits_for),
    )
