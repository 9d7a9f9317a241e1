"""Founding by single-decree Paxos: the members agree on one founder among them.

Source: Lamport, "Paxos Made Simple", section 2.  Each member may open one ballot, numbered
as the member is; a member's own messages reach it like any other's.  The founder may be any
member that answered the ballot, unless one of them has accepted a founder already.

A founder is chosen once a majority has accepted it at one ballot, whether a member knows this or
not.  The claim is about the founders that two members have learned, which is quicker to check.  It
breaks in the same worlds.  This world's network loses no message, so the owner of the ballot can
always learn later that its founder is chosen.  A member that has joined takes no more steps, so
each run also exists without the step in which the member joins.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Message, Send
from joinproto.check.properties import always_pair, sometimes_one
from joinproto.check.world import World


@frozen(cache_hash=True)
class Vote:
    """A founder as accepted at a ballot."""

    ballot: int
    founder: str

    def __str__(self) -> str:
        return f"{self.founder} at {self.ballot}"


@frozen(cache_hash=True)
class Propose:
    """Choice: ask all to accept this founder."""

    founder: str

    def __str__(self) -> str:
        return f"propose {self.founder}"


@frozen(cache_hash=True)
class Prepare:
    """Will you promise not to accept a vote of a lower ballot?"""

    ballot: int

    def __str__(self) -> str:
        return f"prepare {self.ballot}"


@frozen(cache_hash=True)
class Promise:
    """The answer to `Prepare`, with the last vote accepted so far."""

    accepted: Vote | None

    def __str__(self) -> str:
        return f"promise, accepted {self.accepted or 'nothing'}"


@frozen(cache_hash=True)
class Accept:
    """Please accept this vote."""

    vote: Vote

    def __str__(self) -> str:
        return f"accept {self.vote}"


@frozen(cache_hash=True)
class Accepted:
    """The answer to `Accept`."""

    founder: str

    def __str__(self) -> str:
        return f"accepted {self.founder}"


@frozen(cache_hash=True)
class Founded:
    """The cluster is founded: join this founder."""

    founder: str

    def __str__(self) -> str:
        return f"founded by {self.founder}"


@frozen
class MemberView:
    """The observation of a member.  `founder`: the founder of its cluster; `proposed`: the founder
    that it proposed; `bound`: whether a promise has named an earlier vote.
    """

    founder: str | None
    proposed: str | None
    bound: bool


@define
class FoundingMember:
    """A member: the proposer of its own ballot, an acceptor of all ballots, and a learner.

    `answers`: the members that promised, or (after the proposal) accepted; None before and after
    its ballot.
    `binding`: the highest vote among the promises.
    """

    name: str
    ballot: int
    everybody: tuple[str, ...]
    mutant: str | None = None
    promised: int = 0
    accepted: Vote | None = None
    answers: frozenset[str] | None = None
    binding: Vote | None = None
    proposed: str | None = None
    founder: str | None = None

    def choices(self) -> Iterator[Any]:
        if self.founder is not None or self.proposed is not None:
            return
        if self.answers is None:
            # The member itself would refuse a ballot below the one that it has promised.
            if self.promised < self.ballot:
                yield "open a ballot"
        elif self._is_majority(self.answers):
            if self.binding is not None:
                yield Propose(self.binding.founder)
            else:
                for name in sorted(self.answers):
                    yield Propose(name)

    def receive(self, event: Any) -> Any:
        if self.founder is not None:
            return NOT_ENABLED
        if type(event) is Message:
            return self._hear(event.sender, event.content)
        self.answers = frozenset()
        if type(event) is Propose:
            self.proposed = event.founder
            vote = Vote(self.ballot, event.founder)
            return [Send(name, Accept(vote)) for name in self.everybody]
        return [Send(name, Prepare(self.ballot)) for name in self.everybody]

    def _hear(self, sender: str, content: Any) -> Any:
        kind = type(content)
        if kind is Prepare:
            if content.ballot <= self.promised:
                return NOT_ENABLED
            self.promised = content.ballot
            accepted = None if self.mutant == "forgets-accepted" else self.accepted
            return [Send(sender, Promise(accepted))]
        if kind is Accept:
            vote = content.vote
            is_allowed = vote.ballot >= self.promised or self.mutant == "promise-not-kept"
            if not is_allowed or vote == self.accepted:
                return NOT_ENABLED
            self.promised = max(self.promised, vote.ballot)
            self.accepted = vote
            return [Send(sender, Accepted(vote.founder))]
        if kind is Promise:
            if self.proposed is not None or self.answers is None or sender in self.answers:
                return NOT_ENABLED
            self.answers |= {sender}
            vote = content.accepted
            if vote is not None and (self.binding is None or vote.ballot > self.binding.ballot):
                self.binding = vote
            return None
        if kind is Accepted:
            if self.answers is None or sender in self.answers:
                return NOT_ENABLED
            self.answers |= {sender}
            if not self._is_majority(self.answers):
                return None
            founder = self.proposed
            assert founder is not None  # no member accepts a founder that was not proposed
            self._join(founder)
            return [Send(name, Founded(founder)) for name in self.everybody if name != self.name]
        self._join(content.founder)
        return None

    def _join(self, founder: str) -> None:
        # The promises of a member that has joined have no effect, so its fields are reset.
        self.promised, self.accepted = 0, None
        self.answers = self.binding = self.proposed = None
        self.founder = founder

    def _is_majority(self, names: frozenset[str]) -> bool:
        return 2 * len(names) > len(self.everybody)

    def shows(self) -> MemberView:
        return MemberView(self.founder, self.proposed, self.binding is not None)


def agree(one: MemberView, other: MemberView) -> bool:
    return one.founder is None or other.founder is None or one.founder == other.founder


def build(members: int = 3, mutant: str | None = None) -> World:
    """Return the world of 2 or 3 members.  Mutants: `forgets-accepted`, `promise-not-kept`."""
    names = tuple(f"m{i}" for i in range(1, members + 1))
    return World(
        name="paxos-founding",
        members={
            name: partial(FoundingMember, name, i, names, mutant)
            for i, name in enumerate(names, start=1)
        },
        properties=[
            always_pair("one founder is chosen", agree),
            sometimes_one("a founder is chosen", lambda shown: shown.founder is not None),
            sometimes_one(
                "a later ballot adopts an accepted founder",
                lambda shown: shown.proposed is not None and shown.bound,
            ),
        ],
        about="members agree on one founder by single-decree Paxos",
    )
