"""First starts of members, and crashes between two effects of a step."""

from __future__ import annotations

from typing import Any

import pytest

from joinproto.check import (
    DOWN,
    NOT_ENABLED,
    Faults,
    MessageBag,
    ModelProblem,
    Persist,
    Record,
    Send,
    View,
    World,
    always_each,
    always_step,
    sometimes,
    sometimes_one,
    until,
)
from joinproto.check.check import check
from tests.check.compare import assert_same_report, assert_same_search
from tools.slow_search import explore


class AliasingMonitor:
    def __init__(self) -> None:
        self.log: list[int] = []
        self.view = self.log

    def receive(self, event: Any) -> Any:
        self.view.append(1)

    def shows(self) -> Any:
        return len(self.log), len(self.view)


class Aliasing(AliasingMonitor):
    persistent: tuple[str, ...] = ("log",)

    def choices(self) -> Any:
        if not self.view:
            yield "write"


def assert_same_in_both(world: World) -> None:
    """Assert that the engine and the slow reference search find the same."""
    found = explore(world, keep_edges=True)
    assert_same_search(world, found)
    assert_same_report(world, found)


def test_two_attributes_still_share_a_list_after_the_first_start() -> None:
    claims = [
        sometimes_one("both grew", lambda shown: shown == (1, 1)),
        always_each("never apart", lambda shown: shown[0] == shown[1]),
    ]
    world = World(name="alias", members={"a": Aliasing}, properties=claims)

    report = check(world)

    assert [("reached", 1), ("holds", None)] == [
        (item.result, item.trace_length) for item in report.properties
    ]
    assert_same_in_both(world)


def test_a_restart_reads_a_durable_list_as_an_object_of_its_own() -> None:
    """The list read from disk is not the list that a fresh member's other attribute has."""
    world = World(
        name="alias",
        members={"a": Aliasing},
        faults=Faults(crashes=1),
        properties=[sometimes_one("apart", lambda shown: shown == (0, 1))],
    )

    report = check(world)

    assert [("reached", 3)] == [(item.result, item.trace_length) for item in report.properties]
    assert_same_in_both(world)


def test_two_attributes_of_a_monitor_still_share_a_list() -> None:
    class Teller:
        def __init__(self) -> None:
            self.left = 1

        def choices(self) -> Any:
            return ["tell"] * self.left

        def receive(self, event: Any) -> Any:
            self.left = 0
            return [Record("heard")]

    world = World(
        name="alias",
        members={"a": Teller},
        monitor=AliasingMonitor,
        properties=[sometimes("both grew", lambda view: view.monitor == (1, 1))],
    )

    report = check(world)

    assert "reached" == report.properties[0].result
    assert_same_in_both(world)


class Sender:
    persistent = ("disk",)

    def __init__(self) -> None:
        self.disk = 0
        self.phase = "idle"

    def choices(self) -> Any:
        if self.phase == "idle":
            yield "go"

    def receive(self, event: Any) -> Any:
        if event != "go":
            return NOT_ENABLED
        self.phase = "done"
        return [Send("b", "x"), *self.rest()]

    def rest(self) -> list[Any]:
        return [Persist()]  # leaves the disk as it is


class Recorder(Sender):
    def rest(self) -> list[Any]:
        return [Record("y"), Persist()]


class Hearer:
    def __init__(self) -> None:
        self.got = False

    def receive(self, event: Any) -> Any:
        self.got = True


def crashing(sender: type[Sender], *, on_runs: bool) -> World:
    def is_done(view: View) -> bool:
        return view["a"] is not DOWN and view["a"].phase == "done"

    def fell_before(view: View) -> bool:
        return view["a"] is DOWN and not view["b"].got and not view.under_way(to="b")

    claims = [
        until(
            "done, or down and nothing sent, before b hears",
            lambda view: not view["b"].got,
            lambda view: is_done(view) or fell_before(view),
        ),
        always_step(
            "nothing is sent in a step in which a falls",
            lambda before, step, after: (
                after["a"] is not DOWN or after.under_way(to="b") <= before.under_way(to="b")
            ),
        ),
    ]
    return World(
        name="mid",
        members={"a": sender, "b": Hearer},
        faults=Faults(crashes=1, restarts=False, spared=frozenset({"b"})),
        network=MessageBag(),
        monitor=Hearer,
        show_links=True,
        properties=[
            *(claims if on_runs else ()),
            sometimes("down, and heard", lambda view: view["a"] is DOWN and view["b"].got),
        ],
    )


@pytest.mark.parametrize("sender", [Sender, Recorder])
def test_a_crash_can_fall_before_effects_that_change_nothing(
    sender: type[Sender],
) -> None:
    """A crash can fall between any two effects, even if the later effects change nothing."""
    world = crashing(sender, on_runs=True)

    report = check(world)

    assert [("violated", 2), ("violated", 1), ("reached", 2)] == [
        (item.result, item.trace_length) for item in report.properties
    ]


@pytest.mark.parametrize("sender", [Sender, Recorder])
def test_a_crash_before_effects_without_change_can_be_in_the_shortest_run(
    sender: type[Sender],
) -> None:
    world = crashing(sender, on_runs=False)

    report = check(world)

    assert [("reached", 2)] == [(item.result, item.trace_length) for item in report.properties]
    assert_same_in_both(world)


class Defaulting:
    """All members share one list, a default argument, until a member reads it from its disk."""

    persistent = ("log",)

    def __init__(self, log: list[int] = []) -> None:  # noqa: B006
        self.log = log

    def start(self) -> None:
        self.log.append(1)

    def receive(self, event: Any) -> Any: ...


def test_a_durable_default_that_a_first_start_changes_is_refused() -> None:
    """Otherwise the second member would begin with the first member's log."""
    world = World(
        name="defaults",
        members={"a": Defaulting, "b": Defaulting},
        properties=[always_each("one", lambda shown: len(shown.log) == 1)],
    )

    with pytest.raises(ModelProblem, match=r"share a default argument of Defaulting.__init__"):
        check(world)
