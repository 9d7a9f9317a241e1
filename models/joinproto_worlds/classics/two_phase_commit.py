"""Two-phase commit with a message set that only grows: the standard workload of checkers.

Source: Gray and Lamport, "Consensus on Transaction Commit", section 3.  With N resource managers
there are 2^N + 4^N + 6^N distinct states: the transaction manager has committed, is undecided, or
has aborted.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Broadcast, Message, Send
from joinproto.check.properties import always_pair, sometimes_one
from joinproto.check.world import World


class Vote(enum.Enum):
    """The state of a resource manager."""

    WORKING = "working"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Decision(enum.Enum):
    """The decision that the transaction manager sends to all, once."""

    UNDECIDED = "undecided"
    COMMIT = "commit"
    ABORT = "abort"


@frozen
class Prepared:
    """The resource manager `by` can commit."""

    by: str

    def __str__(self) -> str:
        return f"prepared {self.by}"


@define
class ResourceManager:
    name: str
    state: Vote = Vote.WORKING

    def choices(self) -> Iterator[str]:
        if self.state is Vote.WORKING:
            yield "prepare"
            yield "choose to abort"

    def receive(self, event: Any) -> Any:
        match event:
            case "prepare":
                self.state = Vote.PREPARED
                return [Send("tm", Prepared(self.name))]
            case "choose to abort":
                self.state = Vote.ABORTED
            case Message(_, Decision.COMMIT):
                self.state = Vote.COMMITTED
            case Message(_, Decision.ABORT):
                self.state = Vote.ABORTED
        return None

    def shows(self) -> Vote:
        return self.state


@define
class TransactionManager:
    everybody: frozenset[str]
    needed: int
    prepared: frozenset[str] = frozenset()
    decision: Decision = Decision.UNDECIDED

    def choices(self) -> Iterator[str]:
        if self.decision is Decision.UNDECIDED:
            yield "abort"
            if len(self.prepared) >= self.needed:
                yield "commit"

    def receive(self, event: Any) -> Any:
        if self.decision is not Decision.UNDECIDED:
            return NOT_ENABLED
        match event:
            case "commit":
                self.decision = Decision.COMMIT
                return [Broadcast(Decision.COMMIT)]
            case "abort":
                self.decision = Decision.ABORT
                return [Broadcast(Decision.ABORT)]
            case Message(_, Prepared(by)):
                self.prepared |= {by}
        return None

    def shows(self) -> Decision:
        return self.decision


def agree(one: Vote, other: Vote) -> bool:
    return not (one is Vote.COMMITTED and other is Vote.ABORTED)


def build(members: int = 3, mutant: str | None = None) -> World:
    """Return the world of 2 to 12 resource managers; with `one-vote-short` N - 1 votes suffice."""
    names = [f"rm{i}" for i in range(1, members + 1)]
    needed = members - 1 if mutant == "one-vote-short" else members
    return World(
        name="two-phase-commit",
        members={name: lambda name=name: ResourceManager(name) for name in names}
        | {"tm": lambda: TransactionManager(frozenset(names), needed)},
        interchangeable=names,
        properties=[
            always_pair("consistent", agree, among=names),
            sometimes_one("committed", lambda vote: vote is Vote.COMMITTED, among=names),
            sometimes_one("aborted", lambda vote: vote is Vote.ABORTED, among=names),
        ],
        about="resource managers commit together or not at all",
    )
