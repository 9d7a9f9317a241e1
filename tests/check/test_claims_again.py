"""Claims with a memory are refused, and fairness names choices that are tuples."""

from __future__ import annotations

from typing import Any

import pytest

from joinproto.check import World, always, always_each, leads_to, strong, weak
from joinproto.check.check import check
from joinproto.check.fairness import Fair
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def choices(self) -> Any:
        return [("add", 1)] if self.n < 3 else [("leave all", self.n)]

    def receive(self, event: Any) -> Any:
        self.n = self.n + 1 if event[0] == "add" else 0

    def shows(self) -> int:
        return self.n


def world(claim: Property, *fairness: Fair) -> World:
    return World(name="w", members={"a": Counter}, properties=[claim], fairness=[*fairness])


def remembering(seen: list[Any]) -> Any:
    """Return a claim that holds only the first time that it gets an observation."""

    def holds(shown: Any) -> bool:
        seen.append(repr(shown))
        return seen.count(repr(shown)) == 1

    return holds


@pytest.mark.parametrize("kind", [always, always_each])
def test_a_claim_with_a_memory_is_refused(kind: Any) -> None:
    with pytest.raises(ModelProblem, match="'fresh' gives two answers to one question"):
        check(world(kind("fresh", remembering([]))))


@pytest.mark.parametrize("fair", [weak("leave all"), strong("leave all")])
def test_fairness_names_a_tuple_choice_by_its_first_word(fair: Fair) -> None:
    """Fairness to "leave all" is fairness to ("leave all", 3)."""
    claim = leads_to("it ends", lambda view: view["a"] == 3, lambda view: view["a"] == 0)

    fairly, unfairly = check(world(claim, fair)), check(world(claim))

    assert ("holds", "violated") == (fairly.properties[0].result, unfairly.properties[0].result)
    assert () == fairly.coverage.never
