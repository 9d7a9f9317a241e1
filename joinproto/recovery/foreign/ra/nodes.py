"""The contents of a node's Ra files: with Mnesia the messages of its queues, with Khepri all data.

From 3.13 on each node has a log of Khepri.  While Mnesia is used, this log has only the node itself
as a member, and no metadata.  The feature flag `khepri_db` moves the metadata: the nodes' logs
become one group, the tables are copied, the flag is written on each node to NODE-feature_flags,
next to its directory, and then Mnesia's files are deleted.  Each node obeys its own flag.  So if a
directory has both, the flags decide.  Without the file of flags, Mnesia is used if its lists name
other nodes and the log does not; otherwise it is unknown which is used.

Source: RabbitMQ 3.13 to 4.3, `rabbit_khepri` (`khepri_db_migration_enable`, `.._post_enable`),
`rabbit_env`; seen on real nodes of 4.0.5 and 4.3.6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from attrs import evolve

from joinproto.codec.erlang_terms import Atom, List
from joinproto.recovery.foreign import mnesia
from joinproto.recovery.foreign.ra.folders import DIGEST, FLAGS
from joinproto.recovery.foreign.ra.log import GroupLog, RaSystem
from joinproto.recovery.foreign.ra.verdicts import KHEPRI, GroupVerdicts, judge_groups
from joinproto.recovery.foreign.text import NotAsWritten, term_of, unpacked
from joinproto.recovery.found import Fact, Found, Raw, State

FLAG = "khepri_db"
BOTH = (
    "Mnesia's files and Khepri's log are here, and which of them counts is not known: that is in"
    " NODE-feature_flags, which RabbitMQ keeps next to this directory"
)
NONE = "no log of the metadata is among Ra's files"


def raft_of(raw: Raw) -> tuple[tuple[RaSystem, ...], tuple[str, ...]]:
    """Return the logs in the digests of Ra's files, and why some digests cannot be read."""
    found, broken = [], []
    for file in raw.files:
        if not file.name.endswith(DIGEST):
            continue
        if file.data is None:
            broken.append(f"{file.name.removesuffix(DIGEST)}: {file.problem}")
            continue
        try:
            found.append(unpacked(RaSystem, file.data))
        except NotAsWritten as error:
            broken.append(str(error))
    return tuple(found), tuple(broken)


def named_in(raw: Raw) -> frozenset[str]:
    """Return the nodes that Ra's folders name."""
    return frozenset(
        file.name.removesuffix(DIGEST).partition("/")[2]
        for file in raw.files
        if file.name.endswith(DIGEST) and "/" in file.name
    )


def refuse_former_logs(raft: tuple[RaSystem, ...], node: str) -> tuple[RaSystem, ...]:
    """Return the logs, in which logs of a renamed node's former name are marked as damaged.

    Ra uses the folder with the node's present name, so it does not find the former logs.
    """
    if not node:
        return raft
    return tuple(
        evolve(
            each,
            logs=tuple(
                log
                if log.node == node
                else evolve(log, damaged=f"is of {log.node}, and the node's name is {node} now")
                for log in each.logs
            ),
        )
        for each in raft
    )


def has_khepri(found: Found) -> bool:
    """Return whether a node's metadata are in a log of Khepri."""
    return any((each.system, log.group) == KHEPRI for each in found.raft for log in each.logs)


def _metadata(raft: tuple[RaSystem, ...]) -> GroupLog | None:
    all_of = (log for each in raft for log in each.logs if (each.system, log.group) == KHEPRI)
    return next(all_of, None)


def is_khepri(raw: Raw, metadata: GroupLog, listed: Collection[str]) -> bool | None:
    """Return whether a node with Mnesia's files uses this log of Khepri, None if unknown.

    `listed`: the nodes that Mnesia's lists name.
    """
    try:
        flags = term_of(raw.file(FLAGS))
    except NotAsWritten:
        flags = None
    if isinstance(flags, List):
        return any(isinstance(one, Atom) and one.name == FLAG for one in flags.items)
    known = metadata.configurations[-1:]
    others = {*listed} - {metadata.node}
    alone = all(one.voters | one.learners <= {metadata.node} for one in known)
    return False if others and alone else None


def without_khepri(raft: tuple[RaSystem, ...]) -> tuple[RaSystem, ...]:
    """Return the logs without Khepri's log, for a node whose metadata are in Mnesia."""
    return tuple(
        evolve(each, logs=tuple(log for log in each.logs if (each.system, log.group) != KHEPRI))
        for each in raft
    )


def khepri_node(
    raw: Raw,
    raft: tuple[RaSystem, ...],
    broken: tuple[str, ...],
    *,
    has_lists: bool,
    listed: Collection[str],
) -> Found | None:
    """Return the facts of a node with Khepri, None for a node with Mnesia.

    `has_lists`: whether there are Mnesia's lists of nodes; `listed`: which nodes they name.
    """
    metadata = _metadata(raft)
    has_tables = any(file.name.endswith(mnesia.WHOLE) for file in raw.files)
    if metadata is None:
        if has_tables or has_lists or not (raft or broken):
            return None
        said = tuple(one.problem for one in raft if one.problem)
        problems = (*said, *broken) or (NONE,)
        return Found.of(raw, State.UNKNOWN, *problems, raft=raft)
    if has_tables or has_lists:
        counts = is_khepri(raw, metadata, listed)
        if counts is None:
            return Found.of(raw, State.UNKNOWN, BOTH, *broken)
        if not counts:
            return None
    newest = metadata.configurations[-1] if metadata.configurations else None
    members = sorted(newest.voters | newest.learners) if newest else []
    return Found.of(
        raw,
        State.CORRUPT if broken else State.DIRTY,
        *broken,
        member=metadata.node,
        cluster=min(members, default=metadata.node),
        raft=raft,
        facts=(
            Fact("node", metadata.node),
            Fact("metadata", "Khepri"),
            Fact("members", ", ".join(members)),
            Fact("Raft groups", str(sum(len(each.logs) for each in raft))),
        ),
    )


def merged(groups: Iterable[set[str]]) -> list[set[str]]:
    """Return the groups, after merging groups that have a name in common."""
    found: list[set[str]] = []
    for group in groups:
        joined = [other for other in found if other & group]
        found = [*(other for other in found if not other & group), group.union(*joined)]
    return found


def clustered(stores: Sequence[Found]) -> tuple[Found, ...]:
    """Return the stores; stores with Khepri get their `cluster`, the first name of their nodes.

    Two nodes belong to one cluster if the logs of both name the other as a member.
    """
    knows: dict[str, set[str]] = {}
    for store in stores:
        log = _metadata(store.raft)
        if store.node is None and log is not None:
            named = knows.setdefault(log.node, {log.node})
            named.update(*(one.voters | one.learners for one in log.configurations))
    # A node whose store is not here belongs to the nodes that name it.
    together = merged(
        {node} | {one for one in named if node in knows.get(one, {node})}
        for node, named in sorted(knows.items())
    )
    first = {node: min(group) for group in together for node in group}
    return tuple(
        evolve(store, cluster=first[log.node])
        if store.node is None and (log := _metadata(store.raft)) is not None
        else store
        for store in stores
    )


def groups(stores: Sequence[Found]) -> GroupVerdicts | None:
    """Return the verdicts about the Raft groups of these nodes; None if they have no groups."""
    known = [one for one in stores if one.raft and one.state.is_readable]
    defined = [
        one.node.definitions.values.keys()
        for one in known
        if one.node is not None and one.node.definitions is not None
    ]

    def is_defined(log: GroupLog) -> bool:
        keys = mnesia.keys_of_queue(log.vhost, log.queue)
        return not defined or any(not keys.isdisjoint(one) for one in defined)

    found = judge_groups({one.name: one.raft for one in known}, is_defined=is_defined)
    return found if found.rows or found.problems else None
