"""Find the logs of one Raft group that have every committed entry.  Pure.

A committed entry is in the logs of a majority of the voters.  A log is *later* than another if
it ends in a later term, or in the same term with a larger index.  A log that is at least as late
as those of a majority of its own voters could win an election, and Raft's leaders have every
committed entry.  So the latest log is proven if a majority of its voters can be read.

The voters are in the log's latest configuration.  Some systems use a configuration as soon as it
is in the log (Ra, KRaft), others when it is committed (etcd).  So a majority of the voters is
needed in the last configuration that is known to be committed, and in each later one.

Two logs must agree on the entries that both know to be committed.  If they do not, a member was
started alone by force while others continued.  Then there are two branches, and no log has all.

Two facts that no file shows are assumed: that no store was put back from a copy, or wiped and
started again under its old name, and that no member whose store is not here was started alone by
force.  If files show the opposite, nothing is proven.

Source: Ongaro, "Consensus: Bridging Theory and Practice", 3.6 and 4.1; 4.2.1 for learners.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Annotated

from attrs import frozen

ASSUMED = (
    "that no store was put back from a copy, and none was wiped and started again under its old"
    " name, in a way that no file shows; and that no other member was started alone by force"
)


@frozen(kw_only=True)
class Configuration:
    """The voters from this index on.

    Two configurations with one index are a joint configuration, which needs both majorities.
    """

    index: Annotated[int, "index of the entry, or of the snapshot"]
    term: Annotated[int, "term of that entry; 0: not known"] = 0
    voters: Annotated[frozenset[str], "members that vote"] = frozenset()
    learners: Annotated[frozenset[str], "members that do not vote"] = frozenset()


@frozen(kw_only=True)
class RaftLog:
    """The facts of one group in the store of one member.

    `name`: the store's path, different for each store.  `member`: the name in configurations.
    `term`, `vote`: its last promise ("": no vote).  `commit`: the largest index that it knows to be
    committed (0: none).  `configurations`: in the order of the log; the first is from its snapshot
    or its founding.  `terms`: index and term of the first known entry of each term, as far back as
    the log reaches; terms are not compared if it is empty.  `revision`: how many changes the data
    have seen up to the entry `applied`, if known; an entry makes at most one change.  `damaged`:
    why the log does not count; its commit index is still believed.
    """

    name: str
    member: str
    term: int = 0
    vote: str = ""
    last_term: int = 0
    last_index: int = 0
    commit: int = 0
    configurations: tuple[Configuration, ...] = ()
    terms: tuple[tuple[int, int], ...] = ()
    applied: int | None = None
    revision: int | None = None
    damaged: str = ""

    @property
    def end(self) -> tuple[int, int]:
        """Return the sort key of the logs of one group: last term, then last index."""
        return self.last_term, self.last_index

    @property
    def is_blank(self) -> bool:
        """Return whether the log never had an entry: its member is new, or was wiped."""
        return not self.last_index and not self.configurations

    def term_at(self, index: int) -> int:
        """Return the term of an entry of the log; 0 if it is not known."""
        return max((term for first, term in self.terms if first <= index), default=0)

    def voters_at(self, index: int) -> tuple[frozenset[str], ...]:
        """Return the voters in use after this entry; two sets if joint, () if not known."""
        last = max((one.index for one in self.configurations if one.index <= index), default=-1)
        return tuple(one.voters for one in self.configurations if one.index == last)


@frozen(kw_only=True)
class RaftVerdict:
    """The verdict on the stores of one group.

    `latest`: names of the stores with the latest log; if several, they have the same entries.
    `voters`, `learners`: the members of the newest configuration in that log.  `missing`: voters
    whose stores are not here, or do not count; `needed`: how many of them complete a majority.
    `committed`: entries up to this index are known to be committed; later entries, up to
    `last_index`, may or may not have been acknowledged, and the latest stores have them.
    `went_back`: the evidence that a store was put back or wiped, in words.  `branches`: the
    evidence that two stores are on two branches, in words.  `duplicates`: names of stores that
    share their member with another store.
    """

    is_proven: bool
    latest: tuple[str, ...] = ()
    voters: frozenset[str] = frozenset()
    learners: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    needed: int = 0
    committed: int = 0
    last_index: int = 0
    went_back: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    duplicates: tuple[str, ...] = ()

    @property
    def uncertain(self) -> range:
        """Return the indexes of the entries that may or may not have been acknowledged."""
        return range(self.committed + 1, self.last_index + 1)


def judge(logs: Sequence[RaftLog], *, at_commit: bool) -> RaftVerdict:
    """Return the verdict on the stores of one group.

    `logs`: the group's logs, with different names; learners and removed members may be among them.
    `at_commit`: a configuration is used once it is committed (etcd), else once it is in the log.
    """
    times = Counter(log.member for log in logs)
    duplicates = tuple(log.name for log in logs if times[log.member] > 1)
    # A blank log is no evidence: its member may have had every entry before it was wiped.
    sound = [one for one in logs if not one.damaged and not one.is_blank and not _lost_end(one)]
    committed = max((log.commit for log in logs), default=0)
    if not sound:
        return RaftVerdict(is_proven=False, committed=committed, duplicates=duplicates)
    end = max(log.end for log in sound)
    latest = [log for log in sound if log.end == end]
    best = latest[0]
    in_use = _in_use(best, committed)
    here = {log.member for log in sound if times[log.member] == 1}
    voters = frozenset[str]().union(*(one.voters for one in in_use))
    short = max((majority(one) - len(one.voters & here) for one in in_use), default=1)
    unshared = [log for log in sound if times[log.member] == 1]
    branches = (*_branches(unshared), *(() if at_commit else _forced_starts(unshared)))
    went_back = tuple(_went_back(logs, sound, best, is_majority=short <= 0, spare=not at_commit))
    return RaftVerdict(
        is_proven=short <= 0 and not went_back and not branches,
        latest=tuple(log.name for log in latest),
        voters=in_use[-1].voters if in_use else frozenset(),
        learners=in_use[-1].learners if in_use else frozenset(),
        missing=tuple(sorted(voters - here)),
        needed=max(short, 0),
        committed=committed,
        last_index=best.last_index,
        went_back=went_back,
        branches=branches,
        duplicates=duplicates,
    )


def majority(configuration: Configuration) -> int:
    """Return the smallest number of voters that is more than half."""
    return len(configuration.voters) // 2 + 1


def _in_use(best: RaftLog, committed: int) -> tuple[Configuration, ...]:
    """Return the configurations that may be in use: the last committed one and all later ones."""
    used = [one.index for one in best.configurations if one.index <= committed]
    since = max(used, default=0)
    return tuple(one for one in best.configurations if one.voters and one.index >= since)


def _branches(logs: Sequence[RaftLog]) -> Iterator[str]:
    """Yield a sentence for each difference between two logs that proves two branches.

    They differ in an entry that both know to be committed, in the voters after it, or in the
    number of changes up to an entry.
    """
    for one, other in combinations(logs, 2):
        both = min(one.commit, other.commit)
        # If two logs have one entry in common, all entries before it are the same.  Two branches
        # may use the same term numbers, so the logs are compared wherever a term begins.
        begin = {first for log in (one, other) for first, _ in log.terms if first <= both}
        for index in sorted({both, *begin}, reverse=True):
            terms = one.term_at(index), other.term_at(index)
            if all(terms) and terms[0] != terms[1]:
                yield (
                    f"{one.name} and {other.name} both know that entry {index} is committed, of"
                    f" term {terms[0]} in the one and of term {terms[1]} in the other"
                )
                break
        else:
            # Voters are compared at the end only: a snapshot of Ra may have a later entry's voters.
            voters = one.voters_at(both), other.voters_at(both)
            if all(voters) and voters[0] != voters[1]:
                yield (
                    f"{one.name} and {other.name} both know that entry {both} is committed, and do"
                    " not have the same voters after it"
                )
        if differ := _revisions_differ(one, other):
            yield differ


def _revisions_differ(one: RaftLog, other: RaftLog) -> str:
    """Return the evidence that the data of two stores are from different logs, in words.

    Two stores that were restored from different snapshots have the same few entries in their new
    logs, but different data.
    """
    if None in (one.applied, one.revision, other.applied, other.revision):
        return ""
    (at, first), (to, second) = sorted(
        (log.applied or 0, log.revision or 0) for log in (one, other)
    )
    if 0 <= second - first <= to - at:
        return ""
    return (
        f"{one.name} has revision {one.revision} at entry {one.applied}, and {other.name} revision"
        f" {other.revision} at entry {other.applied}: their data are not of one log"
    )


def _forced_starts(logs: Sequence[RaftLog]) -> Iterator[str]:
    """Yield a sentence for each member that was started alone by force, and lacks others' entries.

    Normally one member at a time is removed.  So two or more are removed at once only by force, and
    the removed members do not have the entry that removes them.
    """
    for one in logs:
        for before, after in pairwise(one.configurations):
            dropped = before.voters - after.voters
            if len(dropped) < 2 or not before.voters or not after.voters:
                continue
            later = [each for each in one.configurations if each.index > after.index]
            again = frozenset[str]().union(*(each.voters | each.learners for each in later))
            for other in logs:
                if other.member not in dropped - again:
                    continue
                index = min(other.last_index, after.index - 1)
                terms = one.term_at(index), other.term_at(index)
                if other.last_index >= after.index or (all(terms) and terms[0] != terms[1]):
                    yield (
                        f"{one.name} was started alone by force, at entry {after.index}, and"
                        f" {other.name} has entries that {one.name} lacks"
                    )


def _lost_end(log: RaftLog) -> str:
    """Return the evidence in one store that a part of its log is lost, in words."""
    if log.commit > log.last_index:
        return (
            f"{log.name} knows that entry {log.commit} is committed, and its log ends at"
            f" {log.last_index}: the entries after that are lost"
        )
    return ""


def _went_back(
    logs: Sequence[RaftLog],
    sound: Sequence[RaftLog],
    best: RaftLog,
    *,
    is_majority: bool,
    spare: bool,
) -> Iterator[str]:
    """Yield the evidence that a store was put back or wiped.

    `is_majority`: the sound logs are a majority of the voters.  `spare`: one more voter may have
    counted, in a configuration that was only in a leader's log, was never committed, and left no
    trace.
    """
    yield from filter(None, (_lost_end(log) for log in logs if not log.damaged))
    knows = max(logs if is_majority else sound, key=lambda log: log.commit)
    if knows.commit > best.last_index:
        yield (
            f"{knows.name} knows that entry {knows.commit} is committed, and the latest log here,"
            f" {best.name}, ends at {best.last_index}"
        )
        return
    # A majority had the last committed entry, and a majority voted for the leader of the last term.
    # A member never removes such an entry and never forgets such a vote.
    have = {log.member for log in sound if log.last_index >= knows.commit}
    voted = {log.member for log in sound if max(log.term, log.last_term) >= best.last_term}
    seen = {log.member for log in sound}
    known = [one for one in best.configurations if one.voters]

    def is_too_few(voters: set[str]) -> bool:
        return bool(known) and all(
            len(one.voters & voters) + len(one.voters - seen) + spare < majority(one)
            for one in known
        )

    if knows.commit and is_too_few(have):
        yield (
            f"entry {knows.commit} is committed, so a majority had it, and too few of these stores"
            " have it: at least one was put back or wiped"
        )
    if is_too_few(voted) and known[0].term < best.last_term:
        yield (
            f"a majority voted in term {best.last_term}, and too few of these stores know of it:"
            " at least one was put back or wiped"
        )
