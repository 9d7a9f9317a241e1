"""`--engine auto` searches locally while the states fit, then on Spark, with the same result."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.check.engine import space as space_room
from joinproto.check.engine.claims.found import Found
from joinproto.check.engine.search import Search
from joinproto.check.engine.stopping import Limits
from joinproto.check.memory import resident_bytes
from joinproto.errors import EnvironmentProblem
from spark_explore import explore, handover
from spark_explore.explore import Plan, auto
from spark_explore.frontier import Frontier
from spark_explore.handover import take_over
from tests.spark_explore.compare import FOUND


def tight_limits() -> Limits:
    """Return a limit a little above the memory of this process: millions of states do not fit."""
    # The compiled loops are loaded first; memory that other tests left would be released during
    # the search, and make room.
    check(load_world("two-phase-commit", members=5))
    gc.collect()
    # A 32nd of a limit is kept free.
    return Limits(memory_bytes=(resident_bytes() + (16 << 20)) * 32 // 31)


@pytest.mark.parametrize(
    ("words_max", "workers", "seconds"), [(2, 1, 0), (2, 2, 0), (0, 1, 0), (0, 2, 0), (0, 2, 60)]
)
@pytest.mark.usefixtures("lasting")
def test_a_world_that_does_not_fit_is_handed_over(
    words_max: int, workers: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The local engine stops at the limit; auto continues, and gives the report of a whole search.

    `words_max`: rows of more words have numbers for messages under way, which Spark makes bits.
    `seconds`: between two levels at which Spark may continue; with 60 only at the first.
    """
    monkeypatch.setattr(space_room, "WORDS_MAX", words_max)
    monkeypatch.setattr(handover, "REMEMBER_SECONDS", seconds)
    world = load_world("two-phase-commit", members=8)
    assert "incomplete" == check(world, memory_max_bytes=tight_limits().memory_bytes).result

    taken_over: list[int] = []

    def noted(*given: Any, **named: Any) -> Frontier:
        frontier = take_over(*given, **named)
        taken_over.append(len(frontier.levels))
        return frontier

    monkeypatch.setattr(explore, "take_over", noted)

    report = auto(world, Plan(master="local[2]", limits=tight_limits(), workers=workers))

    assert ("spark", 1_745_408) == (report.engine, report.distinct)
    assert [True] == [levels == 1 if seconds else levels > 5 for levels in taken_over]
    whole = check(world)
    for name in FOUND:
        assert getattr(whole, name) == getattr(report, name), name


def test_a_world_that_fits_is_searched_without_spark() -> None:
    """No Spark session is made, so no Java is needed."""
    report = auto(load_world("two-phase-commit", members=5), Plan(master="local[2]"))

    assert ("local", 8_832, ()) == (report.engine, report.distinct, report.notes)


def test_without_java_the_search_ends_at_the_memory_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is incomplete, as with the local engine, and a note says why Spark stays out."""

    def no_java() -> None:
        raise EnvironmentProblem("Java was not found", next="install it")

    monkeypatch.setattr(explore, "refuse_without_spark", no_java)

    report = auto(load_world("two-phase-commit", members=10), Plan(limits=tight_limits()))

    assert ("local", "incomplete") == (report.engine, report.result)
    assert ("Spark cannot continue: Java was not found",) == report.notes


def test_a_search_that_spark_should_have_continued_is_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without Java the search ends at a large frontier, although it is below its limits."""

    def no_java() -> None:
        raise EnvironmentProblem("Java was not found", next="install it")

    monkeypatch.setattr(explore, "refuse_without_spark", no_java)
    monkeypatch.setattr(explore, "FRONTIER_MAX", 20)

    report = auto(load_world("two-phase-commit", members=4), Plan(master="spark://nowhere:1"))

    assert ("local", "incomplete") == (report.engine, report.result)
    assert "a large frontier, which a cluster should search" == report.stopped_by


def test_a_finished_search_leaves_no_states_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """If they stayed until garbage is collected, a sweep's next search would go to Spark."""
    made: list[weakref.ref[Search]] = []
    run = Search.run

    def noted(search: Search) -> Found:
        made.append(weakref.ref(search))
        return run(search)

    monkeypatch.setattr(Search, "run", noted)
    gc.disable()
    try:
        auto(load_world("two-phase-commit", members=2), Plan())
        assert [None] == [search() for search in made]
    finally:
        gc.enable()
