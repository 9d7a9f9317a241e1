"""The names of an object's attributes, in `__dict__` or in slots."""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable
from operator import attrgetter
from typing import Any


def fields(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of an attrs class or a dataclass; None for other classes."""
    for base in kind.__mro__:
        held = vars(base)
        if "__attrs_attrs__" in held:
            return tuple(item.name for item in held["__attrs_attrs__"])
        if "__dataclass_fields__" in held:
            return tuple(item.name for item in dataclasses.fields(base))
    return None


def parts_getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that returns an object's attributes with these names, as a tuple."""
    if len(names) > 1 and all(name.isidentifier() for name in names):
        return attrgetter(*names)
    return lambda value: tuple([getattr(value, name) for name in names])


def is_frozen_class(kind: type) -> bool:
    """Return whether an attrs class or a dataclass is frozen."""
    if "__dataclass_params__" in vars(kind):
        return bool(kind.__dataclass_params__.frozen)  # type: ignore[attr-defined]
    return "frozen" in kind.__setattr__.__name__  # the name that attrs gives it


def consists_of_attributes(kind: type) -> bool:
    """Return whether objects of the class consist only of attributes.

    False for every class of Python's library.
    """
    has_parts = kind.__dictoffset__ or any(map(_slots, kind.__mro__))
    return bool(not _is_stdlib(kind) and has_parts and has_no_c_content(kind))


def has_no_c_content(kind: type) -> bool:
    """Return whether objects of the class have no content that only C code sees."""
    return all(base.__flags__ & _HEAP for base in kind.__mro__[:-1])


_HEAP = 1 << 9
"""Py_TPFLAGS_HEAPTYPE: set for classes made at run time; others may have content in C."""


def has_only(kind: type, names: tuple[str, ...]) -> bool:
    """Return whether objects of the class can have no attributes but `names`."""
    return not kind.__dictoffset__ and set(names).issuperset(
        name for base in kind.__mro__ for name in _slots(base)
    )


def added_attributes(value: object) -> tuple[str, ...]:
    """Return the attributes of an object that a class outside Python's library has added."""
    kind = type(value)
    kinds = [base for base in kind.__mro__ if not _is_stdlib(base)]
    slots = [name for base in kinds for name in _slots(base) if hasattr(value, name)]
    return (*getattr(value, "__dict__", ()), *slots) if kinds else ()


def _is_stdlib(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in sys.stdlib_module_names - {"__main__"}


def is_in_dict(value: Any, names: tuple[str, ...]) -> bool:
    """Return whether an object's `__dict__` has the keys `names`, and holds all its content.

    If so, its class has no slots, and no descriptor that influences the stored values.
    """
    kind = type(value)
    if not has_no_c_content(kind) or not kind.__dictoffset__ or value.__dict__.keys() != {*names}:
        return False
    if any(map(_slots, kind.__mro__)):
        return False
    held = [vars(base) for base in kind.__mro__[:-1]]
    return not any(hasattr(type(one.get(name)), "__set__") for one in held for name in names)


def _slots(kind: type) -> list[str]:
    """Return the names of the slots that the class adds; private names as Python stores them."""
    slots = vars(kind).get("__slots__", ())
    private = f"_{kind.__name__.lstrip('_')}"
    return [
        f"{private}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in ((slots,) if isinstance(slots, str) else slots)
        if name not in _NO_CONTENT
    ]


def attributes(value: object) -> tuple[str, ...]:
    """Return the names of all attributes that an object has, in a fixed order."""
    kind = type(value)
    names = [item.name for item in getattr(kind, "__attrs_attrs__", ())]
    # A class derived from an attrs class, and not decorated itself, has more than its fields.
    names += [
        name
        for name in getattr(value, "__dict__", {})
        if name not in names
        and name not in _NO_CONTENT
        and not isinstance(getattr(kind, name, None), functools.cached_property)
    ]
    for base in reversed(kind.__mro__):
        names += [name for name in _slots(base) if name not in names and hasattr(value, name)]
    return tuple(names)


_NO_CONTENT = ("__dict__", "__weakref__", "_attrs_cached_hash")
