"""Mutations of how a cluster is found, and of cleanup.

Source: discovery, D1, D3 and D4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve

from joinproto.discovery.boot import Rules
from joinproto.machine.tables import Table
from joinproto_worlds.mutations.mutation import Mutation

ROUND, CLEANUP = "joinproto.discovery.round", "joinproto.discovery.cleanup"


def _lacking(whose: object, case: str) -> Callable[[Mapping[Any, Table[Any]]], Any]:
    def made(original: Mapping[Any, Table[Any]]) -> Mapping[Any, Table[Any]]:
        table = original[whose]
        left = tuple(one for one in table.cases if one.name != case)
        assert len(left) < len(table.cases), f"{table.name} has no case {case!r}"
        return {**original, whose: evolve(table, cases=left)}

    return made


def _one(_original: object) -> Callable[[int], int]:
    return lambda expected: 1


DISCOVERING = (
    # One vote founds a cluster.
    Mutation.of("founds-alone", ROUND, "majority_of", _one),
    # Members of a cluster are not joined.
    Mutation.of("founds-again", ROUND, "TABLES", _lacking(Rules.OURS, "a member answers")),
    # A list that lacks members is as good as a whole one.
    Mutation.of(
        "any-list", ROUND, "TABLES", _lacking(Rules.OURS, "fewer are listed than expected")
    ),
    # More nodes than expected found what they like.
    Mutation.of("any-size", ROUND, "TABLES", _lacking(Rules.OURS, "more are listed than expected")),
)
"""Rules of our own boot."""
