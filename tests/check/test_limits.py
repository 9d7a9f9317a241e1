"""A search that a limit stops says so: its findings are valid, and the rest is unknown."""

from __future__ import annotations

import gc
import itertools
import json
import re
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from attrs import define

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Message,
    MessageBag,
    ModelProblem,
    Rule,
    Together,
    World,
    always,
    any_of,
    eventually,
    no_deadlock,
    sometimes,
)
from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.check.engine.claims.judge import Judge
from joinproto.check.engine.claims.pairs import Pairs
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.search import Search
from joinproto.check.engine.space import TooManyHorizons
from joinproto.check.engine.stopping import Limits, Tick
from joinproto.check.engine.tables.claimed import ClaimVerdicts
from joinproto.check.engine.tables.tables import Tables
from joinproto.check.memory import Budget, MemoryLimitMet, parse_size, peak_bytes, resident_bytes
from joinproto.check.plain import Ends, check_small
from joinproto.check.properties import always_pair


@define
class Counter:
    """Counts for ever, so that its world has no last state."""

    number: int = 0

    def choices(self) -> list[str]:
        return ["count"]

    def receive(self, event: Any) -> Any:
        self.number += 1
        return None


ROOT = Path(__file__).resolve().parents[2]


def endless(*claims: Any) -> World:
    return World(
        name="endless",
        members={"a": Counter, "b": Counter},
        properties=claims or [always("never negative", lambda view: True)],
    )


def test_a_bound_on_states_ends_the_search_as_incomplete() -> None:
    report = check(endless(), states_max=500)

    assert "incomplete" == report.result
    assert "the limit of 500 states" == report.stopped_by
    # A level is finished once it is begun, unless it doubles the bound.
    assert 500 <= report.distinct <= 1_000
    assert sum(report.levels) <= report.distinct


def test_a_bound_that_is_not_reached_changes_no_count_and_no_result() -> None:
    world = load_world("two-phase-commit", members=4)

    bounded, free = check(world, states_max=10_000), check(world)

    assert (free.distinct, free.generated, free.result) == (
        bounded.distinct,
        bounded.generated,
        "holds",
    )
    assert "" == bounded.stopped_by


def test_a_bound_on_seconds_ends_the_search_as_incomplete() -> None:
    report = check(endless(), seconds_max=0.2)

    assert "incomplete" == report.result
    assert "the limit of 0.2 seconds" == report.stopped_by


def test_a_bound_on_seconds_includes_the_time_before_a_search_began_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A search that begins again because of its rows gets no more time."""
    began, now = [0], [0.0]
    begin = Search._begin

    def slow_to_begin(search: Search) -> None:
        began[0] += 1
        now[0] += 10.0
        if began[0] == 1:
            search.limits = Limits(seconds=15.0)
        begin(search)

    def first_time_too_many_horizons(search: Search) -> None:
        if began[0] == 1:
            now[0] += 10.0
            raise TooManyHorizons

    monkeypatch.setattr(Search, "_begin", slow_to_begin)
    monkeypatch.setattr(Search, "_refuse_many_horizons", first_time_too_many_horizons)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])

    search = Search(load_world("two-phase-commit", members=4))
    found = search.run()

    assert 2 == began[0]
    assert "the limit of 15 seconds" == found.stopped_by


def test_a_bound_on_memory_ends_the_search_as_incomplete() -> None:
    """The limit applies to the whole process, so it is a little more than the memory in use now."""
    limit = resident_bytes() + (24 << 20)

    report = check(load_world("two-phase-commit", members=10), memory_max_bytes=limit)

    assert "incomplete" == report.result
    assert report.stopped_by.startswith(f"the memory limit of {limit / 2**20:,.0f} MiB (")
    assert report.distinct < 61_515_776
    assert resident_bytes() < limit + (64 << 20)


def test_a_search_with_too_little_memory_still_reports() -> None:
    report = check(load_world("two-phase-commit", members=3), memory_max_bytes=1 << 20)

    assert "incomplete" == report.result
    assert "the memory limit of 1 MiB" in report.stopped_by


def test_claims_that_were_not_judged_are_unknown() -> None:
    """Only a finished search reports `holds`; `reached` and `violated` are true in any case."""
    claims = [
        always("small", lambda view: view["a"].number < 1_000),
        sometimes("three", lambda view: view["a"].number == 3),
        sometimes("never", lambda view: view["a"].number < 0),
        eventually("some day", lambda view: view["a"].number == 3),
        no_deadlock("goes on"),
    ]

    report = check(endless(*claims), states_max=300)

    assert ["unknown", "reached", "unknown", "unknown", "unknown"] == [
        item.result for item in report.properties
    ]
    assert "incomplete" == report.result
    assert report.trace is None


def test_a_violation_before_the_limit_is_a_violation() -> None:
    claim = always("small", lambda view: view["a"].number < 3)

    report = check(endless(claim), states_max=5_000)

    assert "violated" == report.result
    assert report.trace is not None
    assert 3 == len(report.trace.steps)


@define
class Doubler:
    """Answers each message with two, so that a bag of them grows without end."""

    started: bool = False

    def choices(self) -> list[str]:
        return [] if self.started else ["shout"]

    def receive(self, event: Any) -> Any:
        if isinstance(event, Message):
            return [Broadcast("hey"), Broadcast("hey")]
        self.started = True
        return [Broadcast("hey")]


def test_a_world_whose_messages_grow_without_end_is_stopped() -> None:
    world = World(
        name="shouting",
        members={"a": Doubler, "b": Doubler},
        network=MessageBag(),
        properties=[always_pair("any", lambda one, other: True)],
    )

    report = check(world, states_max=400)

    assert "the limit of 400 states" == report.stopped_by
    assert "incomplete" == report.result


@define
class Boundless:
    """Offers events or yields effects without end."""

    where: str
    done: bool = False

    def choices(self) -> Iterator[Any]:
        yield from itertools.count() if self.where == "choices()" else ["go on"]

    def receive(self, event: Any) -> Iterator[Any]:
        self.done = True
        made = Rule if self.where == "rules" else Broadcast
        yield from (made(str(number)) for number in itertools.count())


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("choices()", "choices() yields more than 100,000 events"),
        ("effects", "receive() yields more than 100,000 effects"),
        ("rules", "receive() yields more than 100,000 effects"),
    ],
)
def test_an_endless_loop_in_one_answer_is_refused(where: str, expected: str) -> None:
    """The limits of a search are not checked within one answer, which could fill the memory."""
    world = World(
        name="boundless",
        members={"a": partial(Boundless, where), "b": partial(Boundless, where)},
        properties=[always("any", lambda view: True)],
    )

    with pytest.raises(ModelProblem, match=re.escape(expected)):
        check(world)


class Idle:
    """Does nothing; its world begins in one of many states."""

    def __init__(self) -> None:
        self.x = 0

    def receive(self, event: Any) -> Any:
        return NOT_ENABLED

    def shows(self) -> int:
        return self.x


def idle_world(count: int, **more: Any) -> World:
    claims = {"properties": [always("true", lambda view: True)], **more}
    return World(
        name="idle",
        members={"a": Idle},
        beginnings=any_of({"a": {"x": range(count)}}),
        **claims,
    )


@pytest.mark.parametrize("search", [check, check_small])
def test_joint_steps_without_an_end_are_refused(search: Any) -> None:
    with pytest.raises(ModelProblem, match=re.escape("yields more than 100,000 joint steps")):
        search(idle_world(1, together=lambda view: itertools.repeat(Together("both", {"a": "x"}))))


@pytest.mark.parametrize("search", [check, check_small])
def test_a_long_list_of_beginnings_is_cut_by_a_limit(search: Any) -> None:
    stopped: dict[str, Any] = {"interrupted": lambda: True}

    report = search(idle_world(500), **(stopped if search is check else {"ends": Ends(**stopped)}))

    assert ("interrupted", 1) == (report.stopped_by, report.distinct)


def test_a_limit_ends_the_evaluation_of_claims() -> None:
    """In a level with many combinations, claims may take longer than all steps."""
    asked: list[int] = []

    def holds(view: Any) -> bool:
        asked.append(view["a"])
        return True

    world = idle_world(500, properties=[always("asked", holds)])

    report = check(world, interrupted=lambda: len(asked) > 200)

    assert "interrupted" == report.stopped_by
    assert "unknown" == report.properties[0].result
    assert 200 < len(asked) <= 200 + 64


def test_a_search_reports_its_progress() -> None:
    ticks: list[Tick] = []

    report = check(load_world("two-phase-commit", members=6), progress=ticks.append)

    assert ticks
    assert ticks[-1].distinct == report.distinct
    assert ticks[-1].generated == report.generated
    assert all(one.distinct <= other.distinct for one, other in itertools.pairwise(ticks))


@pytest.mark.parametrize(
    ("text", "size"),
    [("1048576", 1 << 20), ("500M", 500 << 20), ("2.5GiB", 5 << 29), ("4kb", 4096)],
)
def test_a_size_is_read_with_its_unit(text: str, size: int) -> None:
    assert size == parse_size(text)


@pytest.mark.parametrize("text", ["", "much", "-1", "0", "1 2", "nanG", "infT"])
def test_a_malformed_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size"):
        parse_size(text)


@pytest.mark.soak("engines")
def test_the_peak_of_a_bounded_search_stays_under_its_bound() -> None:
    """The search has its own process, because the peak is counted from a process's start."""
    program = (
        "from joinproto.check.catalogue import load_world\n"
        "from joinproto.check.check import check\n"
        "world = load_world('two-phase-commit', members=10)\n"
        "found = check(world, memory_max_bytes=300 << 20)\n"
        "print(found.result, found.peak_rss_bytes)\n"
    )
    # Compile the loops first, because compilation in the process would count as well.
    warm = "from joinproto.cli.warming import warm_up; warm_up()"
    subprocess.run([sys.executable, "-c", warm], check=True, cwd=ROOT)

    # A small shell in between: where the kernel keeps no peak for each program, the count is
    # inherited from the process that starts it, and this one is large.
    done = subprocess.run(
        ["/bin/sh", "-c", '"$0" "$@"; exit $?', sys.executable, "-c", program],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    result, peak = done.stdout.split()
    assert "incomplete" == result
    assert int(peak) <= 300 << 20


@pytest.mark.needs("a peak for each program")
def test_the_peak_does_not_include_the_parents_memory() -> None:
    """Memory that the parent held when it started the process does not count."""
    child = "from joinproto.check.memory import peak_bytes; print(peak_bytes())"
    parent = (
        "import subprocess, sys\n"
        "held = bytearray(b'x') * (200 << 20)\n"
        f"subprocess.run([sys.executable, '-c', {child!r}], check=True)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", parent], check=True, cwd=ROOT, capture_output=True, text=True
    )

    assert int(done.stdout) < 150 << 20


def test_peak_and_resident_memory_are_zero_if_the_system_does_not_report_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """WebAssembly has neither /proc nor a module `resource`."""

    def refuse(_: object) -> None:
        raise FileNotFoundError

    monkeypatch.setattr("pathlib.Path.read_text", refuse)
    monkeypatch.setitem(sys.modules, "resource", None)

    assert 0 == peak_bytes()
    assert 0 == resident_bytes()


# -- memory of numbered values ----------------------------------------------------------


MODEL = """
from joinproto.check import FifoLinks, Message, Send, World, always

class Asks:
    def __init__(self, most): self.most = most; self.k = 0; self.waits = False
    def choices(self):
        if not self.waits and self.k < self.most: yield "next"
    def receive(self, event):
        if event == "next":
            self.k += 1; self.waits = True
            return [Send("b", (self.k, "x" * SIZE))]
        self.waits = False
    def shows(self): return 0

class Answers:
    def __init__(self): self.last = 0
    def receive(self, event):
        self.last = event.content
        return [Send("a", event.content)]
    def shows(self): return 0

def world(most: int = 1000):
    return World(name="many", members={"a": lambda: Asks(most), "b": Answers},
        network=FifoLinks(), properties=[always("x", lambda view: view["a"] == 0)])
"""


def run_check(tmp_path: Path, size: int, *words: str) -> tuple[int, dict[str, Any], str]:
    path = tmp_path / "many.py"
    path.write_text(MODEL.replace("SIZE", str(size)))
    command = [sys.executable, "-m", "joinproto", "check", str(path), "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.soak("engines")
def test_tables_with_few_filled_cells_take_little_memory(tmp_path: Path) -> None:
    """Each of 3,000 numbers is an event in few states only; a full table would take 600 MB."""
    # The first of two runs may compile the loop for sparse tables.  With a bound on memory, the
    # engine searches and not plain Python.
    words = ("--set", "most=3000", "--max-memory", "8G")
    run_check(tmp_path, 1, *words)
    code, report, _ = run_check(tmp_path, 1, *words)

    assert 0 == code
    assert 9_001 == report["distinct"]
    assert report["numbered_bytes"] < 200 << 20
    assert report["peak_rss_bytes"] < 400 << 20


@pytest.mark.soak("engines")
def test_a_bound_on_memory_includes_the_numbered_values(tmp_path: Path) -> None:
    """With values of half a megabyte each, the process ends near its bound, with its findings."""
    words = ("--set", "most=5000", "--max-memory", "1G")

    code, report, errors = run_check(tmp_path, 500_000, *words)

    assert 3 == code
    assert "incomplete" == report["result"]
    assert report["stopped_by"].startswith("the memory limit")
    assert report["distinct"] > 100
    assert report["peak_rss_bytes"] < 1.2 * 2**30
    assert "Spark" not in errors


@pytest.mark.soak("engines")
def test_the_first_ctrl_c_ends_a_search_with_its_report(tmp_path: Path) -> None:
    path = tmp_path / "many.py"
    path.write_text(MODEL.replace("SIZE", "1"))
    command = [sys.executable, "-m", "joinproto", "check", str(path), "--json"]
    command += ["--set", "most=1000000", "--engine", "local"]
    running = subprocess.Popen(command, stdout=-1, stderr=-1, text=True, cwd=ROOT)
    assert running.stderr is not None
    # The first line of progress comes after ten seconds, when the search is under way.
    while "distinct" not in (row := running.stderr.readline()):
        assert row, "the search ended by itself"

    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=300)

    report = json.loads(out)
    assert 3 == running.returncode
    assert "interrupted" == report["stopped_by"]
    assert "incomplete" == report["result"]
    assert report["distinct"] > 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_finished_search_leaves_no_states_in_memory(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """The memory is free before garbage is collected, as the next search may need it at once."""
    made: list[weakref.ref[RowSet]] = []
    begin = Search._begin

    def noted(search: Search) -> None:
        begin(search)
        made.append(weakref.ref(search.states))

    monkeypatch.setattr(Search, "_begin", noted)
    gc.disable()
    try:
        check(load_world("two-phase-commit", members=3), workers=workers, witnesses=True)
        assert [None] == [states() for states in made]
    finally:
        gc.enable()


@define
class _Tree:
    at: int = 0

    def choices(self) -> list[int]:
        return [0, 1] if self.at < 63 else []

    def receive(self, event: int) -> None:
        self.at = 2 * self.at + 1 + event


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_state_numbered_before_memory_ends_has_all_its_choices(
    monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """Otherwise a search that continues on Spark would leave out steps."""
    refused = 0
    number = Tables.number_local_state

    def numbers(self: Tables, field: int, state: Any) -> int:
        def refuse(more: int) -> None:
            nonlocal refused
            if more:
                refused += 1
                if refused == nth:
                    raise MemoryLimitMet

        monkeypatch.setattr(self.cells, "claim", refuse)
        try:
            return number(self, field, state)
        finally:
            monkeypatch.setattr(self.cells, "claim", lambda more: None)

    monkeypatch.setattr(Tables, "number_local_state", numbers)
    world = World(
        name="tree",
        members={"a": _Tree, "b": _Tree},
        properties=[always("small", lambda view: view["a"].at < 127)],
    )
    search = Search(world)
    search.run()

    assert search.found.stopped_by
    tables = search.tables
    for field in range(2):
        counts = tables.per_value.arrays["choice_count"][tables.per_value.off[field] :]
        for at, state in enumerate(tables.values[field].values):
            assert (2 if state.values[0] < 63 else 0) == counts[at]


def test_claims_interrupted_by_memory_are_evaluated_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A claim that was evaluated in part counts as not evaluated."""
    make_room, asked = Pairs._make_room, 0

    def ends_once(self: Pairs, field: int, other: int) -> None:
        nonlocal asked
        asked += 1
        if asked == 5:
            raise MemoryLimitMet
        make_room(self, field, other)

    monkeypatch.setattr(Pairs, "_make_room", ends_once)
    apart = always_pair("apart", lambda one, other: abs(one.at - other.at) < 6)
    search = Search(World(name="tree", members={"a": _Tree, "b": _Tree}, properties=[apart]))
    search.run()
    monkeypatch.undo()
    search.judge.refresh()
    broken = search.judge.broken
    search.tables.claimed = ClaimVerdicts()
    fresh = Judge(search.tables, Budget(1 << 40))
    fresh.refresh()

    assert search.found.stopped_by
    assert fresh.broken
    assert fresh.broken == broken


def test_a_world_of_more_than_64_claims_about_whole_views_is_refused() -> None:
    """Each claim has a bit; 63 claims and a premise have 64."""
    claims = [always(f"claim {number}", lambda _: True) for number in range(62)]
    claims.append(always("with a premise", lambda _: True, premise=lambda _: True))

    def world(*more: Any) -> World:
        return World(name="many", members={"m": Idle}, properties=[*claims, *more])

    assert 1 == check(world()).distinct
    with pytest.raises(ModelProblem, match="many has 65 claims about whole views"):
        check(world(always("one more", lambda _: True)))
