"""Terms: the conditions of the decision tables, as data.

A term is built from named sets of members.  It is about the members that one member knows of, that
member (`me`) included.  This module evaluates no term: `compiled.py` turns terms into Python
functions, and the proofs read the same terms for any number of members.

    sets        Members, Me, Where, Union, Minus, Named
    conditions  IsEmpty, FewerThan, DisagreesOn, Has, Every, Some, Fact, Not, And, Or, Always
    numbers     Mine, or a plain int

For a new kind of term, all code that reads terms must be extended.
Quantifiers (Every, Some, DisagreesOn, FewerThan) are never expanded, and a named set keeps its
name, so a printed condition says `C` and not the definition of C.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, NoReturn

from attrs import fields_dict, frozen

from joinproto.errors import MisuseError


class _NoValue:
    """The base of all terms; it refuses uses in which Python would take a term for a value."""

    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise MisuseError(
            f"a condition is not true or false by itself: {self}",
            next="write & | ~ instead of and, or, not, and a case of a table instead of if;"
            " holds(condition, members, me) tells whether it holds",
        )

    def __contains__(self, item: object) -> NoReturn:
        raise MisuseError(
            f"`in` cannot test a set of members: {self}", next="write C.has(ME), or C.some(...)"
        )

    def __iter__(self) -> NoReturn:
        raise MisuseError(
            f"a set of members has no members yet: {self}",
            next="write C.every(...) or C.some(...); members_of(C, members, me) lists them",
        )

    def __len__(self) -> NoReturn:
        raise MisuseError(
            f"a set of members has no size yet: {self}", next="write C.fewer_than(n) or C.is_empty"
        )


# -- sets ----------------------------------------------------------------------------------


@frozen
class Group(_NoValue, ABC):
    """A set of members."""

    @property
    @abstractmethod
    def of(self) -> type[Any]:
        """The class of the rows that describe the members."""

    def where(self, **fields: object) -> Group:
        """Return the set of its members whose fields have these values."""
        found: Group = self
        for name, value in self._checked(fields).items():
            found = Where(found, name, value)
        return found

    def named(self, name: str) -> Group:
        """Return the same set under a name, which conditions will print."""
        return Named(name, self)

    def __or__(self, other: Group) -> Group:
        return Union(self, self._checked_group(other))

    def __sub__(self, other: Group) -> Group:
        return Minus(self, self._checked_group(other))

    @property
    def is_empty(self) -> Condition:
        return IsEmpty(self)

    def fewer_than(self, count: int | Mine) -> Condition:
        """Return the condition that the set has fewer than `count` members."""
        if isinstance(count, int) and count < 1:
            raise MisuseError(
                f"no set has fewer than {count} members", next="count from 1, or use is_empty"
            )
        return FewerThan(self, count)

    def disagrees_on(self, name: str) -> Condition:
        """Return the condition that two of its members differ in the field `name`."""
        self._checked({name: None})
        return DisagreesOn(self, name)

    def has(self, member: Me) -> Condition:
        """Return the condition that the deciding member is in the set."""
        self._checked_group(member)
        return Has(self)

    def every(self, **fields: object) -> Condition:
        """Return the condition that all its members have these values; true of an empty set."""
        return _conjunction(
            Every(self, name, value) for name, value in self._checked(fields).items()
        )

    def some(self, **fields: object) -> Condition:
        """Return the condition that at least one of its members has all these values."""
        *outer, last = self._checked(fields).items()
        return Some(self.where(**dict(outer)) if outer else self, *last)

    def _checked(self, fields: dict[str, object]) -> dict[str, object]:
        there = fields_dict(self.of)
        for name in fields:
            if name not in there:
                raise MisuseError(
                    f"{self.of.__name__} has no field {name!r}", next="it has " + ", ".join(there)
                )
        if not fields:
            raise MisuseError("no field is named", next="name one: where(store=Store.CLEAN)")
        return fields

    def _checked_group(self, other: Group) -> Group:
        if self.of is not other.of:
            raise MisuseError(
                f"{self} holds {self.of.__name__} and {other} holds {other.of.__name__}",
                next="build both from the same Members",
            )
        return other


@frozen
class Members(Group):
    """All members that the deciding member knows of, itself included."""

    name: str
    row: type[Any]

    @property
    def of(self) -> type[Any]:
        return self.row

    @property
    def me(self) -> Me:
        return Me(self.row)

    def fact(self, said: str, **fields: object) -> Condition:
        """Return the condition that the deciding member has these values; `said`: its text."""
        return Fact(self.of, said, tuple(self._checked(fields).items()))

    def mine(self, name: str) -> Mine:
        """Return a number: the deciding member's value of the field `name`."""
        self._checked({name: None})
        return Mine(name)

    def __str__(self) -> str:
        return self.name


@frozen
class Me(Group):
    """The deciding member alone."""

    row: type[Any]

    @property
    def of(self) -> type[Any]:
        return self.row

    def __str__(self) -> str:
        return "me"


@frozen
class Where(Group):
    group: Group
    field: str
    value: object

    @property
    def of(self) -> type[Any]:
        return self.group.of

    def __str__(self) -> str:
        return f"{_in_brackets(self.group)} with {_equals(self.field, self.value)}"


@frozen
class _Pair(Group):
    left: Group
    right: Group

    @property
    def of(self) -> type[Any]:
        return self.left.of


@frozen
class Union(_Pair):
    def __str__(self) -> str:
        return f"{self.left} + {self.right}"


@frozen
class Minus(_Pair):
    def __str__(self) -> str:
        return f"{self.left} - {_in_brackets(self.right)}"


@frozen
class Named(Group):
    name: str
    group: Group

    @property
    def of(self) -> type[Any]:
        return self.group.of

    def __str__(self) -> str:
        return self.name


@frozen
class Mine(_NoValue):
    """A number: the deciding member's value of this field."""

    field: str

    def __str__(self) -> str:
        return f"my {_hyphenated(self.field)}"


# -- conditions ----------------------------------------------------------------------------


@frozen
class Condition(_NoValue):
    """A statement about the members that one member knows of; it holds or does not hold."""

    def __and__(self, other: Condition) -> Condition:
        return And(self, other)

    def __or__(self, other: Condition) -> Condition:
        return Or(self, other)

    def __invert__(self) -> Condition:
        return Not(self)


@frozen
class IsEmpty(Condition):
    group: Group

    def __str__(self) -> str:
        return f"{self.group} is empty"


@frozen
class FewerThan(Condition):
    group: Group
    count: int | Mine

    def __str__(self) -> str:
        return f"{self.group} has fewer than {self.count}"


@frozen
class DisagreesOn(Condition):
    group: Group
    field: str

    def __str__(self) -> str:
        return f"{_hyphenated(self.field)} not the same within {self.group}"


@frozen
class Has(Condition):
    group: Group

    def __str__(self) -> str:
        return f"me in {self.group}"


@frozen
class _Quantified(Condition):
    group: Group
    field: str
    value: object

    def __str__(self) -> str:
        which = type(self).__name__.lower()
        return f"{which} {self.group} has {_equals(self.field, self.value)}"


@frozen
class Every(_Quantified):
    """All members of the group have this value in the field; true of an empty group."""


@frozen
class Some(_Quantified):
    """At least one member of the group has this value in the field."""


@frozen
class Fact(Condition):
    """The deciding member has these values."""

    of: type[Any]
    said: str
    fields: tuple[tuple[str, object], ...]

    def __str__(self) -> str:
        return self.said


@frozen
class Not(Condition):
    condition: Condition

    def __str__(self) -> str:
        match self.condition:
            case IsEmpty(group):
                return f"{group} is not empty"
            case FewerThan(group, count):
                return f"{group} has at least {count}"
            case DisagreesOn(group, name):
                return f"{_hyphenated(name)} the same within {group}"
            case Has(group):
                return f"me not in {group}"
            case And() | Or() | Fact():
                return f"not ({self.condition})"
        return f"not {self.condition}"


@frozen
class _Both(Condition):
    left: Condition
    right: Condition

    def __str__(self) -> str:
        return f" {type(self).__name__.lower()} ".join(
            str(side) if type(side) is type(self) or not isinstance(side, _Both) else f"({side})"
            for side in (self.left, self.right)
        )


@frozen
class And(_Both):
    """Both conditions hold."""


@frozen
class Or(_Both):
    """One of the conditions holds, or both do."""


@frozen
class Always(Condition):
    def __str__(self) -> str:
        return "always"


ALWAYS = Always()


def _conjunction(conditions: Any) -> Condition:
    first, *others = conditions
    for other in others:
        first = And(first, other)
    return first  # type: ignore[no-any-return]


def _in_brackets(group: Group) -> str:
    return f"({group})" if isinstance(group, Union | Minus) else str(group)


def _hyphenated(name: str) -> str:
    return name.replace("_", "-")


def _equals(name: str, value: object) -> str:
    if isinstance(value, bool):
        return f"{'' if value else 'not '}{_hyphenated(name)}"
    shown = value.value if isinstance(value, Enum) else "none" if value is None else value
    return f"{_hyphenated(name)} = {shown}"
