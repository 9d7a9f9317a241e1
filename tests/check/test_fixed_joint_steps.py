"""Joint steps given as a list work like a function that always yields them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import define, evolve

from joinproto.check import (
    NOT_ENABLED,
    ModelProblem,
    Together,
    World,
    always,
    always_pair,
    no_deadlock,
)
from joinproto.check.check import check
from tests.check.compare import assert_same_report, assert_same_search


@define
class Access:
    """A shared variable: how many processes read it, and whether one writes it."""

    readers: int = 0
    writes: bool = False

    def receive(self, event: Any) -> Any:
        match event:
            case "read" if not self.writes:
                self.readers += 1
            case "write" if not self.writes and self.readers == 0:
                self.writes = True
            case "read no more":
                self.readers -= 1
            case "write no more":
                self.writes = False
            case _:
                return NOT_ENABLED
        return None


@define
class Process:
    does: str = ""

    def receive(self, event: Any) -> Any:
        ends = event.endswith(" no more")
        if ends != (self.does != "") or (ends and event != f"{self.does} no more"):
            return NOT_ENABLED
        self.does = "" if ends else event
        return None

    def shows(self) -> str:
        return self.does


def readers_and_writers(processes: int) -> World:
    names = [f"p{i}" for i in range(processes)]
    actions = ("read", "write", "read no more", "write no more")
    return World(
        name="access",
        members={**dict.fromkeys(names, Process), "access": Access},
        together=[
            Together(f"{name}: {action}", {name: action, "access": action})
            for name in names
            for action in actions
        ],
        properties=[
            always_pair("a writer is alone", lambda a, b: not (a and b == "write"), among=names)
        ],
    )


@pytest.mark.parametrize("processes", [1, 2, 4])
def test_a_list_of_joint_steps_gives_the_same_report_as_a_function(processes: int) -> None:
    """Any of 2^n sets of processes reads, or one of n writes: n 2^n and 2n steps."""
    n, world = processes, readers_and_writers(processes)
    steps: Any = world.together
    found = assert_same_report(world, assert_same_search(world))

    assert (2**n + n, 1 + n * 2**n + 2 * n) == (found.distinct, found.generated)
    other = check(evolve(world, together=lambda view: steps))
    assert (other.levels, other.generated) == (found.levels, found.generated)
    # The reports are made in two ways, which differ in `shown`.
    assert other.coverage == evolve(found.coverage, shown={})


def test_a_list_of_joint_steps_works_with_claims_about_the_whole_world() -> None:
    world = readers_and_writers(3)
    all_read = always("not all read", lambda view: list(view.values())[:3] != ["read"] * 3)
    world = evolve(world, properties=[all_read, no_deadlock("something can happen")])

    report = assert_same_report(world, assert_same_search(world))

    assert report.trace is not None
    assert 3 == len(report.trace.steps)


@define
class Asks(Process):
    """Waits for a resource to read or write before it does so."""

    wish: str = ""

    def choices(self) -> Iterator[str]:
        if not self.wish:
            yield "ask read"
            yield "ask write"

    def receive(self, event: Any) -> Any:
        if event.startswith("ask "):
            self.wish = event[4:]
            return None
        if not event.endswith(" no more") and self.wish != event:
            return NOT_ENABLED
        refused = super().receive(event) is NOT_ENABLED
        self.wish = self.wish if refused or self.does else ""
        return NOT_ENABLED if refused else None


def asking_processes(processes: int) -> World:
    world = readers_and_writers(processes)
    names = [name for name in world.members if name != "access"]
    return evolve(world, members={**dict.fromkeys(names, Asks), "access": Access})


def test_three_asking_processes_are_the_same_in_both_searches() -> None:
    """There are 4^n states in which no process writes, and n 3^(n-1) in which one does."""
    world = asking_processes(3)

    assert 4**3 + 3 * 3**2 == assert_same_report(world, assert_same_search(world)).distinct


@pytest.mark.soak("system-worlds")
def test_ten_asking_processes_have_the_number_of_states_of_the_formula() -> None:
    assert 4**10 + 10 * 3**9 == check(asking_processes(10)).distinct == 1_245_406


def test_a_list_of_texts_as_joint_steps_is_refused() -> None:
    with pytest.raises(ModelProblem, match="gives 'read'"):
        check(evolve(readers_and_writers(1), together=["read"]))  # type: ignore[list-item]


@pytest.mark.parametrize("events", [{}, None, ["a"]])
def test_a_joint_step_of_no_member_is_refused(events: Any) -> None:
    with pytest.raises(ModelProblem, match="joint step 'tick' has the events"):
        Together("tick", events)
