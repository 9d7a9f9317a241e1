"""Mutations of succession: which view follows, and which members are in it.

Source: join protocol, 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import evolve

from joinproto.join.answers import Answer, Evidence
from joinproto.join.phases import Facts
from joinproto.join.state import Known
from joinproto.join.succession import ME_CLOSES, Next, S
from joinproto.join.successor import Proposer, keeps_nothing
from joinproto.join.view import Position, Seat
from joinproto.machine.tables import Table
from joinproto.machine.vocabulary import Reason
from joinproto_worlds.mutations.mutation import Mutation, Patch, around, changing, instead, without

SUCCESSION = "joinproto.join.succession"
SUCCESSOR = "joinproto.join.successor"
ANSWERS = "joinproto.join.answers"
SETTLING = "joinproto.join.fixpoint"

MakeTable = Callable[[], Table[Next]]


def _table(name: str, change: Callable[[Table[Next]], Table[Next]]) -> Patch:
    """Return the patch that replaces the table `name` by the table that `change` returns for it."""

    def make(original: MakeTable) -> MakeTable:
        table = change(original())
        return lambda: table

    return Patch(SUCCESSION, name, make)


def _dropping(table: str, case: str) -> Patch:
    return _table(table, lambda one: without(one, case))


def _waiting(table: str, case: str) -> Patch:
    reason = Reason.TOO_FEW_MEMBERS
    return _table(table, lambda one: changing(one, case, outcome=Next.WAIT, reason=reason))


def _proposing(path: str, replacement: Callable[..., Any]) -> Patch:
    return Patch(SUCCESSOR, f"Proposer.{path}", instead(replacement))


def _last_position(_self: Proposer, _: Evidence, among: Sequence[Answer]) -> Position | None:
    return [item for item in among if not item.transient][-1].position


def _marked_position(_self: Proposer, _: Evidence, among: Sequence[Answer]) -> Position | None:
    stores = [item for item in among if not item.transient]
    return ([item for item in stores if item.is_marked] or stores)[0].position


@around
def _sure_if_it_covers(original: Callable[..., bool], self: Evidence, answer: Answer) -> bool:
    return original(self, answer) or self.covers(answer)


@around
def _any_options(original: Callable[[Known], Facts], it: Known) -> Facts:
    return evolve(original(it), has_options=True)


def _hands_over(self: Proposer, tip: Any, members: frozenset[Seat], answers: Any) -> Any:
    return members if keeps_nothing(tip, answers) else self._voters(tip, members, answers)


SUCCEEDING = (
    # A CLOSE waits for no member.
    Mutation(
        "close-before-all-are-quiet",
        (
            _table(
                "going_on",
                lambda table: changing(
                    table,
                    "closing, and all have answered",
                    condition=~S.where(has_store=True).is_empty & ME_CLOSES,
                ),
            ),
        ),
    ),
    Mutation(
        "options-not-compared",
        (
            *(_dropping(one, "options differ") for one in ("founding", "reopening", "going_on")),
            _proposing("_may_stay", lambda self, evidence, answer: True),
            Patch(SETTLING, "facts", _any_options),
        ),
    ),
    Mutation(
        "stale-source",
        (
            _dropping("going_on", "no store has all of the tip"),
            _proposing("_covering", _last_position),
        ),
    ),
    Mutation(
        "mark-chooses",
        (
            _dropping("going_on", "no store has all of the tip"),
            _proposing("_covering", _marked_position),
        ),
    ),
    Mutation("n-forgotten", (_proposing("_was_active", lambda self, tip, answers: True),)),
    Mutation.of("change-after-total-failure", ANSWERS, "Evidence.is_sure", _sure_if_it_covers),
    Mutation(
        "starts-where-nobody-stays",
        (_proposing("_sources", lambda self, among, stays: list(among)),),
    ),
    Mutation("leave-waits", (_waiting("going_on", "somebody is sure, but no store would stay"),)),
    Mutation(
        "nobody-keeps-it",
        (
            _table(
                "going_on",
                lambda table: changing(
                    table,
                    "somebody is sure, but no store has answered",
                    outcome=Next.CHANGE,
                    reason=None,
                ),
            ),
            _proposing("_to_be_fed", lambda self, evidence, fit: []),
        ),
    ),
    Mutation(
        "clean-or-nothing", (_waiting("reopening", "a store that is not clean is permitted"),)
    ),
    Mutation("left-to-the-absent", (_proposing("_electors", _hands_over),)),
    # A member that answers is kept although other members do not hear it.
    Mutation(
        "apart-kept",
        (
            _proposing("_together", lambda self, tip, there, *_, **__: there),
            _proposing("yields", lambda self, view, evidence, misses: False),
        ),
    ),
)
"""Mutations of succession."""
