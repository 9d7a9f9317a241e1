"""The logs of one Ra system on one node, put together from all of its files.

Segments are read first, then the write-ahead logs, each in the order of their numbers.  So the
entry that was written last is read last, as by Ra itself.  An entry with an index that the log
already has replaces this entry and all later ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from attrs import define, evolve, field, frozen

from joinproto.codec.json_form import Absent, Written, filled
from joinproto.pick.raft import Configuration, RaftLog
from joinproto.recovery.foreign import external
from joinproto.recovery.foreign.ra import dets, members
from joinproto.recovery.foreign.ra.members import Config
from joinproto.recovery.foreign.ra.wal import Entry
from joinproto.recovery.raft_facts import add_term

META, NAMES = "meta.dets", "names.dets"
CHANGES_MAX = 10_000
TERMS_MAX = 1_000

_PRINTS = Written(
    tuple[tuple[int, int, int], ...], list, lambda found: tuple(tuple(one) for one in found)
)
_TERMS = Written(
    tuple[tuple[int, int], ...], list, lambda found: tuple(tuple(one) for one in found)
)
_CONFIGURATIONS = Written(
    tuple[tuple[int, int, tuple[str, ...], tuple[str, ...]], ...],
    lambda all_of: [
        (one.index, one.term, tuple(sorted(one.voters)), tuple(sorted(one.learners)))
        for one in all_of
    ],
    lambda found: tuple(
        Configuration(index=index, term=term, voters=frozenset(voters), learners=frozenset(others))
        for index, term, voters, others in found
    ),
)


@frozen(kw_only=True)
class GroupLog:
    """The log of one group on one node.

    `prints`: for a few entries their index, term, and a hash that is the same on every node.
    """

    system: Annotated[str, "quorum or coordination"]
    group: Annotated[str, "the group's name"]
    node: Annotated[str, "the node of the log"]
    queue: Annotated[str, "the quorum queue"] = ""
    vhost: Annotated[str, "the queue's virtual host"] = ""
    term: Annotated[int, "the newest term that it knows"] = 0
    vote: Annotated[str, "its vote in that term"] = ""
    last_term: Annotated[int, "term of its last entry"] = 0
    last_index: Annotated[int, "index of its last entry"] = 0
    commit: Annotated[int, "an entry that is committed"] = 0
    configurations: Annotated[
        tuple[Configuration, ...], _CONFIGURATIONS, "the voters, and from which entry on"
    ] = ()
    prints: Annotated[tuple[tuple[int, int, int], ...], _PRINTS, "prints of a few entries"] = ()
    damaged: Annotated[str, "why it does not count"] = ""
    terms: Annotated[
        tuple[tuple[int, int], ...],
        _TERMS,
        Absent(()),
        "the first entry of each term, and the term",
    ] = ()
    made: Annotated[int, Absent(0), "when its queue was declared, in milliseconds; 0: added"] = 0
    founders: Annotated[tuple[str, ...], Absent(()), "the first members, if `made` is set"] = ()

    @property
    def title(self) -> str:
        """Return the group's title for people."""
        if self.queue:
            return self.queue if self.vhost == "/" else f"{self.queue} in {self.vhost}"
        return {
            "rabbitmq_metadata": "the metadata (Khepri)",
            "rabbit_stream_coordinator": "the coordinator of streams",
        }.get(self.group, self.group)

    def raft(self, name: str) -> RaftLog:
        """Return the log in the form for a verdict about the group; `name`: the store's name."""
        return filled(RaftLog, self, name=name, member=self.node)


@frozen
class RaSystem:
    """The logs of one Ra system on a node."""

    system: Annotated[str, "quorum or coordination"]
    logs: Annotated[tuple[GroupLog, ...], "a log for each group"] = ()
    problem: Annotated[str, "why none of them counts"] = ""


@define
class Log:
    """One log while its entries are read, from the oldest to the newest.

    `base`: index and term of the snapshot's last entry.  `last`: index and term of the last entry.
    `torn`: why the end of the last file is not whole.  `problem`: why the log does not count.
    """

    base: tuple[int, int] = (0, 0)
    configurations: list[Configuration] = field(factory=list)
    prints: dict[int, tuple[int, int]] = field(factory=dict)
    terms: list[tuple[int, int]] = field(factory=list)
    last: tuple[int, int] = (0, 0)
    torn: str = ""
    problem: str = ""

    def start_from(self, term: int, configuration: Configuration) -> None:
        """Begin after a snapshot, or with the first members at index 0."""
        self.base = self.last = (configuration.index, term)
        self.configurations = [configuration]
        self.terms = [self.base] if configuration.index else []

    def take(self, name: str, entry: Entry) -> None:
        """Add the next entry; if entries before it are missing, set `problem`."""
        index = entry.index
        if index <= self.base[0] and index > 0:
            return  # the snapshot has this entry, too
        if index > self.last[0] + 1:
            self.problem = f"{name}: entries {self.last[0] + 1} to {index - 1} are not there"
            return
        if index <= self.last[0]:
            for old in [one for one in self.prints if one >= index]:
                del self.prints[old]
            while self.configurations[-1].index >= index and len(self.configurations) > 1:
                self.configurations.pop()
        self.torn = ""
        self.last = index, entry.term
        add_term(self.terms, index, entry.term)
        del self.terms[:-TERMS_MAX]
        if entry.print is not None:
            self.prints[index] = entry.term, entry.print
        if entry.command:
            changed = members.change_in(name, entry.command, index=index, term=entry.term)
            if changed is not None:
                self.configurations.append(changed)
                if len(self.configurations) > CHANGES_MAX:
                    self.problem = f"{name}: more than {CHANGES_MAX} changes of members"


@frozen
class MetaRow:
    """The row of a log in `meta.dets`."""

    term: int = 0
    vote: str = ""
    applied: int = 0


def meta_in(data: bytes) -> Mapping[bytes, MetaRow]:
    """Return the row of `meta.dets` for each log; several rows give the highest numbers."""
    found: dict[bytes, MetaRow] = {}
    for row in dets.objects_in(META, data):
        parts = external.parts_of(row, 4)
        uid = external.binary(parts[0])
        vote = parts[2]
        one = MetaRow(
            term=_number_or_0(parts[1]),
            vote=members.server_of(vote) if external.is_tuple(vote) else "",
            applied=_number_or_0(parts[3]),
        )
        other = found.get(uid, MetaRow())
        newer = max(one, other, key=lambda each: each.term)
        found[uid] = evolve(newer, applied=max(one.applied, other.applied))
    return found


def names_in(data: bytes) -> Mapping[str, frozenset[bytes]]:
    """Return the ids of each group's logs in `names.dets`; several ids are a sign of damage."""
    found: dict[str, frozenset[bytes]] = {}
    for row in dets.objects_in(NAMES, data):
        parts = external.parts_of(row, 2)
        group = external.atom(parts[0]).decode("utf-8", "replace")
        found[group] = found.get(group, frozenset()) | {external.binary(parts[1])}
    return found


def _number_or_0(term: bytes) -> int:
    return 0 if external.atom(term) == b"undefined" else external.integer(term)


def group_logs(
    system: str,
    configs: Sequence[Config],
    logs: Mapping[bytes, Log],
    *,
    meta: Mapping[bytes, MetaRow],
    names: Mapping[str, frozenset[bytes]],
) -> tuple[GroupLog, ...]:
    """Return the logs of a system, with the facts of all files."""
    named = {uid for uids in names.values() for uid in uids}
    # If a queue was deleted and declared again, the old queue's log is left out.
    live = {config.group for config in configs if config.uid in named}
    return tuple(
        _group_log(system, config, logs.get(config.uid, Log()), meta.get(config.uid), names)
        for config in configs
        if config.uid in named or config.group not in live
    )


def _group_log(
    system: str,
    config: Config,
    log: Log,
    row: MetaRow | None,
    names: Mapping[str, frozenset[bytes]],
) -> GroupLog:
    named = names.get(config.group, frozenset())
    damaged = log.problem or log.torn
    if not damaged and config.uid not in named:
        damaged = f"{NAMES} does not name this log, so RabbitMQ starts it anew and empty"
    elif not damaged and len(named) > 1:
        damaged = f"{NAMES} names {len(named)} logs for one group"
    elif not damaged and row is None and log.last[0] > 0:
        damaged = f"{META} has no row with its term and vote"
    elif not damaged and log.last[0] == 0:
        damaged = "has no entry: it never heard of one, or was made anew on an emptied disk"
    row = row or MetaRow()
    return filled(
        GroupLog,
        config,
        row,
        system=system,
        last_index=log.last[0],
        last_term=log.last[1],
        commit=max(row.applied, log.base[0]),
        configurations=tuple(log.configurations) or (config.first,),
        prints=tuple((index, *log.prints[index]) for index in sorted(log.prints)),
        terms=tuple(log.terms),
        damaged=damaged,
        founders=tuple(sorted(config.first.voters)) if config.made else (),
    )


def feed(logs: Mapping[bytes, Log], name: str, entries: Iterable[Entry]) -> str:
    """Add entries to their logs; return why the end of their file is not whole, "" if it is.

    Entries of a deleted group have no log, and are left out.
    """
    steps = iter(entries)
    while True:
        try:
            entry = next(steps)
        except StopIteration as ended:
            return ended.value or ""
        if (log := logs.get(entry.uid)) is not None and not log.problem:
            log.take(name, entry)
