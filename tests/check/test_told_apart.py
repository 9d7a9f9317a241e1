"""Equal values that behave differently make two states, or are refused by name."""

from __future__ import annotations

import dataclasses
import datetime as dt
import fractions
import pathlib
import re
import uuid
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

from joinproto.check import World, always_each
from joinproto.check.check import check
from joinproto.check.freeze import freeze, thaw
from joinproto.check.problems import ModelProblem

UTC = dt.UTC
LATER = dt.timezone(dt.timedelta(hours=1))


class SlottedBase:
    __slots__ = ("extra",)
    extra: int


@dataclasses.dataclass(slots=True)
class Derived(SlottedBase):
    x: int = 0


@dataclasses.dataclass(slots=True, frozen=True)
class FrozenDerived(SlottedBase):
    x: int = 0


@attrs.define
class AttrsDerived(SlottedBase):
    x: int = 0


class Mangled:
    __slots__ = ("__n",)

    def __init__(self, n: int) -> None:
        self.__n = n

    def __eq__(self, other: object) -> bool:
        return type(other) is Mangled and self.__n == other.__n

    def __hash__(self) -> int:
        return 1


class Whole(int):
    pass


class Real(float):
    pass


class Name(str):  # noqa: SLOT000  it may hold more
    pass


class Tagged(tuple[int, ...]):  # noqa: SLOT001  it may hold more
    pass


class Pair(NamedTuple):
    one: int


class Named(Pair):
    pass


class Bag(frozenset[Any]):
    pass


class Instant(dt.datetime):
    pass


@dataclasses.dataclass(order=True, frozen=True)
class Failure(Exception):
    x: int = 0


def with_extra(made: Any, extra: int) -> Any:
    object.__setattr__(made, "extra", extra)
    return made


def extras(kind: type) -> tuple[Any, Any]:
    return with_extra(kind(), 1), with_extra(kind(), 2)


DAY = dt.datetime(2020, 1, 1)  # noqa: DTZ001
ZONED = dt.datetime(2020, 1, 1, 0, tzinfo=UTC), dt.datetime(2020, 1, 1, 1, tzinfo=LATER)

DIFFERENT: dict[str, tuple[Any, Any]] = {
    "decimal": (Decimal("1.0"), Decimal("1.00")),
    "decimal in a tuple": ((Decimal("1.0"),), (Decimal("1.00"),)),
    "zones": ZONED,
    "zones of files": (
        dt.datetime(2020, 1, 1, 0, tzinfo=zoneinfo.ZoneInfo("UTC")),
        dt.datetime(2020, 1, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
    ),
    "fold": (DAY, DAY.replace(fold=1)),
    "fold of a time": (dt.time(1), dt.time(1, fold=1)),
    "datetime's class": (Instant(2020, 1, 1), DAY),
    "slots of a base": extras(Derived),
    "slots of a frozen base": extras(FrozenDerived),
    "slots of an attrs base": extras(AttrsDerived),
    "private slots": (Mangled(1), Mangled(2)),
    "float's class": (Real(0.0), Real(-0.0)),
    "frozenset's class": (Bag([1]), Bag([True])),
    "np.float64": (np.float64(0.0), np.float64(-0.0)),
    "np.int64": (np.int64(1), np.int32(1)),
    "fraction": (fractions.Fraction(1), fractions.Fraction(2)),
    "uuid": (uuid.UUID(int=1), uuid.UUID(int=2)),
    "path": (pathlib.PurePosixPath("a"), pathlib.PureWindowsPath("a")),
    "pattern": (re.compile("a"), re.compile("a", re.IGNORECASE)),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_values_that_behave_differently_have_different_frozen_forms(name: str) -> None:
    one, other = map(freeze, DIFFERENT[name])

    assert one != other
    for value, frozen in zip(DIFFERENT[name], (one, other), strict=True):
        thawed = thaw(frozen)
        assert type(value) is type(thawed)
        assert value == thawed
        assert frozen == freeze(thawed)


SAME: dict[str, Callable[[], Any]] = {
    "decimal": lambda: Decimal("1.0"),
    "zones": lambda: dt.datetime(2020, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")),
    "int's class": lambda: Whole(1000),
    "str's class": lambda: Name("a" * 3),
    "tuple's class": lambda: Tagged((1, 2)),
    "named tuple's class": lambda: Named(1),
    "frozenset's class": lambda: Bag(["a", "b"]),
    "slots of a base": lambda: with_extra(Derived(), 1),
    "nan": lambda: np.float64("nan"),
    "path": lambda: pathlib.PurePosixPath("a"),
}


@pytest.mark.parametrize("name", SAME)
def test_equal_values_have_one_frozen_form(name: str) -> None:
    assert freeze(SAME[name]()) == freeze(SAME[name]())


@pytest.mark.parametrize(
    "made", [Whole(3), Name("x"), Tagged((1,)), Named(1), Bag([1]), Real(1.0), Instant(2020, 1, 1)],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_value_with_an_added_attribute_is_refused_by_name(made: Any) -> None:
    made.tag = 1

    with pytest.raises(ModelProblem, match=rf"{type(made).__name__} cannot be .*'tag'"):
        freeze(made)


@pytest.mark.parametrize("made", [memoryview(b"a"), Failure(1)], ids=["memoryview", "exception"])
def test_a_memoryview_and_an_exception_are_refused(made: Any) -> None:
    with pytest.raises(ModelProblem, match="cannot be part of a state"):
        freeze(made)


class Holder:
    def __init__(self) -> None:
        self.value: Any = None

    def choices(self) -> Any:
        return [] if self.value else ["one", "other"]

    def receive(self, event: Any) -> Any:
        self.value = Decimal("1.0") if event == "one" else Decimal("1.00")

    def shows(self) -> str:
        return str(self.value)


def test_a_state_that_differs_only_in_the_digits_of_a_decimal_is_searched() -> None:
    claim = always_each("never 1.00", lambda shown: shown != "1.00")

    report = check(World(name="holder", members={"a": Holder}, properties=[claim]))

    assert (3, "violated") == (report.distinct, report.properties[0].result)
