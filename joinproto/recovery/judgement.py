"""What a command found out: verdict, evidence, what is missing, what to do next.  No I/O.

Here the verdict of `joinproto.pick` meets the operator: exit code and the next command.
"""

from __future__ import annotations

import errno
from collections.abc import Collection, Sequence

from attrs import frozen

from joinproto.errors import UsageProblem
from joinproto.join.ids import short
from joinproto.pick.candidate import called
from joinproto.pick.findings import Missing
from joinproto.pick.pick import Pick, group, pick
from joinproto.pick.table import Verdict
from joinproto.recovery import schema
from joinproto.recovery.access import DISK
from joinproto.recovery.foreign.choice import broker_would
from joinproto.recovery.found import Format, Found, State
from joinproto.recovery.words import typed

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


WORDS_MAX = 8


@frozen(kw_only=True)
class Judgement:
    """The verdict about stores, and what a person is told of it."""

    stores: tuple[Found, ...]
    pick: Pick
    sentence: str
    evidence: tuple[str, ...]
    not_examined: tuple[str, ...]
    next: str

    @property
    def verdict(self) -> Verdict:
        return self.pick.verdict

    @property
    def code(self) -> int:
        """Return the exit code."""
        return EXIT[self.verdict]

    @property
    def missing(self) -> tuple[Missing, ...]:
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

    `cluster`: a name, or the beginning of a signature, where stores of several were given.
    `transient`: members that keep nothing.  `lost`: those whose store nobody will ever supply;
    nothing is proven by that, but other things can be done.  `outside`: an outside register
    chooses the views.  `nodes`: how many a cluster of another broker has.  `words`: of the
    command line, for the next one.
    """
    chosen, others = _of_cluster(stores, cluster)
    formats = {found.format for found in chosen if found.state.is_readable}
    if len(formats) > 1:
        listed = ", ".join(sorted(one.value for one in formats if one is not None))
        raise UsageProblem(
            f"stores of several brokers ({listed}) cannot be compared",
            next="name the directories of one cluster only",
        )
    if formats == {Format.STANDBY} or {one.format for one in chosen} == {Format.STANDBY}:
        return _of_brokers(chosen, lost=lost, notes=(*notes, *others), words=words)
    found = pick([one.candidate for one in chosen], without=transient, outside=outside, nodes=nodes)
    told = _told(chosen, lost)
    settled = (Verdict.PROVEN, Verdict.TIE, Verdict.CLEAN, Verdict.IN_USE)
    is_sure = found.verdict in (Verdict.PROVEN, Verdict.TIE) or Format.RABBITMQ not in formats
    is_open = found.verdict not in (*settled, Verdict.DIFFERENT_CLUSTERS)
    would = broker_would(chosen) if is_open else ""
    quiet = _problems(chosen)
    claimed = [f"{name} keeps nothing: that is what you say" for name in transient]
    claimed += [f"the store of {name} is lost for good: that is what you say" for name in lost]
    if outside:
        claimed.append("an outside register chooses the views: that is what you say")
    return Judgement(
        stores=tuple(chosen),
        pick=found,
        sentence=f"{_sentence(found, chosen)} {would}".rstrip(),
        evidence=(
            *found.findings.lines,
            *_safety(found),
            *(told if is_sure or not told else (*told[:-1], f"by these lists alone: {told[-1]}")),
            *found.findings.pending,
            *claimed,
            *quiet,
        ),
        not_examined=(*notes, *others, *_not_examined(chosen, outside=outside, nodes=nodes)),
        next=_without(found, lost, words)
        or _in_order(found, chosen, told, lost)
        or _next(found, chosen, words),
    )


def _of_brokers(
    stores: Sequence[Found],
    *,
    lost: Collection[str],
    notes: Sequence[str],
    words: Sequence[str],
) -> Judgement:
    """Return the verdict about stores of hot standby, where the last to be primary is the best."""
    from joinproto.recovery import brokers

    found, best = brokers.picked(stores)
    claimed = [f"the store of {name} is lost for good: that is what you say" for name in lost]
    return Judgement(
        stores=tuple(stores),
        pick=found,
        sentence=brokers.sentence_of(found, best),
        evidence=(*found.findings.lines, *claimed, *_problems(stores)),
        not_examined=(
            *notes,
            "what is in the messages: only which deeds are there was read",
            "whether a broker runs on a machine that is not named here",
        ),
        next=brokers.next_of(found, best, stores, words, lost=lost),
    )


def _problems(stores: Sequence[Found]) -> list[str]:
    """Return what is wrong with stores; what is so with several is said once."""
    names: dict[str, list[str]] = {}
    for one in stores:
        for problem in one.problems:
            names.setdefault(problem, []).append(one.name)
    return [f"{', '.join(where)}: {problem}" for problem, where in names.items()]


def _of_cluster(stores: Sequence[Found], cluster: str) -> tuple[list[Found], list[str]]:
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


def _told(stores: Sequence[Found], lost: Collection[str]) -> tuple[str, ...]:
    """Return what only the readers of other brokers' files can say of several of them."""
    formats = {one.format for one in stores}
    if Format.RABBITMQ in formats:
        from joinproto.recovery.foreign import rabbitmq

        graphs = rabbitmq.wait_graphs(stores, gone=lost)
        lines = [line for graph in graphs for line in rabbitmq.lines(graph)]
        return (*rabbitmq.refused(stores), *lines)
    if Format.GALERA in formats:
        from joinproto.recovery.foreign import galera

        return tuple(one.line for one in galera.not_last(stores))
    return ()


def _safety(found: Pick) -> tuple[str, ...]:
    """Return what the operator most wants to know: whether an acknowledged frame can be lost."""
    if not found.findings.has_chain or not found.latest:
        return ()
    if found.loses_nothing:
        said = "a frame was acknowledged only when every member's store had it"
        return (f"{said}, so a restart from here loses no acknowledged frame",)
    return ("whether a restart from here loses acknowledged frames is not known",)


# -- in words --------------------------------------------------------------------------------


def _sentence(found: Pick, stores: Sequence[Found]) -> str:
    places = [_where(one) for one in stores if one.name in found.latest]
    bad = [one for one in stores if not one.state.is_readable]
    match found.verdict:
        case Verdict.PROVEN:
            return f"{places[0]} is the latest store, and it is proven."
        case Verdict.TIE:
            return f"{_and(places)} have the same data, proven the latest: any of them is right."
        case Verdict.CLEAN if not places:
            return "Every store is empty: there is nothing to recover."
        case Verdict.CLEAN:
            return f"{_and(places)} {_is(places)} clean: there is nothing to recover."
        case Verdict.CORRUPT if bad:
            names = _and([f"{_where(one)} ({_state(one)})" for one in bad])
            return f"{names} cannot be read: {found.case}."
        case Verdict.CORRUPT:
            return "Two of these stores contradict each other: one is damaged or made by hand."
        case Verdict.DIFFERENT_CLUSTERS:
            count = len([one for one in found.groups if one.cluster is not None])
            return f"These are stores of {count} different clusters."
        case Verdict.DIVERGED:
            return f"These stores have gone different ways: {found.case}; none has all the data."
        case Verdict.IN_USE:
            used = [one for one in stores if one.state is State.IN_USE]
            names = _and([_where(one) for one in used])
            return f"{names} {_is(used)} in use: a running cluster needs no recovery."
    copies = [_where(one) for one in stores if one.name in _copies(found)]
    if len(copies) == 1:
        return f"{copies[0]} is an old state of its store: a backup was put in its place."
    if copies:
        return f"{_and(copies)} are copies of one member's store, or old states of one."
    if not places:
        return f"Not one of these stores can be called the latest: {found.case}."
    guess = f"{_and(places)} {_is(places)} the latest of these stores, but that is not proven"
    return f"{guess}: {found.case}."


def _state(one: Found) -> str:
    """Return what is wrong with a store that cannot be read; of an error of the system, which."""
    is_refused = one.state is State.UNREADABLE and one.problems
    return f"{one.state.value}: {one.problems[0]}" if is_refused else one.state.value


def _copies(found: Pick) -> set[str]:
    return {row.id for row in found.findings.rows if row.is_copy}


def _next(found: Pick, stores: Sequence[Found], words: Sequence[str]) -> str:
    """Return the next command to type, or the next thing to do."""
    given = _given(words)
    pending = bool(found.findings.pending)
    foreign = {one.format for one in stores} - {Format.JOINPROTO, None}
    match found.verdict:
        case Verdict.PROVEN | Verdict.TIE if foreign:
            return _start_foreign(found, stores)
        case Verdict.PROVEN | Verdict.TIE if pending:
            return "start all members: what was accepted is completed, and no mark is needed"
        case Verdict.PROVEN | Verdict.TIE:
            if any(one.record is not None and one.record.is_marked for one in stores):
                return "start all members: a restart from here is permitted already"
            return f"joinproto recover plan {given} -o plan.json"
        case Verdict.CLEAN if foreign:
            return _start_foreign(found, stores)
        case Verdict.CLEAN if not found.latest:
            return "start all members: they found a new cluster; or name the stores that have data"
        case Verdict.CLEAN:
            return "start all members as always"
        case Verdict.CORRUPT:
            bad = next((one for one in stores if not one.state.is_readable), None)
            if bad is not None and errno.EIO in bad.raw.errors:
                return DISK
            at = typed(bad.path) if bad else given
            return (
                f"joinproto recover inspect {at}   (what can still be read; if it is lost, pick"
                " without it and with --lost NAME)"
            )
        case Verdict.DIFFERENT_CLUSTERS:
            first = found.groups[0].cluster
            return f"joinproto recover pick --cluster {short(first).rstrip('.')} {given}"
        case Verdict.DIVERGED:
            return f"joinproto recover compare {given}   (shows what each side has beyond)"
        case Verdict.IN_USE:
            return "look at the running broker; if it shall not run, stop it, then ask again"
    if len(_copies(found)) == 1:
        return "look for what that store was before the backup; without it, pick with --lost NAME"
    if _copies(found):
        return "find out which directory the member really ran on, and name only that one"
    if found.findings.missing:
        names = ", ".join(dict.fromkeys(item.member for item in found.findings.missing))
        collect = "joinproto recover collect DIR > NAME.info"
        return f"on the hosts of {names}: {collect}; then pick again, with those files too"
    if Format.GALERA in foreign and any(one.seq is None for one in stores):
        again = " ".join(f"--position {typed(word)}=SEQNO" for word in words[:WORDS_MAX])
        return (
            "on each node: mariadbd --wsrep-recover (or mysqld), which ends with WSREP:"
            f" Recovered position; then joinproto recover pick {given} {again}"
        )
    if foreign:
        return "look in the logs for what settles it, as said above; nothing in these files does"
    return "look for the stores that are not here yet, and pick again with them"


def _in_order(
    found: Pick, stores: Sequence[Found], told: Sequence[str], lost: Collection[str]
) -> str:
    """Return how RabbitMQ's nodes are started, "" where that is not known."""
    missing = {item.member for item in found.findings.missing}
    is_lost = found.verdict is Verdict.UNPROVEN and missing and missing <= set(lost)
    is_known = (found.verdict in (Verdict.PROVEN, Verdict.TIE) or is_lost) and told
    return told[-1] if is_known and any(one.format is Format.RABBITMQ for one in stores) else ""


def _without(found: Pick, lost: Collection[str], words: Sequence[str]) -> str:
    """Return what can be done where all that is missing is lost, "" where that is not so."""
    missing = found.findings.missing
    is_ours = found.findings.has_chain and found.verdict is Verdict.UNPROVEN and found.latest
    if not is_ours or not missing or not {item.member for item in missing} <= set(lost):
        return ""
    given = _given(words)
    if found.loses_nothing:
        return f"joinproto recover plan --unproven {given} -o plan.json"
    return (
        f"joinproto recover plan --electors NAME,NAME {given} -o plan.json"
        "   (what only the lost stores had is lost)"
    )


def _given(words: Sequence[str]) -> str:
    """Return the stores as they are typed again; nobody types hundreds."""
    if len(words) > WORDS_MAX:
        return f"[the same {len(words)} directories and files]"
    return " ".join(map(typed, words)) or "DIR..."


def _start_foreign(found: Pick, stores: Sequence[Found]) -> str:
    places = [_where(one) for one in stores if one.name in found.latest]
    return f"start {places[0]} first, in the way its broker has for that; then the others"


def _not_examined(stores: Sequence[Found], *, outside: bool, nodes: int | None) -> tuple[str, ...]:
    lines = []
    if nodes is None and any(one.format in (Format.QPID, Format.GALERA) for one in stores):
        lines.append(
            "whether these are all nodes of the cluster: their files do not list them; say how many"
            " there are with --nodes N"
        )
    ours = [found for found in stores if found.format is Format.JOINPROTO]
    read = [found for found in ours if found.state.is_readable]
    if ours and all(found.raw.journal is not None for found in read):
        lines.append("what is in the frames: only which ones are there was read")
    elif ours:
        lines.append(
            "the frames themselves: only the stores' metadata was read; where the broker knows of"
            " later frames, say so with --position DIR=SEQ"
        )
    if ours:
        lines.append(
            "what the register holds as the successor of the newest view: if it holds one, others"
            " went on"
            if outside
            else "whether an outside register (etcd, Consul) chooses the views of this cluster: if"
            " it does, say --register"
        )
    lines += [
        f"whether {found.name} is open in a process: {found.raw.lock_problem}"
        for found in stores
        if found.raw.lock_problem
    ]
    lines.append("whether a member runs on a machine that is not named here")
    return tuple(lines)


def _where(found: Found) -> str:
    return f"{called(found.member)} ({found.name})" if found.member else found.name


def _and(words: Sequence[str]) -> str:
    if len(words) < 2:
        return "".join(words)
    if len(words) > 4:
        return f"{', '.join(words[:3])} and {len(words) - 3} others"
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _is(words: Sequence[object]) -> str:
    return "is" if len(words) == 1 else "are"


# -- as JSON ---------------------------------------------------------------------------------


def store_told(found: Found) -> schema.Store:
    """Return one store, as `--json` shows it."""
    record = found.record
    tip = None if record is None else record.tip
    last = found.last_view
    return schema.Store(
        name=found.name,
        path=found.path,
        host=found.host,
        format=found.format,
        member=found.member or None,
        cluster=found.cluster or None,
        state=found.state,
        lineage_length=None if record is None else record.lineage.length,
        view=str(tip.id) if tip else None if last is None else last.id,
        seq=found.seq,
        problems=tuple(found.problems),
    )


def groups_told(stores: Sequence[Found]) -> tuple[schema.Group, ...]:
    """Return which stores belong together, as `--json` shows it."""
    groups = group([one.candidate for one in stores])
    return tuple(schema.Group(each.cluster, tuple(each.names)) for each in groups)


def told(judgement: Judgement) -> schema.Result:
    """Return the object of `--json`."""
    found = judgement.pick
    return schema.Result(
        stores=tuple(map(store_told, judgement.stores)),
        groups=tuple(schema.Group(each.cluster, tuple(each.names)) for each in found.groups),
        verdict=found.verdict,
        latest=tuple(found.latest),
        evidence=(judgement.sentence, *judgement.evidence),
        missing=tuple(
            schema.Missing(member=item.member, store_id=item.store_id or None, why=item.why)
            for item in judgement.missing
        ),
        next=judgement.next,
    )
