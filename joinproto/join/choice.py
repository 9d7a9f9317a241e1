"""Choosing the successor of a store's tip: single-decree Paxos among its electors.

A `Choice` is one store's part in this, as proposer and as voter.  It is a value: each action
returns the next value, and the effects to perform in this order.

    begin     promise its own ballot, durably       Prepare ->   all
              promise it, durably: frozen                     <- Promise
    propose   accept it, durably                    Accept  ->   the electors
              accept it, durably                              <- Voted
    (learn)   append the view, durably              Chosen  ->   all

Everything that must survive is in the record: a proposer promises its own ballot first, so
`promised` is at least every ballot that this store has used, and no ballot is used twice.

The host verifies a message's form and its views' ids (`verify_id`) before `receive`.  A message
that no correct member sends raises `Malformed`, and changes nothing.

Source: Lamport, "Paxos Made Simple", section 2; join protocol, 3.3 and 3.6.  The exceptions for
FOUND have their reasons in `docs/protocol.md`, "Choosing".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import evolve, frozen

from joinproto.codec.malformed import Verbatim, require
from joinproto.join.choice_messages import (
    Accept,
    ChoiceEffect,
    ChoiceMessage,
    Chosen,
    FreeToPropose,
    Nack,
    Outbid,
    PersistRecord,
    Prepare,
    Promise,
    SendTo,
    Voted,
)
from joinproto.join.chooser import Attempt, Chooser, Step
from joinproto.join.ids import short
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Seat, View, names_of


@frozen(kw_only=True)
class Choice(Chooser):
    """One store's part in the votes.

    `latest`: the ballot that the last `Nack` named; None before the first.
    """

    latest: Ballot | None = None

    @property
    def is_free(self) -> bool:
        """Return whether its own ballot waits for a view of the host's: see `FreeToPropose`."""
        # A ballot that is bound to an accepted view proposes it as soon as it is prepared.
        return self.attempt is not None and self.attempt.proposed is None and self._is_prepared

    @property
    def is_asking(self) -> bool:
        # A member that heard of a later ballot has given up its own ballot.
        return self.attempt is not None

    @property
    def next_ballot(self) -> Ballot:
        """Return a ballot later than every one this store has used, promised or heard of."""
        known = [ballot.round for ballot in (self.record.promised, self.latest) if ballot]
        return Ballot(max(known, default=0) + 1, self.record.store_id)

    # -- actions of the host -----------------------------------------------------------------

    def begin(self, also: Iterable[str] = ()) -> Step:
        self._require_may_begin()
        ballot = self.next_ballot
        # Durable before use.  Otherwise: a proposes A in ballot 1, b accepts, a crashes and
        # uses ballot 1 again for A', c accepts; b's vote for A is counted for A'.
        record = evolve(self.record, promised=ballot)
        attempt = Attempt(ballot, frozenset({self.seat}), record.accepted)
        begun = self._with(record, attempt)
        asked = self._send({*self._all, *also}, Prepare(self.parent, ballot))
        return Step(begun, (PersistRecord(record), *asked)).then(begun._continue())

    def ask(self, names: Iterable[str]) -> Step:
        attempt = self.attempt
        if attempt is None or attempt.proposed is None:
            # This also asks members that have answered: they may have another store by now.
            return super().ask(names)
        view = attempt.proposed
        missing = names_of(self._electors(view) - attempt.voted)
        asked = Accept(self.parent, attempt.ballot, view)
        return Step(self, self._send(missing & set(names), asked))

    def propose(self, view: View) -> Step:
        self._require_free(view)
        assert self.attempt is not None
        return self._propose(self.attempt, view)

    def receive(self, sender: str, message: ChoiceMessage) -> Step:
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
                return self._learn(message.views, message.initial)

    # -- the voter -------------------------------------------------------------------------

    def _promise(self, sender: str, asked: Prepare) -> Step:
        promised = self.record.promised
        if promised is not None and asked.ballot < promised:
            return self._refuse(sender, asked.ballot, promised)
        answer = Promise(asked.parent, asked.ballot, self.seat, self.record.accepted)
        if asked.ballot == promised:
            return Step(self, (SendTo(sender, answer),))
        record = evolve(self.record, promised=asked.ballot)
        # The promise is the freeze, so it must survive a crash.
        effects = PersistRecord(record), *self._outbid(asked.ballot), SendTo(sender, answer)
        return Step(self._with(record, None), effects)

    def _vote(self, sender: str, asked: Accept) -> Step:
        promised, accepted = self.record.promised, self.record.accepted
        if promised is not None and asked.ballot < promised:
            return self._refuse(sender, asked.ballot, promised)
        self._require_fits(asked.view)
        if not self._may_vote(asked.view):
            return Step(self)
        answer = SendTo(sender, Voted(asked.parent, asked.ballot, self.seat))
        if accepted is not None and accepted.ballot == asked.ballot:
            one = Verbatim(short(asked.view.id))
            expected = f"{short(accepted.view.id)}, as before"
            require("view of one ballot", asked.view == accepted.view, one, expected)
            return Step(self, (answer,))
        record = self._accepting(asked.ballot, asked.view)
        ends = self.attempt is not None and self.attempt.ballot != asked.ballot
        effects = PersistRecord(record), *self._outbid(asked.ballot), answer
        return Step(self._with(record, None if ends else self.attempt), effects)

    def _may_vote(self, view: View) -> bool:
        return self._count_of({self.seat}, self._electors(view)) == 1

    def _accepting(self, ballot: Ballot, view: View) -> StoreRecord:
        return evolve(self.record, promised=ballot, accepted=Accepted(ballot, view))

    def _refuse(self, sender: str, ballot: Ballot, promised: Ballot) -> Step:
        return Step(self, (SendTo(sender, Nack(self.parent, ballot, promised)),))

    def _outbid(self, by: Ballot) -> tuple[ChoiceEffect, ...]:
        # A member that promised a later ballot can no longer accept its own.
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
        # A view that a seat without a vote has accepted also binds this ballot, because the
        # proposer of that view's ballot was bound as well.
        known = [item for item in (attempt.bound, heard.accepted) if item is not None]
        bound = self._latest(known)
        answered = attempt.answered | ({heard.voter} - attempt.forgetful)
        heard_of = evolve(attempt, answered=answered, bound=bound)
        return self._with(self.record, heard_of)._continue()

    def _continue(self) -> Step:
        attempt = self.attempt
        assert attempt is not None
        if not self._is_prepared:
            return Step(self)
        if self._binding is not None:
            return self._propose(attempt, self._binding)
        return Step(self, (FreeToPropose(attempt.ballot, attempt.answered),))

    def _latest(self, among: Sequence[Accepted]) -> Accepted | None:
        """Return the acceptance of the latest ballot, because its view may have been chosen."""
        return max(among, key=lambda item: item.ballot, default=None)

    @property
    def _binding(self) -> View | None:
        """The accepted view that this ballot must propose again."""
        # A majority may have accepted this view, and its proposer may be dead.
        assert self.attempt is not None
        bound = self.attempt.bound
        return None if bound is None else bound.view

    @property
    def _is_prepared(self) -> bool:
        assert self.attempt is not None
        answered = self.attempt.answered
        if self.record.tip is None:
            return self._founders_answered(answered)
        return self._is_majority(answered, self.record.tip.electors)

    def _propose(self, attempt: Attempt, view: View) -> Step:
        self._require_fits(view)
        votes = self._may_vote(view)
        record = self._accepting(attempt.ballot, view) if votes else self.record
        voted = frozenset({self.seat} if votes else ())
        proposing = self._with(record, evolve(attempt, proposed=view, voted=voted))
        persisted = (PersistRecord(record),) if votes else ()
        names = names_of(self._electors(view))
        asked = self._send(names, Accept(self.parent, attempt.ballot, view))
        return Step(proposing, (*persisted, *asked)).then(proposing._count())

    def _hear_vote(self, sender: str, heard: Voted) -> Step:
        self._require_own(sender, heard.voter)
        attempt = self.attempt
        if attempt is None or heard.ballot != attempt.ballot:
            return Step(self)
        voted = attempt.voted | ({heard.voter} - attempt.forgetful)
        counted = evolve(attempt, voted=voted)
        return self._with(self.record, counted)._count()

    def _count(self) -> Step:
        assert self.attempt is not None
        view = self.attempt.proposed
        if view is None or not self._is_majority(self.attempt.voted, self._electors(view)):
            return Step(self)
        return self._choose(view)

    def _hear_nack(self, heard: Nack) -> Step:
        attempt = self.attempt
        if attempt is None or heard.ballot != attempt.ballot:
            return Step(self)
        return Step(evolve(self, attempt=None, latest=heard.promised), (Outbid(heard.promised),))

    def _require_fits(self, view: View) -> None:
        super()._require_fits(view)
        if self.record.tip is None:
            strangers = sorted(names_of(view.electors) - self.founders)
            require("electors of a FOUND", not strangers, strangers, "configured electors")

    # -- which answers count -----------------------------------------------------------------------

    def _electors(self, view: View) -> frozenset[Seat]:
        """Return the seats whose votes choose `view`: its parent's electors, or a FOUND's own."""
        tip = self.record.tip
        return view.electors if tip is None else tip.electors

    def _is_majority(self, seats: frozenset[Seat], electors: frozenset[Seat]) -> bool:
        return self._count_of(seats, electors) >= len(electors) // 2 + 1

    def _count_of(self, seats: Iterable[Seat], electors: frozenset[Seat]) -> int:
        # Seats count, not names: a wiped elector has forgotten its promises.
        return len(frozenset(seats) & electors)

    def _for_new_tip(self, record: StoreRecord) -> Choice:
        # The new tip's successor is another choice: ballots begin again.
        return evolve(self, record=record, attempt=None, latest=None)
