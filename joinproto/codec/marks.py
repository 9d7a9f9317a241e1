"""Marks next to a type, in `Annotated`: conditions that the type of a field does not express.

    trace_length: Annotated[int | None, AtLeast(0), "steps of the shortest run; null: none"]

The text describes the field.  If there are several texts, the last one counts, so that a field may
say more than the alias of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import attrs
from attrs import NOTHING, frozen


@frozen
class Key:
    """The key of a field in an object, if it is not the field's name."""

    key: str


@frozen
class AtLeast:
    """The least value of a number."""

    least: int


@frozen
class MoreThan:
    """The bound that a number must exceed."""

    bound: float


@frozen
class Condition:
    """A condition on a value.  `expected`: a text for errors that says what is expected."""

    holds: Callable[[Any], Any]
    expected: str


@frozen
class Sized:
    """The least and the most items that a list or an object may have."""

    least: int
    most: int


@frozen
class Digits:
    """The number of digits after the decimal point."""

    digits: int


@frozen
class Absent:
    """A field with this value is omitted from an object; a missing field has its default."""

    value: Any = None


@frozen
class Written:
    """The value is written as a value of type `kind`, which `put` makes and `take` turns back.

    `take` raises `ValueError` for a value that `put` never makes.
    """

    kind: Any
    put: Callable[[Any], Any]
    take: Callable[[Any], Any]


@frozen
class Merged:
    """The value's keys are printed among the keys of its object; such a part cannot be read.

    `optional`: the value may be None, and then it has no keys.
    """

    optional: bool = False


@frozen
class Last:
    """The part comes after all parts without this mark; marked parts are sorted by `place`."""

    place: int


Count = Annotated[int, AtLeast(0)]
Seconds = Annotated[float, AtLeast(0), Digits(3)]
"""Durations and CPU times in seconds, written with three decimals."""
Duration = Annotated[float, MoreThan(0)]
"""A duration in settings: seconds, more than 0."""


@frozen
class Part:
    """A place in the tree of a class.

    `name`: the attribute's name.  `hint`: its type with marks.  `argument`: its name in `__init__`,
    "" if the part is only printed.  `default`: the field's default, or NOTHING.
    """

    name: str
    hint: Any
    argument: str
    default: Any

    @property
    def kind(self) -> Any:
        """Return the type of the value in the tree."""
        written: Written | None = self.mark(Written)
        return stripped(self.hint)[0] if written is None else written.kind

    @property
    def marks(self) -> tuple[Any, ...]:
        return stripped(self.hint)[1]

    def mark(self, kind: type) -> Any:
        return mark_in(self.marks, kind)

    @property
    def key(self) -> str:
        renamed = self.mark(Key)
        return self.name if renamed is None else str(renamed.key)

    @property
    def about(self) -> str:
        return " ".join([mark for mark in self.marks if isinstance(mark, str)][-1].split())


@cache
def _fields(cls: type) -> tuple[Part, ...]:
    hints = get_type_hints(cls, include_extras=True)
    return tuple(
        Part(one.name, hints[one.name], one.alias if one.init else "", one.default)
        for one in attrs.fields(cls)
    )


@cache
def parts_of(cls: type) -> tuple[Part, ...]:
    """Return the described parts of a class: fields, then properties, then parts marked `Last`."""
    parts = (*_fields(cls), *(Part(name, hint, "", NOTHING) for name, hint in _properties(cls)))
    kept = [one for one in parts if one.mark(str) is not None or one.mark(Merged)]
    return tuple(sorted(kept, key=lambda one: last.place if (last := one.mark(Last)) else 0))


def arguments_of(cls: type, order: Sequence[str] | None = None) -> tuple[Part, ...]:
    """Return all fields that `__init__` takes, in this `order`, or in the class's order."""
    parts = {one.name: one for one in _fields(cls) if one.argument}
    return tuple(map(parts.__getitem__, order or parts))


def _properties(cls: type) -> Iterator[tuple[str, Any]]:
    for one in reversed(cls.__mro__):
        for name, value in vars(one).items():
            if isinstance(value, property):
                yield name, get_type_hints(value.fget, include_extras=True).get("return", Any)


def mark_in(marks: Sequence[Any], kind: type) -> Any:
    """Return the first mark of that kind, or None."""
    return next((mark for mark in marks if isinstance(mark, kind)), None)


def stripped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type and the marks next to it."""
    if get_origin(hint) is not Annotated:
        return hint, ()
    kind, *marks = get_args(hint)
    return kind, tuple(marks)
