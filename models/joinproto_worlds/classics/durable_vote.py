"""One vote for each member, kept over crashes: it must be on disk before it is announced.

Source: Ongaro and Ousterhout, "In search of an understandable consensus algorithm", section
5.2, for a single term.  A member gives its only vote to the first candidate that asks.  It leads
once a majority has voted for it, and a monitor remembers the leaders, because leaders may crash.

A vote that is announced before it is durable can be given twice: the member crashes between
the two effects, and forgets the vote.  A member whose disk is lost (`wipes`) can vote twice, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from attrs import define, frozen

from joinproto.check.events import NOT_ENABLED, Broadcast, Message, Persist, Record, Rule, Send
from joinproto.check.faults import Faults
from joinproto.check.properties import always, always_each, always_possible, sometimes
from joinproto.check.view import View
from joinproto.check.world import World


@frozen
class VoteRequest:
    """A candidate asks for a vote."""

    def __str__(self) -> str:
        return "vote for me"


@frozen
class VoteGranted:
    """A member votes for the receiver."""

    def __str__(self) -> str:
        return "granted"


LABELS = ("first come", "asked again", "vote is gone")


@frozen
class VoterView:
    """The observation of a member."""

    name: str
    vote: str | None
    leads: bool


@define
class Voter:
    """A member.  `vote`: the candidate it chose; `votes`: the members that voted for it."""

    persistent = ("vote",)

    name: str
    majority: int
    mutant: str | None = None
    vote: str | None = None
    votes: frozenset[str] = frozenset()

    def start(self) -> Any:
        if self.vote == self.name:
            # The member was a candidate before it crashed, so it asks for votes again.
            self.votes = frozenset({self.name})
            yield Broadcast(VoteRequest())

    def choices(self) -> Iterator[str]:
        if self.vote is None:
            yield "stand"

    def receive(self, event: Any) -> Any:
        match event:
            case "stand":
                self.vote = self.name
                self.votes = frozenset({self.name})
                return self._after_persist(Broadcast(VoteRequest()))
            case Message(sender, VoteRequest()):
                if self.vote is None:
                    self.vote = sender
                    return [Rule("first come"), *self._after_persist(Send(sender, VoteGranted()))]
                if self.vote == sender:
                    return [Rule("asked again"), Send(sender, VoteGranted())]
                return [Rule("vote is gone")]
            case Message(sender, VoteGranted()) if self.vote == self.name:
                led = self._leads()
                self.votes |= {sender}
                if self._leads() and not led:
                    return [Record(self.name)]
                return None
        return NOT_ENABLED

    def _after_persist(self, effect: Any) -> list[Any]:
        if self.mutant == "no-persist":
            return [effect]
        if self.mutant == "answer-first":
            return [effect, Persist()]
        return [Persist(), effect]

    def _leads(self) -> bool:
        return len(self.votes) >= self.majority

    def shows(self) -> VoterView:
        return VoterView(self.name, self.vote, self._leads())


@define
class LeaderMonitor:
    """Monitor: the members that ever led."""

    names: frozenset[str] = frozenset()

    def receive(self, name: str) -> None:
        self.names |= {name}

    def shows(self) -> frozenset[str]:
        return self.names


def build(
    members: int = 3,
    crashes: int = 1,
    partitions: int = 0,
    mutant: str | None = None,
    *,
    wipes: int = 0,
) -> World:
    """Return the world of 2 to 4 members.  Mutants: `no-persist` never writes a vote to disk;
    `answer-first` writes it only after the answer.
    """
    names = [f"m{i}" for i in range(1, members + 1)]
    majority = members // 2 + 1

    properties = [
        always("one leader, ever", lambda view: len(view.monitor) <= 1),
        always("a durable vote is never changed", votes_unchanged, premise=some_are_durable),
        always_each("who leads voted for itself", lambda s: not s.leads or s.vote == s.name),
        sometimes("a leader is elected", lambda view: bool(view.monitor)),
        sometimes("the vote is split", lambda view: vote_is_split(view, members, majority)),
        always_possible("all vote", lambda view: all_voted(view, members)),
    ]
    if crashes:
        properties.append(
            sometimes(
                "a leader is down",
                lambda view: any(name not in view.up for name in view.monitor),
            )
        )
    if partitions:
        properties.append(
            sometimes("one side elects", lambda view: bool(view.split and view.monitor))
        )
    return World(
        name="durable-vote",
        members={name: partial(Voter, name, majority, mutant) for name in names},
        faults=Faults(crashes=crashes, partitions=partitions, wipes=wipes),
        monitor=LeaderMonitor,
        show_disk=lambda disk: disk.vote,
        interchangeable=names,
        labels=LABELS,
        properties=properties,
        about="a vote survives a crash, so no member votes twice",
    )


def some_are_durable(view: View) -> bool:
    return any(vote is not None for vote in view.disk.values())


def votes_unchanged(view: View) -> bool:
    return all(view.disk[name] in (None, shown.vote) for name, shown in view.up.items())


def vote_is_split(view: View, members: int, majority: int) -> bool:
    votes = [shown.vote for shown in view.up.values() if shown.vote is not None]
    return len(votes) == members and all(votes.count(vote) < majority for vote in votes)


def all_voted(view: View, members: int) -> bool:
    return sum(shown.vote is not None for shown in view.up.values()) == members
