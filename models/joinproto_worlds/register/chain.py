"""One successor for each view: the shipped choice, searched with its real code.

Source: join protocol, 3.3 and 3.6; `joinproto/join/choice.py` is the code that runs here.

The members of one open view V choose its successor; in the founding world there is no view yet.
The network is a set, so messages may always be lost, doubled and delayed.  A crash may come at any
point, also between a write and the messages that depend on it.  A ballot's round is at most
`rounds`, which makes the world finite.

The ledger decides which view is *chosen*: it hears of each acceptance when the acceptance is
durable, and may know more than any member.  So claims are about actions, not members' beliefs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, cast, get_args

from attrs import define, evolve, frozen

from joinproto.check.events import NOT_ENABLED, Message, Persist, Record, Rule, Send
from joinproto.check.faults import Faults
from joinproto.check.local import Offline
from joinproto.check.properties import always, always_pair, sometimes, sometimes_one
from joinproto.check.view import View as Seen
from joinproto.check.world import Together, World
from joinproto.codec.malformed import Malformed
from joinproto.join.choice import Choice
from joinproto.join.choice_messages import (
    ChoiceMessage,
    FreeToPropose,
    Learned,
    PersistRecord,
    SendTo,
    said,
)
from joinproto.join.chooser import Step
from joinproto.join.config import fewest_founders
from joinproto.join.ids import ViewId
from joinproto.join.lineage import Lineage
from joinproto.join.store import Accepted, StoreRecord
from joinproto.join.view import Facts, Seat, View, change, found
from joinproto_worlds.mutations.mutation import inside
from joinproto_worlds.mutations.named import mutation
from joinproto_worlds.register.binding import CANDIDATES, binds

NAMES = ("a", "b", "c", "d", "e")

TOO_FEW = "found-with-too-few"
"""The mutant in which fewer electors found a cluster than the configuration allows."""

KINDS = tuple(kind.__name__ for kind in get_args(ChoiceMessage))
"""Every kind of message; a report says which kinds were never received."""


def by_nonce(facts: Facts) -> str:
    """Return the nonce as the view's id, because each proposer has its own nonce."""
    return facts.nonce


mutated = inside(lambda elector: mutation(elector.plan.mutation))


def seat(name: str) -> Seat:
    return Seat(name, f"{name}1")


# -- the member ----------------------------------------------------------------------------


@frozen(cache_hash=True)
class Plan:
    """The constant part of a member.

    `candidates`: the views that it may propose; without any it never begins a ballot.  Of two views
    the search chooses one, so an attempt after a crash may be for another view than before.
    `found_with`: it proposes a FOUND of the members that answered, once there are this many.
    """

    name: str
    record: StoreRecord
    founders: frozenset[str]
    candidates: tuple[View, ...]
    rounds: int
    found_with: int | None = None
    mutation: str | None = None

    def __str__(self) -> str:
        return self.name


@frozen
class Begin:
    """Choice: try to have its own view chosen."""

    def __str__(self) -> str:
        return "begin a ballot"


@frozen
class ProposeIt:
    """Choice: propose this view as its own."""

    view: View

    def __str__(self) -> str:
        return f"propose {self.view.id}"


@frozen(cache_hash=True)
class Vote:
    """For the ledger: this seat's acceptance is durable."""

    seat: Seat
    accepted: Accepted

    def __str__(self) -> str:
        return f"{self.seat.store_id}: {_accepted_text(self.accepted)}"


@frozen
class ElectorView:
    """The observation of a member.  `successor`: the view that it has learned, or None."""

    successor: ViewId | None
    is_frozen: bool


@define
class Elector:
    """A member that only performs the effects of the shipped choice.

    `kept`: the record on its disk.
    """

    persistent = ("kept",)

    plan: Plan
    kept: StoreRecord
    choice: Choice

    @mutated
    def start(self) -> Iterator[Any]:
        self.choice = _choice(self.plan, self.kept)
        # A crash may have come after the write and before the ledger heard of the vote.
        yield from self._record_vote()

    @mutated
    def choices(self) -> Iterator[Any]:
        may = self.plan.candidates and self.choice.parent == _tip(self.plan.record)
        if may and self.choice.next_ballot.round <= self.plan.rounds:
            yield Begin()
        if may and self._may_propose():
            yield from map(ProposeIt, self.plan.candidates)

    @mutated
    def receive(self, event: Any) -> Any:
        match event:
            case Begin():
                return self._perform(self.choice.begin())
            case ProposeIt(view):
                return self._perform(self.choice.propose(view))
            case Message(sender, content):
                try:
                    step = self.choice.receive(sender, cast(ChoiceMessage, content))
                except Malformed:
                    # Real members close the connection.  No correct member sends such a message,
                    # so the search must stop here unless a rule is left out.
                    if self.plan.mutation is None:
                        raise
                    return NOT_ENABLED
                took = [type(content).__name__, *binds(self.choice, content, step.choice)]
                # Not a list: at a crash point the disk must hold only the writes up to that point.
                return chain(map(Rule, took), self._perform(step))
        return NOT_ENABLED

    def offline(self, event: Any) -> Any:
        """Lose the disk; the new store has already learned the tip from other members (3.6)."""
        if event != "wipe" or self.kept.store_id != self.plan.record.store_id:
            return NOT_ENABLED
        self.kept = evolve(self.plan.record, store_id=f"{self.plan.name}2")
        return None

    def _perform(self, step: Step) -> Iterator[Any]:
        self.choice = cast("Choice", step.choice)
        for effect in step.effects:
            match effect:
                case PersistRecord(record):
                    is_new = self.kept.accepted != record.accepted
                    self.kept = record
                    yield Persist()
                    if is_new:
                        yield from self._record_vote()
                case SendTo(to, message):
                    yield Send(to, message)
                case FreeToPropose(answered=answered) if self.plan.found_with is not None:
                    view = _founded(f"{self.plan.name}:{_store_ids(answered)}", answered, answered)
                    yield from self._perform(self.choice.propose(view))
                case FreeToPropose() if len(self.plan.candidates) == 1:
                    yield from self._perform(self.choice.propose(self.plan.candidates[0]))
                case Learned() | FreeToPropose():
                    pass

    def _may_propose(self) -> bool:
        return len(self.plan.candidates) > 1 and self.choice.is_free

    def _record_vote(self) -> Iterator[Record]:
        if self.kept.accepted is not None:
            yield Record(Vote(Seat(self.plan.name, self.kept.store_id), self.kept.accepted))

    def shows(self) -> ElectorView:
        return ElectorView(_successor(self.plan, self.choice.record), self.choice.is_frozen)

    def story(self) -> dict[str, Any]:
        choice = self.choice
        record, attempt = choice.record, choice.attempt
        lines: dict[str, Any] = {"store": record.store_id}
        successor = _successor(self.plan, record)
        if successor is not None:
            return lines | {"successor": successor}
        lines |= {
            "promised": "-" if record.promised is None else said(record.promised),
            "accepted": _accepted_text(record.accepted),
        }
        if attempt is not None:
            lines["answered"] = _store_ids(attempt.answered)
            if attempt.proposed is not None:
                lines |= {"proposes": attempt.proposed.id, "voted": _store_ids(attempt.voted)}
        return lines


def _choice(plan: Plan, record: StoreRecord) -> Choice:
    return Choice(
        member=plan.name,
        record=record,
        founders=plan.founders,
        found_with=plan.found_with,
    )


def _elector(plan: Plan) -> Elector:
    return Elector(plan, plan.record, _choice(plan, plan.record))


def _tip(record: StoreRecord) -> ViewId | None:
    return None if record.tip is None else record.tip.id


def _successor(plan: Plan, record: StoreRecord) -> ViewId | None:
    tip = _tip(record)
    return None if tip == _tip(plan.record) else tip


def _accepted_text(accepted: Accepted | None) -> str:
    return "nothing" if accepted is None else f"{accepted.view.id} in {said(accepted.ballot)}"


def _store_ids(seats: Iterable[Seat]) -> str:
    return " ".join(sorted(item.store_id for item in seats))


# -- the ledger ----------------------------------------------------------------------------


@frozen(cache_hash=True)
class Majority:
    """A view that is chosen, its ballot and its voters."""

    accepted: Accepted
    voters: frozenset[Seat]

    @property
    def view(self) -> View:
        return self.accepted.view

    @property
    def proposer(self) -> str:
        """Return the member that made the view; another member's ballot may have chosen it."""
        return self.view.nonce[0]


@define
class Ledger:
    """The monitor: every acceptance that was ever durable in any store."""

    votes: frozenset[Vote] = frozenset()

    def receive(self, vote: Vote) -> None:
        self.votes |= {vote}

    def shows(self) -> frozenset[Majority]:
        """Return each view that a majority accepted, once for each ballot in which it did."""
        every = {
            Majority(
                item.accepted,
                frozenset(vote.seat for vote in self.votes if vote.accepted == item.accepted),
            )
            for item in self.votes
        }
        # A CHANGE of this world has its parent's electors, a FOUND its own.
        return frozenset(item for item in every if item.view.is_majority(item.voters))


# -- the world -----------------------------------------------------------------------------


def build(
    members: int = 3,
    crashes: int = 1,
    rounds: int = 0,
    mutant: str | None = None,
    *,
    founding: bool = False,
    observer: bool = False,
    wiped: bool = False,
    few: bool = False,
    again: str = "",
) -> World:
    """Return the world of 2 to 5 `members`; the first two propose.

    `mutant`: one of `OF_THE_CHOICE`, or `TOO_FEW`.  `rounds`: the most rounds of a ballot; 0 means
    as many as one member needs to go on with another's view, 2 where all must answer and else 1.
    `founding`: there is no view yet.  `observer`: the last member is no elector, and only it
    proposes, one of two views.  `wiped`: the last member's disk is lost once while it is down.
    `few`: as few members found the cluster as the configuration allows, and the first and the last
    propose.  `again`: the names of members that have one more round.
    """
    names = NAMES[:members]
    found_with = fewest_founders(members) if few else None
    if mutant == TOO_FEW:
        found_with, mutant = fewest_founders(members) - 1, None
    rounds = rounds or (2 if (founding and not few) or members == 2 else 1)
    seats = frozenset(map(seat, names))
    electors = frozenset(map(seat, names[:-1])) if observer else seats
    proposers = names[-1:] if observer else (names[0], names[-1]) if few else names[:2]
    parent = None if founding else _founded("v", seats, electors)

    def plan(name: str) -> Plan:
        record = StoreRecord(
            store_id=f"{name}1",
            lineage=Lineage() if parent is None else Lineage().append(parent),
        )
        words = (name, f"{name}'") if observer else (name,)
        candidates = [
            _founded(word, seats, electors) if parent is None else _changed(parent, word)
            for word in words
        ]
        return Plan(
            name,
            record,
            frozenset(names) if founding else frozenset(),
            tuple(candidates) if name in proposers else (),
            rounds + (name in again),
            found_with,
            mutant,
        )

    plans = {name: plan(name) for name in names}
    before = None if parent is None else parent.id
    properties = [
        always("one_successor", one_successor),
        always("learned_is_chosen", partial(learned_is_chosen, before)),
        always_pair("members learn one view", agree),
        sometimes("a view is chosen", lambda view: bool(view.monitor)),
        sometimes_one("a member learns it", lambda shown: shown.successor is not None),
    ]
    if not observer:
        properties.append(sometimes("chosen in another's ballot", lambda v: any(others(v))))
    if crashes and members > 2 and not observer:
        properties.append(sometimes("completed without its proposer", completed))
    return World(
        name="chain-register",
        members={name: partial(_elector, item) for name, item in plans.items()},
        faults=Faults(crashes=crashes),
        monitor=Ledger,
        show_disk=lambda disk: _tip(disk.kept),
        together=partial(_wipe, names[-1]) if wiped else None,
        properties=properties,
        labels=[*(kind for kind in KINDS if not (observer and kind == "Nack")), *CANDIDATES],
        about="the electors of a view choose one successor, with the code that ships",
    )


def _founded(nonce: str, seats: Iterable[Seat], electors: Iterable[Seat]) -> View:
    return found(
        members=seats,
        electors=electors,
        wait_for=1,
        options_digest="options",
        cluster_name="cluster",
        nonce=nonce,
        time=0,
        digest=by_nonce,
    )


def _changed(parent: View, nonce: str) -> View:
    return change(
        parent,
        members=parent.members,
        position=None,
        activated=False,
        nonce=nonce,
        time=0,
        digest=by_nonce,
    )


def _wipe(name: str, view: Seen) -> Iterator[Together]:
    if name not in view.up:
        yield Together("wipe the disk", {name: Offline("wipe")}, fair=False, fault=True)


# -- the claims ----------------------------------------------------------------------------


def one_successor(view: Seen) -> bool:
    return len({item.view for item in view.monitor}) <= 1


def learned_is_chosen(before: ViewId | None, view: Seen) -> bool:
    """Return whether each successor that a member knows, or has on its disk, is chosen."""
    chosen = {item.view.id for item in view.monitor}
    running = {shown.successor for shown in view.up.values()} - {None}
    on_disk = set(view.disk.values()) - {None, before}
    return running | on_disk <= chosen


def agree(one: ElectorView, other: ElectorView) -> bool:
    """Return whether both members learned the same successor, or one of them learned none."""
    return None in (one.successor, other.successor) or one.successor == other.successor


def others(view: Seen) -> Iterator[Majority]:
    """Yield each view that was chosen in the ballot of a member that is not its proposer."""
    for item in view.monitor:
        if item.accepted.ballot.store_id != seat(item.proposer).store_id:
            yield item


def completed(view: Seen) -> bool:
    """Return whether a view was chosen in another ballot, without its proposer, which is down."""
    return any(
        item.proposer not in view.up and seat(item.proposer) not in item.voters
        for item in others(view)
    )
