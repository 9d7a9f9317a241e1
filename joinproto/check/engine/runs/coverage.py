"""Coverage of a search: how often each step and each case was taken, and which never were."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import chain

import numpy as np

from joinproto.check.causes import growth_notes
from joinproto.check.engine.search import Search
from joinproto.check.engine.shapes import Flags, Ints, Table
from joinproto.check.engine.symmetry.renamed import orbit
from joinproto.check.engine.symmetry.symmetry import Symmetry
from joinproto.check.engine.tables import kernel
from joinproto.check.events import Message
from joinproto.check.exercised import MessageKinds, counted_coverage
from joinproto.check.local import LocalState, Outcome, rename_event
from joinproto.check.report import Coverage
from joinproto.check.steps import Move, words


def coverage_of(search: Search, *, outcomes: int | None = None) -> Coverage:
    """Return how often each step and each case was taken, and which never were.

    `outcomes`: how many outcomes the reported result needed; None means all.  If one state stands
    for all its renamings, one step does, too: the step whose name comes first.
    """
    tables = search.tables
    every = tables.outcomes
    count = len(every) if outcomes is None else min(outcomes, len(every))
    cells = np.array(tables.outcome_cell[:count], np.int64).reshape(-1, 3)
    taken = tables.out["taken"].array[:count]
    actions: dict[str, int] = {}
    rules: dict[str, int] = dict.fromkeys(tables.world.labels, 0)
    which = np.flatnonzero((cells[:, 1] >= 0) & _are_met(search, taken, outcomes))
    first = _FirstRenaming(search.renaming)
    steps = np.column_stack([cells[:, [0, 2]], every.effects.array[:count] >= 0])[which]
    for (member, column, crashes), times in _summed(steps, taken[which]):
        whose, event = first.of(tables.names[member], tables.columns[member].values[column])
        name = _name(whose, event, crashes=bool(crashes))
        actions[name] = actions.get(name, 0) + times
    for (number,), times in _summed(every.rules.array[which].reshape(-1, 1), taken[which]):
        for rule in every.rule_sets.values[number]:
            rules[rule] = rules.get(rule, 0) + times
    for kind, name in (
        (kernel.LOSE, "lose"),
        (kernel.DOUBLE, "duplicate"),
        (kernel.MOVE, "split or heal"),
    ):
        if tables.event_taken[kind]:
            actions[name] = int(tables.event_taken[kind])
    message_kinds = _message_kinds(
        search, which, actions, first, len(every) if outcomes is None else outcomes
    )
    unwritten = [
        code.name
        for code, values in zip(tables.codes.members, tables.values, strict=False)
        if code.objects.persistent
        and all(value.disk == code.objects.empty for value in values.values)
    ]
    seen = {name: search.judge.seen(member) for member, name in enumerate(tables.names)}
    alike = search.renaming.names if search.renaming is not None else []
    everywhere = list(chain.from_iterable(seen[name] for name in alike))
    seen |= dict.fromkeys(alike, everywhere)
    grown = _growing(search, cells, taken) if search.found.stopped_by else []
    return counted_coverage(tables.world, actions, rules, seen, message_kinds, unwritten, grown)


def _growing(search: Search, cells: Ints, taken: Ints) -> list[str]:
    """Return the attributes that may grow without end.

    `cells`: int64, shape (outcome, 3); `taken`: int64, how often each outcome was taken.
    """
    tables = search.tables
    found: list[str] = []
    ends = np.column_stack([cells[:, 0], tables.out["next"].array[: len(cells)]])
    met = np.unique(ends[taken > 0], axis=0)
    begin = tables.layout.fields(search.rows()[0])
    depth = len(search.found.levels) - 1
    for member, code in enumerate(tables.codes.members):
        values = tables.values[member].values
        numbers = {begin[member], *met[met[:, 0] == member, 1].tolist()}
        held = [values[at].values for at in sorted(numbers)]
        found += growth_notes(code.name, code.objects.names, held, depth)
    return found


def _message_kinds(
    search: Search,
    which: Ints,
    actions: dict[str, int],
    first: _FirstRenaming,
    outcomes: int,
) -> MessageKinds:
    """Return the kinds of messages; add to `actions`, with 0, choices that were only refused.

    `which`: int64, numbers of the outcomes met.  `outcomes`: how many outcomes count, the
    first ones.
    """
    tables = search.tables
    message_kinds = MessageKinds()
    cells = np.array(tables.outcome_cell, np.int64).reshape(-1, 3)[which]
    acts = cells[:, 1] != tables.out["next"].array[which]
    acts |= tables.outcomes.rules.array[which] != tables.outcomes.rule_sets.of.get((), -1)
    for name, idle in (("adds", 0), ("send_count", 0), ("tells", -1)):
        acts |= tables.out[name].array[which] != idle
    met = np.unique(np.column_stack([cells[:, [0, 2]], acts]), axis=0)
    for member, column, does in met.tolist():
        message_kinds.add(tables.columns[member].values[column], takes=True, acts=bool(does))
    # After a search that a limit ended, its refusals cannot be told from refusals of an earlier
    # search.
    refused = {} if search.found.stopped_by else tables.refused
    for (member, column), at in refused.items():
        event = tables.columns[member].values[column]
        if at > outcomes:
            continue
        message_kinds.add(event, takes=False, acts=False)
        if not isinstance(event, Message):
            actions.setdefault(_name(*first.of(tables.names[member], event)), 0)
    return message_kinds


def _are_met(search: Search, taken: Ints, outcomes: int | None) -> Flags:
    """Return, for each outcome, whether the search met its step.

    A search that a limit ended did not meet all steps that an earlier search numbered.
    """
    tables = search.tables
    numbered = tables.numbered_before if outcomes is None and search.found.stopped_by else 0
    met = np.ones(len(taken), np.bool_)
    if numbered:
        # The outcomes of one step follow each other, up to one with `last`.
        ends = np.flatnonzero(tables.out["last"].array[:numbered])
        begins = np.concatenate([[0], ends[:-1] + 1])
        some = np.logical_or.reduceat(taken[:numbered] != 0, begins)
        met[:numbered] = np.repeat(some, ends - begins + 1)
    return met


def _summed(rows: Table, times: Ints) -> Iterator[tuple[tuple[int, ...], int]]:
    """Yield each different row with the sum of its times, in the order of first occurrence."""
    found, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    sums = np.zeros(len(found), np.int64)
    np.add.at(sums, which.reshape(-1), times)
    for at in np.argsort(first).tolist():
        yield tuple(found[at].tolist()), int(sums[at])


class _FirstRenaming:
    """Finds the renaming of a member's event whose name comes first."""

    def __init__(self, renaming: Symmetry | None) -> None:
        self._swaps = renaming.code_comparison.maps if renaming is not None else []
        self._known: dict[tuple[str, Hashable], tuple[str, Hashable]] = {}

    def of(self, member: str, event: Hashable) -> tuple[str, Hashable]:
        """Return the member and the event of the renaming that comes first."""
        one = member, event
        if self._swaps and one not in self._known:
            every = orbit(one, self._images)
            self._known |= dict.fromkeys(every, min(every, key=lambda other: _name(*other)))
        return self._known.get(one, one)

    def _images(self, one: tuple[str, Hashable]) -> Iterator[tuple[str, Hashable]]:
        whose, event = one
        return ((names.get(whose, whose), rename_event(event, names)) for names in self._swaps)


_DONE = Outcome(LocalState(False, (), ()))
_CUT_SHORT = Outcome(LocalState(False, (), ()), effects=1)
"""Outcomes that stand for steps without a crash, and for steps that a crash cut short."""


def _name(member: str, event: Hashable, *, crashes: bool = False) -> str:
    move = Move("choice", ((member, _CUT_SHORT if crashes else _DONE),), event)
    return f"{words(move)[0]} ({member})"
