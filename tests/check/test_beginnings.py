"""Worlds with several initial states."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from attrs import define, evolve

from joinproto.check import (
    Broadcast,
    Faults,
    ModelProblem,
    Replay,
    World,
    always,
    any_of,
    sometimes,
)
from joinproto.check.check import check
from joinproto.check.plain import check_small
from joinproto.check.simulate import simulate
from tests.check.compare import assert_same_report, assert_same_search
from tools.slow_search import explore


@define
class Counter:
    """Counts up to 3; only `kept` is on its disk."""

    persistent = ("kept",)
    at: int = 0
    kept: int = 0
    seen: tuple[int, ...] = ()

    def start(self) -> Any:
        self.at = max(self.at, self.kept)
        return [Broadcast(self.at)]

    def choices(self) -> Iterator[str]:
        if self.at < 3:
            yield "count"

    def receive(self, event: Any) -> Any:
        if event == "count":
            self.at += 1
            return None
        self.seen = tuple(sorted({*self.seen, event.content}))
        return None

    def shows(self) -> int:
        return self.at


def counters(**changes: Any) -> World:
    world = World(
        name="counters",
        members={"a": Counter, "b": Counter},
        properties=[
            always("not both at 3", lambda view: list(view.values()) != [3, 3]),
            sometimes("a is at 3", lambda view: view["a"] == 3),
        ],
        beginnings=any_of({"a": {"at": (0, 2)}, "b": {"at": (0, 1), "kept": (0, 1)}}),
    )
    return evolve(world, **changes)


def test_any_of_makes_a_beginning_for_each_combination_of_values() -> None:
    beginnings = any_of({"a": {"at": (0, 2)}, "b": {"at": (0, 1), "kept": (0, 1)}})

    assert [
        {"a": {"at": x}, "b": {"at": y, "kept": z}} for x, y, z in product((0, 2), (0, 1), (0, 1))
    ] == list(beginnings)


@pytest.mark.parametrize(
    "world",
    [
        counters(),
        counters(properties=[sometimes("a is at 3", lambda view: view["a"] == 3)]),
        counters(faults=Faults(crashes=1)),
        counters(start="down", beginnings=[{"a": {"kept": 1}}, {"b": {"kept": 2}}, {}]),
    ],
)
def test_the_engine_and_plain_python_begin_as_the_reference_search(world: World) -> None:
    """Counts, levels, results and shortest runs are equal."""
    found = assert_same_search(world)
    report = assert_same_report(world, found)

    assert len(found.reference.initials()) == report.levels[0] > 1
    small = check_small(world, witnesses=True)
    assert small is not None
    assert (report.generated, report.levels) == (small.generated, small.levels)
    assert check(world, witnesses=True).properties == small.properties


def test_beginnings_that_lead_to_the_same_state_are_counted_once() -> None:
    """b starts at the greater of `at` and `kept`, so with 1 on disk, `at` 0 and 1 are the same."""
    found = explore(counters())

    assert 8 == len(counters().beginnings or ())
    # (at, kept) of b: (0, 0), (1, 0), (1, 1), each with two values of a.
    assert 6 == found.levels[0]


def test_the_shortest_run_of_all_beginnings_is_reported_and_can_be_replayed() -> None:
    """If a begins at 2 and b at 1, three steps break the claim; the trace shows this beginning."""
    world = counters()
    report = check(world)

    trace = report.trace
    assert trace is not None
    assert ("2", "1", 3) == (trace.initial["a"]["at"], trace.initial["b"]["at"], len(trace.steps))
    replay = Replay(world)
    for step in trace.steps:
        replay.step(step.label, step.member)
    assert replay.violates("not both at 3")


def test_random_runs_also_begin_in_later_beginnings() -> None:
    """The claim breaks in three steps only if a begins at 2 and b at 1; the run shows that."""
    found = simulate(counters(), runs=200, seed=1, steps_max=3)

    assert "violated" == found.result
    assert found.trace is not None
    assert ("2", "1") == (found.trace.initial["a"]["at"], found.trace.initial["b"]["at"])


def test_symmetry_keeps_one_of_the_beginnings_that_differ_by_renaming() -> None:
    alike = any_of({name: {"at": (0, 2)} for name in "ab"})
    # A broadcast does not name its sender in its content, so the members are interchangeable.
    world = counters(beginnings=alike, interchangeable=("a", "b"))
    world = evolve(world, properties=world.properties[:1])

    report = check(world, symmetry=True)

    assert 3 == report.levels[0]
    with pytest.raises(ModelProblem, match="changes when interchangeable"):
        check(evolve(world, beginnings=alike[:2]), symmetry=True)


@pytest.mark.parametrize(
    ("beginnings", "expected"),
    [
        ([], "beginnings is empty"),
        ({"a": {"at": 1}}, "beginnings is"),
        ([{"c": {"at": 1}}], "'c', which is not a member"),
        ([{"a": 1}], "a beginning has 1 for a"),
    ],
)
def test_malformed_beginnings_are_refused(beginnings: Any, expected: str) -> None:
    with pytest.raises(ModelProblem, match=expected):
        counters(beginnings=beginnings)


def test_a_beginning_with_a_wrong_attribute_or_value_is_refused() -> None:
    with pytest.raises(ModelProblem, match="sets 'speed', which is not an attribute"):
        check(counters(beginnings=[{"a": {"speed": 1}}]))
    with pytest.raises(ModelProblem, match="not durable, for a member that begins down"):
        check(counters(beginnings=[{"a": {"at": 1}}], start="down"))
    with pytest.raises(ModelProblem, match="give a list of its values"):
        any_of({"a": {"at": "up"}})
