"""Choosing with an outside register: an atomic compare-and-set in place of the majority.

A register such as etcd or Consul holds "the successor of view X", and lets it be set once.  Then no
member votes, N may have any value, and all members may be transient.  Freezing and the answers
stay: the register knows the only successor, but not which store has the data.

    begin     freeze, durably                       Prepare ->   all
              freeze, durably                                 <- Promise
    propose   AskRegister, a compare-and-set
    decided   append the register's view, durably   Chosen  ->   all

All attempts use the same ballot, so a promise to one proposer counts for every other proposer, and
means no more than "frozen".

Source: join protocol, 3.7.
"""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve, frozen

from joinproto.codec.malformed import Malformed, Verbatim
from joinproto.join.choice_messages import (
    AskRegister,
    ChoiceEffect,
    ChoiceMessage,
    Chosen,
    FreeToPropose,
    PersistRecord,
    Prepare,
    Promise,
)
from joinproto.join.chooser import Attempt, Chooser, Step
from joinproto.join.store import Ballot, StoreRecord
from joinproto.join.view import View

ONE = Ballot(1, "register")
"""The ballot of all attempts."""


@frozen(kw_only=True)
class OutsideChoice(Chooser):
    """A store's part in the choice of a view if an outside register decides."""

    @property
    def is_free(self) -> bool:
        attempt = self.attempt
        if attempt is None or attempt.proposed is not None:
            return False
        # Before the founding no record names the stores, so the founders must have answered, with
        # a register as well.
        return self.record.tip is not None or self._founders_answered(attempt.answered)

    def begin(self, also: Iterable[str] = ()) -> Step:
        self._require_may_begin()
        record, persisted = self._frozen()
        begun = self._with(record, Attempt(ONE, frozenset({self.seat})))
        asked = self._send({*self._all, *also}, Prepare(self.parent, ONE))
        return Step(begun, (*persisted, *asked)).then(begun._free())

    def propose(self, view: View) -> Step:
        self._require_free(view)
        self._require_fits(view)
        asked = Attempt(ONE, proposed=view)
        return Step(self._with(self.record, asked), (AskRegister(self.parent, view),))

    def decided(self, view: View) -> Step:
        """Return the result of the register's answer: `view` is the tip's successor.

        An answer about an older tip is late, and changes no state.
        """
        return Step(self) if view.parent != self.parent else self._choose(view)

    def receive(self, sender: str, message: ChoiceMessage) -> Step:
        if message.parent != self.parent:
            return self._about_another(sender, message)
        match message:
            case Prepare():
                record, persisted = self._frozen()
                answer = Promise(message.parent, ONE, self.seat, None)
                # To all, so that a member that begins later need not ask again.
                told = self._send({sender, *self._all}, answer)
                return Step(self._with(record, self.attempt), (*persisted, *told))
            case Promise():
                self._require_own(sender, message.voter)
                if self.attempt is None or self.attempt.proposed is not None:
                    return Step(self)
                answered = self.attempt.answered | {message.voter}
                return self._with(self.record, evolve(self.attempt, answered=answered))._free()
            case Chosen():
                return self._learn(message.views, message.initial)
            case _:
                raise Malformed(
                    "message of a vote",
                    Verbatim(type(message).__name__),
                    "none: a register decides",
                )

    def _frozen(self) -> tuple[StoreRecord, tuple[ChoiceEffect, ...]]:
        if self.is_frozen:
            return self.record, ()
        record = evolve(self.record, promised=ONE)
        return record, (PersistRecord(record),)

    def _free(self) -> Step:
        assert self.attempt is not None
        if not self.is_free:
            return Step(self)
        return Step(self, (FreeToPropose(ONE, self.attempt.answered),))
