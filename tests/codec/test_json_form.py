"""The output and its schema are as the type says."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any

import pytest
from attrs import frozen

from joinproto.codec.json_form import (
    Absent,
    Count,
    Key,
    Merged,
    Seconds,
    Written,
    canonical_hash,
    encoded,
    printed,
    read,
    schema_of,
)
from joinproto.codec.malformed import Malformed
from tests.cli.schemas import faults, unexplained


class Colour(Enum):
    RED = "red"


@frozen
class Inner:
    """A class within another."""

    sender: Annotated[str, Key("from"), "who"]
    hidden: int = 3


@frozen
class Extra:
    why: Annotated[str, "why"]


@frozen(kw_only=True)
class Outer:
    """A class that contains another."""

    seconds: Annotated[Seconds, "the duration"] = 1.23456
    inner: Annotated[tuple[Inner, ...], "the inner values"] = (Inner("a"),)
    times: Annotated[Mapping[str, Count], "counts by name"] = {"x": 1}
    colour: Annotated[Colour | None, "the colour"] = Colour.RED
    absent: Annotated[str | None, Absent(), "a value that may be missing"] = None
    extra: Annotated[Extra | None, Merged(optional=True)] = None

    @property
    def first(self) -> Annotated[Count | None, "a number"]:
        return None


def test_described_fields_are_printed_and_no_others() -> None:
    """A key may be renamed and a number rounded; `hidden` has no description."""
    tree = {"seconds": 1.235, "inner": [{"from": "a"}], "times": {"x": 1}, "colour": "red"}

    assert tree | {"first": None} == encoded(Outer())
    assert '"absent": "here"' in printed(Outer(absent="here"))
    assert "because" == encoded(Outer(extra=Extra("because")))["why"]


@pytest.mark.parametrize("value", [Outer(), Outer(absent="x", colour=None, extra=Extra("y"))])
def test_the_schema_of_a_type_takes_its_values(value: Outer) -> None:
    schema = schema_of(Outer)

    assert [] == [*faults(encoded(value), schema), *unexplained(encoded(value), schema)]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"seconds": -1}, "$.seconds: -1 is less than 0"),
        ({"colour": "blue"}, "$.colour: 'blue' is not one of ['red', None]"),
        ({"inner": [{}]}, "$.inner[0]: 'from' is missing"),
        ({"times": {"x": "often"}}, "$.times.x: 'often' is not of type integer"),
    ],
)
def test_the_schema_of_a_type_refuses_other_values(change: dict[str, Any], fault: str) -> None:
    assert [fault] == list(faults(encoded(Outer()) | change, schema_of(Outer)))


@frozen
class ComplexField:
    number: Annotated[complex, "a number"]


def test_a_type_without_a_place_in_json_is_refused() -> None:
    """It is refused when the schema is made, and every printed class has a schema."""
    with pytest.raises(TypeError, match="no place in a JSON object"):
        schema_of(ComplexField)


def test_the_canonical_hash_never_changes() -> None:
    """Histories, plans and .info files of every version contain this hash."""
    expected = "9d57496cc00f5bc8e497bb536b5910e6d35ca5ec7384dd44272f95ce0ad31c4d"

    assert expected == canonical_hash({"b": [1, None], "a": "ü"})


PLACE = Written(tuple[float, float], lambda z: [z.real, z.imag], lambda at: complex(*at))


@frozen(kw_only=True)
class Kept:
    """A value that is written and read again."""

    colour: Annotated[Colour | None, "the colour"]
    inner: Annotated[tuple[Inner, ...], "the inner values"] = ()
    times: Annotated[Mapping[str, Count], "counts by name"] = {}
    place: Annotated[complex, PLACE, "a place"] = 1j
    sure: Annotated[bool, Absent(), "whether this is sure; earlier versions lack it"] = False


TWO = (Inner("a"), Inner("b"))
KEPT = Kept(colour=Colour.RED, inner=TWO, times={"x": 2}, place=1 + 2j, sure=True)


@pytest.mark.parametrize("value", [KEPT, Kept(colour=None)])
def test_an_encoded_value_is_read_again(value: Kept) -> None:
    """The same annotations are used for reading; an unknown key is ignored."""
    assert value == read(Kept, encoded(value) | {"unknown": 1})


def test_only_fields_that_may_be_absent_may_be_left_out() -> None:
    tree = encoded(KEPT)

    assert not read(Kept, {key: value for key, value in tree.items() if key != "sure"}).sure
    with pytest.raises(Malformed, match="times: found no value"):
        read(Kept, {key: value for key, value in tree.items() if key != "times"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("colour", "green"),
        ("inner", "ab"),
        ("inner", [{"from": None}]),
        ("inner", [5]),
        ("times", [["x", 2]]),
        ("times", {"x": True}),
        ("times", {"x": 2.0}),
        ("place", [1.0]),
        ("place", ["1", "2"]),
        ("sure", 1),
        ("sure", None),
    ],
)
def test_reading_converts_no_value_to_another_type(key: str, value: object) -> None:
    """ "5" is not a number, True is not 1, a text is not a list of characters."""
    with pytest.raises(Malformed, match=f"^{key}"):
        read(Kept, encoded(KEPT) | {key: value})
