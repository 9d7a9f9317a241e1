"""An attrs class in a tree, as a list or an object.

    put_array, take_array       [3, "s1"]
    put_object, take_object     {"round": 3, "store_id": "s1"}

Each function here returns the function that writes or reads the values of one class.
`part_of(part)` returns the function for a part of the class, in the same direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import attrs
from attrs import NOTHING

from joinproto.codec.functions import CONSTRUCTOR_ERRORS, Put, Take, refused, same
from joinproto.codec.malformed import Malformed, MissingField, UnknownField, Verbatim
from joinproto.codec.marks import Absent, Merged, Part


def put_array(parts: Sequence[Part], part_of: Callable[[Part], Put]) -> Put:
    names = [part.name for part in parts]
    all_puts = [(at, part_of(part)) for at, part in enumerate(parts)]
    puts = [(at, put) for at, put in all_puts if put is not same]
    found = attrgetter(*names) if len(names) > 1 else None

    def put_one(value: Any) -> list[Any]:
        tree = [*found(value)] if found else [getattr(value, name) for name in names]
        for at, put in puts:
            tree[at] = put(tree[at])
        return tree

    return put_one


def take_array(
    cls: type, parts: Sequence[Part], part_of: Callable[[Part], Take], *, word: str
) -> Take:
    names = [part.argument for part in parts]
    takes = [part_of(part) for part in parts]
    count = len(parts)
    in_order = [one.alias for one in attrs.fields(cls) if not one.kw_only] == names

    def take(found: Any) -> Any:
        if type(found) is not list:
            raise Malformed("", found, word)
        if len(found) != count:
            raise Malformed("", Verbatim(f"{len(found)} fields"), f"{count} fields")
        values: list[Any] = []
        try:
            for inner, one in zip(takes, found, strict=True):
                values.append(inner(one))
        except Malformed as error:
            error.within(parts[len(values)].key)
            raise
        if in_order:
            return _construct(cls, *values)
        return _construct(cls, **dict(zip(names, values, strict=True)))

    return take


def put_object(
    cls: type,
    parts: Sequence[Part],
    part_of: Callable[[Part], Put],
    put_subclass: Callable[[Any], dict[str, Any]],
) -> Put:
    """Return the writer of objects.  `put_subclass`: writes a value of a subclass of `cls`."""
    rows = [(one.name, one.key, part_of(one), *_omission_of(one)) for one in parts]

    def put_one(value: Any) -> dict[str, Any]:
        if type(value) is not cls:
            return put_subclass(value)
        tree: dict[str, Any] = {}
        for name, key, put, skipped, merged in rows:
            found = getattr(value, name)
            if found is skipped:
                continue
            if merged:
                tree |= put(found)
            else:
                tree[key] = found if put is same else put(found)
        return tree

    return put_one


def _omission_of(part: Part) -> tuple[Any, bool]:
    """Return the value for which a part is omitted, and whether the part's keys are merged."""
    absent, is_merged = part.mark(Absent), part.mark(Merged) is not None
    return (None if is_merged else absent.value if absent else NOTHING), is_merged


def take_object(
    cls: type, parts: Sequence[Part], part_of: Callable[[Part], Take], *, people: bool = False
) -> Take:
    """Return the reader of objects.

    In an object of a program only parts marked `Absent` may be missing, unknown keys are ignored,
    and the first fault is raised.  `people`: people write the objects.  Then parts with a default
    may be missing as well, unknown keys are faults, and all faults are raised together.
    """
    rows = [(one.argument, one.key, part_of(one), _may_be_absent(one, people)) for one in parts]
    keys = [part.key for part in parts]

    def take(tree: Any) -> Any:
        if not isinstance(tree, dict):
            raise Malformed("", tree, "an object")
        given: dict[str, Any] = {}
        faults: list[Malformed] = []
        for name, key, inner, may_be_absent in rows:
            try:
                if key in tree:
                    given[name] = inner(tree[key])
                elif not may_be_absent:
                    raise MissingField
            except Malformed as error:
                faults.append(error.within(key))
                if not people:
                    raise
        if people:
            faults += [UnknownField(str(key), keys) for key in tree if key not in keys]
        if faults:
            raise faults[0].with_others(faults[1:])
        return _construct(cls, **given)

    return take


def _may_be_absent(part: Part, people: bool) -> bool:
    return part.mark(Absent) is not None or (people and part.default is not NOTHING)


def _construct(cls: type, /, *values: Any, **given: Any) -> Any:
    """Return an instance of `cls`; raises `Malformed` if its parts do not fit together."""
    try:
        return cls(*values, **given)
    except CONSTRUCTOR_ERRORS as error:
        raise refused(error, cls.__name__) from error
