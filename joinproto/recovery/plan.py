"""The plan: the one write to a store, and the stores on which it depends.  A value and its file.

    {"joinproto-plan": 2, "hash": ..., "made": {who, host, when, tool, why},
     "cluster", "cluster_name", "verdict", "evidence", "missing",
     "inputs": [{"name", "path", "host", "format", "recovered", "sha256", "previous"}],
     "step": {"do": "mark" | "force", "path", "host", "member", "store_id", "before", ...}}

The hash covers everything except `made`, so all plans that mark equal stores have equal hashes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Annotated

from attrs import evolve, field, frozen

from joinproto.codec.json_form import Absent, Key, Written, canonical_hash, encoded, filled, read
from joinproto.codec.malformed import Malformed
from joinproto.errors import JoinprotoError, StoreCorrupt, StoreNewer, UsageProblem
from joinproto.join.ids import short
from joinproto.join.lineage import Lineage
from joinproto.join.view import Position, Seat, View, restart
from joinproto.pick.table import Verdict
from joinproto.recovery.found import Format, Found, Raw
from joinproto.recovery.judgement import Judgement
from joinproto.recovery.own import NAMES
from joinproto.recovery.words import Shown, shown

MAGIC = "joinproto-plan"
VERSION = 2
STALE = 7
DECLINED = 8

HASH_SHOWN = 16


class Refused(JoinprotoError):
    """There is no plan for these stores, or the operator declined; the exit code says why."""


_SEATS = Written(
    Mapping[str, str],
    lambda seats: {seat.member: seat.store_id for seat in seats},
    lambda found: tuple(Seat(member, store_id) for member, store_id in found.items()),
)
_POSITION = Written(
    tuple[str, int] | None,
    lambda position: None if position is None else [str(position.view), position.seq],
    lambda found: None if found is None else Position(*found),
)


@frozen(kw_only=True)
class Input:
    """A store on which the plan depends, and the hashes of its files.

    `format`, `recovered`: with these the store is read again in the same way.  `previous`: a hash
    of its own, because an interrupted apply may have replaced the generation before.
    """

    name: Annotated[str, "the store's name"]
    host: Annotated[str, "the machine where the store was read"]
    path: Annotated[str, "the store's directory"]
    format: Annotated[Format | None, "the program that wrote the store"]
    recovered: Annotated[str, "the position that the operator gave"]
    sha256: Annotated[str, "hash of the files, without the generation before"]
    previous: Annotated[str, "hash of the generation before"]

    @classmethod
    def of(cls, name: str, raw: Raw) -> Input:
        """Return the input for the store `name`, which was read as `raw`."""
        before = raw.file(NAMES[1])
        rest = evolve(raw, files=tuple(file for file in raw.files if file.name != NAMES[1]))
        return filled(
            cls,
            raw,
            name=name,
            recovered=raw.recovered.decode("latin-1"),
            sha256=rest.digest,
            previous=before.problem if before.data is None else sha256(before.data).hexdigest(),
        )


@frozen(kw_only=True)
class Force:
    """A RESTART with other electors, for hosts that are lost for good.

    It is never proven, and outside the protocol's promises.  The plan fixes `nonce` and `time`, so
    a plan that is applied twice makes the same view.
    """

    parent: Annotated[str, "id of the view before"]
    wait_for: Annotated[int, "the new N"]
    options_digest: Annotated[str, "digest of the cluster's options"]
    nonce: Annotated[str, "nonce of the new view"]
    time: Annotated[int, "time of the new view, milliseconds"]
    electors: Annotated[tuple[Seat, ...], _SEATS, "store id by member"]
    position: Annotated[Position | None, _POSITION, "view and number of the last frame"]


@frozen(kw_only=True)
class Step:
    """The one write of a plan.

    `before`: SHA-256 of the metadata file that was inspected.  `tip`: id of the view from which the
    mark permits a restart.
    """

    host: Annotated[Shown, "the machine of the store"]
    path: Annotated[str, "the store's path"]
    member: Annotated[Shown, "the store's member"]
    store_id: Annotated[str, "the store's id"]
    before: Annotated[str, "hash of the replaced file"]
    tip: Annotated[str, "the marked view"]
    accepted: Annotated[str | None, "the view that the store has accepted"] = None
    force: Annotated[Force | None, Absent(), "the forced RESTART"] = None

    @property
    def what(self) -> Annotated[str, Key("do"), "`mark` or `force`"]:
        return "mark" if self.force is None else "force"


@frozen(kw_only=True)
class Plan:
    """The write that `apply` makes, and the evidence for it."""

    cluster: Annotated[str, "the cluster's initial signature"]
    cluster_name: Annotated[Shown, "the cluster's name"]
    verdict: Annotated[str, "the verdict of `pick`"]
    is_proven: Annotated[bool, "whether the verdict is proven"]
    loses_nothing: Annotated[bool, "whether no acknowledged frame can be lost"]
    step: Annotated[Step, "the write"]
    inputs: Annotated[tuple[Input, ...], "the stores on which the verdict rests"]
    evidence: Annotated[tuple[str, ...], "evidence for the verdict"] = ()
    missing: Annotated[tuple[str, ...], "the missing stores"] = ()
    made: Mapping[str, str] = field(factory=dict)

    @property
    def hash(self) -> str:
        return canonical_hash(encoded(self))

    @property
    def to_type(self) -> str:
        """Return the words that the operator must type to agree; they name an unproven plan so."""
        if self.step.force is not None:
            return f"force {self.cluster_name}"
        return self.cluster_name if self.is_proven else f"{self.cluster_name} unproven"


def plan_for(judgement: Judgement, *, unproven: bool = False) -> Plan:
    """Return the plan that permits a restart from the latest store.

    `unproven`: the operator accepts a verdict that is not proven.  Raises `Refused` if no write is
    needed, or if none is allowed.
    """
    verdict = judgement.verdict
    latest = [one for one in judgement.latest if one.format is Format.JOINPROTO]
    tip = judgement.pick.findings.lineage.tip
    if verdict is Verdict.CLEAN:
        raise Refused(judgement.sentence, next=judgement.next, code=0)
    if any(one.format is Format.STANDBY for one in judgement.stores):
        raise Refused(
            "a store of hot standby needs no plan: mark-clean marks it on its host",
            next=f"on its host: {judgement.next}",
            code=2,
        )
    if any(one.format not in (Format.JOINPROTO, None) for one in judgement.stores):
        raise Refused(
            "stores of other brokers are read and never written", next=judgement.next, code=2
        )
    may_be_accepted = verdict is Verdict.UNPROVEN and bool(latest)
    if verdict not in (Verdict.PROVEN, Verdict.TIE) and not (unproven and may_be_accepted):
        hint = " (plan --unproven accepts that)" if may_be_accepted else ""
        raise Refused(judgement.sentence, next=f"{judgement.next}{hint}", code=judgement.code)
    assert tip is not None
    if not tip.is_open and not judgement.pick.findings.covering:
        raise Refused(
            f"the cluster was stopped in order, and {judgement.sentence[0].lower()}"
            f"{judgement.sentence[1:]}\n  a mark permits nothing here",
            next="look for a clean store; or plan --electors NAME,NAME with the members left",
            code=judgement.code or 5,
        )
    # The mark names a tip, so it is written into a store that has the newest tip.  The members find
    # out themselves with which data the restart begins: the mark only permits it.
    here = [one for one in latest if _tip_id(one) == tip.id]
    everywhere = [one for one in judgement.stores if _tip_id(one) == tip.id]
    return _plan(judgement, _step((here or everywhere)[0], tip))


def forced_plan(
    judgement: Judgement,
    *,
    electors: Sequence[str],
    wait_for: int | None,
    nonce: str,
    time: int,
) -> Plan:
    """Return the plan of a RESTART with these electors, although nothing is proven.

    `electors`: names of members whose stores are here.  `wait_for`: the new N, None to keep it.
    `nonce`, `time`: the view's, the time in milliseconds since 1970.  Raises `Refused`,
    `UsageProblem`.
    """
    lineage = judgement.pick.findings.lineage
    tip = lineage.tip
    refused = (Verdict.IN_USE, Verdict.DIVERGED, Verdict.DIFFERENT_CLUSTERS)
    rows = {row.id: row for row in judgement.pick.findings.rows}
    if judgement.verdict in refused or any(row.is_copy for row in rows.values()) or tip is None:
        raise Refused(judgement.sentence, next=judgement.next, code=judgement.code or 5)
    usable = {
        one.member: one
        for one in judgement.stores
        if one.record is not None and one.state.is_readable and one.record.tip is not None
    }
    absent = [name for name in electors if name not in usable]
    if absent or not electors:
        raise UsageProblem(
            f"--electors {','.join(electors)}: no usable store of {', '.join(absent) or 'any'}",
            next=f"stores that are here: {', '.join(sorted(usable)) or 'none'}",
        )
    chosen = [usable[name] for name in electors]
    covering = judgement.pick.findings.covering
    sources = [one for one in chosen if one.name in judgement.pick.latest]
    sources = sources or [one for one in chosen if one.name in covering]
    sources = sources or [
        one for one in chosen if one.record is not None and not one.record.update_unfinished
    ]
    if not sources:
        raise Refused(
            "every store of these electors was being updated: their data cannot be used",
            next="name an elector whose store was not being updated",
            code=5,
        )
    source = sources[0].record
    # The new view is written into a store that has its parent, the newest tip.
    targets = [one for one in (*sources, *chosen) if _tip_id(one) == tip.id]
    if not targets:
        raise UsageProblem(
            f"none of the electors {', '.join(electors)} knows the newest view, {tip}",
            next="name another elector that knows it; joinproto recover compare shows the tips",
        )
    target = targets[0]
    assert source is not None
    seats = tuple(Seat(one.member, one.record.store_id) for one in chosen if one.record is not None)
    count = tip.wait_for if wait_for is None else wait_for
    # The options that must match (I2) end with N; see `Config.digest`.
    options = tip.options_digest.removesuffix(f"/{tip.wait_for}")
    digest = tip.options_digest if options == tip.options_digest else f"{options}/{count}"
    # After an orderly stop, a clean store has all data up to the position of the stop.
    is_closed = not tip.is_open and judgement.pick.findings.clean
    force = Force(
        electors=seats,
        position=tip.position if is_closed else source.position,
        parent=str(tip.id),
        wait_for=count,
        options_digest=digest,
        nonce=nonce,
        time=time,
    )
    try:
        lineage.append(forced_view(lineage, force))
    except Malformed as malformed:
        raise UsageProblem(
            f"these electors cannot begin anew: {malformed}",
            next="name enough electors, or give --wait-for the wait_for of their configuration",
        ) from malformed
    return _plan(judgement, evolve(_step(target, tip), force=force))


def forced_view(lineage: Lineage, force: Force) -> View:
    """Return the RESTART that `force` describes."""
    tip = lineage.tip
    assert tip is not None
    return restart(
        tip,
        members=force.electors,
        electors=force.electors,
        position=force.position,
        wait_for=force.wait_for,
        options_digest=force.options_digest,
        nonce=force.nonce,
        time=force.time,
    )


def _plan(judgement: Judgement, step: Step) -> Plan:
    proven = judgement.verdict in (Verdict.PROVEN, Verdict.TIE) and step.force is None
    tip = judgement.pick.findings.lineage.tip
    assert tip is not None
    return Plan(
        cluster=str(judgement.pick.findings.lineage.initial),
        cluster_name=tip.cluster_name,
        verdict="unproven" if step.force is not None else judgement.verdict.value,
        is_proven=proven,
        loses_nothing=judgement.pick.loses_nothing,
        step=step,
        inputs=tuple(Input.of(one.name, one.raw) for one in judgement.stores),
        evidence=(judgement.sentence, *judgement.evidence),
        missing=tuple(f"{item.member}: {item.why}" for item in judgement.missing),
    )


def _step(target: Found, tip: View) -> Step:
    record = target.record
    data = target.raw.file(NAMES[0]).data
    assert record is not None
    assert data is not None
    return filled(
        Step,
        target,
        record,
        before=sha256(data).hexdigest(),
        tip=str(tip.id),
        accepted=None if record.accepted is None else str(record.accepted.view.id),
    )


def _tip_id(found: Found) -> object:
    record = found.record
    return None if record is None or record.tip is None else record.tip.id


# -- the file --------------------------------------------------------------------------------


def dump(plan: Plan) -> str:
    """Return the text of the plan's file."""
    tree = {MAGIC: VERSION, "hash": plan.hash, "made": dict(plan.made), **encoded(plan)}
    return json.dumps(tree, indent=1) + "\n"


def load(data: bytes, *, name: str) -> Plan:
    """Return the plan in a file; `name`: the file's name, for messages.

    Raises `StoreError` if it is not as it was written, `UsageProblem` if it is not a plan, and
    `Refused` for a plan of version 1.
    """
    again = "make it again: joinproto recover plan DIR|INFO... -o plan.json"
    try:
        tree = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict) or MAGIC not in tree:
        raise UsageProblem(f"{name}: is not a plan", next=again)
    if tree[MAGIC] == 1:
        raise Refused(
            f"{name}: a plan of version 1 of the format, which is not bound to the frames of the"
            " store that it names\n  nothing was changed",
            next="make it again, with this version: joinproto recover plan DIR|INFO... -o NEW.json",
            code=STALE,
        )
    if tree[MAGIC] != VERSION:
        raise StoreNewer(
            f"{name}: has version {str(tree[MAGIC])[:20]} of the plan's format, expected {VERSION}",
            next="use the version of joinproto that made it",
        )
    try:
        plan: Plan = evolve(read(Plan, tree), made=read(Mapping[str, str], tree.get("made", {})))
    except Malformed as error:
        raise StoreCorrupt(
            f"{name}: lacks a field, or has a wrong one: {error}", next=again
        ) from None
    if tree.get("hash") != plan.hash:
        raise StoreCorrupt(
            f"{name}: is not as it was made: its hash differs from that of its content", next=again
        )
    return plan


def describe(plan: Plan) -> tuple[str, ...]:
    """Return the plan's changes, for a person."""
    step = plan.step
    if step.force is None:
        what = f"a permission to restart from view {short(step.tip)}, once"
    else:
        names = ", ".join(seat.member for seat in step.force.electors)
        what = f"a new beginning with the electors {names}, wait_for {step.force.wait_for}"
    lost = "; the data that only the lost hosts have are lost" if step.force is not None else ""
    return (
        f"cluster   {plan.cluster_name} ({short(plan.cluster)})",
        f"store     {step.member} at {step.host}:{shown(step.path)}",
        f"writes    {what}",
        f"keeps     the present metadata, in joinproto/{backup_name(plan)}",
        f"verdict   {plan.verdict}{lost}",
        *(f"missing   {line}" for line in plan.missing),
        f"plan      {plan.hash}",
    )


def backup_name(plan: Plan) -> str:
    """Return the name of the file that keeps the former metadata."""
    return f"store.meta.before-{plan.hash[:HASH_SHOWN]}"
