"""Runs through a world: at random until something changes, and again by the words of its steps."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from joinproto.check.replay import fitting_runs
from joinproto.errors import UsageProblem
from joinproto.explore.graph import Graph, Json

STEPS_MAX = 10_000

Met = Callable[[int], bool]
"""Whether a state is one in which a walk ends."""


def walk(graph: Graph, at: int, *, steps: int, seed: int, ends: Met | None) -> Json:
    """Return a random run on from `at`: each step that changes the state is equally likely.

    `ends`: where the walk stops; without it after `steps`.  `stopped`: `met`, `steps` or `stuck`.
    """
    if not 1 <= steps <= STEPS_MAX:
        raise UsageProblem(f"{steps} steps", next=f"a walk has 1 to {STEPS_MAX:,}")
    draw = random.Random(seed)
    ids, indices, stopped = [at], [], "steps"
    for _ in range(steps):
        onward = [index for index, (_, to) in enumerate(graph.out(at)) if to != at]
        if not onward:
            stopped = "stuck"
            break
        index = draw.choice(onward)
        at = graph.out(at)[index][1]
        ids.append(at)
        indices.append(index)
        if ends is not None and ends(at):
            stopped = "met"
            break
    return {**graph.run_json(ids, indices), "stopped": stopped}


def follow(graph: Graph, start: int, keys: Sequence[str], end: str | None = None) -> Json:
    """Return the run whose steps have these keys, as far as it is one of this world.

    Two steps of a state may be called the same: all runs that fit are followed, and where `end`
    (the key of the last state) tells them apart, that one is returned.  `fits`: how many steps do;
    `same_end`: whether the last state is as it was; null where it is not known.
    """
    if not 0 <= start < len(graph.firsts):
        raise UsageProblem(
            f"a run cannot begin in beginning {start}", next=f"there are {len(graph.firsts)}"
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
