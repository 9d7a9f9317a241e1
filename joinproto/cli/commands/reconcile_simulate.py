"""`joinproto reconcile simulate`: compare three ways to keep the replicas of many queues.

The nodes, their copies and the time are simulated.  The shipped code decides the changes and their
times.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from joinproto.cli.at_scale.many import Job, ManyRuns, ask, jobs, make, played, refuse_old
from joinproto.cli.at_scale.results import Compared, Outcome, draw
from joinproto.cli.at_scale.run import Run
from joinproto.cli.at_scale.stories import RepairWay, Shape, Story
from joinproto.cli.interrupting import interruptible
from joinproto.cli.options import AS_JSON, COUNT, FILE, Finite, option
from joinproto.cli.output import error_stream
from joinproto.cli.show.amounts import aligned, duration
from joinproto.cli.show.progress import Progress
from joinproto.codec.json_form import printed
from joinproto.errors import LimitReached, UsageProblem

EXAMPLE = """\b
Examples:
  joinproto reconcile simulate
  joinproto reconcile simulate --story day --days 3 --way ours --copies-at-once 4
  joinproto reconcile simulate --queues 10000 --picture rack.svg
  joinproto reconcile simulate --queues 10000 --seeds 5 --copies-at-once 3 --copies-at-once 8 \\
      --out results && joinproto reconcile results results
"""


TITLES = (
    "",
    "below, mean",
    "at best",
    "longest",
    "beyond",
    "changes",
    "for nothing",
    "of a node",
    "of all",
)


@click.command(epilog=EXAMPLE)
@option(
    "--story",
    "A rack fails, a rolling restart, or both each day.",
    click.Choice([one.value for one in Story]),
    usual="rack",
)
@option("--days", "", COUNT, usual=1)
@option(
    ("--way", "ways"),
    "The way to keep the replicas; can be given again; default: all three.",
    click.Choice([one.value for one in RepairWay]),
    multiple=True,
)
@option("--queues", "", COUNT, usual=100_000)
@option("--nodes", "", COUNT, usual=100)
@option("--zones", "", COUNT, usual=10)
@option("--replicas", "", COUNT, usual=3)
@option("--bytes-mean", "", Finite(1), usual=100e6)
@option("--failure-interval", "", Finite(0), usual=60.0)
@option("--interval", "", Finite(1), usual=60.0)
@option(
    ("--copies-at-once", "copies"),
    "For ours: the most copies of a node at a time; can be given again.  Other ways: 25, which a"
    " node's link carries.",
    COUNT,
    usual=(8,),
    multiple=True,
)
@option("--copies-in-all", "For ours: the most copies of all nodes at a time.", COUNT)
@option("--seed", "", int, usual=1)
@option("--seeds", "With --out: play this many seeds, from --seed on.", COUNT, default=1)
@option("--picture", "A .png or .svg to draw.", FILE)
@option("--out", "Play the runs on Spark, and write them to this new folder.", FILE)
@option("--master", "With --out: Spark's master.", usual="local[*]")
@AS_JSON
def simulate(**options: Any) -> int:
    """Simulate many queues on many nodes, in three ways: events, periodic and ours.

    Below: how long a queue has fewer running replicas than wanted; at best: the least mean that any
    order of copies has with this peak of all nodes.  Beyond: the mean without the failure interval,
    which each way waits for.  Loads: peak bytes a second.
    """  # fmt: skip
    if options["zones"] > options["nodes"] or options["replicas"] > options["zones"]:
        raise click.UsageError("expected --replicas <= --zones <= --nodes")
    names = ("queues", "nodes", "zones", "replicas", "bytes_mean", "failure_interval", "interval")
    shape = Shape(**{name: options[name] for name in (*names, "seed")})
    story, days = Story(options["story"]), options["days"]
    ways = [RepairWay(name) for name in options["ways"]] or list(RepairWay)
    asked = list(
        jobs(
            shape, story, days, ways, options["copies"], options["copies_in_all"], options["seeds"]
        )
    )
    if options["out"] is not None:
        if options["picture"] is not None:
            raise UsageProblem("--picture with --out", next="draw one run of each way, without it")
        refuse_old(options["out"])
        return _on_spark(options["master"], options["out"], asked, as_json=options["as_json"])
    if options["seeds"] > 1:
        raise UsageProblem("--seeds without --out", next="add --out DIR: many runs are kept there")
    runs = _played(asked)
    found = Compared(
        story=story, days=days, shape=shape, ways=tuple(outcome for _, outcome in runs)
    )
    if options["picture"] is not None:
        draw(options["picture"], [run for run, _ in runs])
    click.echo(printed(found) if options["as_json"] else _table(found))
    if left := asked[len(runs) :]:
        unplayed = [_row_name(job.way.value, job.copies_at_once, job.copies_in_all) for job in left]
        raise LimitReached(
            f"interrupted: not played: {', '.join(unplayed)}",
            next="give fewer --queues or one --way, which take less time",
        )
    return 0


def _played(asked: Sequence[Job]) -> list[tuple[Run, Outcome]]:
    """Play the jobs in turn, and show progress; return the runs that ended before Ctrl-C."""
    found: list[tuple[Run, Outcome]] = []
    began = time.monotonic()
    with interruptible() as interrupt, Progress(error_stream()) as progress:
        for job in asked:
            name = _row_name(job.way.value, job.copies_at_once, job.copies_in_all)

            def goes_on(part: float, name: str = name) -> bool:
                at = f"{name}, {len(found) + 1} of {len(asked)}: {part:.0%} of the time"
                seconds = time.monotonic() - began
                progress.say(seconds, lambda: f"{at}, {duration(seconds)}")
                return not interrupt.asked

            run = played(job, goes_on)
            if run is None:
                break
            found.append(run)
    return found


def _on_spark(master: str, folder: Path, asked: list[Any] | None, *, as_json: bool) -> int:
    """Play the runs that are asked for, if any, and print the folder's results."""
    from spark_explore.session import explained, open_session

    session = open_session(master)
    try:
        with explained():
            if asked is not None:
                make(session, asked, folder)
            found = ask(session, folder)
    finally:
        session.stop()
    click.echo(printed(found) if as_json else _summaries(found))
    return 0


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@option("--master", "Spark's master.", usual="local[*]")
@AS_JSON
def results(folder: Path, master: str, as_json: bool) -> int:
    """Summarize the runs in a folder of `simulate --out`, by way and limit.

    Column `of periodic`: the mean time below without the failure interval, as a share of that of
    periodic with the same seed; `worst`: the largest such share.
    """  # fmt: skip
    return _on_spark(master, folder, None, as_json=as_json)


def _summaries(found: ManyRuns) -> str:
    heads = ("", "runs", "below, mean", "at best", "longest", "beyond", "of periodic", "worst")
    rows = [
        (
            _row_name(one.way, one.copies_at_once, one.copies_in_all),
            f"{one.runs}",
            f"{one.below_mean:.1f} s",
            "" if one.below_least is None else f"{one.below_least:.1f} s",
            f"{one.below_longest:.1f} s",
            f"{one.beyond_mean:.1f} s",
            "" if one.share_of_periodic is None else f"{one.share_of_periodic:.0%}",
            "" if one.share_worst is None else f"{one.share_worst:.0%}",
            f"{one.peak_of_a_node / 1e6:,.0f} MB/s",
            f"{one.peak_of_all / 1e9:,.1f} GB/s",
        )
        for one in found.summaries
    ]
    return "\n".join(aligned(((*heads, "of a node", "of all"), *rows), str.rjust))


def _row_name(way: str, copies: int, in_all: int | None) -> str:
    return f"{way}, {copies} copies" + (f", {in_all} in all" if in_all is not None else "")


def _table(found: Compared) -> str:
    rows = [
        (
            _row_name(one.way, one.copies_at_once, one.copies_in_all),
            f"{one.below_mean:.1f} s",
            "" if one.below_least is None else f"{one.below_least:.1f} s",
            f"{one.below_longest:.1f} s",
            f"{one.beyond_interval_mean:.1f} s",
            f"{one.changes:,}",
            f"{one.for_nothing:,}",
            f"{one.peak_bytes_of_a_node / 1e6:,.0f} MB/s",
            f"{one.peak_bytes / 1e9:,.1f} GB/s",
        )
        for one in found.ways
    ]
    return "\n".join(aligned((TITLES, *rows), str.rjust))
