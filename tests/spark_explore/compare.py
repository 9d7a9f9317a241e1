"""Compare the search on Spark with the local search: the fields in `FOUND` must be equal."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from joinproto.check.check import check
from joinproto.check.report import Report
from joinproto.check.world import World
from spark_explore import cost
from spark_explore.explore import Plan, explore

FOUND = ("distinct", "generated", "depth", "levels", "result", "properties", "trace", "coverage")


def on_spark(world: World, context: Any, plan: Plan | None = None) -> Report:
    """Search a world on Spark from its initial states on."""
    plan = Plan(seed=1) if plan is None else plan
    with cost.Watch() as watch:
        return explore(world, plan, context, watch)


def assert_same(world: World, context: Any, **more: Any) -> Report:
    """Search `world` on this machine and on Spark, and compare the fields in `FOUND`.

    Return Spark's report.
    """
    seed = more.pop("seed", 1)
    here = check(world, **more)
    there = on_spark(world, context, Plan(seed=seed, symmetry=more.get("symmetry", False)))

    for name in FOUND:
        assert getattr(here, name) == getattr(there, name), name
    assert "spark" == there.engine
    return evolve(there)
