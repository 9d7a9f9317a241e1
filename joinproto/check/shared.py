"""State that members may share without the checker's knowledge: globals, class attributes,
defaults.

    LEADER = {}

    def receive(self, event):
        if LEADER.setdefault("is", self.name) != self.name: ...

Asked twice, each member gives the same answer, because the first member that was asked stays the
leader in all states.  So the checker keeps the content that such objects had before the search.
If the search changed it, members are asked once more with the old content.  An object that changes
no answer (a log, a cache of results) is no mistake.
"""

from __future__ import annotations

import copy
import enum
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import CodeType, FunctionType
from typing import Any

from attrs import define, frozen

from joinproto.check.attributes import fields

_ATOMS = (int, float, str, bytes, bool, tuple, frozenset, type(None))
_CONTAINERS = (list, dict, set, deque)


@frozen
class _Place:
    """Where code finds an object.  `home`: the class or the module's dict that has `name`, or None
    for a default argument or a variable of a closure.
    """

    words: str
    home: Any
    name: str
    value: Any

    def now(self) -> Any:
        if self.home is None:
            return self.value
        names = self.home if isinstance(self.home, dict) else vars(self.home)
        return names.get(self.name)

    def bind(self, value: Any) -> None:
        if isinstance(self.home, dict):
            self.home[self.name] = value
        elif self.home is not None:
            setattr(self.home, self.name, value)


@define
class Shared:
    """Objects that the code of some classes can reach, with their content before the search."""

    _places: list[tuple[_Place, Any]]

    @classmethod
    def reached_by(cls, kinds: Iterable[type]) -> Shared:
        """Return the objects that the code of these classes can reach, with their content now."""
        found: dict[tuple[int, str], _Place] = {}
        seen: set[int] = set()
        for kind in kinds:
            for place in _places_of_class(kind, seen):
                where = place.value if place.home is None else place.home
                found.setdefault((id(where), place.name), place)
        return cls([kept for place in found.values() for kept in _copied(place)])

    def changed(self) -> list[str]:
        """Return the names of the objects whose content has changed."""
        return [
            place.words
            for place, first in self._places
            if place.now() is not place.value or not _same(place.value, first)
        ]

    def put_back(self) -> None:
        """Give all objects the content that they had at first."""
        for place, first in self._places:
            same = _same(place.value, first)
            if isinstance(place.value, _ATOMS) and not same:
                place.bind(copy.deepcopy(first))
                continue
            if place.now() is not place.value:
                place.bind(place.value)
            if not same:
                _refill(place.value, copy.deepcopy(first))


def _copied(place: _Place) -> Iterator[tuple[_Place, Any]]:
    try:
        first = copy.deepcopy(place.value)
    except Exception:  # noqa: BLE001  a value that cannot be copied cannot be put back
        return
    # If the copy differs at once, it holds a value that compares by identity, and no later
    # comparison is possible.
    if _same(place.value, first):
        yield place, first


def _content(value: Any) -> Any:
    if isinstance(value, (*_ATOMS, *_CONTAINERS)):
        return value
    return {name: getattr(value, name) for name in _attributes(value)}


def _attributes(value: Any) -> list[str]:
    slots = [name for name in fields(type(value)) or () if hasattr(value, name)]
    held = [*getattr(value, "__dict__", ()), *slots]
    return list(dict.fromkeys(held))


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(_content(one) == _content(other))
    except Exception:  # noqa: BLE001  an array's == is neither True nor False
        return False


def _refill(value: Any, content: Any) -> None:
    if isinstance(value, (list, deque)):
        value.clear()
        value.extend(content)
    elif isinstance(value, (dict, set)):
        value.clear()
        value.update(content)
    else:
        for name in _attributes(value):
            object.__delattr__(value, name)
        for name, item in _content(content).items():
            object.__setattr__(value, name, item)


# -- reachable objects -------------------------------------------------------------------


def _places_of_class(kind: type, seen: set[int]) -> Iterator[_Place]:
    if issubclass(kind, enum.Enum):
        return  # its attributes are its values, and Python's own tables of them
    for base in kind.__mro__:
        if base is object or id(base) in seen:
            continue
        seen.add(id(base))
        for name, value in list(vars(base).items()):
            inner = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
            if isinstance(inner, FunctionType):
                yield from _places_of_function(inner, seen)
            elif not name.startswith("__") and _is_watched(value, base.__module__):
                yield _Place(f"{base.__qualname__}.{name}", base, name, value)


def _places_of_function(function: FunctionType, seen: set[int]) -> Iterator[_Place]:
    if id(function) in seen:
        return
    seen.add(id(function))
    names = function.__globals__
    module = names.get("__name__")
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    around = variables_around(function).values()
    for what, values in (("a default argument of", defaults), ("a variable around", around)):
        for value in values:
            if isinstance(value, _CONTAINERS):
                yield _Place(f"{what} {function.__qualname__}", None, "", value)
    for name in names_in(function.__code__):
        value = names.get(name)
        if isinstance(value, FunctionType) and value.__globals__ is names:
            yield from _places_of_function(value, seen)
        elif isinstance(value, type) and value.__module__ == module:
            yield from _places_of_class(value, seen)
        elif name in names and _is_watched(value, module):
            yield _Place(name, names, name, value)


def variables_around(function: FunctionType) -> dict[str, Any]:
    """Return the variables of a function's closure, without variables that are not set yet."""
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):
            found[name] = cell.cell_contents
    return found


def names_in(code: CodeType) -> Iterator[str]:
    """Yield the names of globals and attributes in code, and in the functions inside it."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from names_in(const)


def _is_watched(value: Any, module: object) -> bool:
    """Return whether a value may hold state: plain, a container, or an object of `module`."""
    if type(value) in _ATOMS or isinstance(value, _CONTAINERS):
        return True
    own = type(value).__module__ == module and not isinstance(value, (type, enum.Enum))
    return own and (hasattr(value, "__dict__") or hasattr(type(value), "__attrs_attrs__"))
