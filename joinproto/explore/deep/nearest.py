"""The nearest row for an expression or a claim, by array operations where that is possible."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from joinproto.check.asking import ask, ask_of_view
from joinproto.check.freeze import freeze
from joinproto.check.properties import Property
from joinproto.check.view import DOWN
from joinproto.explore.deep.reads import Reads, reads_of
from joinproto.explore.wanted import Predicate, evaluated, shown_part

if TYPE_CHECKING:
    from joinproto.check.engine.shapes import Flags, Ints
    from joinproto.explore.deep.searched import SearchIndex

_RADIX_MAX = 1 << 62


def row_where(searched: SearchIndex, text: str, predicate: Predicate) -> int | None:
    """Return the nearest row in whose view an expression is true; None if there is none.

    The expression is evaluated once for each combination of the values that it reads.
    """
    names = searched.search.tables.names
    for place in _distinct(searched, reads_of(text, names)):
        if evaluated(text, predicate, searched.view(place)):
            return searched.nearest_row(place)
    return None


def row_of_claim(searched: SearchIndex, item: Property, *, is_so: bool) -> int | None:
    """Return the nearest row on which a claim's verdict is `is_so`; None if there is none."""
    verdicts = answers_of(searched, item)
    if verdicts is None:
        places = range(len(searched.order))
        found = (p for p in places if ask_of_view(item, searched.view(p)) is is_so)
        place = next(found, None)
    else:
        fits = np.flatnonzero(verdicts == is_so)
        place = int(fits[0]) if len(fits) else None
    return None if place is None else searched.nearest_row(place)


# -- expressions -------------------------------------------------------------------------


def _distinct(searched: SearchIndex, reads: Reads) -> list[int]:
    """Return the first place in `order` of each combination of the values read, ascending."""
    shown = searched.shown
    if not reads.is_known:
        return list(range(len(shown)))
    key = np.zeros(len(shown), np.int64)
    room = 1
    for part in range(shown.shape[1]):
        classes = _classes(searched, part, reads)
        if classes is None:
            continue
        count = int(classes.max(initial=0)) + 1
        if room * count > _RADIX_MAX:
            _, key = np.unique(key, return_inverse=True)
            room = int(key.max(initial=0)) + 1
        key = key * count + classes[shown[:, part]]
        room *= count
    _, first = np.unique(key, return_index=True)
    places: list[int] = np.sort(first).tolist()
    return places


def _classes(searched: SearchIndex, part: int, reads: Reads) -> Ints | None:
    """Return, for each observation of a part, a number for the values read from it.

    None if no value is read from this part.
    """
    tables = searched.search.tables
    observations = tables.shown[part]
    every = np.arange(len(observations))
    if part == tables.monitor:
        return every if reads.monitor else None
    if part >= tables.members:
        return every if reads.split and part == tables.env_field else None
    if reads.disk:
        return every
    if reads.members is not None and tables.names[part] not in reads.members:
        return None
    if reads.attributes is None:
        return every
    known: dict[Hashable, int] = {}
    names = sorted(reads.attributes)
    return np.array(
        [
            known.setdefault(_read_of(observations[number].shown, names, number), len(known))
            for number in every.tolist()
        ],
        np.int64,
    )


def _read_of(shown: Any, names: list[str], number: int) -> Hashable:
    """Return the values of these attributes of an observation, or its number if they are not
    known.
    """
    if shown is DOWN:
        return "down"
    try:
        held = tuple(_part_of(shown, name) for name in names)
        hash(held)
    except Exception:  # noqa: BLE001  a model's own property may raise anything
        return number
    return type(shown), held


def _part_of(shown: Any, name: str) -> Hashable:
    value = shown_part(shown, name) if isinstance(shown, dict) else getattr(shown, name, DOWN)
    found: Hashable = freeze(value)
    return type(value), found


# -- claims --------------------------------------------------------------------------------


def answers_of(searched: SearchIndex, item: Property) -> Flags | None:
    """Return a claim's verdict on each combination in `order`; None if arrays cannot tell."""
    judge = searched.search.judge
    broken = {hit.claim.property.name for hit in searched.search.found.hits}
    if item.kind == "always" and item.scope != "step" and item.name not in broken:
        # The search has looked for violations until it had seen all states.
        return np.ones(len(searched.order), np.bool_)
    if item.scope == "world":
        bits = [one.bit for one in judge.whole if one.property.name == item.name]
        if not bits:
            return None
        verdicts: Flags = (judge.flags[searched.order] >> np.uint64(bits[0]) & np.uint64(1)).astype(
            np.bool_
        )
        return verdicts
    if item.scope == "step":
        return None
    tables, shown, wants = searched.search.tables, searched.shown, item.kind == "sometimes"
    verdicts = np.full(len(shown), not wants)
    for parts in _parts_of(searched, item):
        # A number for each combination of the observations of these parts.
        key = np.zeros(len(shown), np.int64)
        for part in parts:
            key = key * len(tables.shown[part]) + shown[:, part]
        _, first, which = np.unique(key, return_index=True, return_inverse=True)
        held = (
            tuple(tables.shown[part][shown[place, part]].shown for part in parts)
            for place in first.tolist()
        )
        fits = np.array([_verdict(item, one) is wants for one in held], np.bool_)
        verdicts[fits[which]] = wants
    return verdicts


def _parts_of(searched: SearchIndex, item: Property) -> Iterable[tuple[int, ...]]:
    """Return the parts of a state that a claim is asked about: one, or two together."""
    monitor = searched.search.tables.monitor
    members = searched.search.judge.fields_of(item)
    if item.scope == "beside":
        return ((member, monitor) for member in members)
    return permutations(members, 2 if item.scope == "pair" else 1)


def _verdict(item: Property, shown: tuple[Any, ...]) -> bool | None:
    """Return a claim's answer; None if a member is stopped, because it is not asked then."""
    if shown[0] is DOWN or (item.scope == "pair" and shown[1] is DOWN):
        return None
    return ask(item, item.holds, *shown)
