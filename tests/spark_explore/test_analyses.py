"""Claims about whole runs, judged by the executors that have the states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from joinproto.check import always, implements, load_world
from joinproto.check.check import check
from spark_explore import analyses
from tests.check.test_step_claims import Held, by_hours, clock, hours
from tests.spark_explore.compare import on_spark


@pytest.fixture
def _small_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "BYTES_PER_STEP", 1 << 40)


@pytest.mark.usefixtures("_small_driver")
@pytest.mark.parametrize("name", ["dining-philosophers", "token-ring-lossy"])
def test_the_nearest_deadlock_is_found_by_executors(context: Any, name: str) -> None:
    """Result and shortest run are the same as with all steps in memory."""
    world = load_world(name)
    here = {item.kind: item for item in check(world).properties}["no deadlock"]

    there = {item.kind: item for item in on_spark(world, context).properties}["no deadlock"]

    assert "violated" == here.result
    assert here == there


@pytest.mark.usefixtures("_small_driver")
def test_a_claim_that_needs_all_steps_at_once_is_left_open_with_the_reason(context: Any) -> None:
    """The claim is unknown; the reason is the number of steps, and the memory that they need.

    The verdicts on other claims are reported, because the search reached its end.
    """
    world = clock(implements("hours", hours(), by_hours))
    low = always("low", lambda view: view["clock"].hour < 4)
    report = on_spark(evolve(world, properties=[*world.properties, low]), context)

    assert ["unknown", "holds"] == [item.result for item in report.properties]
    assert "incomplete" == report.result
    assert "must be judged in one process" in report.stopped_by
    assert "steps and their states take" in report.stopped_by


def test_a_state_without_an_abstract_state_is_reported_as_by_the_local_search(context: Any) -> None:
    """The shortest run to it is the same, and the local search's note is in both reports."""
    up_to_two = evolve(hours(), members={"hours": lambda: Held(2)})
    world = clock(implements("hours", up_to_two, by_hours))
    here = check(world)

    there = on_spark(world, context)

    assert "violated" == here.result == there.result
    assert here.trace == there.trace
    assert here.notes[0] in there.notes


def test_the_document_gives_the_bytes_of_a_step() -> None:
    """`docs/spark.md` gives the number that the code uses."""
    text = (Path(__file__).parents[2] / "docs" / "spark.md").read_text()

    assert f"{analyses.BYTES_PER_STEP} bytes for each" in text
