"""An error in a member's code is reported with the shortest run to it."""

from __future__ import annotations

import inspect
import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from joinproto.__main__ import main
from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Faults,
    FifoLinks,
    Message,
    ModelProblem,
    Offline,
    Record,
    Send,
    Together,
    World,
    always,
)
from joinproto.check.check import check
from joinproto.check.plain import check_small
from tools.slow_search import explore

TRUE = always("true", lambda view: True)
FAULTY = Path(__file__)


@define
class Counter:
    """Counts to `last`, and sends each number to all others."""

    last: int = 2
    count: int = 0
    heard: int = 0

    def choices(self) -> list[str]:
        return ["count on"] if self.count < self.last else []

    def receive(self, event: Any) -> Any:
        if event == "count on":
            self.count += 1
            return [Broadcast(self.count)]
        if isinstance(event, Message):
            self.heard = max(self.heard, event.content)
            return None
        return NOT_ENABLED


class RaisesLate(Counter):
    def receive(self, event: Any) -> Any:
        if isinstance(event, Message) and event.content == 2 and self.count == 1:
            raise KeyError("two")  # fault
        return super().receive(event)


class RaisesInShows(Counter):
    def shows(self) -> Any:
        return 1 // (self.count - self.last)  # fault


class RaisesInChoices(Counter):
    def choices(self) -> list[str]:
        if self.heard == 2:
            raise RuntimeError("no choice")  # fault
        return super().choices()


class SendsAway(Counter):
    def receive(self, event: Any) -> Any:
        if self.count == 1 and event == "count on":
            return [Send("nobody", "x")]
        return super().receive(event)


class RaisesOnDisk(Counter):
    def offline(self, event: Any) -> Any:
        raise ValueError(event)  # fault


@define
class RaisingMonitor:
    heard: int = 0

    def receive(self, event: Any) -> Any:
        if event == 2:
            raise OSError("too loud")  # fault
        self.heard += 1


class Records(Counter):
    def receive(self, event: Any) -> Any:
        effects = super().receive(event)
        return [*effects, Record(self.count)] if event == "count on" else effects


def world(kind: type, *, names: str = "ab", **more: Any) -> World:
    return World(name="led", members=dict.fromkeys(names, kind), properties=[TRUE], **more)


def problem_of(call: Any, *given: Any, **more: Any) -> ModelProblem:
    with pytest.raises(ModelProblem) as raised:
        call(*given, **more)
    return raised.value


def labels(problem: ModelProblem) -> list[tuple[str | None, str]]:
    assert problem.led_to is not None, problem
    return [(step.member, step.label) for step in problem.led_to.steps]


def test_the_problem_names_the_member_the_event_the_line_and_the_run() -> None:
    """`a` sends 2, and `b`, which has counted to 1, raises when it receives the 2."""
    problem = problem_of(check, world(RaisesLate))

    lines, first = inspect.getsourcelines(RaisesLate)
    (at,) = [number for number, line in enumerate(lines) if line.rstrip().endswith("# fault")]
    assert problem.place == f"{FAULTY}:{first + at}"
    assert "member b: receive() raised KeyError: 'two' (event 2 from a)" in problem.message
    assert labels(problem) == [("a", "count on"), ("a", "count on"), ("b", "count on")]
    assert problem.led_to is not None
    assert problem.led_to.property == "b fails at 2 from a"
    assert problem.led_to.steps[-1].states["b"]["count"] == "1"


MEET = [Together("meet", {"a": "count on", "b": "count on"})]
REPAIR = [Together("repair", {"a": Offline("mark"), "b": "count on"})]

WORLDS = {
    "a message": world(RaisesLate),
    "shows": world(RaisesInShows),
    "choices": world(RaisesInChoices),
    "an effect": world(SendsAway),
    "three members": world(RaisesLate, names="abc"),
    "queues": world(RaisesLate, network=FifoLinks(capacity=1)),
    "crashes": world(RaisesInChoices, faults=Faults(crashes=1)),
    "a split": world(RaisesLate, faults=Faults(partitions=1)),
    "members down at first": world(RaisesInChoices, start="down"),
    "a joint step": world(SendsAway, together=MEET),
    "a disk": world(RaisesOnDisk, start="down", together=REPAIR),
    "the monitor": world(Records, monitor=RaisingMonitor),
    "a bound": world(RaisesLate, within=lambda view: sum(s.count for s in view.values()) < 4),
    "a view": world(RaisesLate, same=lambda view: [s.count for s in view.values()]),
}


@pytest.mark.parametrize("given", WORLDS.values(), ids=WORLDS)
def test_every_search_reports_the_same_error_and_run_as_the_reference(given: World) -> None:
    wanted = problem_of(explore, given)

    searches = [partial(check, workers=1), partial(check, workers=2)]
    for search in [*searches, check_small] if given.same is None else searches:
        found = problem_of(search, given)
        assert (found.message, found.next) == (wanted.message, wanted.next)
        assert found.led_to == wanted.led_to
        assert found.led_to is not None


@define
class Random:
    """Follows a table of states; a negative entry makes it raise."""

    table: tuple[tuple[int, ...], ...]
    state: int = 0

    def choices(self) -> list[str]:
        return ["left", "right"]

    def receive(self, event: Any) -> Any:
        at = {"left": 0, "right": 1}.get(event, 2)
        after = self.table[self.state][at]
        if after < 0:
            raise LookupError(f"{self.state} at {at}")
        self.state = after
        return [Broadcast("go")] if at < 2 and after % 2 else None


@pytest.mark.parametrize("seed", range(60))
def test_errors_of_random_members_are_reported_alike(seed: int) -> None:
    draw = random.Random(seed)
    tables = [
        tuple(
            tuple(-1 if draw.random() < 0.12 else draw.randrange(6) for _ in range(3))
            for _ in range(6)
        )
        for _ in range(2)
    ]
    members = {name: lambda t=table: Random(t) for name, table in zip("ab", tables, strict=True)}
    given = World(
        name="random",
        members=members,
        properties=[TRUE],
        network=draw.choice([FifoLinks(capacity=2), FifoLinks(capacity=1, when_full="lose")]),
    )
    found = outcome_of(check, given)

    assert found == outcome_of(explore, given)


def outcome_of(call: Any, given: World) -> Any:
    try:
        call(given)
    except ModelProblem as problem:
        return problem.message, problem.led_to
    return "holds"


def test_symmetry_reports_the_same_run_to_an_error() -> None:
    given = world(RaisesInShows, names="abc", interchangeable=list("abc"))

    problem = problem_of(check, given, symmetry=True)

    assert labels(problem) == labels(problem_of(check, given)) == [("a", "count on")]


def test_a_search_stopped_in_the_failing_level_still_reports_the_error() -> None:
    problem = problem_of(check, world(RaisesLate), interrupted=StopAfter(after=11).asked)

    assert "raised KeyError" in problem.message


class StopAfter:
    """Asks for the end of a search after `asked` was called this many times."""

    def __init__(self, after: int) -> None:
        self.left = after

    def asked(self) -> bool:
        self.left -= 1
        return self.left < 0


MODEL = """
from joinproto.check import World, always


class Member:
    def __init__(self):
        self.count = 0

    def choices(self):
        yield "count on"

    def receive(self, event):
        self.count += 1
        if self.count == 3:
            raise ValueError("three")


def world():
    return World(name="w", members={"a": Member}, properties=[always("true", lambda view: True)])
"""


def test_the_command_shows_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.py"
    model.write_text(MODEL)

    code = main(["check", str(model)])

    output = capsys.readouterr()
    assert code == 2
    assert "a fails at 'count on', after 2 steps" in output.err
    assert "count 1 → 2" in output.err
    assert "model.py:15: member a: receive() raised ValueError: three" in output.err

    assert main(["check", str(model), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["run"] == ["a: count on", "a: count on"]
