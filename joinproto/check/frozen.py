"""The classes of frozen values, and an order of values that depends only on their content.

`joinproto/check/freeze.py` makes frozen values and turns them back; code that only reads frozen
values needs this file alone.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

SAME = frozenset({int, str, bytes, type(None)})
"""Types whose values are their own frozen form; values of two of these types are never equal."""


class Flag:
    """The frozen form of True or False, unequal to 1 and 0.  Only `TRUE` and `FALSE` exist."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)

    def __reduce__(self) -> str:
        return "TRUE" if self.value else "FALSE"


TRUE, FALSE = Flag(True), Flag(False)


class Frozen:
    """A value of the type `kind`, as its hashable `parts`.

    `whole`: the original value if nothing in it can change, so that it need not be made again, or
    else None.  Equality compares only kind and parts.
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
        from joinproto.check.freeze import thaw  # here, because that module imports this one

        return repr(thaw(self))

    def __reduce__(self) -> Any:
        # The hash is left out: the hash of a text differs between processes.
        return Frozen, (self.kind, self.parts, self.whole)


class Named:
    """Kind of the first place of an object that occurs more than once; parts: number, value."""


class Repeated:
    """Kind of a later place of such an object; part: its number."""


def same_or(value: Any, items: list[Any], make: Callable[[list[Any]], Any]) -> Any:
    """Return `value` if its items are the same objects as `items`, or else `make(items)`."""
    for one, other in zip(value, items, strict=True):
        if one is not other:
            return make(items)
    return value


# -- orders ------------------------------------------------------------------------------


def has_order(value: Any) -> bool:
    """Return whether the frozen `value` holds a dict or a set of more than one item.

    The content of objects that cannot change does not count: they are thawed as they were.
    """
    kind = type(value)
    if kind is tuple:
        return any(map(has_order, value))
    if kind is frozenset:
        return len(value) > 1 or any(map(has_order, value))
    return kind is Frozen and value.whole is None and has_order(value.parts)


def in_order(items: Iterable[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Return `items` in an order that depends only on their content."""
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
    """A set whose iteration is reversed, to detect models that depend on a set's order."""

    def __iter__(self) -> Iterator[Any]:
        return iter([*super().__iter__()][::-1])

    def pop(self) -> Any:
        item = next(iter(self)) if self else super().pop()
        self.discard(item)
        return item


class BackwardsFrozenset(frozenset[Any]):
    """A frozen set whose iteration is reversed."""

    def __iter__(self) -> Iterator[Any]:
        return iter([*super().__iter__()][::-1])
