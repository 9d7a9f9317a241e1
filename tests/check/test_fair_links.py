"""Claims about fair runs in worlds with messages, crashes, splits and joint steps.

Random worlds are compared with the textbook (`slow_ltl.py`), which defines fairness independently.
Both take steps, words and views from the members' code in the same way.
"""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from attrs import evolve
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from joinproto.check import (
    EACH_STEP,
    Message,
    View,
    eventually,
    eventually_always,
    infinitely_often,
    leads_to,
    strong,
    until,
    weak,
)
from joinproto.check.check import check
from joinproto.check.properties import Property
from tests.check.compare import explored
from tests.check.random_models import Plan, build, plans
from tests.check.slow_ltl import breaks, is_broken

FAIR = (
    EACH_STEP,
    strong(each=True),
    weak("choice 0"),
    strong("choice 1"),
    strong("choice 0", "receive"),
    weak("receive"),
    strong("receive", of="a"),
    strong("receive", each=True),
    strong("receive", which=lambda member, event: isinstance(event, Message)),
    weak("start"),
    strong("start", of="b"),
    weak("heal"),
    strong("heal", each=True),
    weak(of="a"),
    strong(of="b"),
    weak(),
    strong("joint 0", each=True),
    weak("joint 0", "choice 0", of="a"),
)


def claims(odds: int, salt: int) -> list[Property]:
    """Return claims of each kind; each predicate is true of about one view in `odds`."""

    def some(number: int) -> Any:
        def holds(view: View) -> bool:
            text = f"{salt} {number} {sorted(map(repr, view.items()))}"
            return zlib.crc32(text.encode()) % odds == 0

        return holds

    def not_some(number: int) -> Any:
        return lambda view: not some(number)(view)

    return [
        eventually("e", some(1)),
        leads_to("l", some(2), some(1)),
        until("u", not_some(3), some(1)),
        until("p", not_some(3), some(1), premise=some(2)),
        infinitely_often("i", some(4)),
        eventually_always("a", not_some(5)),
    ]


def same_as_the_textbook(plan: Plan, fairness: list[Any], odds: int, salt: int) -> None:
    world = evolve(build(plan), fairness=fairness, properties=claims(odds, salt))
    found = explored(world, 50)
    # If no step changes a state, the results of claims are unknown.
    assume(found is not None and len(found.levels) > 1)
    assert found is not None

    report = check(world)

    for item, result in zip(world.properties, report.properties, strict=True):
        assert ("violated" if is_broken(found, item) else "holds") == result.result, item.name
        if result.trace is not None:
            assert breaks(found, item, result.trace), item.name


given_worlds = given(
    plans(), st.lists(st.sampled_from(FAIR), max_size=3), st.integers(2, 6), st.integers(0, 9)
)


@settings(max_examples=8, suppress_health_check=[HealthCheck.filter_too_much])
@given_worlds
def test_random_worlds_are_judged_as_by_the_textbook(
    plan: Plan, fairness: list[Any], odds: int, salt: int
) -> None:
    same_as_the_textbook(plan, fairness, odds, salt)


@pytest.mark.soak("random-models")
@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])
@given_worlds
def test_many_random_worlds_are_judged_as_by_the_textbook(
    plan: Plan, fairness: list[Any], odds: int, salt: int
) -> None:
    same_as_the_textbook(plan, fairness, odds, salt)
