"""The shortest run to a state that fits a condition, parent by parent."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from joinproto.errors import UsageProblem
from spark_explore.query import Dataset
from spark_explore.sessions import Session


@frozen
class Way:
    """`state`: its columns; `steps`: in words, from a first state to it."""

    state: dict[str, Any]
    steps: tuple[str, ...]


def nearest(dataset: Dataset, session: Session, condition: str) -> Way | None:
    """Return the way to the state that fits `condition` after the fewest steps, None if none does.

    Of equals, that with the least `id`.
    """
    if "parent" not in dataset.columns:
        raise UsageProblem(
            f"{dataset.folder} does not say how its states were found",
            next="search again on this machine: joinproto check WORLD --engine local --out DIR",
        )
    found = session.ask(f"SELECT * FROM states WHERE ({condition}\n) ORDER BY level, id LIMIT 1", 1)
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
