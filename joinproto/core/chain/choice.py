"""Choosing the successor of a store's tip: single-decree Paxos among its electors.

A `Choice` is one store's part in it, as proposer and as voter.  It is a value: each deed
returns the next value, and the effects to perform in this order.

    begin     promise the own ballot, durably       Prepare ->   all
              promise it, durably: frozen                     <- Promise
    propose   accept it, durably                    Accept  ->   the electors
              accept it, durably                              <- Voted
    (learn)   append the view, durably              Chosen  ->   all

Everything that must survive is in the record: a proposer promises its own ballot first, so
`promised` is at least every ballot that this store has used, and no ballot is used twice.

The host has looked at a message's form and at its views' ids (`verify_id`) before.  What no
correct member sends raises `Malformed`, and nothing has changed then.

Source: Lamport, "Paxos Made Simple", section 2; join protocol, 3.3 and 3.6.  What FOUND does
otherwise has its reason in `docs/protocol.md`, "Choosing".
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from itertools import chain

from attrs import evolve, field, frozen

from joinproto.core.chain.choice_messages import (
    Accept,
    ChoiceEffect,
    ChoiceMessage,
    Chosen,
    Free,
    Learned,
    Nack,
    Outbid,
    OutOfStep,
    PersistRecord,
    Prepare,
    Promise,
    SendTo,
    Voted,
)
from joinproto.core.chain.ids import ViewId, short
from joinproto.core.chain.malformed import Malformed, Said, require
from joinproto.core.chain.store import Accepted, Ballot, StoreRecord
from joinproto.core.chain.view import Seat, View
from joinproto.errors import MisuseError


class Seam(Enum):
    """A rule that can be left out, so that a search shows what it is there for."""

    BALLOTS_PERSISTED = "ballots-not-persisted"
    PROMISE_PERSISTED = "promise-not-persisted"
    ACCEPTED_HONOURED = "accepted-not-honoured"
    STRANGERS_KEPT_OUT = "stranger-votes"
    MAJORITY = "minority"


@frozen
class Attempt:
    """The own ballot, while it lasts; a crash ends it.

    `answered`: who promised.  `bound`: the latest acceptance among the promises.
    `proposed`: the view of this ballot, None until enough have promised.  `voted`: who
    accepted it.
    """

    ballot: Ballot
    answered: frozenset[Seat] = frozenset()
    bound: Accepted | None = None
    proposed: View | None = None
    voted: frozenset[Seat] = frozenset()


@frozen
class Step:
    """What a deed leads to."""

    choice: Choice
    effects: tuple[ChoiceEffect, ...] = ()

    def after(self, *effects: Iterable[ChoiceEffect]) -> Step:
        """Return the same with these effects behind its own."""
        return evolve(self, effects=(*self.effects, *chain.from_iterable(effects)))

    def then(self, next_step: Step) -> Step:
        """Return both in one: where `next_step` leads, with the effects of both."""
        return Step(next_step.choice, (*self.effects, *next_step.effects))


@frozen(kw_only=True)
class Choice:
    """One store's part in choosing the successor of its tip.

    `member`: the name under which the store takes part.  `record`: what is durable once all
    effects so far are performed; made anew from the disk after a crash.  `founders`: names
    of the configured electors, asked if there is no tip.  `latest`: the latest ballot heard
    of by a `Nack`.
    """

    member: str
    record: StoreRecord
    founders: frozenset[str] = frozenset()
    attempt: Attempt | None = None
    latest: Ballot | None = None
    left_out: frozenset[Seam] = field(default=frozenset(), repr=False)

    # -- what can be seen ------------------------------------------------------------------

    @property
    def parent(self) -> ViewId | None:
        """Return the id of the view whose successor is to be chosen; None: it is a FOUND."""
        tip = self.record.tip
        return None if tip is None else tip.id

    @property
    def seat(self) -> Seat:
        """Return the member with its store: this pair votes, not the name."""
        return Seat(self.member, self.record.store_id)

    @property
    def is_frozen(self) -> bool:
        """Return whether the store has answered a ballot about its tip.

        Then it serves no more, acknowledges nothing, does not become ready in its tip, and
        its data stands still, until it knows the successor.  Durable, as the promise is.
        """
        return self.record.promised is not None

    @property
    def is_free(self) -> bool:
        """Return whether the own ballot waits for a view of the host's: see `Free`."""
        attempt = self.attempt
        is_open = attempt is not None and attempt.proposed is None
        return is_open and self._binding is None and self._is_prepared

    @property
    def next_ballot(self) -> Ballot:
        """Return a ballot later than every one this store has used, promised or heard of."""
        known = [ballot.round for ballot in (self.record.promised, self.latest) if ballot]
        return Ballot(max(known, default=0) + 1, self.record.store_id)

    # -- deeds of the host -----------------------------------------------------------------

    def begin(self) -> Step:
        """Return the start of a ballot of its own, later than those it knows; it freezes.

        An earlier own attempt is given up.  Raises `MisuseError` if this store may not
        propose: on an open view only its members do, and for a FOUND the configured electors.
        """
        tip = self.record.tip
        may = self.member in self.founders if tip is None else self.seat in tip.members
        if not may and (tip is None or tip.is_open):
            raise MisuseError(
                f"{self.member} with store {self.record.store_id} may not propose what follows"
                f" {'nothing' if tip is None else tip}",
                next="ask a member of that view to take it in",
            )
        ballot = self.next_ballot
        # Durable before use.  Otherwise: a proposes A in ballot 1, b accepts, a crashes and
        # uses ballot 1 again for A', c accepts; b's vote for A is counted for A'.
        record = evolve(self.record, promised=ballot)
        attempt = Attempt(ballot, frozenset({self.seat}), record.accepted)
        step = self._to(record, attempt).after(
            self._persist(record, unless=Seam.BALLOTS_PERSISTED),
            self._send(self._all, Prepare(self.parent, ballot)),
        )
        return step.then(step.choice._go_on())

    def propose(self, view: View) -> Step:
        """Return the second half of the own ballot, for the host's view, after `Free`.

        Raises `MisuseError` if the ballot is not free, `Malformed` if `view` cannot stand
        behind the tip.
        """
        attempt = self.attempt
        if attempt is None or not self.is_free:
            raise MisuseError(
                f"{self.member} proposes {view} in no ballot that is free for it",
                next="begin, and wait for Free",
            )
        return self._propose(attempt, view)

    def receive(self, sender: str, message: ChoiceMessage) -> Step:
        """Return the answer to a message from the member named `sender`."""
        if message.parent != self.parent:
            return self._about_another(sender, message)
        match message:
            case Prepare():
                return self._promise(sender, message)
            case Promise():
                return self._hear_promise(sender, message)
            case Accept():
                return self._vote(sender, message)
            case Voted():
                return self._hear_vote(sender, message)
            case Nack():
                return self._hear_nack(message)
            case Chosen():
                return self._learn(message.views)

    # -- the voter -------------------------------------------------------------------------

    def _promise(self, sender: str, asked: Prepare) -> Step:
        promised = self.record.promised
        if promised is not None and asked.ballot < promised:
            return self._no(sender, asked.ballot, promised)
        answer = Promise(asked.parent, asked.ballot, self.seat, self.record.accepted)
        if asked.ballot == promised:
            return Step(self, (SendTo(sender, answer),))
        record = evolve(self.record, promised=asked.ballot)
        # The promise is the freeze, so it must survive, too.
        return self._to(record, None).after(
            self._persist(record, unless=Seam.PROMISE_PERSISTED),
            self._outbid(asked.ballot),
            (SendTo(sender, answer),),
        )

    def _vote(self, sender: str, asked: Accept) -> Step:
        promised, accepted = self.record.promised, self.record.accepted
        if promised is not None and asked.ballot < promised:
            return self._no(sender, asked.ballot, promised)
        self._require_fits(asked.view)
        if not self._may_vote(asked.view):
            return Step(self)
        answer = SendTo(sender, Voted(asked.parent, asked.ballot, self.seat))
        if accepted is not None and accepted.ballot == asked.ballot:
            one = Said(short(asked.view.id))
            expected = f"{short(accepted.view.id)}, as before"
            require("view of one ballot", asked.view == accepted.view, one, expected)
            return Step(self, (answer,))
        record = self._accepting(asked.ballot, asked.view)
        ends = self.attempt is not None and self.attempt.ballot != asked.ballot
        return self._to(record, None if ends else self.attempt).after(
            (PersistRecord(record),), self._outbid(asked.ballot), (answer,)
        )

    def _may_vote(self, view: View) -> bool:
        return self._count_of({self.seat}, self._electors(view)) == 1

    def _accepting(self, ballot: Ballot, view: View) -> StoreRecord:
        return evolve(self.record, promised=ballot, accepted=Accepted(ballot, view))

    def _no(self, sender: str, ballot: Ballot, promised: Ballot) -> Step:
        return Step(self, (SendTo(sender, Nack(self.parent, ballot, promised)),))

    def _outbid(self, by: Ballot) -> tuple[ChoiceEffect, ...]:
        # Whoever promised a later ballot can no longer accept its own.
        is_lost = self.attempt is not None and self.attempt.ballot != by
        return (Outbid(by),) if is_lost else ()

    # -- the proposer ----------------------------------------------------------------------

    def _hear_promise(self, sender: str, heard: Promise) -> Step:
        self._require_own(sender, heard.voter)
        attempt = self.attempt
        if attempt is None or heard.ballot != attempt.ballot or attempt.proposed is not None:
            return Step(self)
        if heard.accepted is not None:
            self._require_fits(heard.accepted.view)
        # Also what a stranger has accepted counts here: its ballot's proposer was bound, too.
        told = [item for item in (attempt.bound, heard.accepted) if item is not None]
        bound = max(told, key=lambda item: item.ballot, default=None)
        answered = attempt.answered | {heard.voter}
        heard_of = evolve(attempt, answered=answered, bound=bound)
        return self._to(self.record, heard_of).choice._go_on()

    def _go_on(self) -> Step:
        attempt = self.attempt
        if attempt is None or not self._is_prepared:
            return Step(self)
        if self._binding is not None:
            return self._propose(attempt, self._binding)
        return Step(self, (Free(attempt.ballot, attempt.answered),))

    @property
    def _binding(self) -> View | None:
        """The accepted view that this ballot must propose again."""
        # A majority may have accepted it, and its proposer may be dead.
        bound = None if self.attempt is None else self.attempt.bound
        if bound is None or Seam.ACCEPTED_HONOURED in self.left_out:
            return None
        return bound.view

    @property
    def _is_prepared(self) -> bool:
        assert self.attempt is not None
        answered = self.attempt.answered
        if self.record.tip is None:
            # Before there is a view, nothing says which store an elector has.  A wiped one
            # looks like a new one, and a majority of names could found a second cluster:
            # so all must answer, and one of those who accepted the first one is among them.
            return self.founders <= {seat.member for seat in answered}
        return self._is_majority(answered, self.record.tip.electors)

    def _propose(self, attempt: Attempt, view: View) -> Step:
        self._require_fits(view)
        votes = self._may_vote(view)
        record = self._accepting(attempt.ballot, view) if votes else self.record
        voted = frozenset({self.seat}) if votes else frozenset()
        step = self._to(record, evolve(attempt, proposed=view, voted=voted)).after(
            (PersistRecord(record),) if votes else (),
            self._send(
                (seat.member for seat in self._electors(view)),
                Accept(self.parent, attempt.ballot, view),
            ),
        )
        return step.then(step.choice._count())

    def _hear_vote(self, sender: str, heard: Voted) -> Step:
        self._require_own(sender, heard.voter)
        attempt = self.attempt
        if attempt is None or heard.ballot != attempt.ballot:
            return Step(self)
        counted = evolve(attempt, voted=attempt.voted | {heard.voter})
        return self._to(self.record, counted).choice._count()

    def _count(self) -> Step:
        view = None if self.attempt is None else self.attempt.proposed
        if view is None or self.attempt is None:
            return Step(self)
        if not self._is_majority(self.attempt.voted, self._electors(view)):
            return Step(self)
        told = {*self._all, *(seat.member for seat in view.members | view.electors)}
        step = self._learn((view,))
        return step.after(self._send(told, Chosen(self.parent, (view,))))

    def _hear_nack(self, heard: Nack) -> Step:
        attempt = self.attempt
        if attempt is None or heard.ballot != attempt.ballot:
            return Step(self)
        return Step(evolve(self, attempt=None, latest=heard.promised), (Outbid(heard.promised),))

    # -- learning --------------------------------------------------------------------------

    def _learn(self, views: tuple[View, ...]) -> Step:
        known = self.record.lineage
        for view in views:
            there = known.id_at(view.number)
            if there is None:
                known = known.append(view)
            elif there != view.id:
                # Two successors of one view: this must never be papered over.
                found, expected = Said(short(view.id)), f"{short(there)}, which is chosen"
                raise Malformed(f"view {view.number} of this chain", found, expected)
        if known == self.record.lineage:
            return Step(self)
        new = known.views[self.record.lineage.length - known.forgotten :]
        record = self.record.learn(known)
        # The new tip's successor is another choice: ballots begin anew.
        choice = evolve(self, record=record, attempt=None, latest=None)
        return Step(choice, (PersistRecord(record), Learned(new)))

    def _about_another(self, sender: str, message: ChoiceMessage) -> Step:
        """Answer what is not about the tip's successor."""
        lineage = self.record.lineage
        parent = message.parent
        number = 0 if parent is None else lineage.number_of(parent)
        if number is None or number < lineage.forgotten:
            # Not on this chain, or so old that the views behind it are forgotten.
            return Step(self, (OutOfStep(sender, parent),))
        match message:
            case Chosen():
                return self._learn(message.views)
            case Prepare() | Accept():
                # Who knows a later view answers with that one, and freezes for nobody.
                later = lineage.views[number - lineage.forgotten :]
                return Step(self, (SendTo(sender, Chosen(parent, later)),))
            case _:
                return Step(self)  # an answer to what this store asked before it learned

    # -- who counts ------------------------------------------------------------------------

    def _electors(self, view: View) -> frozenset[Seat]:
        """Return whose votes choose `view`: the parent's electors; a FOUND brings its own."""
        tip = self.record.tip
        return view.electors if tip is None else tip.electors

    def _is_majority(self, seats: frozenset[Seat], electors: frozenset[Seat]) -> bool:
        enough = len(electors) // 2 + 1
        if Seam.MAJORITY in self.left_out:
            enough -= 1
        return self._count_of(seats, electors) >= enough

    def _count_of(self, seats: Iterable[Seat], electors: frozenset[Seat]) -> int:
        # By seat: a wiped elector is a stranger that has forgotten what it promised.
        if Seam.STRANGERS_KEPT_OUT in self.left_out:
            return len({seat.member for seat in seats} & {seat.member for seat in electors})
        return len(frozenset(seats) & electors)

    @property
    def _all(self) -> frozenset[str]:
        tip = self.record.tip
        if tip is None:
            return self.founders
        return frozenset(seat.member for seat in tip.members | tip.electors)

    # -- small parts -----------------------------------------------------------------------

    def _require_fits(self, view: View) -> None:
        # Before anybody accepts it: a chosen view that no lineage can take would be the end.
        self.record.lineage.append(view)
        if self.record.tip is None:
            strangers = sorted({seat.member for seat in view.electors} - self.founders)
            require("electors of a FOUND", not strangers, strangers, "configured electors")

    def _require_own(self, sender: str, voter: Seat) -> None:
        require("voter", voter.member == sender, voter.member, f"{sender}, who sent it")

    def _to(self, record: StoreRecord, attempt: Attempt | None) -> Step:
        return Step(evolve(self, record=record, attempt=attempt))

    def _send(self, names: Iterable[str], message: ChoiceMessage) -> tuple[ChoiceEffect, ...]:
        return tuple(SendTo(name, message) for name in sorted(set(names) - {self.member}))

    def _persist(self, record: StoreRecord, *, unless: Seam) -> tuple[ChoiceEffect, ...]:
        return () if unless in self.left_out else (PersistRecord(record),)
