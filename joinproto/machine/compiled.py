"""Terms and tables compiled to plain Python functions, which a running member calls.

A table is turned into the text of one function, with a line for each case, and compiled at its
first use, because a member decides many times a second.  The text is made from the terms alone.
`machine.py` declares the same terms to the library `transitions`, and the tests evaluate them in a
third, slow way; all three must give the same answer.

`members`: a row for each member that the deciding member knows of, in their order.  `me`: its own
place among them, from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from keyword import iskeyword
from typing import Any, TypeVar

from attrs import define, field

from joinproto.errors import MisuseError
from joinproto.machine import terms

A = TypeVar("A")

Branch = tuple[terms.Condition, Iterable[tuple[terms.Condition, A]]]
"""A condition, and cases with answers, in their order."""


def reader(branches: Iterable[Branch[A]]) -> Callable[[Sequence[object], int], A]:
    """Return a function from the members and `me` to the answer of the first case that holds.

    The cases are those of the first branch whose condition holds.  One of them must hold.
    """
    text = _Text()
    lines = ["    row = rows[me]"]
    for when, cases in branches:
        lines.append(f"    if {text.condition(when)}:")
        for condition, answer in cases:
            lines.append(f"        if {text.condition(condition)}: return {text.value(answer)}")
    return text.compiled(lines)


def holds(condition: terms.Condition, members: Sequence[object], me: int) -> bool:
    """Return whether `condition` holds for the member at place `me`."""
    return _compiled_condition(condition)(members, me)


@cache
def _compiled_condition(condition: terms.Condition) -> Callable[[Sequence[object], int], bool]:
    return reader([(terms.ALWAYS, [(condition, True), (terms.ALWAYS, False)])])


def members_of(group: terms.Group, members: Sequence[object], me: int) -> list[int]:
    """Return the places of the group's members, in their order."""
    return _compiled_group(group)(members, me)


@cache
def _compiled_group(group: terms.Group) -> Callable[[Sequence[object], int], list[int]]:
    text = _Text()
    return text.compiled([f"    return {text.all_of('at', group)}"])


@define
class _Text:
    """Terms as expressions over `rows`, `me` and `row`, which is `rows[me]`."""

    values: dict[str, Any] = field(factory=dict)

    def compiled(self, lines: list[str]) -> Callable[[Sequence[object], int], Any]:
        """Return the function whose body is `lines`."""
        made = dict(self.values)
        # This is safe: the text has only operators, names such as `k0`, and names of fields.
        exec("\n".join(["def read(rows, me):", *lines]), made)  # noqa: S102
        read: Callable[[Sequence[object], int], Any] = made["read"]
        return read

    def value(self, value: object) -> str:
        """Return the name by which the function refers to `value`."""
        name = f"k{len(self.values)}"
        self.values[name] = value
        return name

    def condition(self, condition: terms.Condition) -> str:
        match condition:
            case terms.Always():
                return "True"
            case terms.Not(inner):
                return f"(not {self.condition(inner)})"
            case terms.And(left, right):
                return f"({self.condition(left)} and {self.condition(right)})"
            case terms.Or(left, right):
                return f"({self.condition(left)} or {self.condition(right)})"
            case terms.IsEmpty(group):
                return f"(not {self.all_of('1', group)})"
            case terms.Has(group):
                return self._is_in(group, "row", "me")
            case terms.Fact(_, _, fields):
                equal = [self._equal("row", name, value) for name, value in fields]
                return f"({' and '.join(equal) or True})"
            case terms.FewerThan(group, count):
                least = (
                    f"row.{_field(count.field)}"
                    if isinstance(count, terms.Mine)
                    else str(int(count))
                )
                return f"(len({self.all_of('1', group)}) < {least})"
            case terms.DisagreesOn(group, name):
                values = self.all_of(f"one.{_field(name)}", group)
                return f"{self.value(_differ)}({values})"
            case terms.Every(group, name, value):
                return f"all({self.all_of(self._equal('one', name, value), group)})"
            case terms.Some(group, name, value):
                return f"any({self.all_of(self._equal('one', name, value), group)})"
        raise MisuseError(
            f"the condition {condition!r} is of an unknown kind", next="add the kind to compiled.py"
        )

    def all_of(self, item: str, group: terms.Group) -> str:
        """Return the text of a list with `item` for each member `one` of the group, in order."""
        return f"[{item} for at, one in enumerate(rows) if {self._is_in(group, 'one', 'at')}]"

    def _is_in(self, group: terms.Group, one: str, at: str) -> str:
        match group:
            case terms.Members():
                return "True"
            case terms.Me():
                return f"({at} == me)"
            case terms.Named(_, inner):
                return self._is_in(inner, one, at)
            case terms.Where(inner, name, value):
                return f"({self._is_in(inner, one, at)} and {self._equal(one, name, value)})"
            case terms.Union(left, right):
                return f"({self._is_in(left, one, at)} or {self._is_in(right, one, at)})"
            case terms.Minus(left, right):
                return f"({self._is_in(left, one, at)} and not {self._is_in(right, one, at)})"
        raise MisuseError(
            f"the set {group!r} is of an unknown kind", next="add the kind to compiled.py"
        )

    def _equal(self, one: str, name: str, value: object) -> str:
        return f"({one}.{_field(name)} == {self.value(value)})"


def _field(name: str) -> str:
    if not name.isidentifier() or iskeyword(name):
        raise MisuseError(
            f"{name!r} cannot be the name of a field", next="name a field of the members' class"
        )
    return name


def _differ(values: Sequence[object]) -> bool:
    return any(value != values[0] for value in values)
