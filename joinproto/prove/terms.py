"""Translation of terms of decision tables to Z3: the second reader of `joinproto.machine.terms`.

`joinproto/machine/compiled.py` reads the same terms in plain Python at run time; a test compares
the two readers.  There are a few rows (`BoundedRows`), so that sets can be counted, or any number
(`UnboundedRows`).  With `UnboundedRows` the size of a set is an unknown number, which is the same
wherever the set is counted.
"""

from __future__ import annotations

import types
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from typing import Any

import z3
from attrs import define, field, fields

from joinproto.machine.terms import (
    Always,
    And,
    Condition,
    DisagreesOn,
    Every,
    Fact,
    FewerThan,
    Group,
    Has,
    IsEmpty,
    Me,
    Members,
    Mine,
    Minus,
    Named,
    Not,
    Or,
    Some,
    Union,
    Where,
)

Row = Any
"""A row, in the form that its `Rows` uses."""


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


@define
class FieldValues:
    """The values of rows' fields for Z3: flags, numbers, and other values that are only compared.

    `kind`: the class of the rows.  `codes`: the number of each other value.
    """

    kind: type[Any]
    context: Any
    codes: dict[object, int] = field(factory=dict)

    def type_of(self, name: str) -> Any:
        kind: Any = self.kind
        return _hints(kind)[name]

    def sort(self, name: str) -> Any:
        is_flag = self.type_of(name) is bool
        return z3.BoolSort(self.context) if is_flag else z3.IntSort(self.context)

    def literal(self, name: str, value: object) -> Any:
        """Return a Python value of this field as a constant."""
        if self.type_of(name) is bool:
            return z3.BoolVal(value, self.context)
        if self.type_of(name) is int:
            return z3.IntVal(value, self.context)
        return z3.IntVal(self.codes.setdefault(value, len(self.codes)), self.context)

    def is_proper(self, name: str, value: Any) -> Any:
        """Return the condition that the field can have this value."""
        hint = self.type_of(name)
        if hint is bool:
            return z3.BoolVal(True, self.context)
        if hint is int:
            kind: Any = self.kind
            return value >= (0 if getattr(fields(kind), name).default == 0 else 1)
        of = _enum_in(hint)
        if of is not None:
            values = [*of, None] if of is not hint else [*of]
            return connected(z3.Or, [value == self.literal(name, one) for one in values])
        return value >= 0

    def decoded(self, name: str, value: Any) -> object:
        """Return the Python value of Z3's value; an unknown value gets a new name."""
        if self.type_of(name) is bool:
            return bool(z3.is_true(value))
        number = int(value.as_long())
        if self.type_of(name) is int:
            return number
        known = {code: item for item, code in self.codes.items()}
        hint = self.type_of(name)
        if number in known and self._fits(hint, known[number]):
            return known[number]
        return (("option", number),) if typing.get_origin(hint) is tuple else f"value {number}"

    def _fits(self, hint: Any, value: object) -> bool:
        if value is None:
            return isinstance(hint, types.UnionType) and type(None) in typing.get_args(hint)
        return isinstance(value, Enum) == (_enum_in(hint) is not None)


def _enum_in(hint: Any) -> type[Enum] | None:
    """Return the enum of a field: its type, or the enum in a type such as `Enum | None`."""
    for one in (hint, *typing.get_args(hint)):
        if isinstance(one, type) and issubclass(one, Enum):
            return one
    return None


def connected(join: Callable[..., Any], parts: Sequence[Any]) -> Any:
    """Return And or Or of the parts, or the only part: in SMT-LIB both need two parts."""
    return parts[0] if len(parts) == 1 else join(*parts)


class Rows(ABC):
    """The rows of a table, one for each member."""

    values: FieldValues

    @abstractmethod
    def every(self, says: Callable[[Row], Any]) -> Any:
        """Return that `says` is true of all rows."""

    @abstractmethod
    def get(self, row: Row, name: str) -> Any: ...

    @abstractmethod
    def is_same(self, one: Row, other: Row) -> Any: ...

    @abstractmethod
    def fewer(self, group: Group, count: Any, me: Row) -> Any:
        """Return that the group has fewer than `count` members."""


def holds(condition: Condition, rows: Rows, me: Row) -> Any:
    """Return, for Z3, that `condition` holds for `me`."""
    match condition:
        case Always():
            return z3.BoolVal(True, rows.values.context)
        case Not(inner):
            return z3.Not(holds(inner, rows, me))
        case And(left, right):
            return z3.And(holds(left, rows, me), holds(right, rows, me))
        case Or(left, right):
            return z3.Or(holds(left, rows, me), holds(right, rows, me))
        case IsEmpty(group):
            return rows.every(lambda row: z3.Not(belongs(group, rows, row, me)))
        case Has(group):
            return belongs(group, rows, me, me)
        case Fact(_, _, given):
            return connected(
                z3.And,
                [rows.get(me, name) == rows.values.literal(name, value) for name, value in given],
            )
        case FewerThan(group, count):
            least = rows.get(me, count.field) if isinstance(count, Mine) else count
            return rows.fewer(group, least, me)
        case DisagreesOn(group, name):
            return z3.Not(
                rows.every(
                    lambda one: rows.every(
                        lambda other: z3.Implies(
                            z3.And(belongs(group, rows, one, me), belongs(group, rows, other, me)),
                            rows.get(one, name) == rows.get(other, name),
                        )
                    )
                )
            )
        case Every(group, name, value):
            wanted = rows.values.literal(name, value)
            return rows.every(
                lambda row: z3.Implies(belongs(group, rows, row, me), rows.get(row, name) == wanted)
            )
        case Some(group, name, value):
            return z3.Not(holds(IsEmpty(Where(group, name, value)), rows, me))
    raise TypeError(f"joinproto/prove/terms.py has no case for the condition {condition!r}")


def belongs(group: Group, rows: Rows, row: Row, me: Row) -> Any:
    """Return, for Z3, that the row belongs to the group."""
    match group:
        case Members():
            return z3.BoolVal(True, rows.values.context)
        case Me():
            return rows.is_same(row, me)
        case Named(_, inner):
            return belongs(inner, rows, row, me)
        case Where(inner, name, value):
            wanted = rows.values.literal(name, value)
            return z3.And(belongs(inner, rows, row, me), rows.get(row, name) == wanted)
        case Union(left, right):
            return z3.Or(belongs(left, rows, row, me), belongs(right, rows, row, me))
        case Minus(left, right):
            outside = z3.Not(belongs(right, rows, row, me))
            return z3.And(belongs(left, rows, row, me), outside)
    raise TypeError(f"joinproto/prove/terms.py has no case for the set {group!r}")


class BoundedRows(Rows):
    """A fixed number of places for rows, each taken (`there`) or free; a row is the number of its
    place.  Place 0 is always taken.
    """

    def __init__(self, kind: type[Any], places: int) -> None:
        self.context = z3.Context()
        self.values = FieldValues(kind, self.context)
        self.names = [item.name for item in fields(kind)]
        self.there = [z3.Bool(f"there{at}", self.context) for at in range(places)]
        self._cells = [
            {name: z3.Const(f"{name}{at}", self.values.sort(name)) for name in self.names}
            for at in range(places)
        ]

    def every(self, says: Callable[[Row], Any]) -> Any:
        return connected(
            z3.And, [z3.Implies(there, says(at)) for at, there in enumerate(self.there)]
        )

    def get(self, row: Row, name: str) -> Any:
        return self._cells[row][name]

    def is_same(self, one: Row, other: Row) -> Any:
        return z3.BoolVal(one == other, self.context)

    def fewer(self, group: Group, count: Any, me: Row) -> Any:
        one, none = z3.IntVal(1, self.context), z3.IntVal(0, self.context)
        belonging = [
            z3.If(z3.And(there, belongs(group, self, at, me)), one, none)
            for at, there in enumerate(self.there)
        ]
        return z3.Sum(*belonging) < count

    def proper(self) -> Any:
        """Return that place 0 is taken, and that every cell has a value that its field can have."""
        cells = [
            self.values.is_proper(name, value)
            for cell in self._cells
            for name, value in cell.items()
        ]
        return z3.And(self.there[0], *cells)

    def decoded(self, model: Any) -> list[Any]:
        """Return the rows of this model as Python objects for the table."""
        found = []
        for at, there in enumerate(self.there):
            if at and not z3.is_true(model.eval(there, model_completion=True)):
                continue
            cells = {
                name: self.values.decoded(name, model.eval(cell, model_completion=True))
                for name, cell in self._cells[at].items()
            }
            found.append(self.values.kind(**cells))
        return found


class UnboundedRows(Rows):
    """Any number of rows, at least one."""

    def __init__(self, kind: type[Any]) -> None:
        self.context = z3.Context()
        self.values = FieldValues(kind, self.context)
        self.names = [item.name for item in fields(kind)]
        self.row = z3.DeclareSort("row", self.context)
        # A field may have the name of a member, and in SMT-LIB each name has one meaning.
        self._of = {
            name: z3.Function(f"its-{name}", self.row, self.values.sort(name))
            for name in self.names
        }
        self._bound = 0
        self._sizes: dict[str, Any] = {}

    def member(self, name: str) -> Row:
        return z3.Const(name, self.row)

    def every(self, says: Callable[[Row], Any]) -> Any:
        self._bound += 1
        row = z3.Const(f"row{self._bound}", self.row)
        return z3.ForAll([row], says(row))

    def get(self, row: Row, name: str) -> Any:
        return self._of[name](row)

    def is_same(self, one: Row, other: Row) -> Any:
        return one == other

    def fewer(self, group: Group, count: Any, me: Row) -> Any:
        # The size is unknown, but the same for all rows `me`: no set that is counted in a table
        # depends on `me`, and a test checks that this remains so.
        name = f"size{len(self._sizes)}"
        return self._sizes.setdefault(repr(group), z3.Int(name, self.context)) < count
