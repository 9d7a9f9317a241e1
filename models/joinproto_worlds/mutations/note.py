"""Mutations of the note's rules: the cases of a rule are taken out of all its tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from joinproto.machine.machine import StateMachine
from joinproto.machine.vocabulary import Phase
from joinproto.reference.note.readings import AS_WRITTEN, Readings
from joinproto_worlds.mutations.mutation import Mutation, with_arrows, without_rule

MakeMachine = Callable[..., StateMachine[Phase]]

RULES = ("I1", "I2", "I4", "I5", "I6", "I7", "J2", "J3")
"""The rules that have their own world that holds."""


def _lacking(label: str, original: MakeMachine) -> MakeMachine:
    @cache
    def note_machine(readings: Readings = AS_WRITTEN) -> StateMachine[Phase]:
        return with_arrows(original(readings), lambda arrow: without_rule(arrow.table, label))

    return note_machine


NOTE = tuple(
    Mutation.of(
        f"without-{label}",
        "joinproto.reference.note.machine",
        "note_machine",
        partial(_lacking, label),
    )
    for label in RULES
)
