"""The codec itself: the form of each type, the place of a fault, and the bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from joinproto.codec.codec import Codec
from joinproto.codec.functions import DEPTH_MAX
from joinproto.codec.json_text import ascii_line, compact, parsed
from joinproto.codec.malformed import INT_MAX, Malformed
from joinproto.codec.marks import Absent, AtLeast, Count, MoreThan, Sized, Written


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@frozen(order=True)
class Place:
    x: Count
    y: Annotated[float, MoreThan(0)] = 1.0

    def __attrs_post_init__(self) -> None:
        if self.x == 13:
            raise Malformed("x", self.x, "a number of luck")


@frozen(kw_only=True)
class Everything:
    flag: bool
    colour: Colour | None
    word: Literal["a", "b"]
    either: int | str
    places: tuple[Place, ...]
    pair: tuple[int, str]
    names: frozenset[str]
    counts: Mapping[str, Annotated[int, AtLeast(1)]]
    size: int
    few: Annotated[tuple[int, ...], Sized(1, 2)]
    back: Annotated[str, Written(tuple[str, ...], lambda text: text.split(), " ".join)]
    open: Any
    absent: Annotated[bool, Absent(False)] = False
    inner: Everything | None = None


ARRAYS = Codec(arrays=True, items_max=20, int_max=INT_MAX)
OBJECTS = Codec(items_max=20)
PEOPLE = Codec(people=True)
VALUE = Everything(
    flag=True,
    colour=Colour.RED,
    word="b",
    either="x",
    places=(Place(1), Place(0, 0.5)),
    pair=(1, "one"),
    names=frozenset({"b", "a"}),
    counts={"n": 1},
    size=2,
    few=(1,),
    back="one two",
    open={"deep": [1, None, 2.5]},
)
TREE = OBJECTS.put(VALUE)


def test_every_type_has_a_form_in_a_tree() -> None:
    """Classes become objects with their fields' names, or lists in the order of fields."""
    expected = {
        "flag": True,
        "colour": "red",
        "word": "b",
        "either": "x",
        "places": [{"x": 1, "y": 1.0}, {"x": 0, "y": 0.5}],
        "pair": [1, "one"],
        "names": ["a", "b"],
        "counts": {"n": 1},
        "size": 2,
        "few": [1],
        "back": ["one", "two"],
        "open": {"deep": [1, None, 2.5]},
        "inner": None,
    }

    assert expected == TREE
    assert [[1, 1.0], [0, 0.5]] == ARRAYS.put(VALUE)[4]


@pytest.mark.parametrize("codec", [ARRAYS, OBJECTS, PEOPLE])
def test_an_encoded_tree_is_read(codec: Codec) -> None:
    """A class may hold itself; an absent field has its default."""
    outer = Everything(
        **{name: getattr(VALUE, name) for name in TREE if name != "inner"}, inner=VALUE
    )

    assert outer == codec.take(Everything, codec.put(outer))


WRONG: list[tuple[str, Any, str]] = [
    ("flag", 1, "flag: found 1, expected bool"),
    ("colour", "green", "colour: found 'green', expected red, blue or None"),
    ("word", ["a"], "word: found ['a'], expected a, b"),
    ("either", 1.5, "either: found 1.5, expected int or str"),
    ("places", [{"x": 0}, {"x": -1, "y": 1}], "places[0].y: found no value"),
    ("places", [{"x": 0, "y": 1}, {"x": -1, "y": 1}], "places[1].x: found -1, expected at least 0"),
    ("places", [{"x": 0, "y": 0}], "places[0].y: found 0, expected more than 0"),
    ("places", [{"x": 0, "y": math.nan}], "places[0].y: found nan, expected a finite number"),
    ("places", [{"x": 0, "y": 10**400}], "places[0].y: found a huge number"),
    ("places", [{"x": 13, "y": 1}], "places[0], x: found 13, expected a number of luck"),
    ("places", "ab", "places: found 'ab', expected list"),
    ("places", [{"x": 0, "y": 1}] * 21, "places: found 21 items, expected at most 20 items"),
    ("pair", [1], "pair: found 1 items, expected 2 items"),
    ("pair", [1, 2], "pair[1]: found 2, expected str"),
    ("names", ["a", None], "names[1]: found None, expected str"),
    ("counts", {"n": 0}, "counts.n: found 0, expected at least 1"),
    ("counts", [], "counts: found [], expected an object"),
    (
        "counts",
        dict.fromkeys(map(str, range(21)), 1),
        "counts: found 21 keys, expected at most 20 keys",
    ),
    ("few", [], "few: found 0 items, expected 1 to 2 items"),
    ("back", [1], "back[0]: found 1, expected str"),
    ("open", [math.inf], "open: found inf, expected a finite number"),
    ("inner", {}, "inner.flag: found no value"),
]


@pytest.mark.parametrize(("key", "value", "said"), WRONG)
def test_a_fault_has_its_path_the_found_and_the_expected_value(
    key: str, value: object, said: str
) -> None:
    with pytest.raises(Malformed) as raised:
        OBJECTS.take(Everything, TREE | {key: value})

    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(("kind", "tree"), [(list[int], ["a"]), (dict[str, int], {"a": "x"})])
def test_items_of_lists_and_dicts_are_read_as_their_kind(kind: Any, tree: Any) -> None:
    with pytest.raises(Malformed, match="expected int"):
        OBJECTS.take(kind, tree)


def test_all_faults_of_an_object_that_people_write_are_reported_at_once() -> None:
    """Unknown keys are faults, too; fields with a default may be left out."""
    tree = {key: value for key, value in TREE.items() if key not in ("inner", "word")}

    with pytest.raises(Malformed) as raised:
        PEOPLE.take(Everything, tree | {"flag": "yes", "colour": "green", "colur": "red"})

    faults = [str(one) for one in (raised.value, *raised.value.others)]
    assert [
        "flag: found 'yes', expected true or false",
        'colour: found \'green\', expected one of "red", "blue" or null',
        "word: found no value, expected a value, because this field is required",
    ] == faults[:3]
    assert faults[3].startswith("colur: found an unknown field, expected one of flag, colour, ")


def test_a_list_of_fields_is_as_long_as_the_class_and_a_set_has_one_order() -> None:
    tree = ARRAYS.put(VALUE)
    for at, value, said in (
        (6, ["b", "a"], "names: found unsorted or repeated items, expected each item once, sorted"),
        (6, ["a", "a"], "names: found unsorted or repeated items, expected each item once, sorted"),
        (8, 2**63, f"size: found {2**63}, expected at least {-INT_MAX}, at most {INT_MAX}"),
    ):
        with pytest.raises(Malformed) as raised:
            ARRAYS.take(Everything, [*tree[:at], value, *tree[at + 1 :]])
        assert said == str(raised.value)
    with pytest.raises(Malformed, match="found 13 fields, expected 14 fields"):
        ARRAYS.take(Everything, tree[:-1])


def test_a_value_of_an_open_type_is_not_too_deep() -> None:
    deep: Any = 1
    for _ in range(DEPTH_MAX):
        deep = [deep]

    OBJECTS.take(Everything, TREE | {"open": deep})
    with pytest.raises(Malformed, match="open: found more levels, expected at most 32 levels"):
        OBJECTS.take(Everything, TREE | {"open": [deep]})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(st.sampled_from(list(TREE)), JSON, st.sampled_from([OBJECTS, PEOPLE]))
def test_any_tree_is_a_value_or_malformed(key: str, tree: Any, codec: Codec) -> None:
    """No other error is raised, and a decoded value equals itself after a second round."""
    try:
        found = codec.take(Everything, TREE | {key: tree})
    except Malformed:
        return

    assert found == codec.take(Everything, codec.put(found))


@pytest.mark.parametrize("data", [b"\xff", b"", b"[1", b'{"a":1,"a":1}', b"[NaN]", b"[" * 10**5])
def test_text_that_is_not_json_is_malformed(data: bytes) -> None:
    with pytest.raises(Malformed) as raised:
        parsed(data, "message")
    assert "message" == raised.value.what


@given(JSON.filter(lambda tree: "nan" not in repr(tree) and "inf" not in repr(tree)))
def test_a_tree_comes_back_from_its_text(tree: Any) -> None:
    assert tree == parsed(compact(tree)) == parsed(ascii_line(tree))
