"""Runs through a world: random runs that end at a test, and runs with given steps."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from joinproto.check.replay import fitting_runs
from joinproto.errors import UsageProblem
from joinproto.explore.graph import Graph, Json

STEPS_MAX = 10_000

StateTest = Callable[[int], bool]
"""A test of a state by its number."""


def walk(graph: Graph, at: int, *, steps: int, seed: int, ends: StateTest | None) -> Json:
    """Return a random run from `at`; each step that changes the state is equally likely.

    `ends`: a test of the state in which the walk stops, at the latest after `steps`.  `stopped`:
    `met`, `steps` or `stuck`.
    """
    if not 1 <= steps <= STEPS_MAX:
        raise UsageProblem(f"a walk of {steps} steps", next=f"give 1 to {STEPS_MAX:,} steps")
    draw = random.Random(seed)
    ids, indices, stopped = [at], [], "steps"
    for _ in range(steps):
        onward = [index for index, (_, to) in enumerate(graph.steps_out(at)) if to != at]
        if not onward:
            stopped = "stuck"
            break
        index = draw.choice(onward)
        at = graph.steps_out(at)[index][1]
        ids.append(at)
        indices.append(index)
        if ends is not None and ends(at):
            stopped = "met"
            break
    return {**graph.run_json(ids, indices), "stopped": stopped}


def follow(graph: Graph, start: int, keys: Sequence[str], end: str | None = None) -> Json:
    """Return the run whose steps have these keys, as far as this world has it.

    Two steps of a state may have the same key, so all runs that fit are followed.  If a run ends in
    the state with the key `end`, it is returned.  `fits`: how many steps fit.  `same_end`: whether
    the last state has that key; null if that is not known.
    """
    if not 0 <= start < len(graph.firsts):
        raise UsageProblem(
            f"there is no first state {start}",
            next=f"give a start from 0 to {len(graph.firsts) - 1}",
        )

    def options(at: int, key: str) -> Iterator[tuple[int, int]]:
        for step in graph.steps_json(at):
            if step["key"] == key:
                yield step["index"], step["to"]

    runs, fits = fitting_runs([graph.firsts[start]], keys, options)
    same_end = None
    if end and fits == len(keys):
        exact = [run for run in runs if graph.key(run[0][-1]) == end]
        runs, same_end = exact or runs, bool(exact)
    ids, indices = runs[0]
    found = graph.run_json(ids, indices)
    return {**found, "start": start, "fits": fits, "of": len(keys), "same_end": same_end}
