"""The parts of frozen values, and orders of them that depend on content alone.

`joinproto/check/freeze.py` makes them and takes them apart; code that reads them needs this file
alone.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

SAME = frozenset({int, str, bytes, type(None)})
"""Kinds whose values stand for themselves, and equal nothing of another of these kinds."""


class Flag:
    """True or False, unequal to 1 and 0.  There are two of them."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def __reduce__(self) -> str:
        return "TRUE" if self.value else "FALSE"


TRUE, FALSE = Flag(True), Flag(False)


class Frozen:
    """A value of `kind`, as its hashable `parts`.

    `whole`: the value itself where nothing in it can change, so that it need not be made again;
    equality asks kind and parts alone.
    """

    __slots__ = ("_hash", "kind", "parts", "whole")

    def __init__(self, kind: Any, parts: Any, whole: Any = None) -> None:
        self.kind = kind
        self.parts = parts
        self.whole = whole
        self._hash = hash((kind, parts))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            type(other) is Frozen
            and self._hash == other._hash
            and self.kind is other.kind
            and bool(self.parts == other.parts)
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        from joinproto.check.freeze import thaw  # inside: it makes these values

        return repr(thaw(self))

    def __reduce__(self) -> Any:
        # Without the hash: that of a text is another one in each process.
        return Frozen, (self.kind, self.parts, self.whole)


class Named:
    """Kind of a frozen value that other places name, too; parts: its number, the value."""


class Repeated:
    """Kind of a place that names it; part: its number."""


def same_or(value: Any, items: list[Any], make: Callable[[list[Any]], Any]) -> Any:
    """Return `value` itself where its items are `items`, else the result of `make` for them."""
    for one, other in zip(value, items, strict=True):
        if one is not other:
            return make(items)
    return value


# -- orders ------------------------------------------------------------------------------


def has_order(value: Any) -> bool:
    """Return whether a dict or a set of more than one item is in the frozen `value`.

    The content of an object that cannot change is not looked at: it is thawed as it was.
    """
    kind = type(value)
    if kind is tuple:
        return any(map(has_order, value))
    if kind is frozenset:
        return len(value) > 1 or any(map(has_order, value))
    return kind is Frozen and value.whole is None and has_order(value.parts)


def in_order(items: Iterable[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Return `items` in an order that only their content decides."""
    listed = list(items)
    if len(listed) < 2:
        return listed
    kinds = {type(key(item)) for item in listed}
    if kinds == {str} or kinds == {int}:
        return sorted(listed, key=key)
    return sorted(listed, key=lambda item: text_of(key(item)))


def text_of(value: Any) -> str:
    """Return a text that is the same for equal frozen values, in every process."""
    kind = type(value)
    if kind is tuple:
        return f"({','.join(map(text_of, value))})"
    if kind is frozenset:
        return f"{{{','.join(sorted(map(text_of, value)))}}}"
    if kind is Frozen:
        return f"{value.kind.__qualname__}:{text_of(value.parts)}"
    if isinstance(value, (type, types.FunctionType)):
        return value.__qualname__
    return f"{kind.__name__}:{value!r}"


class BackwardsSet(set[Any]):
    """A set that is gone through the other way round."""

    def __iter__(self) -> Iterator[Any]:
        return iter([*super().__iter__()][::-1])

    def pop(self) -> Any:
        item = next(iter(self)) if self else super().pop()
        self.discard(item)
        return item


class BackwardsFrozenset(frozenset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return iter([*super().__iter__()][::-1])
