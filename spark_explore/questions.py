"""Predefined questions: SQL over the table `states`, made for the members of a world."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from attrs import frozen

Columns = Mapping[str, str]
"""Name of a column to its type."""


@frozen
class Question:
    """A question.  `sql`: returns its SQL for members and columns; None if a column is missing.

    `needs`: the required columns.
    """

    about: str
    sql: Callable[[tuple[str, ...], Columns], str | None]
    needs: str = ""


def _phases(members: tuple[str, ...], columns: Columns) -> list[str]:
    return [f"{name}_phase" for name in members if columns.get(f"{name}_phase") == "string"]


def _count(phases: list[str], wanted: str) -> str:
    return " + ".join(f"cast(coalesce({name} = '{wanted}', false) as int)" for name in phases)


def _growth(_members: tuple[str, ...], _columns: Columns) -> str:
    return "SELECT level, count(*) AS states FROM states GROUP BY level ORDER BY level"


def _active(members: tuple[str, ...], columns: Columns) -> str | None:
    phases = _phases(members, columns)
    if not phases:
        return None
    return (
        f"SELECT {_count(phases, 'active')} AS active, count(*) AS states, min(level) AS soonest"
        " FROM states GROUP BY 1 ORDER BY 1"
    )


def _phase_combinations(members: tuple[str, ...], columns: Columns) -> str | None:
    phases = _phases(members, columns)
    if not phases:
        return None
    listed = ", ".join(phases)
    return (
        f"SELECT {listed}, count(*) AS states, min(level) AS soonest FROM states"
        f" GROUP BY {listed} ORDER BY states DESC"
    )


def _aborts(members: tuple[str, ...], columns: Columns) -> str | None:
    phases = _phases(members, columns)
    left = [name for name in columns if name.endswith("_left")]
    if not phases or not left:
        return None
    listed = ", ".join(left)
    return (
        f"SELECT {listed}, sum(cast(({_count(phases, 'aborted')}) > 0 as int)) AS with_aborts,"
        f" count(*) AS states FROM states GROUP BY {listed} ORDER BY with_aborts DESC"
    )


def _stuck(members: tuple[str, ...], columns: Columns) -> str | None:
    if "is_stuck" not in columns:
        return None
    seen = [
        name
        for name in (f"{member}_{part}" for member in members for part in ("phase", "shows"))
        if name in columns
    ]
    listed = ", ".join(seen) or "level"
    return (
        f"SELECT {listed}, count(*) AS states, min(level) AS soonest FROM states WHERE is_stuck"
        f" GROUP BY {listed} ORDER BY states DESC"
    )


QUESTIONS: Mapping[str, Question] = {
    "growth": Question("how many states there are at each distance", _growth),
    "active": Question(
        "how many states have no active member, how many one, how many two, ...",
        _active,
        "members that show a phase",
    ),
    "phases": Question(
        "which combinations of phases occur", _phase_combinations, "members that show a phase"
    ),
    "aborts": Question(
        "how many states have an aborted member, by the faults that are left",
        _aborts,
        "members that show a phase, and faults",
    ),
    "stuck": Question(
        "in which phases members are stuck: no step but a fault changes the state",
        _stuck,
        "the column is_stuck",
    ),
}
