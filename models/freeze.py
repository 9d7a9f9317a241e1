"""What a member holds, as a hashable value, and back.

A frozen value is equal to another one exactly if what was frozen is equal *and of one type*,
all the way down: `0`, `False` and `0.0` are three values, and so are a tuple and a named tuple
of the same content.  `thaw` gives back what was frozen: equal, of the same type, and with every
list, dict or set new, so that a step may change it.  Where two places named one list, they
name one list again (`freeze_all`, `thaw_all`).

Not kept: the order in which a dict or a set was filled.  Two dicts that are equal are one
value; `thaw` fills them in one order, or in the opposite one (`backwards`), so that whoever
counts on an order is found out.

What compares by identity cannot be part of a state: two equal states would count as two, for
ever.
"""

from __future__ import annotations

import enum
import types
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from models.attributes import attributes, cannot_change, fields, is_its_attributes
from models.frozen import (
    FALSE,
    SAME,
    TRUE,
    Again,
    BackwardsFrozenset,
    BackwardsSet,
    Flag,
    Frozen,
    Named,
    in_order,
    same_or,
)
from models.problems import ModelProblem

HOLD = "hold plain values, tuples, lists, dicts, sets, enums, dataclasses or frozen attrs objects"


class _Walk:
    """One freezing.  `met`: what can change, in the order it was met; `again`: of those met
    more than once, by identity, their numbers, given when they are met for the first time.
    """

    __slots__ = ("again", "met", "numbers")

    def __init__(self, again: frozenset[int] = frozenset()) -> None:
        self.met: list[Any] = []
        self.again = again
        self.numbers: dict[int, int] = {}


# -- freezing ----------------------------------------------------------------------------


def freeze(value: Any) -> Hashable:
    """Return `value` as a hashable value; raises `ModelProblem` where it cannot be one."""
    return value if type(value) in SAME else freeze_all((value,))[0]


def freeze_all(values: Iterable[Any]) -> tuple[Hashable, ...]:
    """Return all of `values` frozen; what several of them name stays one thing."""
    values = tuple(values)
    walk = _Walk()
    found = tuple([value if type(value) in SAME else _freeze(value, walk) for value in values])
    if len(walk.met) > 1:
        ids = Counter(map(id, walk.met))
        if len(ids) < len(walk.met):
            walk = _Walk(frozenset(key for key, count in ids.items() if count > 1))
            return tuple([_freeze(value, walk) for value in values])
    return found


def _freeze(value: Any, walk: _Walk) -> Any:
    kind = type(value)
    if kind in SAME:
        return value
    if kind is bool:
        return TRUE if value else FALSE
    if kind is tuple:
        return same_or(value, [v if type(v) in SAME else _freeze(v, walk) for v in value], tuple)
    way = _ways.get(kind) or _way_of(kind)
    if not way.can_change:
        return way.freeze(value, walk)
    key = id(value)
    if key in walk.again:
        if key in walk.numbers:
            return Frozen(Again, walk.numbers[key])
        number = walk.numbers[key] = len(walk.numbers)
        return Frozen(Named, (number, way.freeze(value, walk)))
    walk.met.append(value)
    return way.freeze(value, walk)


# -- thawing -----------------------------------------------------------------------------


def thaw(value: Any, *, backwards: bool = False) -> Any:
    """Return what `freeze` was given; what can change is new.

    `backwards`: dicts and sets go through their items in the opposite order.
    """
    return value if type(value) in SAME else _thaw(value, _Thaw(backwards))


def thaw_all(values: Iterable[Any], *, backwards: bool = False) -> list[Any]:
    """Return what `freeze_all` was given."""
    thawed = _Thaw(backwards)
    return [value if type(value) in SAME else _thaw(value, thawed) for value in values]


class _Thaw:
    __slots__ = ("backwards", "named")

    def __init__(self, backwards: bool) -> None:
        self.backwards = backwards
        self.named: dict[int, Any] = {}


def _thaw(value: Any, walk: _Thaw) -> Any:
    kind = type(value)
    if kind in SAME:
        return value
    if kind is Flag:
        return value.value
    if kind is tuple:
        return same_or(value, [v if type(v) in SAME else _thaw(v, walk) for v in value], tuple)
    if kind is Frozen:
        if value.whole is not None:
            return value.whole
        if value.kind is Again:
            return walk.named[value.parts]
        if value.kind is Named:
            number, inner = value.parts
            made = walk.named[number] = _thaw(inner, walk)
            return made
        return (_ways.get(value.kind) or _way_of(value.kind)).thaw(value, walk)
    if kind is frozenset:
        found = value
        if not SAME.issuperset(map(type, value)):
            found = same_or(value, [_thaw(item, walk) for item in value], frozenset)
        return BackwardsFrozenset(found) if walk.backwards and len(found) > 1 else found
    return value


# -- the ways of each kind ---------------------------------------------------------------


class _Way(ABC):
    """How values of one kind are frozen.  `can_change`: its values do, in place."""

    can_change = False

    @abstractmethod
    def freeze(self, value: Any, walk: _Walk) -> Any: ...

    def thaw(self, value: Frozen, walk: _Thaw) -> Any:
        """Return the value again; called where `value.whole` is not there."""
        return value.whole

    def map(self, value: Frozen, change: Callable[[str], str]) -> Frozen:
        """Return the frozen `value` with every text in it changed."""
        parts = map_strings(value.parts, change)
        return value if parts is value.parts else Frozen(value.kind, parts)


class _Itself(_Way):
    """Enums, classes and functions: there is one of each."""

    def freeze(self, value: Any, walk: _Walk) -> Any:
        owner = getattr(value, "__self__", None)
        if type(value) in _METHODS and not isinstance(owner, (types.ModuleType, type(None))):
            raise _no_part(type(value), "it belongs to one object; hold the method's name")
        return value


_METHODS = (types.MethodType, types.BuiltinMethodType)


class _Wrapped(_Way):
    """Values that another kind's may equal: a float, a number that is an enum, a Decimal.

    `parts_of`: what tells two of them apart.
    """

    def __init__(self, parts_of: Callable[[Any], Any] = lambda value: value) -> None:
        self.parts_of = parts_of

    def freeze(self, value: Any, walk: _Walk) -> Any:
        try:
            return Frozen(type(value), self.parts_of(value), value)
        except (TypeError, ValueError) as error:
            raise _no_part(type(value), str(error)) from error

    def map(self, value: Frozen, change: Callable[[str], str]) -> Frozen:
        return value


class _Frozenset(_Way):
    def freeze(self, value: Any, walk: _Walk) -> Any:
        if SAME.issuperset(map(type, value)):
            return value
        return same_or(value, [_freeze(item, walk) for item in value], frozenset)


class _BackwardsWay(_Way):
    """A set that was thawed to be gone through backwards."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.can_change = kind is set

    def freeze(self, value: Any, walk: _Walk) -> Any:
        items = frozenset([_freeze(item, walk) for item in self.kind.__iter__(value)])  # type: ignore[attr-defined]
        return items if self.kind is frozenset else Frozen(set, items)


class _Sequence(_Way):
    """Containers whose order counts.  `items_of` takes one apart, `make` makes it again."""

    can_change = True

    def __init__(
        self,
        items_of: Callable[[Any], Iterable[Any]] = tuple,
        make: Callable[[list[Any]], Any] = list,
    ) -> None:
        self.items_of, self.make = items_of, make

    def freeze(self, value: Any, walk: _Walk) -> Any:
        items = [v if type(v) in SAME else _freeze(v, walk) for v in self.items_of(value)]
        return Frozen(type(value), tuple(items))

    def thaw(self, value: Frozen, walk: _Thaw) -> Any:
        return self.make([v if type(v) in SAME else _thaw(v, walk) for v in value.parts])


class _Set(_Way):
    can_change = True

    def freeze(self, value: Any, walk: _Walk) -> Any:
        return Frozen(set, frozenset([_freeze(item, walk) for item in value]))

    def thaw(self, value: Frozen, walk: _Thaw) -> Any:
        items = [_thaw(item, walk) for item in in_order(value.parts, lambda item: item)]
        return BackwardsSet(items) if walk.backwards and len(items) > 1 else set(items)


class _Mapping(_Way):
    """Dicts, whatever order they were filled in."""

    can_change = True

    def __init__(self, fresh: Callable[[Any], Any], about: Callable[[Any], Any] | None = None):
        self.fresh, self.about = fresh, about

    def freeze(self, value: Any, walk: _Walk) -> Any:
        pairs: Iterable[tuple[Any, Any]] = [(_freeze(k, walk), v) for k, v in value.items()]
        if walk.again:
            # Who is met first shall not depend on the order in which the dict was filled.
            pairs = in_order(pairs, lambda pair: pair[0])
        items = frozenset([(key, _freeze(item, walk)) for key, item in pairs])
        return Frozen(type(value), items if self.about is None else (self.about(value), items))

    def thaw(self, value: Frozen, walk: _Thaw) -> Any:
        about, items = (None, value.parts) if self.about is None else value.parts
        found = self.fresh(about)
        # First in one order, because what is named twice is named in it.
        made = [
            (_thaw(key, walk), _thaw(item, walk))
            for key, item in in_order(items, lambda pair: pair[0])
        ]
        for key, item in reversed(made) if walk.backwards else made:
            found[key] = item
        return found


class _Record(_Way):
    """Objects that are their attributes.  `names`: of these; None: those it has."""

    def __init__(self, kind: type, names: tuple[str, ...] | None, *, can_change: bool) -> None:
        self.kind, self.names, self.can_change = kind, names, can_change
        # A class with cache_hash=True computes it when it is None; unset would raise.
        self.resets_hash = "__attrs_attrs__" in vars(kind) and (
            names is None or hasattr(kind, "_attrs_cached_hash")
        )

    def freeze(self, value: Any, walk: _Walk) -> Any:
        if not self.can_change and not walk.again:
            known = _memory.get(id(value))
            if known is not None and known[0] is value:
                return known[1]
        names = attributes(value) if self.names is None else self.names
        met = len(walk.met)
        parts = [
            v if type(v) in SAME else _freeze(v, walk)
            for v in [getattr(value, name) for name in names]
        ]
        if self.names is None:
            parts.append(names)
        if self.can_change or walk.again or len(walk.met) > met:
            return Frozen(self.kind, tuple(parts))
        found = Frozen(self.kind, tuple(parts), value)
        if len(_memory) >= _MEMORY_MAX:
            _memory.clear()
            _equal.clear()
        found = _equal.setdefault(found, found)
        _memory[id(value)] = value, found
        return found

    def thaw(self, value: Frozen, walk: _Thaw) -> Any:
        names = value.parts[-1] if self.names is None else self.names
        made: Any = object.__new__(self.kind)
        for name, part in zip(names, value.parts, strict=False):
            object.__setattr__(made, name, part if type(part) in SAME else _thaw(part, walk))
        if self.resets_hash:
            object.__setattr__(made, "_attrs_cached_hash", None)
        if not self.can_change and is_fixed(value):
            value.whole = made
        return made

    def map(self, value: Frozen, change: Callable[[str], str]) -> Frozen:
        if self.names is not None:
            return super().map(value, change)
        parts = map_strings(value.parts[:-1], change)
        return value if parts == value.parts[:-1] else Frozen(self.kind, (*parts, value.parts[-1]))


class _NamedTuple(_Way):
    def freeze(self, value: Any, walk: _Walk) -> Any:
        met = len(walk.met)
        parts = tuple([_freeze(item, walk) for item in value])
        is_whole = len(walk.met) == met and not walk.again
        return Frozen(type(value), parts, value if is_whole else None)

    def thaw(self, value: Frozen, walk: _Thaw) -> Any:
        return tuple.__new__(value.kind, [_thaw(item, walk) for item in value.parts])


_MEMORY_MAX = 1 << 18
_memory: dict[int, tuple[Any, Frozen]] = {}
"""Objects that cannot change, by identity, with what they are when frozen: a member's parts
go from state to state, and most are the same objects as before."""
_equal: dict[Frozen, Frozen] = {}
"""The first of those that are equal: whoever compares values is done at the first part."""


_ways: dict[type, _Way] = {
    # Not the number: -0.0 equals 0.0 and behaves otherwise, and no nan equals itself.
    float: _Wrapped(float.hex),
    complex: _Wrapped(lambda value: (value.real.hex(), value.imag.hex())),
    range: _Wrapped(lambda value: (value.start, value.stop, value.step)),
    frozenset: _Frozenset(),
    list: _Sequence(),
    deque: _Sequence(
        lambda value: (value.maxlen, *value), lambda items: deque(items[1:], items[0])
    ),
    OrderedDict: _Sequence(lambda value: value.items(), OrderedDict),
    bytearray: _Sequence(lambda value: (bytes(value),), lambda items: bytearray(items[0])),
    set: _Set(),
    dict: _Mapping(lambda about: {}),
    Counter: _Mapping(lambda about: Counter()),
    defaultdict: _Mapping(defaultdict, lambda value: value.default_factory),
}


def _way_of(kind: type) -> _Way:
    """Return how values of `kind` are frozen; raises `ModelProblem` for a kind that cannot be."""
    way = _ways[kind] = _found_way(kind)
    return way


def _found_way(kind: type) -> _Way:
    if issubclass(kind, enum.Enum):
        # An enum's value that is also a number or a text equals plain ones.
        return _Wrapped() if kind.__eq__ is not object.__eq__ else _Itself()
    if issubclass(kind, (type, types.FunctionType, *_METHODS)):
        return _Itself()
    if issubclass(kind, tuple):
        return _NamedTuple()
    is_record = {"__attrs_attrs__", "__dataclass_fields__"} & vars(kind).keys()
    if is_record and kind.__eq__ is not object.__eq__:
        # With a __dict__, an object may hold more than its fields.
        names = None if kind.__dictoffset__ else fields(kind)
        return _Record(kind, names, can_change=not cannot_change(kind))
    if kind.__hash__ in (None, object.__hash__):
        raise _no_part(
            kind, "it is not hashable" if kind.__hash__ is None else "it compares by identity"
        )
    if is_its_attributes(kind):
        # It may change in place, and its == may overlook what its steps look at.
        return _Record(kind, None, can_change=True)
    return _Wrapped()


def _no_part(kind: type, reason: str) -> ModelProblem:
    # The module of somebody's own file has a private name, `my_model@36d0c1f2`: see files.py.
    name = f"{kind.__module__.partition('@')[0]}.{kind.__qualname__}"
    return ModelProblem(f"a {name} cannot be part of a state: {reason}", next=HOLD)


_ways[BackwardsSet] = _BackwardsWay(set)
_ways[BackwardsFrozenset] = _BackwardsWay(frozenset)


def is_fixed(value: Any) -> bool:
    """Return whether nothing in the frozen `value` can change once it is thawed."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return all(is_fixed(item) for item in value)
    if kind is Frozen:
        if value.whole is not None:
            return True
        way = _ways.get(value.kind)
        return way is not None and not way.can_change and is_fixed(value.parts)
    return True


# -- renaming ----------------------------------------------------------------------------


def rename(value: Any, names: dict[str, str]) -> Any:
    """Return the frozen `value` with members' names exchanged, wherever they stand in it."""
    return map_strings(value, lambda text: names.get(text, text))


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return the frozen `value` with every text in it changed; itself where nothing is."""
    kind = type(value)
    if kind is str:
        return change(value)
    if kind is tuple or kind is frozenset:
        return same_or(value, [map_strings(item, change) for item in value], kind)
    if kind is Frozen:
        if value.kind is Named or value.kind is Again:
            parts = map_strings(value.parts, change)
            return value if parts is value.parts else Frozen(value.kind, parts)
        return (_ways.get(value.kind) or _way_of(value.kind)).map(value, change)
    return value
