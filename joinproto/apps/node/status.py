"""The status that a node reports, for `joinproto status`, health and metrics."""

from __future__ import annotations

from typing import Annotated, Any

from attrs import frozen

from joinproto import __version__
from joinproto.codec.json_form import Count, encoded
from joinproto.discovery.boot import Step
from joinproto.host.cluster import Cluster
from joinproto.host.failures import advice_for
from joinproto.host.outcome import Outcome
from joinproto.join.ids import ViewId
from joinproto.join.phases import Phase
from joinproto.join.view import Kind, Seat, names_of
from joinproto.log.replicated import ReplicatedLog
from joinproto.machine.vocabulary import Reason, Store


@frozen
class SeenView:
    """A view."""

    id: Annotated[str, "the view's id"]
    number: Annotated[Count, "the number of views up to this one"]
    kind: Annotated[Kind, "the view's purpose"]
    members: Annotated[tuple[str, ...], "the members of the view"]
    electors: Annotated[tuple[str, ...], "the members that choose the next view"]


@frozen
class LastFrame:
    """A frame."""

    view: Annotated[str, "the id of its view"]
    seq: Annotated[Count, "the frame's number"]


@frozen
class Wait:
    """The reason why no next view was chosen."""

    rule: Annotated[str, "label of the rule"]
    case: Annotated[str, "case of the rule's table"]
    reason: Annotated[Reason | None, "the reason, as `decide` names it"]
    next: Annotated[str, "the advice to the operator"]
    detail: Annotated[str, "the thing that the member waits for; empty if not known"] = ""


@frozen(kw_only=True)
class Discovered:
    """The result of the last round of discovery."""

    backend: Annotated[str, "the backend that was asked"]
    register: Annotated[str | None, "outside: a register chooses the views; null: the electors"]
    expected: Annotated[Count, "the number of members that the founding needs"]
    listed: Annotated[tuple[str, ...] | None, "the nodes that the backend names; null: not known"]
    step: Annotated[Step, "the next step of the boot"]
    rule: Annotated[str, "label of the rule"]
    case: Annotated[str, "case of the rule's table"]
    why: Annotated[str, "the reason for the step, in one sentence"]
    record: Annotated[str, "the result of registering this node at the backend"]


@frozen(kw_only=True)
class Status:
    """`joinproto status --config FILE --json`, and `shutdown`"""

    version: Annotated[str, "the version of joinproto"]
    member: Annotated[str, "the member's name"]
    store_id: Annotated[str, "the id of its store"]
    cluster: Annotated[str, "the cluster's name"]
    phase: Annotated[Phase, "its phase between its start and its end"]
    serves: Annotated[bool, "whether it serves clients now"]
    is_sequencer: Annotated[bool, "whether it orders the frames"]
    outcome: Annotated[Outcome | None, "how it became active"]
    store: Annotated[Store, "the state of its store"]
    initial: Annotated[str | None, "the initial signature"]
    final: Annotated[str | None, "the final signature, if the cluster is closed"]
    view: Annotated[SeenView | None, "the newest view that it knows"]
    position: Annotated[LastFrame | None, "the last frame on its disk"]
    committed: Annotated[Count, "number of the last frame that it knows to be committed"]
    pending: Annotated[Count, "frames of its clients that wait to be committed"]
    peers: Annotated[tuple[str, ...], "the members to which it is connected"]
    waiting: Annotated[Wait | None, "why its last attempt did not choose the next view"]
    discovery: Annotated[
        Discovered | None,
        "the last round of discovery; null if the configuration file names the peers",
    ]


def status_of(
    cluster: Cluster, log: ReplicatedLog, peers: list[str], discovered: Discovered | None = None
) -> dict[str, Any]:
    """Return the status as JSON; ids are not shortened, so that two nodes can be compared."""
    engine = cluster.engine
    member = engine.member
    record, tip, waiting = member.record, member.view, engine.waiting
    position = record.position
    status = Status(
        version=__version__,
        member=cluster.config.member,
        store_id=record.store_id,
        cluster=cluster.config.cluster_name,
        phase=member.phase,
        serves=log.is_open,
        is_sequencer=log.is_open and member.is_sequencer,
        outcome=engine.outcome,
        store=record.state,
        initial=_id(record.lineage.initial),
        final=_id(record.lineage.final),
        view=None
        if tip is None
        else SeenView(str(tip.id), tip.number, tip.kind, _names(tip.members), _names(tip.electors)),
        position=None if position is None else LastFrame(str(position.view), position.seq),
        committed=log.committed,
        pending=log.pending,
        peers=tuple(peers),
        waiting=None
        if waiting is None
        else Wait(
            waiting.label,
            waiting.case,
            waiting.reason,
            advice_for(waiting.reason),
            waiting.detail,
        ),
        discovery=discovered,
    )
    return dict(encoded(status))


def _names(seats: frozenset[Seat]) -> tuple[str, ...]:
    return tuple(sorted(names_of(seats)))


def _id(view: ViewId | None) -> str | None:
    return None if view is None else str(view)
