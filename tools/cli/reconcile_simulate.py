"""`joinproto reconcile simulate`: three ways to look after many queues, side by side.

Compared: the nodes, their copies and time.  Shipped: what decides, and when.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import click

from joinproto.json_form import printed
from tools.at_scale.results import Compared, Outcome, draw, write_parquet
from tools.at_scale.run import Run
from tools.at_scale.stories import HOUR, Shape, Story, Way, blows

EXAMPLE = """\b
Examples:
  joinproto reconcile simulate
  joinproto reconcile simulate --story day --days 3 --way ours --copies-at-once 4
  joinproto reconcile simulate --queues 10000 --picture rack.svg --out results/
"""


class Finite(click.FloatRange):
    """A number that is one: neither infinite nor none."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number", param, ctx)
        return number


TITLES = ("", "below, mean", "longest", "beyond", "changes", "for nothing", "of a node", "of all")


@click.command(epilog=EXAMPLE)
@click.option(
    "--story",
    type=click.Choice([one.value for one in Story]),
    default="rack",
    show_default=True,
    help="A rack fails, a rolling restart, or both each day.",
)
@click.option("--days", type=click.IntRange(1), default=1, show_default=True)
@click.option(
    "--way",
    "ways",
    multiple=True,
    type=click.Choice([one.value for one in Way]),
    help="events, periodic, ours; without it all.",
)
@click.option("--queues", type=click.IntRange(1), default=100_000, show_default=True)
@click.option("--nodes", type=click.IntRange(1), default=100, show_default=True)
@click.option("--zones", type=click.IntRange(1), default=10, show_default=True)
@click.option("--replicas", type=click.IntRange(1), default=3, show_default=True)
@click.option("--bytes-mean", type=Finite(1), default=100e6, show_default=True)
@click.option("--failure-interval", type=Finite(0), default=60.0, show_default=True)
@click.option("--interval", type=Finite(1), default=60.0, show_default=True)
@click.option(
    "--copies-at-once",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Ours: of a node.  The others: as many as its link carries, 25.",
)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--picture", type=click.Path(path_type=Path), help="A .png or .svg to draw.")
@click.option("--out", type=click.Path(path_type=Path), help="A folder for Parquet files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def simulate(**options: Any) -> int:
    """Simulate many queues on many nodes, looked after by events, periodically, and as ours.

    Below: how long a queue has fewer running replicas than wanted.  Beyond: the mean without the
    failure interval, which is waited for in each way.  Loads: peak bytes a second.
    """  # fmt: skip
    if options["zones"] > options["nodes"] or options["replicas"] > options["zones"]:
        raise click.UsageError("expected --replicas <= --zones <= --nodes")
    names = ("queues", "nodes", "zones", "replicas", "bytes_mean", "failure_interval", "interval")
    shape = Shape(**{name: options[name] for name in (*names, "seed")})
    story = Story(options["story"])
    told = list(blows(story, shape, options["days"]))
    runs, outcomes = [], []
    for name in options["ways"] or [one.value for one in Way]:
        began = time.process_time()
        way = Way(name)
        copies = options["copies_at_once"] if way is Way.OURS else shape.link
        run = Run(shape, way, copies, options["days"] * 24 * HOUR)
        run.play(told)
        runs.append(run)
        outcomes.append(Outcome.of(run, time.process_time() - began))
    found = Compared(story=story, days=options["days"], shape=shape, ways=tuple(outcomes))
    if options["out"] is not None:
        write_parquet(options["out"], found, runs)
    if options["picture"] is not None:
        draw(options["picture"], runs)
    click.echo(printed(found) if options["as_json"] else _table(found))
    return 0


def _table(found: Compared) -> str:
    rows = [
        (
            f"{one.way}, {one.copies_at_once} copies",
            f"{one.below_mean:.1f} s",
            f"{one.below_longest:.1f} s",
            f"{one.beyond_interval_mean:.1f} s",
            f"{one.changes:,}",
            f"{one.for_nothing:,}",
            f"{one.peak_bytes_of_a_node / 1e6:,.0f} MB/s",
            f"{one.peak_bytes / 1e9:,.1f} GB/s",
        )
        for one in found.ways
    ]
    widths = [max(map(len, column)) for column in zip(TITLES, *rows, strict=True)]
    return "\n".join(
        "  ".join(word.rjust(width) for word, width in zip(row, widths, strict=True))
        for row in (TITLES, *rows)
    )
