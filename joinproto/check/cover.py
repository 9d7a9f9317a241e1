"""`cover(world, goal)`: a few runs that together take every row, step or pair of steps, as tests.

A search finds the runs.  Their words are the words that `Replay` takes, so the members' present
code, or another implementation that reads the file of the runs, can repeat each run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated, Literal, Unpack

from attrs import frozen

from joinproto.check.bounded import Bounds, search_graph
from joinproto.check.report import Trace
from joinproto.check.steps import Move, to_step, words
from joinproto.check.world import World
from joinproto.codec.json_form import Count, Seconds

Goal = Literal["rows", "edges", "pairs"]


@frozen
class CoverStep:
    """One step of a run."""

    action: Annotated[str, "the step's words, as `Replay.step` takes them"]
    member: Annotated[str | None, "the member that takes it; null: no single member"]


@frozen(kw_only=True)
class Covered:
    """`joinproto cover WORLD --json`"""

    world: Annotated[str, "the world's name"]
    goal: Annotated[Goal, "the kind of goals"]
    result: Annotated[
        Literal["covered", "undetermined"], "undetermined: not all states were searched"
    ]
    goals: Annotated[Count, "how many rows, steps or pairs can be taken; the runs take all of them"]
    untaken: Annotated[tuple[str, ...], "the rows that the world names and no step takes"]
    since: Annotated[
        str | None, "only goals that take a row near lines changed since this commit; null: all"
    ]
    runs: Annotated[
        tuple[Annotated[tuple[CoverStep, ...], "a run's steps"], ...],
        "the runs, each from an initial state",
    ]
    why: Annotated[str, "why the result is undetermined, or empty"] = ""
    seconds: Annotated[Seconds, "by the clock"]


def rows_of(move: Move) -> tuple[str, ...]:
    """Return the rules that a step follows: the labels of the tables' rows."""
    return tuple(dict.fromkeys(rule for _, outcome in move.outcomes for rule in outcome.rules))


def name_of(move: Move) -> tuple[str, ...]:
    """Return a step's name without its message: its members and its action."""
    names = " ".join(name for name, _ in move.outcomes)
    return (f"{names}: {words(move)[0]}" if names else words(move)[0],)


def cover(
    world: World,
    goal: Goal,
    *,
    is_wanted: Callable[[str], bool] | None = None,
    steps_max: int = 100,
    each: Callable[[int, Trace], None] | None = None,
    **bounds: Unpack[Bounds],
) -> Covered:
    """Return runs that take all goals: each row (a rule's label), step, or pair of steps.

    A step that changes nothing is no goal.  `is_wanted`: selects rows; other goals count only if
    one of their steps takes such a row.  `steps_max`: a run of this many steps is not continued,
    but is longer if its first goal is further away.  `each`: called with the number of each run,
    from 1, and the run with its states.  The result is "undetermined" if a limit ended the search,
    or if `same` merged states.  Raises `ModelProblem` for a model that cannot be explored.
    """
    from joinproto.check.engine.liveness.cover import Cover
    from joinproto.check.engine.liveness.graph import Graph
    from joinproto.check.memory import MemoryLimitMet

    began = time.perf_counter()
    search, why = search_graph(world, bounds)
    runs: list[tuple[CoverStep, ...]] = []
    count, untaken = 0, tuple[str, ...]()
    if not why:
        try:
            graph = Graph(search)
        except (MemoryLimitMet, MemoryError):
            why = "the memory limit"
        else:
            covering = Cover(
                graph,
                goal,
                name_of if goal == "pairs" else rows_of,
                # All rows are looked for: the report lists every row that is taken in no state.
                lambda move: (
                    goal == "rows" or is_wanted is None or any(map(is_wanted, rows_of(move)))
                ),
            )
            wanted = covering.wanted()
            if goal == "rows":
                untaken = tuple(label for label in world.labels if label not in wanted)
                if is_wanted is not None:
                    wanted = {row: of for row, of in wanted.items() if is_wanted(str(row))}
            count = len(wanted)
            for run in covering.runs(wanted, steps_max):
                steps = (to_step(graph.move(edge), {}) for edge in run.edges)
                runs.append(tuple(CoverStep(step.label, step.member) for step in steps))
                if each is not None:
                    initial, texts = graph.texts_of(run)
                    each(len(runs), Trace(f"{goal}, run {len(runs)}", "sometimes", initial, texts))
    return Covered(
        world=world.name,
        goal=goal,
        result="undetermined" if why else "covered",
        goals=count,
        untaken=untaken,
        since=None,
        runs=tuple(runs),
        why=why,
        seconds=time.perf_counter() - began,
    )
