"""The common part of both ways to choose a view: a record, a tip, and learning a chain.

The two ways are `Choice`, votes among the electors, and `OutsideChoice`, a register with an atomic
compare-and-set.  Both are values: each action returns the next value, and the effects to perform in
this order.  Freezing is the same in both, and so are the answers from which a view is made.

Source: join protocol, 3.3 and 3.7.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import lru_cache
from typing import Self

from attrs import evolve, frozen

from joinproto.codec.malformed import Malformed, Verbatim, require
from joinproto.errors import MisuseError
from joinproto.join.choice_messages import (
    Accept,
    ChoiceEffect,
    ChoiceMessage,
    Chosen,
    Learned,
    OutOfStep,
    PersistRecord,
    Prepare,
    SendTo,
)
from joinproto.join.ids import ViewId, short
from joinproto.join.lineage import follow, linked
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Seat, View, names_of


@frozen
class Attempt:
    """A store's own ballot, while it is under way; a crash ends it.

    `answered`: the seats that promised.  `bound`: the latest acceptance among the promises.
    `proposed`: the view of this ballot, None until the host or an acceptance gives one.  `voted`:
    the seats that accepted the view.  `forgetful`: the seats whose stores went back; neither their
    promises nor their votes count.
    """

    ballot: Ballot
    answered: frozenset[Seat] = frozenset()
    bound: Accepted | None = None
    proposed: View | None = None
    voted: frozenset[Seat] = frozenset()
    forgetful: frozenset[Seat] = frozenset()


@frozen
class Step:
    """The result of an action of a `Chooser`: its next value, and the effects to perform."""

    choice: Chooser
    effects: tuple[ChoiceEffect, ...] = ()

    def then(self, next_step: Step) -> Step:
        """Return both steps as one: the choice of `next_step`, with the effects of both."""
        return Step(next_step.choice, (*self.effects, *next_step.effects))


@frozen(kw_only=True)
class Chooser(ABC):
    """One store's part in choosing the successor of its tip.

    `member`: the name under which the store takes part.  `record`: the record that is durable once
    all effects so far are performed; after a crash it is read from the disk.  `founders`: names of
    the configured electors, which are asked if there is no tip.  `found_with`: how many of them
    must answer; None means all.  `attempt`: the store's own ballot, None for none.
    """

    member: str
    record: StoreRecord
    founders: frozenset[str] = frozenset()
    found_with: int | None = None
    attempt: Attempt | None = None

    # -- for observers ---------------------------------------------------------------------

    @property
    def parent(self) -> ViewId | None:
        """Return the id of the view whose successor must be chosen; None if it is a FOUND."""
        tip = self.record.tip
        return None if tip is None else tip.id

    @property
    def seat(self) -> Seat:
        """Return the member with its store: this pair votes, not the name."""
        return _seat(self.member, self.record.store_id)

    @property
    def is_frozen(self) -> bool:
        """Return whether the store has answered a ballot about its tip.

        Then its member no longer serves, acknowledges no frame, does not become ready in the tip,
        and its data stands still, until it knows the successor.  The promise on the disk says so.
        """
        return self.record.promised is not None

    @property
    @abstractmethod
    def is_free(self) -> bool:
        """Return whether this store's attempt waits for the host's view: see `FreeToPropose`."""

    @property
    def is_asking(self) -> bool:
        """Return whether this store's attempt can still end in a view, if others are asked again.

        False where an outside register chooses.
        """
        return False

    @property
    def may_begin(self) -> bool:
        """Return whether this store may propose its tip's successor."""
        tip = self.record.tip
        if tip is None:
            return self.member in self.founders
        # On an open view only members may: active members judge a newcomer first.
        return self.seat in tip.members or not tip.is_open

    # -- actions of the host -----------------------------------------------------------------

    @abstractmethod
    def begin(self, also: Iterable[str] = ()) -> Step:
        """Begin an attempt of this store, which freezes.  `also`: further names to ask.

        An earlier attempt is given up.  Raises `MisuseError` unless `may_begin` is True.
        """

    def ask(self, names: Iterable[str]) -> Step:
        """Ask these members in this store's attempt; they came later, or a message was lost."""
        if self.attempt is None:
            return Step(self)
        return Step(self, self._send(names, Prepare(self.parent, self.attempt.ballot)))

    @abstractmethod
    def propose(self, view: View) -> Step:
        """Propose the host's view in this store's attempt, after `FreeToPropose`.

        Raises `MisuseError` if the attempt is not free, `Malformed` if `view` cannot follow the
        tip.
        """

    @abstractmethod
    def receive(self, sender: str, message: ChoiceMessage) -> Step:
        """Return the step that a message from the member named `sender` causes."""

    def with_record(self, record: StoreRecord) -> Self:
        """Return the same choice with a record that the host has changed."""
        return evolve(self, record=record)

    def without(self, forgetful: frozenset[Seat]) -> Self:
        """Return the choice in whose own ballot exactly these seats do not count."""
        attempt = self.attempt
        if attempt is None or forgetful == attempt.forgetful:
            return self
        answered = attempt.answered - forgetful
        judged = evolve(attempt, answered=answered, forgetful=forgetful)
        return evolve(self, attempt=judged)

    def _require_may_begin(self) -> None:
        if not self.may_begin:
            tip = self.record.tip
            raise MisuseError(
                f"{self.member} with store {self.record.store_id} may not propose"
                f" {'the first view' if tip is None else f'the view after {tip}'}",
                next="call `begin` only if `may_begin` is True",
            )

    def _require_free(self, view: View) -> None:
        if not self.is_free:
            raise MisuseError(
                f"{self.member} proposes {view}, but has no attempt that is free for a view",
                next="call `begin`, and wait for FreeToPropose",
            )

    # -- learning --------------------------------------------------------------------------

    def _choose(self, view: View) -> Step:
        """Return the step in which `view` is known to be chosen: learn it, and tell all."""
        # Its electors are its members, or are electors of the tip.
        told = self._send(self._all | names_of(view.members), Chosen(self.parent, (view,)))
        step = self._learn((view,))
        return Step(step.choice, (*step.effects, *told))

    def _learn(self, views: tuple[View, ...], initial: ViewId | None = None) -> Step:
        known = self.record.lineage
        if views[0].number > known.length + 1:
            # The sender has forgotten the views between the last one known here and its first.
            known = follow(known, linked(views, initial))
        for view in views:
            there = known.id_at(view.number)
            if there is None:
                known = known.append(view)
            elif there != view.id:
                # Two successors of one view: this must never be hidden.
                found, expected = Verbatim(short(view.id)), f"{short(there)}, which is chosen"
                raise Malformed(f"view {view.number} of this chain", found, expected)
        if known == self.record.lineage:
            return Step(self)
        new = known.views[max(0, self.record.lineage.length - known.forgotten) :]
        record = self.record.learn(known)
        choice = self._for_new_tip(record)
        return Step(choice, (PersistRecord(record), Learned(new)))

    def _about_another(self, sender: str, message: ChoiceMessage) -> Step:
        """Answer a message that is not about the tip's successor."""
        lineage = self.record.lineage
        parent = message.parent
        number = 0 if parent is None else lineage.number_of(parent)
        later = None if number is None else Chosen.telling(sender, parent, number, self.record)
        if later is None:
            # The parent is not on this chain, or so old that the views after it are forgotten.
            return Step(self, (OutOfStep(sender, parent),))
        match message:
            case Chosen():
                return self._learn(message.views, message.initial)
            case Prepare() | Accept():
                # A member that knows a later view answers with that view, and does not freeze.
                return Step(self, (SendTo(sender, later),))
            case _:
                return Step(self)  # an answer to a question from before this store learned

    def _for_new_tip(self, record: StoreRecord) -> Chooser:
        return evolve(self, record=record, attempt=None)

    # -- small parts -----------------------------------------------------------------------

    @property
    def _all(self) -> frozenset[str]:
        tip = self.record.tip
        if tip is None:
            return self.founders
        return names_of(tip.members | tip.electors)

    def _founders_answered(self, answered: Iterable[Seat]) -> bool:
        # Before there is a view, no record says which store an elector has.  A wiped store looks
        # like a new one, and a majority of names could found a second cluster.  So more must
        # answer, all or `found_with`, and one of them has accepted the first FOUND.
        names = names_of(answered) & self.founders
        if self.found_with is not None:
            return len(names) >= self.found_with
        return self.founders <= names

    def _require_fits(self, view: View) -> None:
        # Called before any member accepts the view: a chosen view that no lineage can take would
        # stop all members for ever.
        self.record.lineage.append(view)

    def _require_own(self, sender: str, voter: Seat) -> None:
        require("voter", voter.member == sender, voter.member, f"{sender}, which sent it")

    def _with(self, record: StoreRecord, attempt: Attempt | None) -> Self:
        return evolve(self, record=record, attempt=attempt)

    def _send(self, names: Iterable[str], message: ChoiceMessage) -> tuple[ChoiceEffect, ...]:
        return tuple(SendTo(name, message) for name in sorted(set(names) - {self.member}))


@lru_cache(maxsize=256)
def _seat(member: str, store_id: str) -> Seat:
    # Called many times for each message, with the same arguments.
    return Seat(member, store_id)
