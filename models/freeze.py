"""The state of a Python object as a hashable value, and back.

Lists, dicts and sets may be used inside a member; they are frozen here.  What compares by
identity cannot be part of a state: two equal states would count as two, for ever.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from attrs import frozen

from models.problems import ModelProblem


@frozen
class _Frozen:
    """A mutable container as a value; `kind` says which."""

    kind: str
    items: Any


_ATOMS = {int, str, bool, float, bytes, type(None), complex, range}
_by_value: dict[type, bool] = {}


def _compares_by_value(kind: type) -> bool:
    known = _by_value.get(kind)
    if known is None:
        known = issubclass(
            kind, (enum.Enum, type, types.FunctionType, types.BuiltinFunctionType)
        ) or kind.__hash__ not in (None, object.__hash__)
        _by_value[kind] = known
    return known


def freeze(value: Any) -> Hashable:
    """Return a hashable value equal exactly when `value` is equal; raises `ModelProblem`."""
    kind = type(value)
    if kind in _ATOMS:
        return value  # type: ignore[no-any-return]
    if kind is tuple:
        for item in value:
            if type(item) not in _ATOMS:
                return tuple([freeze(item) for item in value])
        return value  # type: ignore[no-any-return]
    if kind is frozenset:
        for item in value:
            if type(item) not in _ATOMS:
                return frozenset([freeze(item) for item in value])
        return value  # type: ignore[no-any-return]
    if kind is list:
        return _Frozen("list", tuple([freeze(item) for item in value]))
    if kind is set:
        return _Frozen("set", frozenset([freeze(item) for item in value]))
    if kind is dict:
        return _Frozen("dict", frozenset([(freeze(k), freeze(v)) for k, v in value.items()]))
    if not _compares_by_value(kind):
        raise ModelProblem(
            f"a {_name_of(kind)} cannot be part of a state: "
            + ("it is not hashable" if kind.__hash__ is None else "it compares by identity"),
            next="hold plain values, tuples, lists, dicts, sets, enums or frozen attrs objects",
        )
    try:
        hash(value)
    except TypeError as error:
        raise ModelProblem(
            f"a {_name_of(kind)} cannot be part of a state: {error}",
            next="hold plain values, tuples, lists, dicts, sets, enums or frozen attrs objects",
        ) from error
    return value  # type: ignore[no-any-return]


def _name_of(kind: type) -> str:
    # The module of somebody's own file has a private name, `my_model@36d0c1f2`: see files.py.
    return f"{kind.__module__.partition('@')[0]}.{kind.__qualname__}"


def thaw(value: Any) -> Any:
    """Return what `freeze` was given; containers are new, so that a step may change them."""
    kind = type(value)
    if kind is _Frozen:
        if value.kind == "list":
            return [thaw(item) for item in value.items]
        if value.kind == "set":
            return {thaw(item) for item in value.items}
        # Sorted by text: the order in which a dict was filled is not part of the state.
        return {thaw(k): thaw(v) for k, v in sorted(value.items, key=lambda item: repr(item[0]))}
    if kind is tuple:
        return tuple([thaw(item) for item in value])
    return value


def rename(value: Any, names: dict[str, str]) -> Any:
    """Return the frozen `value` with members' names exchanged, wherever they stand in it."""
    return map_strings(value, lambda text: names.get(text, text))


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return `value` with every string in it changed; itself where nothing is, as for DOWN."""
    kind = type(value)
    if kind is str:
        return change(value)
    if kind in _ATOMS or isinstance(value, (enum.Enum, type)):
        return value
    if kind is tuple or kind is frozenset:
        items = [map_strings(item, change) for item in value]
        return value if _all_same(items, value) else kind(items)
    if kind is _Frozen:
        moved = map_strings(value.items, change)
        return value if moved is value.items else _Frozen(value.kind, moved)
    fields = getattr(kind, "__attrs_attrs__", None)
    if fields is not None:
        old = [getattr(value, field.name) for field in fields]
        new = [map_strings(item, change) for item in old]
        if _all_same(new, old):
            return value
        copy = object.__new__(kind)
        for field, item in zip(fields, new, strict=True):
            object.__setattr__(copy, field.name, item)
        if hasattr(value, "_attrs_cached_hash"):
            # A class with cache_hash=True computes it when it is None; unset would raise.
            object.__setattr__(copy, "_attrs_cached_hash", None)
        return copy
    return value


def _all_same(some: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(one is other for one, other in zip(some, others, strict=True))
