"""The shortest run to a state that fits a condition, parent by parent."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from attrs import frozen

from joinproto.errors import UsageProblem
from spark_explore.query import Dataset
from spark_explore.sessions import Session


@frozen
class Way:
    """A run to a state.  `state`: its columns; `steps`: in words, from an initial state."""

    state: dict[str, Any]
    steps: tuple[str, ...]


def nearest(dataset: Dataset, session: Session, condition: str) -> Way | None:
    """Return the shortest run to a state that fits `condition`, or None if no state does.

    Of several such states the one with the least `id` is taken.  A column may be called by the end
    of its name (`in_full`).  Raises `UsageProblem` for a wrong condition.
    """
    if "parent" not in dataset.columns:
        raise UsageProblem(
            f"{dataset.folder} does not say how its states were found",
            next="search again: joinproto check WORLD --out DIR",
        )
    sql = "SELECT * FROM states WHERE ({}\n) ORDER BY level, id LIMIT 1"
    try:
        found = session.ask(sql.format(condition), 1)
    except UsageProblem:
        longer = in_full(condition, dataset.columns)
        if longer == condition:
            raise
        found = session.ask(sql.format(longer), 1)
    if not found.rows:
        return None
    state = dict(zip(found.columns, found.rows[0], strict=True))
    steps: list[str] = []
    parent, step = state["parent"], state["step"]
    for _ in range(state["level"]):
        if parent is None:
            raise UsageProblem(
                "no run to that state is known: the search took several states for one",
                next="search again without --symmetry, or without the world's `same`",
            )
        steps.insert(0, step)
        (parent, step), *_ = session.ask(
            f"SELECT parent, step FROM states WHERE id = {parent}", 1
        ).rows
    return Way(state, tuple(steps))


_TOKEN = re.compile(
    r"""'(?:[^']|'')*' | "[^"]*" | `[^`]*` | --[^\n]* | /\*.*?\*/ | (\.?\s*)
    (?<!\w)([A-Za-z_]\w*)\b(?!\s*\()""",
    re.VERBOSE | re.DOTALL,
)
_KEYWORDS = frozenset(
    (
        *("and", "as", "between", "case", "distinct", "else", "end", "exists", "false", "from"),
        *("ilike", "in", "is", "like", "not", "null", "or", "select", "then", "true", "when"),
        "where",
    )
)


def in_full(condition: str, columns: Iterable[str]) -> str:
    """Return a condition with the full name of each column that is called by the end of its name.

    `phase` becomes `a_phase` if no other column's name ends in `_phase`; otherwise `UsageProblem`
    is raised.  Texts, comments, functions and the fields of structs are left as they are.
    """
    known = [*columns]

    def full(found: re.Match[str]) -> str:
        dot, word = found[1], found[2]
        if word is None or dot.startswith(".") or word.lower() in {*known, *_KEYWORDS}:
            return found[0]
        meant = [name for name in known if name.endswith(f"_{word.lower()}")]
        if len(meant) > 1:
            raise UsageProblem(
                f"{word} fits the columns {' and '.join(meant)}",
                next="write the name of the column in full",
            )
        return f"{dot}{meant[0]}" if meant else found[0]

    return _TOKEN.sub(full, condition)
