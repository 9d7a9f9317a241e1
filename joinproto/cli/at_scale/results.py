"""The results of a run: its figures, and a picture of several runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from attrs import frozen

from joinproto.cli.at_scale.run import Run
from joinproto.cli.at_scale.stories import HOUR, Shape, Story
from joinproto.codec.json_form import Count, Seconds, filled
from joinproto.errors import EnvironmentProblem

SECONDS_SHOWN_MAX = 900.0
"""The most seconds that a picture shows."""


@frozen(kw_only=True)
class Outcome:
    """The figures of one run: one way to keep the replicas of the queues."""

    way: Annotated[str, "events, periodic or ours"]
    copies_at_once: Annotated[Count, "the most copies of a node at a time"]
    copies_in_all: Annotated[int | None, "the most copies of all nodes at a time; null: no limit"]
    queues_below: Annotated[Count, "how often a queue fell below its target"]
    below_hours: Annotated[float, "time below the target, of all queues together"]
    below_mean: Annotated[Seconds, "the mean time below the target"]
    below_longest: Annotated[Seconds, "the longest time below the target"]
    below_least: Annotated[
        float | None,
        "the least mean, in seconds, that any order of copies has at this peak; null: the failures"
        " are not all at once",
    ]
    beyond_interval_mean: Annotated[Seconds, "the mean without the failure interval"]
    unmended: Annotated[Count, "queues below the target at the end"]
    changes: Annotated[Count, "replicas that were added"]
    for_nothing: Annotated[
        Count, "how often a lost replica came back after it was replaced, or a copy was late"
    ]
    cancelled: Annotated[Count, "copies whose source or target stopped"]
    bytes_copied: Annotated[float, "bytes of all copies"]
    peak_copies_of_a_node: Annotated[Count, "the most copies of a node at a time in this run"]
    peak_bytes_of_a_node: Annotated[float, "bytes a second of a node's network, and of its disk"]
    peak_bytes: Annotated[float, "bytes a second of all nodes"]
    evaluations: Annotated[Count, "how often a queue was evaluated"]
    cpu_seconds: Annotated[Seconds, "CPU time of this run"]

    @classmethod
    def of(cls, run: Run, cpu_seconds: float, *, are_at_once: bool) -> Self:
        below, shape = run.below_seconds, run.shape
        mean = sum(below) / max(1, len(below))
        return filled(
            cls,
            run,
            way=run.way.value,
            queues_below=len(below),
            below_hours=sum(below) / HOUR,
            below_mean=mean,
            below_longest=max(below, default=0.0),
            below_least=least_mean(run) if are_at_once and below else None,
            beyond_interval_mean=max(0.0, mean - shape.failure_interval),
            peak_copies_of_a_node=run.peak_of_a_node,
            peak_bytes_of_a_node=run.peak_of_a_node * shape.rate,
            peak_bytes=run.peak * shape.rate,
            cpu_seconds=cpu_seconds,
        )


def least_mean(run: Run) -> float:
    """Return the least mean time below, in seconds, for the peak of all nodes in this run.

    All replicas are lost at once, so no copy begins before the failure interval is over.  After
    that, one link as fast as all nodes together could do the same work.  Copying the smallest
    queues first gives the least mean of all orders.
    """
    rate = max(1, run.peak) * run.shape.rate
    ends, sent = 0.0, 0.0
    for size in sorted(run.copied):
        sent += size
        ends += sent / rate
    return run.shape.failure_interval + ends / max(1, len(run.copied))


@frozen(kw_only=True)
class Compared:
    """`reconcile simulate --json`: the same failures, and the figures of each way."""

    story: Annotated[Story, "the failures of the cluster"]
    days: Annotated[Count, "how many days were simulated"]
    shape: Annotated[Shape, "the size of the cluster"]
    ways: Annotated[tuple[Outcome, ...], "the figures of each way, for the same cluster"]


def draw(file: Path, runs: list[Run]) -> None:
    """Draw the number of queues below their target, and the copies, from the first change on."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 6), layout="constrained")
    above, under = figure.subplots(2, 1, sharex=True)
    first = min((run.moments[0].at for run in runs if run.moments), default=0.0)
    for run in runs:
        at = [one.at - first for one in run.moments]
        name = f"{run.way.value}, {run.copies_at_once} copies a node"
        if run.copies_in_all is not None:
            name += f", {run.copies_in_all} in all"
        above.step(at, [one.below for one in run.moments], where="post", label=name)
        loads = [one.copies * run.shape.rate / 1e9 for one in run.moments]
        under.step(at, loads, where="post", label=name)
    above.set_ylabel("queues below the target")
    under.set_ylabel("copied, GB a second")
    under.set_xlabel("seconds from the first loss")
    last = max((one.at - first for run in runs for one in run.moments), default=0.0)
    under.set_xlim(0, max(60.0, min(last, SECONDS_SHOWN_MAX) * 1.05))
    above.legend()
    try:
        figure.savefig(file)
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(
            f"{file}: {error}", next="name a .png or .svg that you may write"
        ) from None
