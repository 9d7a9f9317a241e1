"""A decision table as Markdown."""

from enum import Enum
from typing import TypeVar

from joinproto.machine.tables import Case, Table

O = TypeVar("O", bound=Enum)
COLUMNS = ("rule", "case", "when", "outcome", "then")


def table_as_markdown(table: Table[O]) -> str:
    """Return the table with one line for each case; a column `then` that is empty is left out."""
    cases = [row_of(case) for case in table.cases]
    shown = len(COLUMNS) if any(row[-1] for row in cases) else len(COLUMNS) - 1
    rows = [COLUMNS, ("---",) * len(COLUMNS), *cases]
    return "\n".join("| " + " | ".join(map(_cell, row[:shown])) + " |" for row in rows)


def row_of(case: Case[O]) -> tuple[str, str, str, str, str]:
    """Return the texts of one case, in the order of `COLUMNS`."""
    then = [effect.value for effect in case.effects]
    if case.updates_from is not None:
        then = [
            f"{text} from a member of {case.updates_from}" if "ask for" in text else text
            for text in then
        ]
    outcome = str(case.outcome.value)
    if case.reason is not None:
        outcome += f" ({case.reason.value})"
    return case.label, case.name, str(case.condition), outcome, "; ".join(then)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
