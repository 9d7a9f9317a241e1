"""What a search exercised: every step with its count, every case, and what never happened."""

from __future__ import annotations

from models.engine import kernel
from models.engine.search import Search
from models.exercised import exercised
from models.report import Coverage
from models.steps import Move, words


def coverage_of(search: Search, *, outcomes: int | None = None) -> Coverage:
    """Return how often each step and each case was taken, and what never was.

    `outcomes`: only so many were asked for on the way to what is reported; None: all.
    """
    tables = search.tables
    taken = tables.out["taken"].array
    actions: dict[str, int] = {}
    rules: dict[str, int] = dict.fromkeys(tables.world.labels, 0)
    # A search that a limit ended did not meet all that another one may have numbered for it.
    numbered = tables.numbered_before if outcomes is None and search.found.stopped_by else 0
    met = {tables.outcome_cell[o] for o in range(numbered) if taken[o]}
    for o, (member, local, column) in enumerate(tables.outcome_cell[:outcomes]):
        if local < 0 or (o < numbered and (member, local, column) not in met):
            continue
        count = int(taken[o])
        event = tables.columns[member].values[column]
        move = Move("choice", ((tables.names[member], tables.outcomes[o]),), event)
        name = f"{words(move)[0]} ({tables.names[member]})"
        actions[name] = actions.get(name, 0) + count
        for rule in tables.outcomes[o].rules:
            rules[rule] = rules.get(rule, 0) + count
    for kind, name in (
        (kernel.LOSE, "lose"),
        (kernel.DOUBLE, "duplicate"),
        (kernel.MOVE, "split or heal"),
    ):
        if tables.event_taken[kind]:
            actions[name] = int(tables.event_taken[kind])
    seen = {name: search.judge.seen(member) for member, name in enumerate(tables.names)}
    return exercised(actions, rules, seen)
