"""The type handlers: how values of each type are frozen and thawed."""

from __future__ import annotations

import copyreg
import enum
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from datetime import tzinfo
from functools import partial
from typing import Any

from joinproto.check.attributes import (
    added_attributes,
    attributes,
    consists_of_attributes,
    fields,
    has_no_c_content,
    has_only,
    is_frozen_class,
    parts_getter,
)
from joinproto.check.freezing import (
    CONST,
    COPY,
    HANDLERS,
    MAKE,
    Recipe,
    TypeHandler,
    Walk,
    frozen_in,
    frozen_parts,
    made_by,
    map_strings,
    recipe_of,
    recipes_of,
    unique,
)
from joinproto.check.frozen import (
    FALSE,
    SAME,
    TRUE,
    BackwardsFrozenset,
    BackwardsSet,
    Frozen,
    Named,
    Repeated,
    in_order,
    same_or,
)
from joinproto.check.problems import ModelProblem

HOLD = "hold plain values, tuples, lists, dicts, sets, enums, dataclasses or frozen attrs objects"


def _made(parts: list[Recipe], make: Callable[[list[Any]], Any]) -> Recipe:
    """Return the recipe of a value that `make` makes from the values of the recipes `parts`."""
    return MAKE, lambda named: make(
        [it if how == CONST else it() if how == COPY else it(named) for how, it in parts]
    )


class _Bool(TypeHandler):
    is_remembered = True

    def freeze(self, value: Any, walk: Walk) -> Any:
        return TRUE if value else FALSE


class _Tuple(TypeHandler):
    is_remembered = True

    def freeze(self, value: Any, walk: Walk) -> Any:
        if SAME.issuperset(map(type, value)):
            return value
        return same_or(value, frozen_parts(value, walk), tuple)

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        parts, fixed = recipes_of(value, backwards)
        if fixed:
            return CONST, same_or(value, [part for _, part in parts], tuple)
        return _made(parts, tuple)


class _Itself(TypeHandler):
    """Enum members, classes and functions: each exists only once."""

    is_remembered = True

    def freeze(self, value: Any, walk: Walk) -> Any:
        owner = getattr(value, "__self__", None)
        if type(value) in _METHODS and not isinstance(owner, (types.ModuleType, type(None))):
            raise _no_part(type(value), "it belongs to one object; hold the method's name")
        return value


_METHODS = (types.MethodType, types.BuiltinMethodType)


class _Wrapped(TypeHandler):
    """Values that may be equal but differ: floats, enum members that are numbers, ranges.

    `parts_of`: returns the parts in which two different values differ.
    """

    def __init__(self, parts_of: Callable[[Any], Any] = lambda value: value) -> None:
        self.parts_of = parts_of

    def freeze(self, value: Any, walk: Walk) -> Any:
        try:
            return Frozen(type(value), self.parts_of(value), value)
        except (TypeError, ValueError) as error:
            raise _no_part(type(value), str(error)) from error

    def map(self, value: Frozen, change: Callable[[str], str]) -> Frozen:
        return value


class _Content(_Wrapped):
    """Values compared by the content that `__reduce_ex__` returns for copying.

    Equal values may behave differently: Decimal("1.0") and Decimal("1.00"), a moment in two time
    zones.  `base`: the type of number or text that the class derives from, or None.
    """

    def __init__(self, kind: type) -> None:
        self.base = next((base for base in _PLAIN if issubclass(kind, base)), None)

    def freeze(self, value: Any, walk: Walk) -> Any:
        _refuse_added(value)
        if self.base is not None:
            return Frozen(type(value), self.base.__repr__(value), value)
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            held = reduce(value) if reduce else value.__reduce_ex__(4)
        except Exception as error:
            raise _no_part(type(value), "its content cannot be read by __reduce_ex__") from error
        if isinstance(held, str):
            return value  # a global of its module, which has this name
        made_by, *parts = held
        parts = [tuple(part) if isinstance(part, Iterator) else part for part in parts]
        return Frozen(type(value), (made_by, *frozen_parts(parts, Walk())), value)


_PLAIN = (int, str, bytes, float, complex)


class _OwnFrozenset(TypeHandler):
    """Sets of a class derived from frozenset."""

    def freeze(self, value: Any, walk: Walk) -> Any:
        _refuse_added(value)
        return Frozen(type(value), frozenset(frozen_parts(frozenset(value), walk)))

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        how = recipe_of(value.parts, backwards)
        return MAKE, lambda named: value.kind(made_by(how, named))


def _refuse_added(value: Any) -> None:
    names = added_attributes(value)
    if names:
        raise _no_part(
            type(value), f"it holds {names[0]!r} besides its own content; let a dataclass hold both"
        )


class _Frozenset(TypeHandler):
    is_remembered = True

    def freeze(self, value: Any, walk: Walk) -> Any:
        if SAME.issuperset(map(type, value)):
            return value
        return same_or(value, frozen_parts(value, walk), frozenset)

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        kind = BackwardsFrozenset if backwards and len(value) > 1 else frozenset
        parts, fixed = recipes_of(value, backwards)
        if fixed:
            found = same_or(value, [part for _, part in parts], frozenset)
            return CONST, found if kind is frozenset else kind(found)
        return _made(parts, kind)


class _BackwardsHandler(TypeHandler):
    """A set that was thawed so that it is iterated backwards."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.can_change = kind is set

    def freeze(self, value: Any, walk: Walk) -> Any:
        items = frozenset([frozen_in(item, walk) for item in self.kind.__iter__(value)])  # type: ignore[attr-defined]
        return items if self.kind is frozenset else Frozen(set, items)


class _Sequence(TypeHandler):
    """Containers with an order.  `items_of` returns the items; `make` makes a container of them."""

    can_change = True

    def __init__(
        self,
        items_of: Callable[[Any], Iterable[Any]] = tuple,
        make: Callable[[list[Any]], Any] = list,
    ) -> None:
        self.items_of, self.make = items_of, make

    def freeze(self, value: Any, walk: Walk) -> Any:
        items = frozen_parts(self.items_of(value), walk)
        return Frozen(type(value), tuple(items))

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        make = self.make
        parts, fixed = recipes_of(value.parts, backwards)
        if fixed:
            return COPY, make([part for _, part in parts]).copy
        return _made(parts, make)


class _Set(TypeHandler):
    can_change = True

    def freeze(self, value: Any, walk: Walk) -> Any:
        return Frozen(set, frozenset(frozen_parts(value, walk)))

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        kind = BackwardsSet if backwards and len(value.parts) > 1 else set
        items, _ = recipes_of(in_order(value.parts, lambda item: item), backwards)
        return _made(items, kind)


_KNOWN_MAX = 1 << 16


class _Mapping(TypeHandler):
    """Dicts; the order in which they were filled does not count."""

    can_change = True

    def __init__(self, fresh: Callable[[Any], Any], about: Callable[[Any], Any] | None = None):
        self.fresh, self.about = fresh, about
        # Frozen dicts by the ids of the items: a dict is made again for each state, but most of its
        # items are not.  The cache keeps the items alive, so that no other object gets their ids.
        self._known: dict[tuple[int, ...], tuple[list[Any], Frozen]] = {}

    def freeze(self, value: Any, walk: Walk) -> Any:
        about = None if self.about is None else self.about(value)
        if walk.repeated:
            # Which value is met first must not depend on the order in which the dict was filled.
            pairs = in_order(
                [(frozen_in(k, walk), v) for k, v in value.items()], lambda pair: pair[0]
            )
            items = frozenset([(key, frozen_in(item, walk)) for key, item in pairs])
            return Frozen(type(value), items if self.about is None else (about, items))
        place = (id(about), *map(id, value), *map(id, value.values()))
        known = self._known.get(place)
        if known is not None:
            return known[1]
        mutable = len(walk.mutable)
        keys, values = frozen_parts(value, walk), frozen_parts(value.values(), walk)
        items = frozenset(zip(keys, values, strict=True))
        found = Frozen(type(value), items if self.about is None else (about, items))
        if len(walk.mutable) == mutable:
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[place] = [about, *value.items()], found
        return found

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        about, held = (None, value.parts) if self.about is None else value.parts
        pairs = in_order(held, lambda pair: pair[0])
        keys, fixed = recipes_of([key for key, _ in pairs], backwards)
        items, all_fixed = recipes_of([item for _, item in pairs], backwards)
        every = list(zip(keys, items, strict=True))
        fresh = partial(self.fresh, about)

        def make(named: dict[int, Any]) -> Any:
            found = fresh()
            # Items are made in the order in which objects that occur twice got their numbers.
            made = [(made_by(key, named), made_by(item, named)) for key, item in every]
            for key, item in reversed(made) if backwards else made:
                found[key] = item
            return found

        if not fixed:
            return MAKE, make
        made = fresh()
        for (_, key), (_, item) in reversed(every) if backwards else every:
            made[key] = item
        if all_fixed:
            return COPY, made.copy
        rest = [(key, item) for (_, key), item in every if item[0] != CONST]

        def fill(named: dict[int, Any]) -> Any:
            found = made.copy()
            for key, (how, it) in rest:
                found[key] = it() if how == COPY else it(named)
            return found

        return MAKE, fill


class _Record(TypeHandler):
    """Objects that consist of their attributes.  `names`: the attributes; None: any attributes."""

    def __init__(self, kind: type, names: tuple[str, ...] | None, *, can_change: bool) -> None:
        self.kind, self.names, self.can_change = kind, names, can_change
        self.is_remembered = not can_change
        self._parts = parts_getter(names or ())
        # With cache_hash=True, attrs computes the hash if it is None, but raises if it is not set.
        self.resets_hash = "__attrs_attrs__" in vars(kind) and (
            bool(kind.__dictoffset__) or hasattr(kind, "_attrs_cached_hash")
        )

    def freeze(self, value: Any, walk: Walk) -> Any:
        mutable = len(walk.mutable)
        if self.names is None:
            names = attributes(value)
            parts = (*[frozen_in(getattr(value, name), walk) for name in names], names)
        else:
            parts = self._parts(value)
            if not SAME.issuperset(map(type, parts)):
                parts = tuple(frozen_parts(parts, walk))
        if self.can_change or walk.repeated:
            return Frozen(self.kind, parts)
        return unique(Frozen(self.kind, parts, None if len(walk.mutable) > mutable else value))

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        kind, put, resets_hash = self.kind, object.__setattr__, self.resets_hash
        names = value.parts[-1] if self.names is None else self.names
        parts, fixed = recipes_of(value.parts[: len(names)], backwards)
        named_parts = [(name, how, it) for name, (how, it) in zip(names, parts, strict=True)]

        def make(named: dict[int, Any]) -> Any:
            made: Any = object.__new__(kind)
            for name, how, it in named_parts:
                put(made, name, it if how == CONST else it() if how == COPY else it(named))
            if resets_hash:
                put(made, "_attrs_cached_hash", None)
            return made

        if self.can_change or not fixed:
            return MAKE, make
        whole = make({})
        if not backwards:
            value.whole = whole
        return CONST, whole

    def map(self, value: Frozen, change: Callable[[str], str]) -> Frozen:
        if self.names is not None:
            return super().map(value, change)
        parts = map_strings(value.parts[:-1], change)
        return value if parts == value.parts[:-1] else Frozen(self.kind, (*parts, value.parts[-1]))


class _NamedTuple(TypeHandler):
    def freeze(self, value: Any, walk: Walk) -> Any:
        _refuse_added(value)
        mutable = len(walk.mutable)
        parts = tuple(frozen_parts(value, walk))
        is_whole = len(walk.mutable) == mutable and not walk.repeated
        return Frozen(type(value), parts, value if is_whole else None)

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        parts, fixed = recipes_of(value.parts, backwards)
        how, make = _made(parts, partial(tuple.__new__, value.kind))
        return (CONST, make({})) if fixed else (how, make)


class _NamedHandler(TypeHandler):
    """The first place of an object that occurs more than once."""

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        number, inner = value.parts
        how = recipe_of(inner, backwards)

        def make(named: dict[int, Any]) -> Any:
            made = named[number] = made_by(how, named)
            return made

        return MAKE, make


class _RepeatedHandler(_NamedHandler):
    """A later place of an object that occurs more than once."""

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        number = value.parts
        return MAKE, lambda named: named[number]


HANDLERS |= {
    bool: _Bool(),
    tuple: _Tuple(),
    Named: _NamedHandler(),
    Repeated: _RepeatedHandler(),
    # Not the number itself: -0.0 equals 0.0 but behaves differently, and nan never equals itself.
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


def new_handler(kind: type) -> TypeHandler:
    """Return a handler for `kind`; raises `ModelProblem` if its values cannot be frozen."""
    if issubclass(kind, enum.Enum):
        # An enum member that is also a number or a text equals a plain value.
        return _Wrapped() if kind.__eq__ is not object.__eq__ else _Itself()
    if issubclass(kind, (type, types.FunctionType, *_METHODS)):
        return _Itself()
    if issubclass(kind, tuple):
        return _NamedTuple()
    has_fields = {"__attrs_attrs__", "__dataclass_fields__"} & vars(kind).keys()
    if has_fields and has_no_c_content(kind) and kind.__eq__ is not object.__eq__:
        # With a __dict__, or slots of a base, an object may hold more than its fields.
        names = fields(kind) or ()
        return _Record(
            kind, names if has_only(kind, names) else None, can_change=not is_frozen_class(kind)
        )
    if kind.__hash__ in (None, object.__hash__) and not issubclass(kind, tzinfo):
        raise _no_part(
            kind, "it is not hashable" if kind.__hash__ is None else "it compares by identity"
        )
    if consists_of_attributes(kind):
        # The object may change in place, and its == may ignore attributes that a step reads.
        return _Record(kind, None, can_change=True)
    return _OwnFrozenset() if issubclass(kind, frozenset) else _Content(kind)


def _no_part(kind: type, reason: str) -> ModelProblem:
    # The module of a user's own file has a private name, `my_model@36d0c1f2`: see files.py.
    name = f"{kind.__module__.partition('@')[0]}.{kind.__qualname__}"
    return ModelProblem(f"a {name} cannot be part of a state: {reason}", next=HOLD)


HANDLERS[BackwardsSet] = _BackwardsHandler(set)
HANDLERS[BackwardsFrozenset] = _BackwardsHandler(frozenset)
