"""Likely causes of an unexpected result, as texts for a report.

A text that a claim names but no member ever shows is probably misspelt.  A `shows()` that returns
None in every state probably lacks its `return`.  If a limit ended a search, a counter that still
grew may be the reason why the search would not have ended by itself.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping, Sequence, Sized
from inspect import isfunction
from types import CodeType
from typing import Any

from attrs import Factory, define

from joinproto.check.events import fields_of, plain
from joinproto.check.freeze import thaw, thaw_all
from joinproto.check.properties import Property
from joinproto.check.shared import names_in, variables_around
from joinproto.check.view import DOWN, ShownAttributes, View
from joinproto.check.world import World
from joinproto.errors import nearest

TEXTS_MAX = 12
"""An attribute that took more values than this is not reported by `texts_shown`."""
SHOWN_MAX = 2_000
"""If a member has more observations, only the first are searched for texts, for the report."""
COUNTER_VALUES_MIN = 10
"""A counter that took fewer values is not reported: it may have a bound."""
LOCALS_MAX = 20_000
"""Of more local states of a member, only some, spread evenly, are searched for counters."""
VIEWS_MAX = 8
"""The number of views on which a claim is evaluated to see whether it reads observations."""
STEPS_PER_VALUE = 6
"""A counter without a bound takes at most about this many steps of the world for each value."""

Shown = Mapping[str, Sequence[Any]]
"""The observations of each member, `DOWN` included."""


def texts_shown(seen: Shown) -> dict[str, tuple[str, ...]]:
    """Return the texts that each member showed, sorted, by member or `member.attribute`.

    Attributes that are neither texts nor enums, or took more than `TEXTS_MAX` values, are left out.
    """
    found: dict[str, set[str] | None] = {}
    for name, values in seen.items():
        for value in values[: SHOWN_MAX + 1]:
            for part, item in _parts(name, value):
                texts = found.setdefault(part, set())
                if texts is None or item is DOWN:
                    continue
                texts.add(plain(item))
                if not isinstance(item, (str, enum.Enum)) or len(texts) > TEXTS_MAX:
                    found[part] = None
    return {part: tuple(sorted(texts)) for part, texts in found.items() if texts}


def _parts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    fields = dict(value.values) if isinstance(value, ShownAttributes) else fields_of(value)
    if value is DOWN or not fields:
        yield name, value
    else:
        yield from ((f"{name}.{field}", item) for field, item in fields.items())


SHOWS_NONE = "shows() returns None in every state"


def shows_nothing(seen: Shown) -> Iterator[str]:
    """Yield a text if no member shows anything but None: `shows()` probably lacks its `return`."""
    up = {name for name, values in seen.items() if {*map(type, values)} - {type(DOWN)}}
    if up and all(value is None or value is DOWN for values in seen.values() for value in values):
        yield f"shown by {', '.join(sorted(up))}: any value; {SHOWS_NONE}"


def misspelt_texts(world: World, seen: Shown) -> Iterator[str]:
    """Yield a note on each text in a claim that no observation equals, if the cause can be guessed.

    The text is misspelt, or the claim compares it with an object, an enum or `DOWN`.
    """
    if world.show_disk or world.show_links or world.monitor is not None:
        return  # other parts of the view are not examined
    named = {item.name: _texts_of(item) for item in world.properties if item.scope != "step"}
    if not any(named.values()) or any(len(values) > SHOWN_MAX for values in seen.values()):
        return
    up = [value for values in seen.values() for value in values if value is not DOWN]
    fields = {
        name for value in up if isinstance(value, ShownAttributes) for name, _ in value.values
    }
    if up and all(isinstance(value, ShownAttributes) for value in up):
        for item in world.properties:
            wrong = named.get(item.name, set()) - {*world.members} - fields
            if wrong and _names_used(item).isdisjoint({*fields, "getattr", "str", "repr", "vars"}):
                yield (
                    f"“{item.name}” names {min(wrong)!r}, and without shows() members show objects:"
                    f" compare an attribute ({', '.join(sorted(fields))}), or write shows()"
                )
    texts = _Texts()
    for values in seen.values():
        for value in values:
            texts.add(value)
    shown = {*texts.plain, *world.members}
    folded = {text.casefold(): text for text in sorted(shown)}
    for item in world.properties:
        for text in sorted(named.get(item.name, set()) - shown):
            hint = ""
            if text in texts.enums and not _reads_enums(item):
                hint = f"they show {texts.enums[text]}, which no text equals"
            elif text == str(DOWN) and any(DOWN in values for values in seen.values()):
                hint = "a stopped member shows DOWN, which no text equals"
            elif text not in texts.enums and (near := nearest(text.casefold(), folded, cutoff=0.8)):
                hint = f"did you mean {folded[near]!r}?"
            if hint:
                yield f"“{item.name}” names {text!r}, which no member shows: {hint}"


@define
class _Texts:
    """Texts in observations, names of fields and keys included; `enums`: by their name or value."""

    plain: set[str] = Factory(set)
    enums: dict[str, enum.Enum] = Factory(dict)

    def add(self, value: Any) -> None:
        if isinstance(value, str):
            self.plain.add(value)
        elif isinstance(value, enum.Enum):
            self.enums |= dict.fromkeys((value.name, str(value.value)), value)
        elif isinstance(value, Mapping):
            for key, item in value.items():
                self.add(key)
                self.add(item)
        elif isinstance(value, Collection):
            for item in value:
                self.add(item)
        elif isinstance(value, ShownAttributes):
            self.add(dict(thaw(value.values)))
        elif fields := fields_of(value):
            self.add(fields)


def _reads_enums(item: Property) -> bool:
    """Return whether a claim may turn observations into texts."""
    return not _names_used(item).isdisjoint(("value", "name", "str", "format"))


def _names_used(item: Property) -> set[str]:
    functions = [part for part in item.asks if isfunction(part)]
    return {name for part in functions for name in names_in(part.__code__)}


def looks_outside(world: World) -> Iterator[str]:
    """Yield a note on each claim that reads a member object which is not in the world."""
    for item in world.properties:
        for part in filter(isfunction, item.asks):
            held = variables_around(part)
            names = [*names_in(part.__code__)]
            held |= {name: part.__globals__[name] for name in names if name in part.__globals__}
            for name, value in held.items():
                if callable(getattr(type(value), "receive", None)):
                    yield f"“{item.name}” looks at {name}, which no step of a search changes"


def only_iterates_over_names(world: World, item: Property, seen: Shown) -> bool:
    """Return whether a claim iterates over members' names and never reads their observations."""
    functions = [part for part in item.asks if isfunction(part)]
    if item.scope != "world" or not _names_used(item).isdisjoint(_READS) or not all(seen.values()):
        return False
    iterated = False
    for at in range(VIEWS_MAX):
        shown = tuple(values[at % len(values)] for values in seen.values())
        view = _WatchedView(tuple(seen), shown)
        try:
            for part in functions:
                part(view)
        except Exception:  # noqa: BLE001  a claim's error is reported where it is evaluated
            return False
        if view.is_read:
            return False
        iterated = iterated or view.is_iterated
    return iterated


_READS = ("values", "items", "up", "disk", "monitor", "split", "links", "under_way", "connected")


class _WatchedView(View):
    """A view that records whether a claim iterated over its names or read an observation."""

    __slots__ = ("is_iterated", "is_read")

    def __init__(self, names: tuple[str, ...], shown: tuple[Any, ...]) -> None:
        super().__init__(names, shown, (), None, None)
        self.is_iterated = self.is_read = False

    def __iter__(self) -> Iterator[str]:
        self.is_iterated = True
        return super().__iter__()

    def __getitem__(self, name: str) -> Any:
        self.is_read = True
        return super().__getitem__(name)


def _texts_of(item: Property) -> set[str]:
    """Return the text literals in a claim's functions, apart from their docstrings."""
    functions = [part for part in item.asks if isfunction(part)]
    texts = {text for part in functions for text in _constants(part.__code__)}
    return texts - {part.__doc__ for part in functions}


def _constants(code: CodeType) -> Iterator[str]:
    waiting: list[Any] = [*code.co_consts]
    for value in waiting:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (tuple, frozenset)):
            waiting += value
        elif isinstance(value, CodeType):
            waiting += value.co_consts


# -- a search without end ------------------------------------------------------------------


@define
class _Counter:
    """The values of one attribute that is a number, or its lengths if it is a collection.

    `values`: None if the attribute took a value of another kind.
    """

    values: set[int] | None = Factory(set)
    is_length: bool = False

    def add(self, value: Any) -> None:
        if self.values is None:
            return
        if isinstance(value, Sized) and not isinstance(value, (str, bytes)):
            self.is_length, value = True, len(value)
        if type(value) is int:
            self.values.add(value)
        elif value is not None:
            self.values = None

    def words(self, depth: int) -> str:
        """Return the range of its values if the counter grew with the search's depth, else ""."""
        if not self.values or len(self.values) < COUNTER_VALUES_MIN:
            return ""
        least, most = min(self.values), max(self.values)
        if (most - least) * STEPS_PER_VALUE < depth:
            return ""
        what = "lengths" if self.is_length else "values"
        return f"{what} from {least:,} to {most:,}"


def growth_notes(
    member: str, names: Sequence[str], held: Sequence[Any], depth: int
) -> Iterator[str]:
    """Yield a note on each attribute that took ever more values until a limit ended the search.

    `names`: the member's attributes; `held`: their frozen values in each local state, empty if the
    member is stopped.  `depth`: the number of levels of the search.
    """
    counters = [_Counter() for _ in names]
    for values in held[:: 1 + len(held) // LOCALS_MAX]:
        # All values are thawed together, because two attributes may refer to one object.
        for counter, value in zip(counters, thaw_all(values), strict=False):
            counter.add(value)
    for name, counter in zip(names, counters, strict=True):
        if took := counter.words(depth):
            yield f"{member}.{name} took {took} so far"
