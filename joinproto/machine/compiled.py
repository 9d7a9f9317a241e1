"""Tables compiled to plain Python functions: the fast reader of `terms.py`.

A table is turned into the text of one function, a line for each case, and compiled when it is
first asked; a member settles many times a second.  There is no second source: the text is made of
the terms alone.  `evaluate.py` reads the same terms slowly, `machine.py` declares them to
`transitions`, and tests hold all of them to one answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from keyword import iskeyword
from typing import TypeVar, cast

from attrs import define, field

from joinproto.errors import MisuseError
from joinproto.machine.terms import (
    ALWAYS,
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

A = TypeVar("A")

Branch = tuple[Condition, Iterable[tuple[Condition, A]]]
"""The answer next to the first condition if it holds, else next to the first of the others that
holds.
"""


def reader(branches: Iterable[Branch[A]]) -> Callable[[Sequence[object], int], A]:
    """Return the function from the members and `me` to the answer of the first case that holds.

    The first branch that applies answers, and its last case always holds.
    """
    text = _Text()
    lines = ["def read(rows, me):", "    row = rows[me]"]
    for when, cases in branches:
        lines.append(f"    if {text.condition(when)}:")
        for condition, answer in cases:
            answered = f"return {text.value(answer)}"
            if condition == ALWAYS:
                lines.append(f"        {answered}")
            else:
                lines.append(f"        if {text.condition(condition)}: {answered}")
    made: dict[str, object] = dict(text.values)
    # Nothing of it comes from outside: operators, `k0` and so on, and names of fields.
    exec("\n".join(lines), made)  # noqa: S102
    return cast("Callable[[Sequence[object], int], A]", made["read"])


@cache
def places(group: Group) -> Callable[[Sequence[object], int], list[int]]:
    """Return the function from the members and `me` to the places of the group's members."""
    text = _Text()
    found = f"return {text._all('at', group)}"
    made: dict[str, object] = dict(text.values)
    exec(f"def read(rows, me): {found}", made)  # noqa: S102  as above
    return cast("Callable[[Sequence[object], int], list[int]]", made["read"])


@define
class _Text:
    """Terms as expressions over `rows`, `me` and `row`, which is `rows[me]`."""

    values: dict[str, object] = field(factory=dict)

    def value(self, value: object) -> str:
        """Return the name under which the function finds it."""
        name = f"k{len(self.values)}"
        self.values[name] = value
        return name

    def condition(self, condition: Condition) -> str:
        match condition:
            case Always():
                return "True"
            case Not(inner):
                return f"(not {self.condition(inner)})"
            case And(left, right):
                return f"({self.condition(left)} and {self.condition(right)})"
            case Or(left, right):
                return f"({self.condition(left)} or {self.condition(right)})"
            case IsEmpty(group):
                return f"(not {self._all('1', group)})"
            case Has(group):
                return self._is_in(group, "row", "me")
            case Fact(_, _, fields):
                equal = [self._equal("row", name, value) for name, value in fields]
                return f"({' and '.join(equal) or True})"
            case FewerThan(group, count):
                least = f"row.{_field(count.field)}" if isinstance(count, Mine) else str(int(count))
                return f"(len({self._all('1', group)}) < {least})"
            case DisagreesOn(group, name):
                values = self._all(f"one.{_field(name)}", group)
                return f"{self.value(_differ)}({values})"
            case Every(group, name, value):
                return f"all({self._all(self._equal('one', name, value), group)})"
            case Some(group, name, value):
                return f"any({self._all(self._equal('one', name, value), group)})"
        raise MisuseError(
            f"no meaning for the condition {condition!r}", next="teach it to compiled.py"
        )

    def _all(self, what: str, group: Group) -> str:
        """Return the list of this, for each of the group's members, `one`, in their order."""
        return f"[{what} for at, one in enumerate(rows) if {self._is_in(group, 'one', 'at')}]"

    def _is_in(self, group: Group, one: str, at: str) -> str:
        match group:
            case Members():
                return "True"
            case Me():
                return f"({at} == me)"
            case Named(_, inner):
                return self._is_in(inner, one, at)
            case Where(inner, name, value):
                return f"({self._is_in(inner, one, at)} and {self._equal(one, name, value)})"
            case Union(left, right):
                return f"({self._is_in(left, one, at)} or {self._is_in(right, one, at)})"
            case Minus(left, right):
                return f"({self._is_in(left, one, at)} and not {self._is_in(right, one, at)})"
        raise MisuseError(f"no meaning for the set {group!r}", next="teach it to compiled.py")

    def _equal(self, one: str, name: str, value: object) -> str:
        return f"({one}.{_field(name)} == {self.value(value)})"


def _field(name: str) -> str:
    if not name.isidentifier() or iskeyword(name):
        raise MisuseError(f"{name!r} names no field", next="name a field of the members' class")
    return name


def _differ(values: Sequence[object]) -> bool:
    return any(value != values[0] for value in values)
