"""`check(world)` for a model of your own: it chooses the search that is quickest for the world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from joinproto.check.check import check as check_by_engine
from joinproto.check.direct import check_direct
from joinproto.check.direct_large import check_own
from joinproto.check.plain import Ends, own_bounds
from joinproto.check.report import Report
from joinproto.check.world import World


def check(
    world: World,
    *,
    symmetry: bool = False,
    states_max: int | None = None,
    memory_max_bytes: int | None = None,
    seconds_max: float | None = None,
    interrupted: Callable[[], bool] | None = None,
    progress: Callable[[Any], None] | None = None,
    witnesses: bool = False,
    workers: int = 1,
) -> Report:
    """Return the report of a breadth-first search of `world`.

    A world of one member without faults is searched state by state (`Report.method` says so).
    A world of up to some 40,000 states is searched in plain Python, which needs no compiled loops;
    if these are cached from an earlier run, a world of up to 20,000.  A larger world without faults
    is searched state by state if one member has most of its states.  The engine searches every
    other world, and any world if `symmetry` is wanted.  A world of several members is also searched
    by the engine if `memory_max_bytes`, `progress` or more than one worker is given.

    `symmetry`: of the states that differ only in the names of interchangeable members, search only
    one.  `states_max` (distinct states), `memory_max_bytes`, `seconds_max` and `interrupted`, once
    it returns true, end the search early; the report then says `incomplete`.  `progress`: called
    with the engine's progress.  `witnesses`: report the shortest run to every `sometimes`, too.
    `workers`: threads of the engine.  Raises `ModelProblem` for a model that cannot be explored.
    """
    ends = Ends(
        states_max=states_max,
        seconds_max=seconds_max,
        interrupted=interrupted or (lambda: False),
    )
    if not symmetry:
        found = check_direct(
            world, witnesses=witnesses, ends=ends, memory_max_bytes=memory_max_bytes
        )
        if found is not None:
            return found
    asks_for_more = (symmetry, memory_max_bytes, progress, workers > 1)
    if not any(asks_for_more):
        small = check_own(world, witnesses=witnesses, ends=ends, bounds=own_bounds())
        if small is not None:
            return small
    return check_by_engine(
        world,
        symmetry=symmetry,
        states_max=states_max,
        memory_max_bytes=memory_max_bytes,
        seconds_max=seconds_max,
        interrupted=interrupted,
        progress=progress,
        witnesses=witnesses,
        workers=workers,
    )
