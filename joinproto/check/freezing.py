"""Freezing and thawing of values.

`joinproto/check/type_handlers.py` has the rules for each type.  A value is thawed by a recipe,
which is cached, because each state is thawed for many questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from joinproto.check.frozen import SAME, Flag, Frozen, Named, Repeated, same_or


class Walk:
    """The state of one freezing.  `mutable`: mutable values, in the order in which they occur;
    `repeated`: the `id` of each value that occurs more than once; `numbers`: this `id` to a number.
    """

    __slots__ = ("mutable", "numbers", "repeated")

    def __init__(self, repeated: frozenset[int] = frozenset()) -> None:
        self.mutable: list[Any] = []
        self.repeated = repeated
        self.numbers: dict[int, int] = {}


# -- freezing ----------------------------------------------------------------------------


def frozen_in(value: Any, walk: Walk) -> Any:
    """Return `value` frozen, as a part of the value that the walk freezes."""
    if type(value) in SAME:
        return value
    known = _memory.get(id(value))
    return known[1] if known is not None and known[0] is value else _frozen_by_type(value, walk)


def frozen_parts(values: Iterable[Any], walk: Walk) -> list[Any]:
    """Return `values` frozen, each as a part of the value that the walk freezes."""
    # This repeats the code of `frozen_in`: a call for each part would take longer than the rest.
    memory = _memory.get
    return [
        value
        if type(value) in SAME
        else known[1]
        if (known := memory(id(value))) is not None and known[0] is value
        else _frozen_by_type(value, walk)
        for value in values
    ]


def _frozen_by_type(value: Any, walk: Walk) -> Any:
    kind = type(value)
    handler = HANDLERS.get(kind) or _handler_of(kind)
    if not handler.can_change:
        mutable = len(walk.mutable)
        found = handler.freeze(value, walk)
        if handler.is_remembered and not walk.repeated and len(walk.mutable) == mutable:
            if len(_memory) >= _MEMORY_MAX:
                _memory.clear()
            _memory[id(value)] = value, found
        return found
    if walk.repeated:
        key = id(value)
        if key in walk.repeated:
            if key in walk.numbers:
                return Frozen(Repeated, walk.numbers[key])
            number = walk.numbers[key] = len(walk.numbers)
            return Frozen(Named, (number, handler.freeze(value, walk)))
    walk.mutable.append(value)
    return unique(handler.freeze(value, walk))


def unique(found: Frozen) -> Frozen:
    """Return the first value frozen that equals `found`: identical objects are compared quickly."""
    if len(_equal) >= _MEMORY_MAX:
        _equal.clear()
    return _equal.setdefault(found, found)


_MEMORY_MAX = 1 << 18
_memory: dict[int, tuple[Any, Frozen]] = {}
"""Immutable objects, by `id`, with their frozen form: from state to state, most parts of a member
are the same objects.
"""
_equal: dict[Frozen, Frozen] = {}
"""Each frozen value to the first frozen value that equals it, for `unique`."""


# -- thawing -----------------------------------------------------------------------------

CONST, COPY, MAKE = range(3)
"""How a recipe makes its value: it holds the value, or a function of no argument that returns the
value, or a function of the objects made so far that occur more than once.
"""

Recipe = tuple[int, Any]


def made_by(recipe: Recipe, named: dict[int, Any]) -> Any:
    """Return the value of a recipe.  `named`: objects that occur more than once, by number."""
    how, it = recipe
    return it if how == CONST else it() if how == COPY else it(named)


def recipe_of(value: Any, backwards: bool) -> Recipe:
    """Return the recipe to thaw `value`, from the cache if it is there."""
    kind = type(value)
    if kind in SAME:
        return CONST, value
    if kind is Frozen:
        if value.whole is not None:
            return CONST, value.whole
        handler = HANDLERS.get(value.kind) or _handler_of(value.kind)
    elif kind is tuple and SAME.issuperset(map(type, value)):
        return CONST, value
    elif kind is tuple or kind is frozenset:
        handler = HANDLERS.get(kind) or _handler_of(kind)
    else:
        return CONST, value.value if kind is Flag else value
    recipes = _recipes[backwards]
    known = recipes.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    if len(recipes) >= _RECIPES_MAX:
        recipes.clear()
    found = handler.recipe(value, backwards)
    recipes[id(value)] = value, found
    return found


def recipes_of(values: Iterable[Any], backwards: bool) -> tuple[list[Recipe], bool]:
    """Return the recipes of `values`, and whether all are constant."""
    found = [recipe_of(value, backwards) for value in values]
    return found, all(how == CONST for how, _ in found)


_RECIPES_MAX = 1 << 14
_recipes: tuple[dict[int, tuple[Any, Recipe]], ...] = ({}, {})
"""Recipes by the `id` of the frozen value: for thawing forwards, and for thawing backwards."""


# -- handlers of types -------------------------------------------------------------------


class TypeHandler:
    """The rules for freezing values of one type.  `can_change`: whether they can change in place.

    `is_remembered`: whether a value in which nothing can change is frozen only once.
    """

    can_change = False
    is_remembered = False

    def freeze(self, value: Any, walk: Walk) -> Any:
        """Return `value` frozen; never called for types that occur only in frozen values."""
        raise AssertionError(type(value))

    def recipe(self, value: Any, backwards: bool) -> Recipe:
        """Return the recipe to thaw `value`; called only if it has no `whole`."""
        raise AssertionError(type(value))

    def map(self, value: Frozen, change: Callable[[str], str]) -> Frozen:
        """Return the frozen `value` with every text in it changed."""
        parts = map_strings(value.parts, change)
        return value if parts is value.parts else Frozen(value.kind, parts)


HANDLERS: dict[type, TypeHandler] = {}


def _handler_of(kind: type) -> TypeHandler:
    """Return the handler of `kind`; raises `ModelProblem` if its values cannot be frozen."""
    from joinproto.check.type_handlers import (
        new_handler,  # here, because that module imports this one
    )

    handler = HANDLERS.get(kind)
    if handler is None:
        handler = HANDLERS[kind] = new_handler(kind)
    return handler


# -- texts -------------------------------------------------------------------------------


def map_strings(value: Any, change: Callable[[str], str]) -> Any:
    """Return the frozen `value` with every text in it changed; the same object if none changes."""
    kind = type(value)
    if kind is str:
        return change(value)
    if kind is tuple or kind is frozenset:
        return same_or(value, [map_strings(item, change) for item in value], kind)
    if kind is Frozen:
        return (HANDLERS.get(value.kind) or _handler_of(value.kind)).map(value, change)
    return value
