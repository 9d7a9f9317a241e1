"""Changed copies of values are equal to those of `attrs.evolve`."""

from __future__ import annotations

import attrs
import pytest
from attrs import field, frozen

from joinproto.clusterer.state import State, Who
from joinproto.clusterer.status import Status
from joinproto.machine.step import Step
from joinproto.machine.values import evolve


@frozen
class Sum:
    """A private field, a keyword-only field, and a field that is not an argument."""

    _left: int
    right: int = field(kw_only=True)
    both: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "both", self._left + self.right)


@pytest.mark.parametrize(
    ("value", "changes"),
    [
        (State(who=Who("a")), {"status": Status.JOINING, "timer": 3}),
        (State(who=Who("a")), {}),
        (Sum(1, right=2), {"left": 5}),
        (Sum(1, right=2), {"right": 5}),
        (Step(1), {"effects": ("said",)}),
    ],
)
def test_a_copy_equals_the_copy_of_attrs(value: object, changes: dict[str, object]) -> None:
    made = evolve(value, **changes)  # type: ignore[misc]

    assert made == attrs.evolve(value, **changes)  # type: ignore[misc]
    assert type(made) is type(value)


def test_a_value_derived_from_the_fields_is_derived_again() -> None:
    assert evolve(Sum(1, right=2), left=5).both == 7


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="nothing"):
        evolve(Step(1), nothing=3)  # type: ignore[call-arg]


def test_a_step_with_type_arguments_is_the_class_itself() -> None:
    """An alias of typing would make each call slower."""
    assert Step[int, str] is Step
