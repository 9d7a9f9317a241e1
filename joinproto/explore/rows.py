"""The rows of decision tables that a step took, and the reasons why the rows above did not match.

The member's code takes the step once more, and each table that it reads is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from attrs import Factory, define

from joinproto.check.events import plain
from joinproto.check.local import LocalState, freeze_event
from joinproto.check.member import MemberCode
from joinproto.check.steps import Move
from joinproto.explore.graph import Graph, Json
from joinproto.machine import machine as machines
from joinproto.machine import tables
from joinproto.machine.compiled import holds, members_of
from joinproto.machine.terms import (
    And,
    Condition,
    DisagreesOn,
    Every,
    Fact,
    FewerThan,
    Has,
    IsEmpty,
    Mine,
    Not,
    Or,
    Some,
)

TABLES_MAX = 40
"""The most readings of tables that are reported for one step: a member may settle several times."""


@define
class _Readings:
    """Readings of tables, in order: the table, the rows, the place of the member, and the case."""

    readings: list[tuple[Any, list[Any], int, Any]] = Factory(list)

    def add(self, table: Any, members: Sequence[Any], me: int, case: Any) -> None:
        reading = (table, list(members), me, case)
        if all((t, m, i) != reading[:3] for t, m, i, _ in self.readings):
            self.readings.append(reading)


@contextmanager
def _recording() -> Iterator[_Readings]:
    """Note every reading of a table while the context lasts."""
    readings = _Readings()
    choose, step = tables.Table.choose, machines.StateMachine.step

    def noted_choose(table: Any, members: Sequence[object], me: int) -> Any:
        case = choose(table, members, me)
        readings.add(table, members, me, case)
        return case

    def noted_step(machine: Any, model: Any, trigger: str, members: Any, me: int) -> Any:
        answer = step(machine, model, trigger, members, me)
        readings.add(answer.table, members, me, answer.case)
        return answer

    tables.Table.choose = noted_choose  # type: ignore[assignment, method-assign]
    machines.StateMachine.step = noted_step  # type: ignore[assignment, method-assign]
    try:
        yield readings
    finally:
        tables.Table.choose = choose  # type: ignore[method-assign]
        machines.StateMachine.step = step  # type: ignore[method-assign]


def why(graph: Graph, at: int, index: int) -> list[Json]:
    """Return the tables that a step read: `member`, `table`, `source`, `rows`.

    A row: `label`, `name`, `says` (its condition), `outcome`, `taken`, `because`.  Rows below the
    taken one are left out.
    """
    move, _ = graph.move(at, index)
    state, found = graph.state(at), []
    for name, event in _events_of(graph, move):
        place = graph.names.index(name)
        code, local = graph.steps.codes.members[place], state.locals[place]
        for table, members, me, case in _read_by(code, local, event)[:TABLES_MAX]:
            found.append(_reading(name, table, members, me, case))
    return found


def _events_of(graph: Graph, move: Move) -> Iterator[tuple[str, Any]]:
    """Yield each member that takes part in a step, with its event."""
    if move.together is not None:
        for name, event in move.together.events.items():
            yield name, freeze_event(event)
    elif move.outcomes:
        yield move.outcomes[0][0], move.event


def _read_by(code: MemberCode, local: LocalState, event: Any) -> list[tuple[Any, Any, int, Any]]:
    with _recording() as found:
        # `answer` calls the code itself, without the known answers.
        code.answer("step", (local, event))
    return found.readings


def _reading(name: str, table: Any, members: list[Any], me: int, case: Any) -> Json:
    rows = []
    for one in table.cases:
        taken = one is case or one == case
        because = _why_not(one.condition, members, me) if not taken else ""
        rows.append(
            {
                "label": one.label,
                "name": one.name,
                "says": str(one.condition),
                "outcome": plain(one.outcome),
                "effects": [plain(effect) for effect in one.effects],
                "taken": taken,
                "because": because,
            }
        )
        if taken:
            break
    return {
        "member": name,
        "table": table.name,
        "source": table.source,
        "rows": rows,
        "below": len(table.cases) - len(rows),
    }


def _why_not(condition: Condition, members: list[Any], me: int) -> str:
    """Return a text that says which part of a condition does not hold."""
    match condition:
        case And(left, right):
            for part in (left, right):
                if not holds(part, members, me):
                    return _why_not(part, members, me)
            return ""
        case Or(left, right):
            return f"{_why_not(left, members, me)}; and {_why_not(right, members, me)}"
        case Not(inner):
            return f"here: {inner}"
        case Fact(_, _, fields):
            others = [
                f"{_words(field)} is {plain(getattr(members[me], field))}, not {plain(value)}"
                for field, value in fields
                if getattr(members[me], field) != value
            ]
            return "; ".join(others)
        case IsEmpty(group):
            return f"in {group}: {_listed(members, members_of(group, members, me))}"
        case FewerThan(group, count):
            least = getattr(members[me], count.field) if isinstance(count, Mine) else count
            return f"{group} has {len(members_of(group, members, me))}, and {least} are enough"
        case Every(group, field, value) | Some(group, field, value):
            places = members_of(group, members, me)
            held = [plain(getattr(members[at], field)) for at in places]
            return f"{_words(field)} of {group} is {', '.join(held) or 'no value'}, not {value}"
        case DisagreesOn(group, field):
            return f"{group} agree on {_words(field)}"
        case Has(group):
            return f"it is not in {group}"
    return f"not so: {condition}"


def _listed(members: list[Any], places: list[int]) -> str:
    names = [getattr(members[at], "name", None) or f"row {at + 1}" for at in places]
    return ", ".join(plain(name) for name in names)


def _words(field: str) -> str:
    return field.replace("_", " ")
