"""A replica of one queue: a minimal Raft, with changes of one member at a time.

Source: Ongaro, "Consensus: bridging theory and practice", chapters 3 and 4.  An exchange of two
members (a vote, or a copy of a whole log) is one joint step, so messages are neither reordered nor
repeated; a lost message is a step that is not taken.  The log has only entries with a membership.
The first entry of each leader repeats the membership in its term, and a change is accepted once
that entry and the last change are committed.  The latest membership in the log counts at once,
committed or not.  A joint change goes through an entry with both memberships, which needs a
majority of each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from attrs import define, evolve, frozen

from joinproto.check.events import NOT_ENABLED, Persist, Record
from joinproto.codec.json_form import filled

Names = frozenset[str]


@frozen(cache_hash=True)
class Entry:
    """A log entry: the membership from here on.  `old`: in a joint entry, the former membership."""

    term: int
    members: Names
    old: Names = frozenset()

    def __str__(self) -> str:
        sets = [one for one in (self.old, self.members) if one]
        return f"{' and '.join(''.join(sorted(one)) for one in sets)} in term {self.term}"

    @property
    def peers(self) -> Names:
        return self.members | self.old

    def is_carried_by(self, names: Names) -> bool:
        """Return whether `names` are a majority of each of the entry's sets of members."""
        sets = [one for one in (self.old, self.members) if one]
        return all(2 * len(names & one) > len(one) for one in sets)


Log = tuple[Entry, ...]


@frozen(cache_hash=True)
class VoteGranted:
    """To a candidate: `voter` votes for it."""

    voter: str


@frozen(cache_hash=True)
class VoteRequest:
    """To a voter: `candidate` asks for its vote; `last` is the key of the candidate's log."""

    candidate: str
    term: int
    last: tuple[int, int]


@frozen(cache_hash=True)
class Copied:
    """To a leader: `follower` now has the leader's whole log."""

    follower: str


@frozen(cache_hash=True)
class Copy:
    """To a follower: the leader's log, and how many of its entries are committed."""

    term: int
    log: Log
    committed: int


@frozen(cache_hash=True)
class Change:
    """To a leader: add the replicas `more`, remove the replicas `fewer`; `joint`: in one entry."""

    more: Names = frozenset()
    fewer: Names = frozenset()
    joint: bool = False


@frozen
class ReplicaView:
    """The observation of a replica.  `kept`: members that have this leader's whole log.
    `permits`: this leader would accept a change.

    `extra_members`: nodes that only a mutant counts as members, against the log.
    """

    name: str
    role: str
    term: int
    log: Log
    committed: int
    votes: Names
    kept: Names
    permits: bool
    extra_members: Names = frozenset()

    @property
    def peers(self) -> Names:
        return self.log[-1].peers if self.log else frozenset()

    @property
    def members(self) -> Names:
        return self.log[-1].members if self.log else frozenset()

    @property
    def leads(self) -> bool:
        return self.role == "leader"

    @property
    def last(self) -> tuple[int, int]:
        return last_of(self.log)


@define
class Replica:
    """A server of the group, or a node that has no replica yet (its log is empty).

    `terms`: the greatest term that a candidate may begin.  `stands`: it may be a candidate.
    `restarts`: it may come back after a crash, so it writes its state before another member hears
    of the change.  `resigns`: it may cease to lead at any time.

    Mutants: `two-changes` accepts a change before the last one is committed; `applies-alone` counts
    a change as committed at once (incident 12); `no-own-entry` lets a leader change members before
    an entry of its own term is committed (the first rule of single changes); `joint-by-one` lets
    a majority of the new members alone commit a joint entry, or elect a leader by it; `peer-file`
    also reads members at a start from a file that a removal did not rewrite (incident 13);
    `heard-again` counts a node that asks for a vote as a member (incident 14).
    """

    persistent = ("term", "voted", "log", "file")

    name: str
    log: Log
    terms: int
    leads: bool = False
    mutant: str | None = None
    stands: bool = True
    restarts: bool = False
    resigns: bool = False
    term: int = 1
    voted: str | None = None
    role: str = "follower"
    votes: Names = frozenset()
    kept: tuple[tuple[str, int], ...] = ()
    committed: int = 1
    file: Names = frozenset()
    extra_members: Names = frozenset()

    def start(self) -> None:
        is_first = self.leads and self.term == 1 and self.voted is None and bool(self.log)
        self.role = "leader" if is_first else "follower"
        if self.role == "leader":
            self.voted = self.name
        self.votes, self.kept, self.committed = frozenset(), (), 1
        self.extra_members = self.file

    def offline(self, event: Any) -> Any:
        """Lose the disk: the log, the term and the vote."""
        if event != "wipe" or not self.log:
            return NOT_ENABLED
        self.log, self.term, self.voted = (), 1, None
        return None

    def choices(self) -> Iterator[str]:
        is_member = bool(self.log) and self.name in self.log[-1].members
        if self.resigns and self.role == "leader":
            yield "resign"
        may = self.stands and is_member
        if may and self.role != "leader" and self.term < self.terms:
            yield "stand"

    def receive(self, event: Any) -> Any:
        before = self._disk
        effects = self._receive(event)
        if effects is NOT_ENABLED or not self.restarts or before == self._disk:
            return effects
        return [*(effects or ()), Persist()]

    @property
    def _disk(self) -> tuple[Any, ...]:
        return (self.term, self.voted, self.log, self.file)

    def _receive(self, event: Any) -> Any:
        match event:
            case "stand":
                self._follow(self.term + 1)
                self.role, self.voted = "candidate", self.name
                self.votes = frozenset({self.name})
                return None
            case "resign":
                self._follow(self.term)
                return None
            case VoteGranted(voter):
                return self._granted(voter)
            case VoteRequest():
                return self._vote(event)
            case Copied(follower):
                return self._copied(follower)
            case Copy():
                return self._copy(event)
            case Change(more, fewer, joint):
                return self._change(more, fewer, joint=joint)
        return NOT_ENABLED

    def _granted(self, voter: str) -> Any:
        if self.role != "candidate" or voter in self.votes:
            return NOT_ENABLED
        self.votes |= {voter}
        if self._is_majority(self.votes, self.log[-1]):
            self.role, self.votes, self.kept = "leader", frozenset(), ()
            if self.mutant != "no-own-entry":
                self.log = (*self.log, evolve(self.log[-1], term=self.term))
        return None

    def _peers(self) -> Names:
        """Return the nodes that the last entry names; an empty log names none."""
        return self.log[-1].peers if self.log else frozenset()

    def _vote(self, asked: VoteRequest) -> Any:
        if (
            self.mutant == "heard-again"
            and asked.candidate not in self._peers() | self.extra_members
        ):
            self.extra_members |= {asked.candidate}
            return None
        if asked.term < self.term or asked.last < last_of(self.log):
            return NOT_ENABLED
        if asked.term == self.term and self.voted is not None:
            return NOT_ENABLED
        self._follow(asked.term)
        self.voted = asked.candidate
        return None

    def _copied(self, follower: str) -> Any:
        if self.role != "leader":
            return NOT_ENABLED
        kept = {**dict(self.kept), follower: len(self.log)}
        self.kept = tuple(sorted(kept.items()))
        for length in range(len(self.log), self.committed, -1):
            have = frozenset(name for name, count in self.kept if count >= length) | {self.name}
            if self.log[length - 1].term == self.term and self._is_majority(have, self.log[-1]):
                self.committed = length
                if self.log[-1].old and length == len(self.log):
                    self.log = (*self.log, Entry(self.term, self.log[-1].members))
                return [Record(self.log[:length])]
        return None

    def _copy(self, copy: Copy) -> Any:
        if copy.term < self.term:
            return NOT_ENABLED
        self._follow(copy.term)
        self.log = copy.log
        self.committed = max(self.committed, copy.committed)
        return None

    def _is_majority(self, names: Names, entry: Entry) -> bool:
        if self.mutant == "joint-by-one":
            entry = evolve(entry, old=frozenset())
        return entry.is_carried_by(names)

    def _change(self, more: Names, fewer: Names, *, joint: bool) -> Any:
        members = (self.log[-1].members | more) - fewer
        if not self._permits() or members == self.log[-1].members or self.name not in members:
            return NOT_ENABLED
        old = self.log[-1].members if joint else frozenset()
        self.log = (*self.log, Entry(self.term, members, old))
        if self.mutant == "peer-file":
            self.file = (self.file | fewer) - more
        if self.mutant == "applies-alone":
            self.committed = len(self.log)
            return [Record(self.log)]
        return None

    def _permits(self) -> bool:
        if self.role != "leader":
            return False
        if self.mutant == "two-changes":
            return True
        has_own = self.log[-1].term == self.term or self.mutant == "no-own-entry"
        return self.committed == len(self.log) and has_own and not self.log[-1].old

    def _follow(self, term: int) -> None:
        if term > self.term:
            self.term, self.voted = term, None
        self.role, self.votes, self.kept = "follower", frozenset(), ()

    def shows(self) -> ReplicaView:
        length = len(self.log)
        kept = frozenset(name for name, count in self.kept if count == length)
        return filled(ReplicaView, self, kept=kept, permits=self._permits())


def last_of(log: Log) -> tuple[int, int]:
    """Return the key that elections compare: the last entry's term, and the number of entries."""
    return (log[-1].term, len(log)) if log else (0, 0)


@define
class CommitMonitor:
    """The monitor.  `log`: the longest log that was ever committed; `diverged`: two committed logs
    differ.
    """

    log: Log = ()
    diverged: bool = False

    def receive(self, log: Log) -> None:
        length = min(len(log), len(self.log))
        self.diverged |= log[:length] != self.log[:length]
        self.log = max(self.log, log, key=len)

    def shows(self) -> CommitMonitor:
        return evolve(self)
