"""Proofs about the decision tables themselves, as they ship.

every case can be reached        with a few rows, for which `compiled.py` takes the same case
no gap                           some case holds, for any number of rows
equal rows, equal verdicts       for any number of rows
no contradiction                 of two members with the same rows, none stops if the other goes on
the note and the shipped rules   where their verdicts differ (`differences.py`)
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from enum import Enum
from typing import Any

import z3
from attrs import frozen

from joinproto.clusterer import tables as clustering
from joinproto.discovery import boot as booting
from joinproto.discovery import cleanup
from joinproto.join.admission import admission
from joinproto.join.phases import standing
from joinproto.join.succession import Next, founding, going_on, reopening
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import Condition, Fact, Group, Members
from joinproto.machine.vocabulary import Phase
from joinproto.pick.table import verdicts
from joinproto.prove.obligations import PATIENT
from joinproto.prove.printed import Answer
from joinproto.prove.script import Script
from joinproto.prove.terms import BoundedRows, Rows, UnboundedRows, connected, holds
from joinproto.reconcile import tables as reconciling
from joinproto.reconcile import timers
from joinproto.reference.note.initialization import all_updates_done, initialization
from joinproto.reference.note.joining import joined, joining
from joinproto.reference.note.recovery import comparison, mark
from joinproto.reference.note.shutdown import shutdown
from joinproto.reference.qpid.starting import STARTING
from joinproto.reference.qpid.store_status import STORE_STATUS
from joinproto.standby import tables as promoting

PLACES = 4
"""The most rows for which a case is looked for; a test fails if a table needs more."""


@frozen
class Shipped:
    """A table, and the decisions that two members with the same rows must not both make.

    `agree_on`: fields that are the same in all members (I2: N and facts derived from N).
    `apart`: sets of outcomes; no two members may take outcomes from two different sets.
    """

    table: Table[Any]
    agree_on: tuple[str, ...] = ()
    apart: tuple[frozenset[Enum], ...] = ()

    @property
    def kind(self) -> type[Any]:
        """Return the class of the rows that the table reads."""
        for case in self.table.cases:
            for part in parts_of(case.condition):
                return part.of
        raise TypeError(f"table {self.table.name} reads no rows")


_GOES: frozenset[Enum] = frozenset({Phase.ACTIVE, Phase.READY, Phase.UPDATING})
_ALL_ALIKE = (
    frozenset[Enum]({Phase.INITIALIZING}),
    frozenset[Enum]({Phase.ABORTED}),
    _GOES,
)
_STOP_OR_GO = (
    frozenset[Enum]({Next.ABORT}),
    frozenset[Enum]({Next.FOUND, Next.CHANGE, Next.CLOSE, Next.RESTART}),
)
_SAME_N = ("wait_for", "majority", "founders")


def shipped() -> tuple[Shipped, ...]:
    """Return the tables: the note's, the chain's, the recovery's, Qpid's, and other systems'."""
    of_the_note: list[Table[Any]] = [joining(), joined(), shutdown(), comparison(), mark()]
    others: list[Table[Any]] = [standing(), admission(), verdicts(), STARTING, STORE_STATUS]
    return (
        Shipped(initialization(), ("wait_for",), _ALL_ALIKE),
        Shipped(all_updates_done(), (), _ALL_ALIKE),
        *map(Shipped, of_the_note),
        *(Shipped(one, _SAME_N, _STOP_OR_GO) for one in (founding(), reopening(), going_on())),
        *map(Shipped, (*others, *_of_systems())),
    )


def _of_systems() -> Iterator[Table[Any]]:
    """Yield the tables of the other systems, except `discovery-ours`.

    That table counts a set that differs for each member, since the member itself is in it.
    `UnboundedRows` takes the size of a set to be the same for all members.
    """
    yield from reconciling.TABLES.values()
    yield from (timers.START, timers.HEARD, timers.LOOKED)
    yield from promoting.TABLES.values()
    yield from (booting.SEED, booting.REAL)
    yield from cleanup.TABLES.values()
    yield from clustering.TABLES


@frozen
class Finding:
    """A finding about a table.  `example`: an example in words.

    `script`: the question to a solver; None if plain Python examined all cases.
    """

    words: str
    result: Answer
    seconds: float
    example: str = ""
    script: Script | None = None


def findings() -> Iterator[Finding]:
    for item in shipped():
        for case in item.table.cases:
            yield reaches(item, case)
        yield has_no_gap(item)
        yield treats_equals_alike(item)
        if item.apart:
            yield never_contradicts(item)


def reaches(item: Shipped, case: Case[Any]) -> Finding:
    """Find rows for which this case is taken, and compare with the case that the table takes."""
    began = time.process_time()
    rows = BoundedRows(item.kind, PLACES)
    solver = z3.Solver(ctx=rows.context)
    solver.add(taken(item.table, case, rows, 0), rows.proper())
    words = f"tables: {item.table.name}: “{case.label} {case.name}” can be reached"
    script = Script.of(solver, words, "sat")
    if solver.check() != z3.sat:
        return Finding(words, "fails", time.process_time() - began, "no rows lead to it", script)
    found = rows.decoded(solver.model())
    chosen = item.table.choose(found, 0)
    agrees = chosen is case
    example = "" if agrees else f"compiled.py takes “{chosen.name}” for {found}"
    result: Answer = "proved" if agrees else "fails"
    return Finding(words, result, time.process_time() - began, example, script)


def has_no_gap(item: Shipped) -> Finding:
    """Prove that some case is taken for any rows."""
    rows = UnboundedRows(item.kind)
    me = rows.member("me")
    none = [z3.Not(holds(case.condition, rows, me)) for case in item.table.cases]
    return _proved(f"tables: {item.table.name}: some case always holds", rows, *none)


def treats_equals_alike(item: Shipped) -> Finding:
    """Prove that two members with equal rows take the same case."""
    rows = UnboundedRows(item.kind)
    one, other = rows.member("one"), rows.member("other")
    alike = [rows.get(one, name) == rows.get(other, name) for name in rows.names if name != "id"]
    differ = [
        z3.And(taken(item.table, case, rows, one), z3.Not(taken(item.table, case, rows, other)))
        for case in item.table.cases
    ]
    words = f"tables: {item.table.name}: equal rows, equal verdicts"
    return _proved(words, rows, *alike, connected(z3.Or, differ))


def never_contradicts(item: Shipped) -> Finding:
    """Prove that no two members that see the same rows take outcomes that are `apart`."""
    rows = UnboundedRows(item.kind)
    one, other = rows.member("one"), rows.member("other")
    agreed = [rows.get(one, name) == rows.get(other, name) for name in item.agree_on]
    contradictions = [
        z3.And(_takes(item.table, left, rows, one), _takes(item.table, right, rows, other))
        for left in item.apart
        for right in item.apart
        if left is not right
    ]
    words = f"tables: {item.table.name}: same rows, no contradicting verdicts"
    return _proved(words, rows, *agreed, connected(z3.Or, contradictions))


def taken(table: Table[Any], case: Case[Any], rows: Rows, me: Any) -> Any:
    """Return, for Z3, that this is the first case that holds."""
    at = table.cases.index(case)
    before = [z3.Not(holds(other.condition, rows, me)) for other in table.cases[:at]]
    return connected(z3.And, [*before, holds(case.condition, rows, me)])


def parts_of(part: Condition | Group) -> Iterator[Group | Fact]:
    """Yield every set of members that a condition mentions, and every fact about a member."""
    if isinstance(part, Group | Fact):
        yield part
    for name in ("condition", "left", "right", "group"):
        inner = getattr(part, name, None)
        if inner is not None and not isinstance(part, Members):
            yield from parts_of(inner)


def _takes(table: Table[Any], outcomes: frozenset[Enum], rows: Rows, me: Any) -> Any:
    cases = [case for case in table.cases if case.outcome in outcomes]
    if not cases:
        return z3.BoolVal(False, rows.values.context)
    return connected(z3.Or, [taken(table, case, rows, me) for case in cases])


def _proved(words: str, rows: Rows, *against: Any) -> Finding:
    began = time.process_time()
    solver = z3.Solver(ctx=rows.values.context)
    solver.set("rlimit", PATIENT)
    solver.add(*against)
    found = solver.check()
    result: Answer = "proved" if found == z3.unsat else "fails" if found == z3.sat else "unknown"
    example = str(solver.model()) if found == z3.sat else ""
    script = Script.of(solver, words, "unsat")
    return Finding(words, result, time.process_time() - began, example, script)
