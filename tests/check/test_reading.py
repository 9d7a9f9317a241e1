"""A function of a view is called once for equal values read, and its answers are right."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from joinproto.check import (
    NOT_ENABLED,
    FifoLinks,
    ModelProblem,
    Together,
    View,
    World,
    always,
    leads_to,
)
from joinproto.check.check import check
from joinproto.check.engine.claims import reading
from joinproto.check.engine.claims.reading import Readings, ReadView, view_of
from joinproto.check.engine.search import Search

NAMES = tuple("abcd")


class Counter:
    """A member that counts to three, and shows a list, which a claim could change."""

    def __init__(self) -> None:
        self.at = 0

    def choices(self) -> list[str]:
        return ["count"]

    def receive(self, event: Any) -> Any:
        if self.at == 3:
            return NOT_ENABLED
        self.at += 1
        return None

    def shows(self) -> list[int]:
        return [self.at]


def counters(*claims: Any, **more: Any) -> World:
    return World(name="counters", members=dict.fromkeys(NAMES, Counter), properties=claims, **more)


def searched() -> Search:
    """Return a finished search that numbered its 256 combinations."""
    search = Search(counters(always("any", lambda view: len(view.values()) == 4)))
    search.run()
    return search


def random_function(dice: random.Random, depth: int) -> Callable[[View], int]:
    """Return a random function of a view, which reads parts of the view in a random order."""
    if depth == 0:
        answer = dice.randrange(2)
        return lambda _: answer
    name, parts = dice.choice(NAMES), [random_function(dice, depth - 1) for _ in range(4)]
    match dice.randrange(6):
        case 0:
            return lambda view: parts[sum(one[0] for one in view.values()) % 4](view)
        case 1:
            return lambda view: parts[min(len(view.up), 3)](view)
        case 2:
            return lambda view: parts[0 if view.monitor is None and view.split is None else 1](view)
        case _:
            return lambda view: parts[view[name][0]](view)


@pytest.mark.parametrize(
    ("calls", "branches"), [(1 << 30, 1 << 22), (8, 1 << 22), (1 << 30, 60), (1 << 30, 600)]
)
def test_kept_answers_equal_the_answers_to_each_view(
    calls: int, branches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300 random functions are evaluated in two pieces; some of their trees are given up."""
    monkeypatch.setattr(reading, "CHECK_AFTER", calls)
    monkeypatch.setattr(reading, "BRANCHES_MAX", branches)
    search, dice = searched(), random.Random(11)
    shown = search.judge._combinations.shown_from(0)
    assert len(shown) == 256

    for _ in range(75):
        functions = [random_function(dice, dice.randrange(5)) for _ in range(4)]
        readings = Readings(search.tables, functions)
        cut = dice.randrange(257)
        pieces = [readings.answers(part, lambda: None) for part in (shown[:cut], shown[cut:])]

        views = [view_of(search.tables, numbers) for numbers in shown.tolist()]
        expected = [[function(view) for function in functions] for view in views]
        assert np.concatenate(pieces).tolist() == expected


def test_a_function_is_called_once_for_equal_values_read() -> None:
    """The function reads one member, or two: seven calls are enough for 256 combinations."""
    search, calls = searched(), []

    def function(view: View) -> int:
        calls.append(view)
        return int(view["a"] == [1] and view["b"] == [2])

    readings = Readings(search.tables, [function])

    answers = readings.answers(search.judge._combinations.shown_from(0), lambda: None)

    assert answers.sum() == 16
    assert len(calls) == 3 + 4  # b is read only where a shows 1
    assert all(isinstance(view, ReadView) for view in calls)


def test_a_function_that_reads_in_two_orders_has_the_right_answers() -> None:
    """A function reads in several orders if, for example, it iterates over a set."""
    search, turn = searched(), iter(range(10_000))

    def function(view: View) -> int:
        order = NAMES if next(turn) % 2 else NAMES[::-1]
        return int(any(view[name] == [3] for name in order))

    readings = Readings(search.tables, [function])

    answers = readings.answers(search.judge._combinations.shown_from(0), lambda: None)

    assert answers.sum() == 256 - 81


def test_a_claim_that_changes_its_view_does_not_affect_other_claims() -> None:
    """One claim appends to the lists that it gets; the other claim gets unchanged lists."""

    def spoils(view: View) -> bool:
        return all(one.append(9) is None for one in view.values())

    short = always("short", lambda view: all(len(one) == 1 for one in view.values()))

    report = check(counters(always("spoils", spoils), short))

    assert report.result == "holds"
    assert report.distinct == 256


class Number(Counter):
    """Shows an immutable value, so several claims may share the values of one view."""

    def shows(self) -> int:  # type: ignore[override]
        return self.at


def spoil_up(view: View) -> bool:
    up = view.up
    assert up is view.up
    return isinstance(up, dict) and up.pop("a", 0) != 9


def spoil_disk(view: View) -> bool:
    disk = view.disk
    assert disk is view.disk
    return isinstance(disk, dict) and disk.pop("a", 0) != 9


def spoil_links(view: View) -> bool:
    links = view.links
    assert links is view.links
    return isinstance(links, dict) and links.update({("a", "b"): ()}) is None


@pytest.mark.parametrize("calls", [8, 1 << 30])
def test_a_dict_that_a_claim_changes_is_unchanged_for_the_next_claim(
    calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without trees, `up`, `disk` and `links` are unchanged for the next claim."""
    monkeypatch.setattr(reading, "CHECK_AFTER", calls)
    world = World(
        name="numbers",
        members=dict.fromkeys(NAMES, Number),
        show_disk=lambda disk: "none",
        show_links=True,
        network=FifoLinks(),
        properties=[
            always("spoils up", spoil_up),
            always("spoils disk", spoil_disk),
            always("spoils links", spoil_links),
            always("all run", lambda view: len(view.up) == 4),
            always("all have disks", lambda view: len(view.disk) == 4),
            always("nothing is under way", lambda view: not view.links),
        ],
    )

    report = check(world)

    assert report.result == "holds"
    assert report.distinct == 256


def test_a_view_can_be_copied() -> None:
    """A copy holds all values, because it may live longer than the view that records reads."""

    def holds(view: View) -> bool:
        other = copy.deepcopy(view)
        same = list(other.items()) == list(view.items()) and other.monitor is view.monitor
        return same and type(other) is type(copy.copy(view)) is View

    assert check(counters(always("copied", holds))).result == "holds"


def test_a_refused_list_of_joint_steps_leaves_no_steps_in_the_tables() -> None:
    """The steps of the next list still have their own parts."""
    search = Search(counters(always("any", lambda view: True), together=[]))
    lists, joint = search.tables.joint_lists, search.tables.joint
    good = Together("count", {"b": "count"})

    with pytest.raises(ModelProblem):
        lists.number([good, Together("odd", {"nobody": "count"})])
    lists.give(np.array([lists.number([good])]))

    assert joint["first"].array[0] == 0
    assert len(search.tables.joint_steps) == joint["part_first"].count == 1
    assert joint["part_member"].array[0] == 1


def test_together_is_called_once_if_it_reads_no_part_of_the_view() -> None:
    """`together` lists the same joint steps in all states and reads no part: it is called once."""
    calls = []

    class Process:
        def __init__(self) -> None:
            self.inside = False

        def receive(self, event: str) -> Any:
            if self.inside == (event == "in"):
                return NOT_ENABLED
            self.inside = not self.inside
            return None

    def steps(view: View) -> Iterator[Together]:
        calls.append(view)
        return (
            Together(f"{name} {word}", {name: word}) for name in NAMES for word in ("in", "out")
        )

    claim = always("any", lambda view: len(view) == 4)
    members = dict.fromkeys(NAMES, Process)
    search = Search(World(name="doors", members=members, together=steps, properties=[claim]))

    search.run()

    assert search.states.count == 16
    assert len(calls) == 1
    assert len(search.tables.joint_steps) == 8


def test_a_claim_about_fair_runs_is_called_once_for_each_value_read() -> None:
    """A claim about one of four members is called for each of its values, not for each state."""
    calls = []

    def waits(view: View) -> bool:
        calls.append(view)
        return bool(view["a"] == [1])

    done = leads_to("goes on", waits, lambda view: view["a"] != [1])

    report = check(counters(done))

    assert report.distinct == 256
    assert report.result == "holds"
    assert len(calls) <= 10
