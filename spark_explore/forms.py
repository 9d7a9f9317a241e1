"""The form of a model's values in the dataset: numbers, lists and structs keep their types.

    bool, int, float              bool, int64, float64 (an int and a float in one place: float64)
    a text, an enum               string
    a tuple, list or deque        a list; a tuple whose items are of several kinds, and that has one
                                  length everywhere, is a struct with the fields `_1`, `_2`, ...
    a set                         a list, in the order of its items' texts
    a mapping                     a list of structs with the fields `key` and `value`
    an object                     a struct of its fields

Other values are text, as in a trace: an object whose class has a `__str__`, values of several kinds
in one place, and numbers in a place where some do not fit into int64 or float64.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import pyarrow as pa
from attrs import frozen

from joinproto.check.events import fields_of, plain

_INT64 = range(-(2**63), 2**63)
_EXACT = range(-(2**53), 2**53 + 1)
"""The integers that a float64 holds exactly."""


@frozen
class Form:
    """A form.  `kind`: an Arrow type.  `write`: converts a value that is not None for Arrow.

    `mixed`: whether the form is text because there are values of several kinds.
    """

    kind: Any
    write: Callable[[Any], Any]
    mixed: bool = False

    def array(self, values: Sequence[Any]) -> Any:
        """Return values as an Arrow array; None is a missing value."""
        return pa.array(self.written(values), self.kind)

    def written(self, values: Sequence[Any]) -> list[Any]:
        return [None if value is None else self.write(value) for value in values]


_TEXT, _MIXED = Form(pa.string(), plain), Form(pa.string(), plain, mixed=True)


def form_of(values: Sequence[Any]) -> Form:
    """Return the form in which all of these values can be written; None fits every form."""
    some = [value for value in values if value is not None]
    kinds = {type(value) for value in some}
    if kinds == {bool}:
        return Form(pa.bool_(), bool)
    if kinds == {int}:
        return Form(pa.int64(), int) if all(value in _INT64 for value in some) else _TEXT
    if kinds <= {int, float} and kinds:
        exact = all(isinstance(value, float) or value in _EXACT for value in some)
        return Form(pa.float64(), float) if exact else _TEXT
    if all(isinstance(value, str | Enum) for value in some):
        return _TEXT
    if all(isinstance(value, set | frozenset) for value in some):
        item = form_of([part for value in some for part in value])
        return _list(item, lambda value: sorted(value, key=plain))
    if all(isinstance(value, Mapping) for value in some):
        return _pairs(some)
    if all(isinstance(value, tuple | list | deque) for value in some):
        return _sequence(some)
    fields = [fields_of(value) for value in some]
    if len(kinds) == 1 and fields[0]:
        return _struct(
            {name: [item[name] for item in fields if item] for name in fields[0]}, _field_values
        )
    return _TEXT if len(kinds) == 1 else _MIXED


def _field_values(value: Any) -> Iterator[Any]:
    return iter((fields_of(value) or {}).values())


def _struct(fields: Mapping[str, Sequence[Any]], parts: Callable[[Any], Iterator[Any]]) -> Form:
    """Return the form of structs.

    `fields`: the values of each field.  `parts`: yields the fields of one struct in that order.
    """
    forms = {name: form_of(values) for name, values in fields.items()}

    def write(value: Any) -> dict[str, Any]:
        found = zip(forms.items(), parts(value), strict=True)
        return {name: None if part is None else form.write(part) for (name, form), part in found}

    return Form(pa.struct([(name, form.kind) for name, form in forms.items()]), write)


def _list(item: Form, parts: Callable[[Any], Sequence[Any]]) -> Form:
    return Form(pa.list_(item.kind), lambda value: item.written(parts(value)))


def _pairs(values: Sequence[Mapping[Any, Any]]) -> Form:
    pairs = {
        "key": [key for value in values for key in value],
        "value": [item for value in values for item in value.values()],
    }
    pair = _struct(pairs, iter)
    return _list(pair, lambda value: sorted(value.items(), key=lambda one: plain(one[0])))


def _sequence(values: Sequence[Sequence[Any]]) -> Form:
    item = form_of([part for value in values for part in value])
    if item.mixed and {tuple} == {*map(type, values)} and len({*map(len, values)}) == 1:
        places = {f"_{at}": column for at, column in enumerate(zip(*values, strict=True), 1)}
        return _struct(places, iter)
    return _list(item, list)


# -- names ---------------------------------------------------------------------------------


def name_of(kind: Any) -> str:
    """Return the name of a type: `int64`, `list<string>`, `struct<key: string, value: bool>`."""
    if pa.types.is_dictionary(kind):
        return name_of(kind.value_type)
    if pa.types.is_list(kind):
        return f"list<{name_of(kind.value_type)}>"
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{one.name}: {name_of(one.type)}' for one in kind)}>"
    return "float64" if pa.types.is_float64(kind) else str(kind)


def leaves(name: str, kind: Any) -> Iterator[str]:
    """Yield the names of a Parquet file's columns for a column of this type."""
    if pa.types.is_list(kind):
        yield from leaves(f"{name}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for one in kind:
            yield from leaves(f"{name}.{one.name}", one.type)
    else:
        yield name
