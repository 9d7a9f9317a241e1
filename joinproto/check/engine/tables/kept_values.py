"""Values as bytes that hold data only: reading them calls no function that the bytes name.

The bytes are the length of a JSON text (8 bytes, big endian), that text, the count of the following
32-bit numbers (8 bytes, big endian), these numbers, and the bytes of arrays.  The text holds the
simple values (`leaves`), the names of classes and functions, and the types and shapes of arrays.
The numbers describe one value after the other: its kind, how many numbers follow, and these
numbers, most of which are the places of values that came before.

A class must be a class of the standard library listed here, or a class that `Names` allows.  An
object is made without its `__init__`: its attributes are set, or given to its `__setstate__` if it
has one.  A function must be a function that the reader holds already; it is not called.
"""

from __future__ import annotations

import array
import collections
import datetime as dt
import decimal
import enum
import fractions
import ipaddress
import json
import sys
import types
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from attrs import field, frozen

from joinproto.check.frozen import FALSE, TRUE, Frozen
from joinproto.check.packages import is_model_code
from joinproto.check.view import DOWN

_LEAVES = frozenset({str, int, float, bool, type(None)})
_BASES = (str, int, float, bytes)
_FROM_PARTS: tuple[type, ...] = (
    *(dt.date, dt.datetime, dt.time, dt.timedelta, dt.timezone),
    *(decimal.Decimal, fractions.Fraction, ipaddress.IPv4Address, ipaddress.IPv6Address, range),
)
"""Classes whose values are built from the arguments that `__reduce_ex__` returns."""

_STANDARD = {
    f"{kind.__module__}.{kind.__qualname__}": kind
    for kind in (
        *(*_BASES, bool, bytearray, complex, dict, frozenset, list, set, tuple),
        *(collections.Counter, collections.OrderedDict, collections.defaultdict),
        *(collections.deque, types.SimpleNamespace, uuid.UUID, uuid.SafeUUID, *_FROM_PARTS),
    )
}
_SINGLETONS = (TRUE, FALSE, DOWN)
"""Objects that exist once and are compared by identity."""

LEAF, SINGLETON, NAME, ARRAY, BYTES, ENUM, TUPLE, LIST, SET, FROZENSET, DICT, NAMED = range(12)
DERIVED, FROM_PARTS, FROZEN, OBJECT = range(12, 16)


class CannotKeep(ValueError):
    """A value cannot be written in this form, or bytes are not values written in it."""


@frozen
class Names:
    """The classes and functions that stored bytes may name.

    `held`: classes and functions that the reader holds already, by full name.  `allows`: whether
    the bytes may name the classes of a module.
    """

    held: Mapping[str, Any] = field(factory=dict)
    allows: Callable[[str], bool] = is_model_code

    @classmethod
    def of(cls, value: Any, allows: Callable[[str], bool] = is_model_code) -> Names:
        """Return names that `allows` permits, and the classes and functions in `value`."""
        writer = _Writer(None)
        writer.put(value)
        return cls(writer.found, allows)

    def find(self, module: str, name: str) -> Any:
        """Return a class or function.  Raises `CannotKeep` if the bytes may not name it."""
        found = self.held.get(f"{module}.{name}") or _STANDARD.get(f"{module}.{name}")
        if found is None and self.allows(module):
            found = sys.modules.get(module)
            for part in name.split("."):
                found = getattr(found, part, None)
            found = found if isinstance(found, type) else None
        if found is None:
            raise CannotKeep(f"it names {module}.{name}")
        return found


def written(value: Any, names: Names) -> bytes:
    """Return `value` as bytes.  Raises `CannotKeep` for a value that could not be read back."""
    writer = _Writer(names)
    writer.put(value)
    head = {"leaves": writer.leaves, "names": writer.names, "arrays": writer.arrays}
    text = json.dumps(head).encode()
    numbers = len(writer.stream).to_bytes(8, "big") + writer.stream.tobytes()
    return b"".join([len(text).to_bytes(8, "big"), text, numbers, *writer.contents])


class _Writer:
    """Writes values.  `found`: classes and functions, by name.  `allowed`: None allows all."""

    def __init__(self, allowed: Names | None) -> None:
        self.found: dict[str, Any] = {}
        self.allowed = allowed
        self.leaves: list[Any] = []
        self.names: list[list[str]] = []
        self.arrays: list[list[Any]] = []
        self.contents: list[bytes] = []
        self.stream = array.array("i")
        self._count = 0
        self._place: dict[Any, int] = {}
        self._alive: list[Any] = []  # written values, so that no other value gets the same id

    def put(self, value: Any) -> int:
        """Write `value` after its parts, if it is new; return its place."""
        kind: Any = type(value)
        key = (kind, repr(value)) if kind in _LEAVES else id(value)
        place = self._place.get(key)
        if place is None:
            made = self._node(kind, value)
            place = self._place[key] = self._count
            self._count += 1
            self._alive.append(value)
            self.stream.extend(made)
        return place

    def _node(self, kind: Any, value: Any) -> list[int]:
        if kind in _LEAVES:
            self.leaves.append(value)
            return [LEAF, 1, len(self.leaves) - 1]
        for at, only in enumerate(_SINGLETONS):
            if value is only:
                return [SINGLETON, 1, at]
        if kind in _CONTAINERS:
            return self._put_parts(_CONTAINERS[kind], value)
        if kind is dict:
            return self._put_parts(DICT, (part for item in value.items() for part in item))
        if kind is bytes:
            return self._put_parts(BYTES, [value.hex()])
        if isinstance(value, (type, types.FunctionType)):
            return self._name(value)
        if kind is Frozen:
            return self._put_parts(FROZEN, [value.kind, value.parts, value.whole])
        if isinstance(value, enum.Enum):
            return self._put_parts(ENUM, [kind, value.value])
        if isinstance(value, tuple):
            return self._put_parts(NAMED, [kind, *value])
        if kind is np.ndarray:
            self.arrays.append([value.dtype.str, list(value.shape), value.nbytes])
            self.contents.append(value.tobytes())
            return [ARRAY, 1, len(self.arrays) - 1]
        return self._object(kind, value)

    def _object(self, kind: Any, value: Any) -> list[int]:
        base = next((base for base in _BASES if isinstance(value, base)), None)
        if base is not None and not getattr(value, "__dict__", None):
            return self._put_parts(DERIVED, [kind, base, base(value)])
        if kind in _FROM_PARTS:
            return self._put_parts(FROM_PARTS, [kind, *value.__reduce_ex__(4)[1]])
        if (kind.__reduce__, kind.__reduce_ex__) != (object.__reduce__, object.__reduce_ex__):
            raise CannotKeep(f"a value of {kind.__qualname__} cannot be written as data")
        state = value.__getstate__() or {}
        if isinstance(state, tuple):  # attributes, slots
            state = {**(state[0] or {}), **state[1]}
        return self._put_parts(OBJECT, [kind, *(part for item in state.items() for part in item)])

    def _put_parts(self, kind: int, parts: Iterable[Any]) -> list[int]:
        places = [self.put(part) for part in parts]
        return [kind, len(places), *places]

    def _name(self, named: Any) -> list[int]:
        module, name = named.__module__, named.__qualname__
        self.found[f"{module}.{name}"] = named
        if self.allowed is not None and self.allowed.find(module, name) is not named:
            raise CannotKeep(f"{module}.{name} is not the object to be written, but another")
        self.names.append([module, name])
        return [NAME, 1, len(self.names) - 1]


_CONTAINERS = {tuple: TUPLE, list: LIST, set: SET, frozenset: FROZENSET}


def read(content: bytes, names: Names) -> Any:
    """Return the value that `content` holds.

    Raises `CannotKeep`, and any exception that a class raises for damaged values.
    """
    at = 8 + int.from_bytes(content[:8], "big")
    head = json.loads(content[8:at])
    length = 4 * int.from_bytes(content[at : at + 8], "big")
    stream = array.array("i", content[at + 8 : at + 8 + length]).tolist()
    at += 8 + length
    named = [names.find(module, name) for module, name in head["names"]]
    arrays = []
    for dtype, shape, size in head["arrays"]:
        held = np.frombuffer(content[at : at + size], np.dtype(dtype))
        arrays.append(held.reshape(shape).copy())
        at += size
    tables = {LEAF: head["leaves"], SINGLETON: _SINGLETONS, NAME: named, ARRAY: arrays}
    values: list[Any] = []
    at, end = 0, len(stream)
    while at < end:
        kind, count = stream[at], stream[at + 1]
        places = stream[at + 2 : at + 2 + count]
        at += 2 + count
        if kind in tables:
            values.append(tables[kind][places[0]])
        else:
            values.append(_MAKERS[kind]([values[place] for place in places]))
    return values[-1]


def _named(parts: list[Any]) -> Any:
    return tuple.__new__(parts[0], parts[1:])


def _derived(parts: list[Any]) -> Any:
    kind, base, value = parts
    if base not in _BASES:
        raise CannotKeep(f"{base!r} is no base")
    return base.__new__(kind, value)


def _member(parts: list[Any]) -> Any:
    kind, value = parts
    if not issubclass(kind, enum.Enum):
        raise CannotKeep(f"{kind!r} is no enumeration")
    return kind(value)


def _from_parts(parts: list[Any]) -> Any:
    kind, *rest = parts
    if kind not in _FROM_PARTS:
        raise CannotKeep(f"{kind!r} is not made of parts")
    return kind(*rest)


def _object(parts: list[Any]) -> Any:
    kind = parts[0]
    made = object.__new__(kind)
    state = dict(zip(parts[1::2], parts[2::2], strict=True))
    if hasattr(kind, "__setstate__"):
        made.__setstate__(state)
    else:
        for name, value in state.items():
            object.__setattr__(made, name, value)
    return made


_MAKERS: dict[int, Callable[[list[Any]], Any]] = {
    BYTES: lambda parts: bytes.fromhex(parts[0]),
    ENUM: _member,
    TUPLE: tuple,
    LIST: list,
    SET: set,
    FROZENSET: frozenset,
    DICT: lambda parts: dict(zip(parts[::2], parts[1::2], strict=True)),
    NAMED: _named,
    DERIVED: _derived,
    FROM_PARTS: _from_parts,
    FROZEN: lambda parts: Frozen(*parts),
    OBJECT: _object,
}
