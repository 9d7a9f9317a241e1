"""Values are written as bytes and read back; reading runs no code that the bytes name."""

from __future__ import annotations

import contextlib
import datetime as dt
import enum
import fractions
import ipaddress
import json
import pickle
import uuid
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.check.engine.tables import kept_values
from joinproto.check.engine.tables.kept_values import CannotKeep, Names, read, written
from joinproto.check.freeze import freeze
from joinproto.check.frozen import FALSE, TRUE
from joinproto.check.view import DOWN


class Colour(enum.Enum):
    RED = (1, "red")


class Pair(NamedTuple):
    one: int
    other: Any


class Real(float):
    pass


@dataclass(frozen=True)
class Key:
    n: Any


@attrs.frozen(cache_hash=True)
class Point:
    x: Any


class Slotted:
    __slots__ = ("here", "unset")

    def __init__(self, here: Any) -> None:
        self.here = here

    def __eq__(self, other: object) -> bool:
        return type(other) is Slotted and self.here == other.here

    def __repr__(self) -> str:
        return f"Slotted({self.here!r})"

    __hash__ = None  # type: ignore[assignment]


class CountedCalls:
    """Counts how often it was made, and has its own `__reduce__`."""

    made = 0

    def __init__(self) -> None:
        CountedCalls.made += 1

    def __reduce__(self) -> Any:
        return CountedCalls, ()


def helper(x: int) -> int:
    return x


def is_this_module(module: str) -> bool:
    return module == __name__


THIS_MODULE = Names(allows=is_this_module)


def read_back(value: Any, names: Names = THIS_MODULE) -> Any:
    return read(written(value, names), names)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -1, 1 << 80, 1.5, float("inf"), "ä\n", b"\x00\xff"),
        *((), (1, (2,)), [1, [2]], {1: {"a": ()}}, {1, 2}, frozenset({(1, 2)})),
        *(Colour.RED, Pair(1, [2]), Real(2.5), Key([1]), Point((1, 2)), Slotted({"a": 1})),
        *(Decimal("1.00"), fractions.Fraction(1, 3), range(3), ipaddress.ip_address("::1")),
        *(dt.datetime(2020, 1, 1, tzinfo=dt.UTC, fold=1), dt.timedelta(1), uuid.UUID(int=7)),
        freeze({"a": [Key(1), {Decimal("1.0")}], "b": Colour.RED}),
    ],
    ids=repr,
)
def test_values_of_models_come_back(value: Any) -> None:
    found = read_back(value)

    assert (type(value), value) == (type(found), found)
    assert repr(found) == repr(value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner)
        | inner.map(Key)
        | inner.map(Slotted)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_random_values_come_back(value: Any) -> None:
    assert value == read_back(value)


def test_a_value_held_twice_is_one_object() -> None:
    one = [1]

    found = read_back({"a": one, "b": (one,)})

    assert found["a"] is found["b"][0]


def test_a_singleton_comes_back_as_itself() -> None:
    assert all(read_back(only) is only for only in (TRUE, FALSE, DOWN))


def test_arrays_come_back_and_can_be_written_to() -> None:
    found = read_back({"a": np.arange(6, dtype=np.int16).reshape(2, 3)})["a"]

    found[0, 0] = 9
    assert (np.int16, [[9, 1, 2], [3, 4, 5]]) == (found.dtype, found.tolist())


def test_only_a_function_that_the_reader_holds_is_written_and_read() -> None:
    names = Names.of([helper], is_this_module)

    assert read_back(("call", helper), names)[1] is helper
    with pytest.raises(CannotKeep, match=r"it names .*helper"):
        written(helper, THIS_MODULE)


def test_only_a_local_class_that_the_reader_holds_is_written_and_read() -> None:
    @attrs.frozen
    class Local:
        x: int

    assert Local(1) == read_back(Local(1), Names.of([Local(2)], is_this_module))
    with pytest.raises(CannotKeep, match="Local"):
        written(Local(1), THIS_MODULE)


def test_a_value_with_its_own_reduce_is_refused() -> None:
    with pytest.raises(CannotKeep, match="a value of CountedCalls cannot be written as data"):
        written(CountedCalls(), THIS_MODULE)


def bytes_of(names: list[list[str]], nodes: list[int], leaves: list[Any]) -> bytes:
    text = json.dumps({"leaves": leaves, "names": names, "arrays": []}).encode()
    stream = array("i", nodes).tobytes()
    sizes = [len(text).to_bytes(8, "big"), (len(stream) // 4).to_bytes(8, "big")]
    return sizes[0] + text + sizes[1] + stream


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("os", "system"),
        ("subprocess", "Popen"),
        ("builtins", "eval"),
        ("builtins", "type"),
        (__name__, "helper"),
        (__name__, "bytes_of.__globals__"),
        ("no.such", "Thing"),
    ],
)
def test_names_that_are_not_allowed_are_refused(module: str, name: str) -> None:
    with pytest.raises(CannotKeep, match=f"it names {module}.{name}"):
        read(bytes_of([[module, name]], [kept_values.NAME, 1, 0], []), THIS_MODULE)


@pytest.mark.parametrize(
    "kind", [kept_values.FROM_PARTS, kept_values.ENUM, kept_values.DERIVED, kept_values.OBJECT]
)
def test_no_init_is_called_by_any_kind_of_value(kind: int) -> None:
    """No kind of value in the bytes may call the `__init__` of a class that it names."""
    before = CountedCalls.made
    name = [kept_values.NAME, 1, 0, kept_values.LEAF, 1, 0]
    content = bytes_of([[__name__, "CountedCalls"]], [*name, kind, 1, 0], [1])

    with contextlib.suppress(CannotKeep, TypeError, ValueError):
        read(content, THIS_MODULE)

    assert before == CountedCalls.made


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def with_unknown_index(content: bytes) -> bytes:
    return bytes_of([], [kept_values.TUPLE, 1, 7], [])


@pytest.mark.parametrize("damage", [cut, with_unknown_index, lambda content: b""])
def test_reading_damaged_bytes_raises(damage: Callable[[bytes], bytes]) -> None:
    with pytest.raises((ValueError, LookupError)):
        read(damage(written([1, 2, "three"], THIS_MODULE)), THIS_MODULE)


def test_no_module_of_joinproto_may_read_a_pickle() -> None:
    """The hook in `tests/pickles.py`, under which all tests run, refuses such a call."""
    reads = compile("loads(content)", "<ours>", "eval")
    ours = {"__name__": "joinproto.somewhere", "loads": pickle.loads, "content": _PICKLED}

    with pytest.raises(AssertionError, match=r"joinproto\.somewhere reads a pickle"):
        eval(reads, ours)
    assert pickle.loads(_PICKLED) is helper


_PICKLED = pickle.dumps(helper)
