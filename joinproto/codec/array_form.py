"""Values as arrays: the fields of a class one after the other, each in the form its type says.

    seq: Annotated[int, Field(check)]            Form.of(Kept).put(kept) == ["..", 7]

Where a class is printed with the names of its fields, that is `json_form`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen


@frozen
class Field:
    """`check`: raises, by the name of the field, for what never stands there.

    `put`, `take`: from the value to what stands there, and back; None: it stands there as it is.
    """

    check: Callable[[str, Any], None]
    put: Callable[[Any], Any] | None = None
    take: Callable[[Any], Any] | None = None


@frozen
class Form:
    """The fields of `kind` that have a form; others are left to who writes them elsewhere."""

    kind: type
    fields: tuple[tuple[str, Field], ...]
    _values: Callable[[Any], Sequence[Any]]
    _puts: tuple[tuple[int, Callable[[Any], Any]], ...]

    @classmethod
    def of(cls, kind: type) -> Form:
        marks = marks_of(kind).items()
        fields = tuple((name, mark) for name, mark in marks if isinstance(mark, Field))
        found = attrgetter(*(name for name, _ in fields))
        puts = ((at, field.put) for at, (_, field) in enumerate(fields))
        return cls(
            kind,
            fields,
            found if len(fields) > 1 else lambda value: (found(value),),
            tuple((at, put) for at, put in puts if put is not None),
        )

    def put(self, value: Any) -> list[Any]:
        """Return what stands there for a value."""
        found = [*self._values(value)]
        for at, put in self._puts:
            found[at] = put(found[at])
        return found

    def take(self, found: Sequence[Any]) -> list[Any]:
        """Return the values; there must be as many as there are fields."""
        values = []
        for (name, field), one in zip(self.fields, found, strict=True):
            field.check(name, one)
            values.append(one if field.take is None else field.take(one))
        return values


def marks_of(kind: type) -> dict[str, Any]:
    """Return what the type of each field says beside the type, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    names = [field.name for field in attrs.fields(kind)]
    return {
        name: get_args(hints[name])[1] for name in names if get_origin(hints[name]) is Annotated
    }
