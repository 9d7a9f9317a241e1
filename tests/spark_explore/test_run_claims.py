"""Executors judge claims about runs with the results of a driver that has all steps."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from joinproto.check import EACH_STEP, load_world, strong
from joinproto.check.check import check
from joinproto.check.engine.liveness.duties import Duties
from joinproto.check.engine.liveness.fair_runs import DutyBits, fair_parts
from joinproto.check.properties import ON_FAIR_RUNS
from joinproto.check.report import Report
from joinproto.check.world import World
from spark_explore import analyses, fair, run_claims
from spark_explore.dataset import PartsWriter
from spark_explore.fair import BITS, Analysis
from spark_explore.listing import Listed
from spark_explore.places import Folder
from spark_explore.session import frames_of
from tests.check.slow_ltl import breaks, is_broken
from tests.check.test_fair_runs import Plan, build, lock, plans
from tests.spark_explore.compare import on_spark
from tools.slow_search import explore


@pytest.fixture
def _no_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the driver no memory for steps."""
    monkeypatch.setattr(analyses, "BYTES_PER_STEP", 1 << 50)


def judged(world: World, context: Any) -> Report:
    """Compare the executors' verdicts with those of a local search, and return the report."""
    here, there = check(world), on_spark(world, context)

    assert "" == there.stopped_by
    for one, other in zip(here.properties, there.properties, strict=True):
        assert (one.name, one.result, one.premise_met) == (
            other.name,
            other.result,
            other.premise_met,
        )
    assert here.coverage == there.coverage
    return there


SOAK = pytest.mark.soak("spark-worlds")

WORLDS: dict[str, Callable[[], World]] = {
    # Each kind of claim about runs, with weak duties and a strong one: some hold, some do not.
    "lock": lambda: lock(EACH_STEP, strong("p take")),
    # This world has an always-possible claim, and wide rows.
    "dining": lambda: load_world("dining-left-handed"),
}


@pytest.mark.usefixtures("_no_driver")
@pytest.mark.parametrize("name", [pytest.param("lock", marks=SOAK), "dining"])
def test_executors_judge_claims_about_runs(context: Any, name: str) -> None:
    """The results are those of a local search, and the shown run breaks the claim."""
    world = WORLDS[name]()
    report = judged(world, context)

    assert any("executors judged" in note for note in report.notes)
    found = explore(world, keep_edges=True)
    for item, result in zip(world.properties, report.properties, strict=True):
        if item.kind in ON_FAIR_RUNS and result.trace is not None:
            assert breaks(found, item, result.trace)


@SOAK
@pytest.mark.usefixtures("_no_driver")
@settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    # Each round is a job, so smaller examples are not searched.
    phases=[Phase.generate],
)
@given(plans())
def test_executors_judge_random_claims_like_the_slow_reference_search(
    context: Any, plan: Plan
) -> None:
    world = build(plan)
    found = explore(world, keep_edges=True)

    report = judged(world, context)

    for item, result in zip(world.properties, report.properties, strict=True):
        assert is_broken(found, item) is (result.result == "violated")
        if result.trace is not None:
            assert breaks(found, item, result.trace)


@SOAK
@pytest.mark.usefixtures("_no_driver")
def test_a_loop_that_is_too_far_away_is_reported(
    context: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim is violated, and a note says that the end of the run was not found."""
    monkeypatch.setattr(run_claims, "REGION_MAX", 1)
    report = judged(lock(EACH_STEP), context)

    assert "violated" == report.result
    assert any("its loop was not found" in note for note in report.notes)


# -- many random graphs at once ------------------------------------------------------------

GRAPHS = 400


class Graphs:
    """Random graphs side by side: states, steps of five kinds, and a region of states."""

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self.graph: list[int] = []
        steps: list[tuple[int, int, int]] = []
        for number in range(GRAPHS):
            size, first = dice.randint(1, 7), len(self.graph)
            self.graph += [number] * size
            # Each state has a step, because a run may stay for ever in a state without one.
            sources = [*range(size), *dice.choices(range(size), k=dice.randint(0, size))]
            steps += [
                (first + source, first + dice.randrange(size), dice.randrange(5))
                for source in sources
            ]
        array = np.array(steps, np.int64)
        self.source, self.target, self.kind = array[:, 0], array[:, 1], array[:, 2]
        self.count = len(self.graph)
        self.region = np.array([dice.random() < 0.6 for _ in self.graph])
        self.wanted = np.array([dice.random() < 0.3 for _ in self.graph])

    def lasting(self, duties: list[Duties], *, wants: bool) -> set[int]:
        """Return the states from which a fair run stays in the region, by the local engine."""
        order = np.argsort(self.source, kind="stable")
        source, target = self.source[order], self.target[order]
        first = np.searchsorted(source, np.arange(self.count + 1))
        kind, bits = self.kind[order].astype(np.int32), DutyBits.of(duties, 5)
        wanted = self.wanted if wants else None
        able = fair_parts(first, target, kind, bits, self.region, wanted) >= 0
        while True:
            here = self.region[self.source] & able[self.target] & ~able[self.source]
            if not here.any():
                return set(np.flatnonzero(able).tolist())
            able[self.source[here]] = True

    def listed(self, folder: Path, session: Any) -> Listed:
        flags = (~self.region).astype(np.int64) | self.wanted.astype(np.int64) << 1
        ids = np.arange(self.count)
        columns = {
            "states": {
                "id": ids,
                "level": np.zeros(self.count, np.int32),
                "flags": flags,
                "key": ids,
            },
            "steps": {
                "source": self.source,
                "target": self.target,
                "flags": flags[self.source],
                "then": flags[self.target],
                "info": self.kind,
                "changes": np.ones(len(self.source), np.bool_),
            },
        }
        for name, held in columns.items():
            (folder / name).mkdir()
            parts = PartsWriter(Folder(folder / name), "part")
            parts.add(pa.table(held))
            parts.flush()
        return Listed(session, Folder(folder), False)


def duty(strong: bool, *kinds: int) -> Duties:
    label = np.full(5, -1, np.int64)
    label[list(kinds)] = 0
    return Duties(strong, label, str)


@SOAK
@pytest.mark.parametrize(("wants", "here_max"), [(False, 0), (True, 0), (True, fair.HERE_MAX)])
def test_lasting_states_are_those_of_the_local_engine(
    context: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wants: bool, here_max: int
) -> None:
    """One analysis has 400 random graphs, with three weak duties and two strong ones."""
    from pyspark.sql import functions as F  # noqa: N812  the usual name

    monkeypatch.setattr(fair, "HERE_MAX", here_max)
    graphs = Graphs(seed=17 + wants)
    duties = [duty(False, 0), duty(False, 1, 2), duty(False, 4), duty(True, 2), duty(True, 3)]
    tables = graphs.listed(tmp_path, frames_of(context, 2))
    analysis = Analysis(tables, [(kind, True) for kind in range(5)])
    states = tables.states.filter("flags & 1 = 0")
    steps = tables.steps.filter("flags & 1 = 0 and then & 1 = 0")
    wanted = F.expr("getbit(flags, 1) = 1") if wants else None

    lasting = analysis.lasting(steps, states, DutyBits.of(duties, 5, BITS), wanted)
    goal = lasting.frame.select("id", F.lit(True).alias("lasts"))
    leading = analysis.leading(
        states.join(goal, "id", "left"),
        steps.select("source", "target"),
        F.coalesce("lasts", F.lit(False)),
    )

    expected = graphs.lasting(duties, wants=wants)
    assert expected == {row.id for row in leading.frame.collect()}
    some = {graphs.graph[at] for at in expected}
    assert 50 < len(some) < GRAPHS - 50
