"""Mutations of promotion.

Source: hot standby, H3 and H8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from joinproto.standby.broker import Variant
from joinproto.standby.promote import Promoted, Promotion
from joinproto.tables.tables import Table
from models.mutations.mutation import Mutation, Patch

PROMOTE = "joinproto.standby.promote"


def _who_catches_up(original: Mapping[Variant, Table[Any]]) -> Mapping[Variant, Table[Any]]:
    table = original[Variant.OURS]
    left = tuple(case for case in table.cases if case.name != "it catches up")
    assert len(left) < len(table.cases)
    return {**original, Variant.OURS: evolve(table, cases=left)}


def _at_once(original: Callable[[Promotion], Promoted]) -> Callable[[Promotion], Promoted]:
    return lambda about: original(evolve(about, expected=()))


PROMOTING = (
    # Who still catches up is promoted.
    Mutation("promotes-who-catches-up", (Patch(PROMOTE, "TABLES", _who_catches_up),)),
    # A new primary waits for nobody (LM5).
    Mutation("confirms-at-once", (Patch(PROMOTE, "promote", _at_once),)),
)
"""Rules of our own promotion."""
