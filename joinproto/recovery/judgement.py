"""The result of a command: verdict, evidence, missing stores, next step.  No I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from attrs import evolve, frozen

from joinproto.codec.json_form import filled
from joinproto.errors import UsageProblem
from joinproto.join.ids import short
from joinproto.pick.findings import MissingStore
from joinproto.pick.pick import Pick, group, pick
from joinproto.pick.table import Verdict
from joinproto.recovery import rafts, schema
from joinproto.recovery.advice import (
    next_step,
    not_examined,
    plan_if_lost,
    sentence,
    start_order_if_known,
)
from joinproto.recovery.foreign.choice import broker_choice
from joinproto.recovery.foreign.ra.nodes import has_khepri
from joinproto.recovery.foreign.ra.verdicts import GroupVerdict, GroupVerdicts
from joinproto.recovery.found import Format, Found, State
from joinproto.recovery.judged import FormatVerdict, pick_of
from joinproto.recovery.unused import unused
from joinproto.recovery.words import grouped, has

WRITE_SETS_SHOWN = 8
ELECTS = "each group elects a node that has every committed entry"
EXIT = {
    Verdict.PROVEN: 0,
    Verdict.TIE: 0,
    Verdict.CLEAN: 0,
    Verdict.CORRUPT: 1,
    Verdict.DIFFERENT_CLUSTERS: 3,
    Verdict.DIVERGED: 4,
    Verdict.UNPROVEN: 5,
    Verdict.IN_USE: 6,
}


@frozen(kw_only=True)
class Judgement:
    """The verdict about stores, and its texts for a person.

    `raft`: the verdict about each Raft group of RabbitMQ.  `unused`: sentences about options that
    change nothing for these stores.
    """

    stores: tuple[Found, ...]
    pick: Pick
    sentence: str
    evidence: tuple[str, ...]
    not_examined: tuple[str, ...]
    next: str
    raft: GroupVerdicts | None = None
    unused: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        return self.pick.verdict

    @property
    def code(self) -> int:
        """Return the exit code."""
        return EXIT[self.verdict]

    @property
    def missing(self) -> tuple[MissingStore, ...]:
        return self.pick.findings.missing

    @property
    def latest(self) -> tuple[Found, ...]:
        """Return the latest stores, in the order in which they were given."""
        return tuple(found for found in self.stores if found.name in self.pick.latest)


def judge(
    stores: Sequence[Found],
    *,
    cluster: str = "",
    transient: Collection[str] = (),
    lost: Collection[str] = (),
    outside: bool = False,
    nodes: int | None = None,
    notes: Sequence[str] = (),
    words: Sequence[str] = (),
) -> Judgement:
    """Return the verdict about `stores`.

    `cluster`: a name, or the beginning of a signature, if stores of several clusters are given.
    `transient`: members that keep no store.  `lost`: members whose store is lost; this proves
    nothing, but changes the next step.  `outside`: an outside register chooses the views.
    `nodes`: the number of nodes in a cluster of another broker.  `notes`: lines for
    `not_examined`.  `words`: the words of the command line, for the next command.  Raises
    `UsageProblem`.
    """
    chosen, others = _stores_of_cluster(stores, cluster)
    kinds = {one.format for one in chosen}
    formats = {one.format for one in chosen if one.state.is_readable}
    if len(formats) > 1:
        listed = ", ".join(sorted(one.value for one in formats if one is not None))
        raise UsageProblem(
            f"stores of several brokers ({listed}) cannot be compared",
            next="name the directories of one cluster only",
        )
    if {Format.STANDBY} in (formats, kinds):
        from joinproto.recovery import brokers

        found = brokers.verdict_on(chosen, lost=lost, words=words)
    elif any(has_khepri(one) for one in chosen if one.state.is_readable):
        found = _of_khepri(chosen, lost)
    elif kinds & set(rafts.FORMATS):
        found = rafts.verdict_on(chosen, lost=lost)
    elif Format.POSTGRESQL in kinds:
        from joinproto.recovery import timelines

        found = timelines.verdict_on(chosen, nodes=nodes)
    else:
        found = _by_table(
            chosen, transient=transient, lost=lost, outside=outside, nodes=nodes, words=words
        )
    said, after = found.sentence, found.next
    if found.pick.verdict in (Verdict.IN_USE, Verdict.DIFFERENT_CLUSTERS):
        said, after = sentence(found.pick, chosen), next_step(found.pick, chosen, words)
    claimed = [f"you said that {name} keeps no store" for name in transient]
    claimed += [f"you said that the store of {name} is lost for good" for name in lost]
    if outside and Format.JOINPROTO in formats:
        claimed.append("you said that an outside register chooses the views")
    return Judgement(
        stores=tuple(chosen),
        pick=found.pick,
        sentence=said,
        evidence=(*found.lines, *claimed, *_problems(chosen)),
        not_examined=(*notes, *others, *found.not_examined),
        next=after,
        raft=found.raft,
        unused=unused(chosen, transient=transient, lost=lost, outside=outside, nodes=nodes),
    )


def _by_table(
    chosen: Sequence[Found],
    *,
    transient: Collection[str],
    lost: Collection[str],
    outside: bool,
    nodes: int | None,
    words: Sequence[str],
) -> FormatVerdict:
    """Return the verdict by `pick`'s table, for stores of joinproto, Qpid, Galera or RabbitMQ."""
    formats = {one.format for one in chosen if one.state.is_readable}
    found = pick(
        [one.candidate for one in chosen],
        without=transient,
        outside=outside,
        nodes=nodes,
        uncounted=nodes is None and Format.GALERA in formats,
    )
    lines, advice = _texts_of_all(chosen, lost)
    raft = _groups(chosen)
    settled = (Verdict.PROVEN, Verdict.TIE, Verdict.CLEAN, Verdict.IN_USE)
    is_sure = found.verdict in (Verdict.PROVEN, Verdict.TIE) or Format.RABBITMQ not in formats
    is_open = found.verdict not in (*settled, Verdict.DIFFERENT_CLUSTERS)
    said = f"{sentence(found, chosen)} {broker_choice(chosen) if is_open else ''}".rstrip()
    after = (
        plan_if_lost(found, lost, words)
        or start_order_if_known(found, advice, lost)
        or next_step(found, chosen, words, nodes=nodes)
    )
    if raft is not None:
        if raft.is_proven or found.verdict is Verdict.IN_USE:
            pass
        elif found.verdict in settled:
            said = f"The definitions: {said} But {raft.doubt}"
            found = evolve(found, verdict=Verdict.UNPROVEN, rule="R1", case=raft.doubt)
            after = raft.advice(lost)
        elif set(raft.missing) <= set(lost):
            after = f"{after}; then {raft.advice(lost)}"
        lines = (*raft.lines, *lines)
    return FormatVerdict(
        pick=found,
        sentence=said,
        lines=(
            *found.findings.lines,
            *_safety(found),
            *lines,
            *([f"by these lists alone: {advice}"] if advice and not is_sure else []),
            *found.findings.pending,
        ),
        not_examined=not_examined(chosen, outside=outside, nodes=nodes),
        next=after,
        raft=raft,
    )


def _of_khepri(stores: Sequence[Found], lost: Collection[str]) -> FormatVerdict:
    """Return the verdict about nodes of RabbitMQ with Khepri, whose data is in Raft groups."""
    found = _groups(stores)
    assert found is not None
    verdict, latest = _verdict_of_groups(stores, found)
    names = {one.name: one.member for one in stores}
    metadata = found.khepri
    best = sorted(names[name] for name in latest)
    if metadata is None:
        said = "No log of the metadata (Khepri) can be read."
    elif found.is_proven:
        said = f"{', '.join(best)} {has(best)} every committed entry, and that is proven."
    elif metadata.is_proven:
        said = f"{', '.join(best)} {has(best)} all metadata, and that is proven. But {found.doubt}"
    else:
        said = f"It is not proven which node has the latest metadata: {found.doubt}"
    missing = tuple(MissingStore(node, "", may_know_more=True) for node in found.missing)
    return FormatVerdict(
        pick=pick_of(
            stores,
            verdict,
            rule="R1",
            case="every Raft group has its own verdict",
            latest=latest,
            missing=missing,
        ),
        raft=found,
        sentence=said,
        lines=found.lines,
        not_examined=(
            "the content of the entries: only their numbers and terms were read",
            "messages of classic queues and streams",
            "whether a node runs on a machine that is not named here",
        ),
        next=found.advice(lost) or _start_all_advice(names.values(), found),
    )


def _start_all_advice(nodes: Collection[str], found: GroupVerdicts) -> str:
    """Return the advice to start these nodes, except those that are no longer members."""
    members, metadata = set(nodes), found.khepri
    if metadata is not None and metadata.verdict.voters:
        members &= metadata.verdict.voters | metadata.verdict.learners
    if not (others := sorted({*nodes} - members)):
        return f"start all these nodes: {ELECTS}"
    return (
        f"start {', '.join(sorted(members))}: {ELECTS}; do not start {', '.join(others)} (no longer"
        " members): save the directory of each (messages of classic queues may be only there),"
        f" empty it, and let the node join{found.shrink_advice(members)}"
    )


def _verdict_of_groups(
    stores: Sequence[Found], found: GroupVerdicts
) -> tuple[Verdict, tuple[str, ...]]:
    clusters = {one.cluster for one in stores if one.cluster}
    if any(one.state is State.IN_USE for one in stores):
        return Verdict.IN_USE, ()
    if len(clusters) > 1:
        return Verdict.DIFFERENT_CLUSTERS, ()
    latest = () if found.khepri is None else found.khepri.verdict.latest
    return (Verdict.PROVEN if found.is_proven else Verdict.UNPROVEN), latest


def _groups(stores: Sequence[Found]) -> GroupVerdicts | None:
    if not any(one.raft for one in stores):
        return None
    from joinproto.recovery.foreign.ra import nodes

    return nodes.groups(stores)


def _problems(stores: Sequence[Found]) -> list[str]:
    """Return the problems of the stores; a problem of several stores is listed once."""
    names = grouped((problem, one.name) for one in stores for problem in one.problems)
    return [f"{', '.join(where)}: {problem}" for problem, where in names.items()]


def _stores_of_cluster(stores: Sequence[Found], cluster: str) -> tuple[list[Found], list[str]]:
    if not cluster:
        return list(stores), []
    wanted = {
        found.cluster
        for found in stores
        if found.cluster and (found.cluster.startswith(cluster) or found.cluster_name == cluster)
    }
    if len(wanted) != 1:
        known = sorted(
            {f"{found.cluster_name} {found.cluster}".strip() for found in stores if found.cluster}
        )
        raise UsageProblem(
            f"--cluster {cluster}: {'none' if not wanted else 'several'} of these stores",
            next="clusters here: " + ("; ".join(known) or "none"),
        )
    others = [found for found in stores if found.cluster and found.cluster not in wanted]
    chosen = [found for found in stores if found not in others]
    return chosen, [f"{found.name}: of another cluster, {short(found.cluster)}" for found in others]


def _texts_of_all(stores: Sequence[Found], lost: Collection[str]) -> tuple[tuple[str, ...], str]:
    """Return the evidence and the advice from all stores together, of RabbitMQ or Galera."""
    formats = {one.format for one in stores}
    if Format.RABBITMQ in formats:
        from joinproto.recovery.foreign import rabbitmq

        return rabbitmq.graph_texts(stores, gone=lost)
    if Format.GALERA in formats:
        from joinproto.recovery.foreign import galera

        return galera.not_last(stores), ""
    return (), ""


def _safety(found: Pick) -> tuple[str, ...]:
    """Return a line on whether a restart can lose an acknowledged frame, for joinproto's stores."""
    if not found.findings.has_chain or not found.latest:
        return ()
    if found.loses_nothing:
        said = "a frame was acknowledged only when every member's store had it"
        return (f"{said}, so a restart from here loses no acknowledged frame",)
    return ("whether a restart from here loses acknowledged frames is not known",)


# -- as JSON ---------------------------------------------------------------------------------


def store_result(found: Found) -> schema.Store:
    """Return one store in the form of `--json`."""
    record = found.record
    tip = None if record is None else record.tip
    last = found.last_view
    return filled(
        schema.Store,
        found,
        member=found.member or None,
        cluster=found.cluster or None,
        lineage_length=None if record is None else record.lineage.length,
        view=str(tip.id) if tip else None if last is None else last.id,
        raft=found.raft_log,
        facts={fact.name: fact.value for fact in found.facts},
        history={
            str(number): found.history[number].hex()
            for number in sorted(found.history or {})[-WRITE_SETS_SHOWN:]
        }
        if found.history
        else {},
    )


def group_results(stores: Sequence[Found]) -> tuple[schema.Group, ...]:
    """Return the stores of each cluster in the form of `--json`."""
    groups = group([one.candidate for one in stores])
    return tuple(schema.Group(each.cluster, tuple(each.names)) for each in groups)


def result_of(judgement: Judgement) -> schema.Result:
    """Return the object of `--json`."""
    found = judgement.pick
    return schema.Result(
        stores=tuple(map(store_result, judgement.stores)),
        groups=tuple(schema.Group(each.cluster, tuple(each.names)) for each in found.groups),
        verdict=found.verdict,
        latest=tuple(found.latest),
        evidence=(judgement.sentence, *judgement.evidence),
        missing=tuple(
            schema.Missing(member=item.member, store_id=item.store_id or None, why=item.why)
            for item in judgement.missing
        ),
        next=judgement.next,
        raft_groups=None
        if judgement.raft is None
        else tuple(map(_group_result, judgement.raft.rows)),
        unused=judgement.unused or None,
    )


def _group_result(row: GroupVerdict) -> schema.RaftGroup:
    return schema.RaftGroup(
        name=row.title,
        vhost=row.any_log.vhost or None,
        proven=row.is_proven,
        best=row.best,
        missing=row.verdict.missing,
        needed=row.verdict.needed,
    )
