"""Claims about parts of observations get only these parts, each pair of parts once."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import define, frozen

from joinproto.check.check import check
from joinproto.check.plain import check_small
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property, always_beside, always_pair
from joinproto.check.world import World


@frozen
class Shown:
    round: int
    leader: str


@define
class Node:
    """Counts five rounds; in the last round it may name another leader."""

    round: int = 0
    leader: str = "a"

    def choices(self) -> list[str]:
        return [] if self.round == 5 else ["next", "other"]

    def receive(self, event: str) -> None:
        self.round += 1
        self.leader = "b" if event == "other" and self.round == 5 else self.leader

    def shows(self) -> Shown:
        return Shown(self.round, self.leader)


class Idle:
    """A monitor that ignores records."""

    def receive(self, event: Any) -> None:
        """Ignore the record."""

    def shows(self) -> Shown:
        return Shown(0, "a")


def world(*claims: Property) -> World:
    return World(name="parts", members={"x": Node, "y": Node}, monitor=Idle, properties=claims)


def leader(shown: Shown) -> str:
    return shown.leader


def test_a_claim_is_evaluated_once_for_each_pair_of_parts() -> None:
    """A member has seven observations with two different parts; each call is repeated."""
    asked: list[tuple[Any, Any]] = []

    def agree(one: str, other: str) -> bool:
        asked.append((one, other))
        return True

    report = check(world(always_pair("one leader", agree, of=leader)))

    assert report.result == "holds"
    assert 49 == report.distinct
    every = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    assert sorted(2 * every) == sorted(asked)


@pytest.mark.parametrize("search", [check, check_small])
def test_a_claim_about_parts_has_the_trace_of_the_claim_about_observations(search: Any) -> None:
    whole = search(world(always_pair("one leader", lambda a, b: a.leader == b.leader)))
    parts = search(world(always_pair("one leader", lambda a, b: a == b, of=leader)))

    assert "violated" == whole.result == parts.result
    assert whole.trace == parts.trace


def test_always_beside_takes_a_part_of_the_member_or_of_the_monitor() -> None:
    of_member = always_beside("as seen", lambda name, seen: name == seen.leader, of=leader)
    of_monitor = always_beside(
        "as heard", lambda shown, name: shown.leader == name, of_monitor=leader
    )

    found = check(world(of_member, of_monitor)).properties
    assert ["violated", "violated"] == [one.result for one in found]


def test_equal_parts_of_different_types_are_evaluated_separately() -> None:
    """1 and True are equal; a claim may tell them apart."""
    claim = always_pair(
        "numbers",
        lambda one, other: type(one) is int and type(other) is int,
        of=lambda shown: 1 if shown.round < 5 else True,
    )

    assert "violated" == check(world(claim)).result


def test_an_error_in_a_part_is_reported_with_the_claim() -> None:
    claim = always_pair("one leader", lambda a, b: a == b, of=lambda shown: shown.chief)

    with pytest.raises(ModelProblem, match=r"'one leader'.*no attribute 'chief'") as raised:
        check(world(claim))

    assert "test_parts.py" in str(raised.value.place)


def test_a_part_that_is_not_a_function_is_refused() -> None:
    with pytest.raises(ModelProblem, match="'one leader' asks"):
        check(world(always_pair("one leader", lambda a, b: a == b, of="leader")))  # type: ignore[arg-type]
