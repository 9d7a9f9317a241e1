"""What a node's Ra files come to: alongside Mnesia the messages of its queues, with Khepri
everything.

Where Khepri is the metadata store there are no tables of Mnesia, and perhaps no list of nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve

from joinproto.recovery.foreign import mnesia
from joinproto.recovery.foreign.ra.folders import DIGEST
from joinproto.recovery.foreign.ra.log import GroupLog, RaSystem, system_from
from joinproto.recovery.foreign.ra.table import KHEPRI, Table, table
from joinproto.recovery.foreign.text import NotAsWritten
from joinproto.recovery.found import Fact, Found, Raw, State

BOTH = "Mnesia's tables and Khepri's log are here: which counts, no file that is read says"
NONE = "no log of the metadata is among Ra's files"


def raft_of(raw: Raw) -> tuple[tuple[RaSystem, ...], tuple[str, ...]]:
    """Return what the digests of Ra's files say, and why one of them says nothing."""
    found, broken = [], []
    for file in raw.files:
        if not file.name.endswith(DIGEST):
            continue
        if file.data is None:
            broken.append(f"{file.name.removesuffix(DIGEST)}: {file.problem}")
            continue
        try:
            found.append(system_from(file.data))
        except NotAsWritten as error:
            broken.append(str(error))
    return tuple(found), tuple(broken)


def named_in(raw: Raw) -> frozenset[str]:
    """Return the nodes after which Ra's folders are called: a node calls them by its own name."""
    return frozenset(
        file.name.removesuffix(DIGEST).partition("/")[2]
        for file in raw.files
        if file.name.endswith(DIGEST) and "/" in file.name
    )


def of_node(raft: tuple[RaSystem, ...], node: str) -> tuple[RaSystem, ...]:
    """Return the logs, those of another node's name as damaged: a node that was renamed has them.

    Ra's folder is called by the name that the node has now, so it does not find what it had before.
    """
    if not node:
        return raft
    return tuple(
        evolve(
            each,
            logs=tuple(
                log
                if log.node == node
                else evolve(log, damaged=f"is of {log.node}, and the node is called {node} now")
                for log in each.logs
            ),
        )
        for each in raft
    )


def has_khepri(found: Found) -> bool:
    """Return whether a node's metadata are in a log of Khepri."""
    return any((each.system, log.group) == KHEPRI for each in found.raft for log in each.logs)


def of_khepri(
    raw: Raw, raft: tuple[RaSystem, ...], broken: tuple[str, ...], *, has_lists: bool
) -> Found | None:
    """Return what a node with Khepri says, None of one with Mnesia; `has_lists`: of nodes."""
    metadata = next(
        (log for each in raft for log in each.logs if (each.system, log.group) == KHEPRI), None
    )
    has_tables = any(file.name.endswith(mnesia.WHOLE) for file in raw.files)
    if metadata is None:
        if has_tables or has_lists or not (raft or broken):
            return None
        said = tuple(one.problem for one in raft if one.problem)
        problems = (*said, *broken) or (NONE,)
        return Found.of(raw, state=State.UNKNOWN, raft=raft, problems=problems)
    if has_tables:
        return Found.of(raw, state=State.UNREADABLE, raft=raft, problems=(BOTH, *broken))
    newest = metadata.configurations[-1] if metadata.configurations else None
    members = sorted(newest.voters | newest.learners) if newest else []
    return Found.of(
        raw,
        state=State.CORRUPT if broken else State.DIRTY,
        member=metadata.node,
        cluster=min(members, default=metadata.node),
        raft=raft,
        problems=broken,
        facts=(
            Fact("node", metadata.node),
            Fact("metadata", "Khepri"),
            Fact("members", ", ".join(members)),
            Fact("Raft groups", str(sum(len(each.logs) for each in raft))),
        ),
    )


def groups(stores: Sequence[Found]) -> Table | None:
    """Return the verdicts about the Raft groups of these nodes; None: they have none."""
    known = [one for one in stores if one.raft and one.state.is_readable]
    defined = [
        one.node.definitions.values.keys()
        for one in known
        if one.node is not None and one.node.definitions is not None
    ]

    def is_defined(log: GroupLog) -> bool:
        keys = mnesia.keys_of_queue(log.vhost, log.queue)
        return not defined or any(not keys.isdisjoint(one) for one in defined)

    found = table({one.name: one.raft for one in known}, is_defined=is_defined)
    return found if found.rows or found.problems else None
