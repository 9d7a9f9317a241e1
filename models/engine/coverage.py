"""What a search exercised: every step with its count, every case, and what never happened."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import chain

from models.engine import kernel
from models.engine.search import Search
from models.engine.symmetry import Symmetry
from models.exercised import exercised
from models.local import LocalState, Outcome, rename_event
from models.report import Coverage
from models.steps import Move, words


def coverage_of(search: Search, *, outcomes: int | None = None) -> Coverage:
    """Return how often each step and each case was taken, and what never was.

    `outcomes`: only so many were asked for on the way to what is reported; None: all.  Where one
    state stands for all its renamings, so does one step: the one whose name comes first.
    """
    tables = search.tables
    taken = tables.out["taken"].array
    actions: dict[str, int] = {}
    rules: dict[str, int] = dict.fromkeys(tables.world.labels, 0)
    # A search that a limit ended did not meet all that another one may have numbered for it.
    numbered = tables.numbered_before if outcomes is None and search.found.stopped_by else 0
    met = {tables.outcome_cell[o] for o in range(numbered) if taken[o]}
    first = _First(search.renaming)
    for o, (member, local, column) in enumerate(tables.outcome_cell[:outcomes]):
        if local < 0 or (o < numbered and (member, local, column) not in met):
            continue
        count = int(taken[o])
        whose, event = first.of(tables.names[member], tables.columns[member].values[column])
        name = _name(whose, event, tables.outcomes[o])
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
    alike = search.renaming.names if search.renaming is not None else []
    everywhere = list(chain.from_iterable(seen[name] for name in alike))
    return exercised(actions, rules, seen | dict.fromkeys(alike, everywhere))


class _First:
    """Of all renamings of a member's event, the one whose name comes first."""

    def __init__(self, renaming: Symmetry | None) -> None:
        self._swaps = renaming.interchange.maps if renaming is not None else []
        self._known: dict[tuple[str, Hashable], tuple[str, Hashable]] = {}

    def of(self, member: str, event: Hashable) -> tuple[str, Hashable]:
        """Return the member, and the event."""
        one = member, event
        if not self._swaps:
            return one
        if one not in self._known:
            every = {one: _name(member, event, _DONE)}
            waiting = [one]
            for whose, what in waiting:
                for names in self._swaps:
                    other = names.get(whose, whose), rename_event(what, names)
                    if other not in every:
                        every[other] = _name(*other, _DONE)
                        waiting.append(other)
            self._known |= dict.fromkeys(every, min(every, key=every.__getitem__))
        return self._known[one]


_DONE = Outcome(LocalState(False, (), ()))
"""Any step that no crash cut short."""


def _name(member: str, event: Hashable, outcome: Outcome) -> str:
    return f"{words(Move('choice', ((member, outcome),), event))[0]} ({member})"
