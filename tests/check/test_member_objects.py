"""Member objects are made from attribute values, and their values are read back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field

from joinproto.check.attributes import is_in_dict
from joinproto.check.member_objects import MemberObjects
from joinproto.check.problems import ModelProblem


class Plain:
    def __init__(self) -> None:
        self.a, self.items = 1, [True]

    def receive(self, event: str) -> None:
        """Do nothing."""


class Cached(Plain):
    @functools.cached_property
    def twice(self) -> int:
        return 2 * self.a


class Watched(Plain):
    """Has a setter that stores `b` one higher."""

    def __init__(self) -> None:
        super().__init__()
        self.__dict__["b"] = 3

    @property
    def b(self) -> int:
        return int(self.__dict__["b"])

    @b.setter
    def b(self, value: int) -> None:
        self.__dict__["b"] = value + 1


class Slotted(Plain):
    __slots__ = ("c",)

    def __init__(self) -> None:
        super().__init__()
        self.c = 4


class Empty:
    """Has a slot `later`, which `__init__` does not set."""

    __slots__ = ("__dict__", "later")

    def receive(self, event: str) -> None:
        """Do nothing."""


@define
class Fields:
    a: int = 1
    items: list[bool] = field(factory=lambda: [True])

    def receive(self, event: str) -> None:
        """Do nothing."""


@pytest.mark.parametrize(
    ("kind", "is_quick"),
    [
        (Plain, True),
        (Cached, True),
        (Watched, False),
        (Slotted, False),
        (Empty, False),
        (Fields, False),
    ],
)
def test_only_objects_whose_content_is_their_dict_take_the_quick_way(
    kind: Callable[[], Any], is_quick: bool
) -> None:
    """A slot is not in the object's dict, and a property's setter may change the value."""
    objects = MemberObjects("m", kind)

    assert is_in_dict(kind(), objects.names) is is_quick
    assert (objects._in_dict is not None) is is_quick


@pytest.mark.parametrize("kind", [Plain, Cached, Slotted, Fields])
def test_objects_made_from_one_state_are_equal_and_share_no_list(kind: Callable[[], Any]) -> None:
    objects = MemberObjects("m", kind)

    made, other = objects.running(objects.fresh), objects.running(objects.fresh)

    assert type(made) is kind
    assert objects.values(made) == objects.fresh
    assert made.items == [True]
    assert made.items is not other.items


def test_the_value_of_a_cached_property_is_not_an_attribute() -> None:
    objects = MemberObjects("m", Cached)
    made = objects.running(objects.fresh)

    assert made.twice == 2

    assert objects.values(made) == objects.fresh


@pytest.mark.parametrize("comes", [True, False])
def test_an_added_or_deleted_attribute_is_refused(comes: bool) -> None:
    objects = MemberObjects("m", Plain)
    made = objects.running(objects.fresh)
    if comes:
        made.more = 1
    else:
        del made.a

    with pytest.raises(ModelProblem, match=f"'{'more' if comes else 'a'}' comes or goes"):
        objects.values(made)


def test_true_and_one_are_different_values_of_an_attribute() -> None:
    """True and 1 are equal in Python, but an attribute that turns from 1 to True has changed."""
    objects = MemberObjects("m", Plain)
    made = objects.running(objects.fresh)
    made.a = True

    assert objects.values(made) != objects.fresh
