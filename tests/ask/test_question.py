"""A question that a function answers: its parameters are the input, its result is the answer."""

from __future__ import annotations

from typing import Annotated

import pytest
from attrs import frozen

from joinproto.ask.question import Answer, ByCase, Named, Why, question, refuse_twice
from joinproto.codec.json_form import Last, encoded, schema_of
from joinproto.codec.strict import DoesNotFit, fitted
from joinproto.standby.promote import Promotion


@frozen(kw_only=True)
class Size:
    """The size."""

    width: Annotated[int, "in steps"]
    height: Annotated[int, "in steps"] = 2


@frozen(kw_only=True)
class Area(Answer):
    """The covered area."""

    area: Annotated[int, "in square steps"]
    hint: Annotated[str, Last(10), "what else"] = "none"


@frozen
class Row:
    """A case, as far as it is answered."""

    label: str
    name: str


@frozen
class Chosen(ByCase):
    """The choice of a table."""

    case: Annotated[Named[Row], "the case"]
    why: Annotated[Why, "in short"]


@question("test.area", "A size, and how often.", width=3)
def area(size: Size, times: Annotated[int, "how often"] = 1) -> Area:
    """Return the covered area."""
    assert type(size) is Size
    return Area(area=size.width * size.height * times, rule="T1", why="by counting")


def test_the_fields_of_a_class_are_keys_next_to_the_parameters() -> None:
    """The class keeps its defaults, and the function gets an object of this class."""
    schema = schema_of(area.asks, read=True)
    answer = area.answer(fitted(area.asks, {"width": 3, "times": 2}))

    assert ["width", "height", "times"] == list(schema["properties"])
    assert (["width"], "A size, and how often.") == (schema["required"], schema["description"])
    assert 12 == answer.area
    assert answer == area(Size(width=3), 2)


def test_rule_and_reason_are_last() -> None:
    """Only fields that are marked with `Last` follow them."""
    answer = area(Size(width=1))

    assert ["area", "rule", "why", "hint"] == list(encoded(answer))


def test_a_case_gives_the_rule_and_its_name() -> None:
    """If a field has two texts, the last one describes it."""
    chosen = Chosen(Row("T2", "the first"), "it is")

    assert {"rule": "T2", "case": "the first", "why": "it is"} == encoded(chosen)
    assert "in short" == schema_of(Chosen)["properties"]["why"]["description"]


def test_a_wrong_value_is_refused_with_its_message_and_path() -> None:
    """The second peer has a status that does not exist."""
    peers = [{"name": "a"}, {"name": "b", "status": "asleep"}]
    with pytest.raises(DoesNotFit, match="'asleep' is not a broker's status") as refused:
        fitted(Promotion, {"name": "c", "status": "ready", "peers": peers})

    assert "peers[1].status" == refused.value.path


def test_the_error_for_a_repeated_name_has_the_path_of_its_second_place() -> None:
    """The error is about the second place, because the first may stay."""
    refuse_twice("nodes", ["a", "b"])
    with pytest.raises(DoesNotFit) as refused:
        refuse_twice("nodes", ["a", "b", "a"])

    assert "nodes[2]" == refused.value.path
