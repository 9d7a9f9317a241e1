"""Conversion of a member's attributes to a hashable value, and back.

Two frozen values are equal exactly if the original values are equal *and have the same types* at
every level: `0`, `False` and `0.0` are three values, and a tuple differs from a named tuple of the
same content.  `thaw` returns a value that equals the original and has the same type.  Every list,
dict or set in it is new, so that a step may change it.  If two places referred to the same list,
they do so again (`freeze_all`, `thaw_all`).

The order in which a dict or a set was filled is not kept.  `thaw` fills it in a fixed order, or in
the reverse order (`backwards`), so that the checker finds code that depends on the order.

A value that compares by identity cannot be part of a state: each copy would be a new state.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

from joinproto.check.freezing import CONST, Walk, frozen_parts, made_by, map_strings, recipe_of
from joinproto.check.frozen import SAME


def freeze(value: Any) -> Hashable:
    """Return `value` as a hashable value; raises `ModelProblem` if that is impossible."""
    return value if type(value) in SAME else freeze_all((value,))[0]


def freeze_all(values: Iterable[Any]) -> tuple[Hashable, ...]:
    """Return `values` frozen; an object to which several of them refer stays one object."""
    values = tuple(values)
    if SAME.issuperset(map(type, values)):
        return values
    walk = Walk()
    found = tuple(frozen_parts(values, walk))
    if len(walk.mutable) < 2:
        return found
    ids = [*map(id, walk.mutable)]
    if len(set(ids)) < len(ids):
        walk = Walk(frozenset(key for key, count in Counter(ids).items() if count > 1))
        return tuple(frozen_parts(values, walk))
    return found


def thaw(value: Any, *, backwards: bool = False) -> Any:
    """Return the value that `freeze` was given; mutable parts are copies.

    `backwards`: dicts and sets go through their items in reverse.
    """
    return value if type(value) in SAME else made_by(recipe_of(value, backwards), {})


def thaw_all(values: Iterable[Any], *, backwards: bool = False) -> tuple[Any, ...]:
    """Return the values that `freeze_all` was given; mutable parts are copies."""
    values = tuple(values)
    if SAME.issuperset(map(type, values)):
        return values
    found: tuple[Any, ...] = thaw(values, backwards=backwards)
    return found


def is_fixed(value: Any) -> bool:
    """Return whether the thawed form of the frozen `value` has no mutable part."""
    return recipe_of(value, False)[0] == CONST


def rename(value: Any, names: dict[str, str]) -> Any:
    """Return the frozen `value` with each text that is a key of `names` replaced."""
    return map_strings(value, lambda text: names.get(text, text))
