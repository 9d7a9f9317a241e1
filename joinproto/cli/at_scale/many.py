"""Many runs, each with a seed, way and limits: played on Spark, kept as Parquet, then queried.

outcomes    a row for each run
moments     a row for each second of a run in which a queue or a copy changed
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

from attrs import asdict, evolve, fields, frozen

from joinproto.cli.at_scale.results import Outcome
from joinproto.cli.at_scale.run import Moment, Run
from joinproto.cli.at_scale.stories import HOUR, RepairWay, Shape, Story, failures
from joinproto.codec.json_form import Count, Seconds
from joinproto.errors import UsageProblem

OUTCOMES, MOMENTS = "outcomes", "moments"
PARQUET = b"PAR1"  # the first bytes of a Parquet file
RUN_COLUMNS = ("seed", "way", "copies_at_once", "copies_in_all")
"""The columns of a moment that say which run it belongs to."""
_SQL = {float: "double", int: "bigint", str: "string"}
_KINDS: dict[str, Any] = {
    **{
        name: (get_args(hint) or (hint,))[0]
        for cls in (Shape, Outcome, Moment)
        for name, hint in get_type_hints(cls).items()
    },
    "story": str,
    "days": int,
}
"""The type of each column; for an optional column, the type without null."""


@frozen
class Job:
    """One run: a cluster by its seed, its failures, its way of repair, and the copy limit."""

    shape: Shape
    story: Story
    days: int
    way: RepairWay
    copies_at_once: int
    copies_in_all: int | None = None

    @property
    def about(self) -> dict[str, Any]:
        return {"story": self.story.value, "days": self.days, **asdict(self.shape)}


def jobs(
    shape: Shape,
    story: Story,
    days: int,
    ways: Iterable[RepairWay],
    copies: Iterable[int],
    in_all: int | None,
    seeds: int,
) -> Iterator[Job]:
    """Yield a run for each seed and way; our way has one for each number of copies."""
    for seed, way in product(range(shape.seed, shape.seed + seeds), ways):
        of_seed = evolve(shape, seed=seed)
        if way is RepairWay.OURS:
            for count in copies:
                yield Job(of_seed, story, days, way, count, in_all)
        else:
            yield Job(of_seed, story, days, way, shape.link)


def played(
    job: Job, goes_on: Callable[[float], bool] = lambda part: True
) -> tuple[Run, Outcome] | None:
    """Return the run and its outcome; None if `goes_on` ended the run (see `Run.play`)."""
    began = time.process_time()
    until = job.days * 24 * HOUR
    run = Run(job.shape, job.way, job.copies_at_once, until, job.copies_in_all)
    if not run.play(list(failures(job.story, job.shape, job.days)), goes_on):
        return None
    spent = time.process_time() - began
    return run, Outcome.of(run, spent, are_at_once=job.story is Story.RACK)


def rows(job: Job) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the row of a run, and the rows of its moments."""
    found = played(job)
    assert found is not None
    run, outcome = found
    row = {**job.about, **asdict(outcome)}
    of_run = {name: row[name] for name in RUN_COLUMNS}
    return row, [{**of_run, **asdict(one)} for one in run.moments]


def refuse_old(folder: Path) -> None:
    """Raise `UsageProblem` for a folder with results, because nothing is overwritten."""
    if folder.exists() and not folder.is_dir():
        raise UsageProblem(f"{folder} is a file, expected a folder", next="name a new folder")
    for name in (OUTCOMES, MOMENTS):
        if (folder / name).exists():
            raise UsageProblem(f"{folder / name} is there already", next="name a new folder")


def make(session: Any, asked: list[Job], folder: Path) -> None:
    """Play all runs on Spark, each as a task, and write their rows to `folder`."""
    made = session.sparkContext.parallelize(asked, len(asked)).map(rows).persist()
    try:
        for name, rdd, columns, cls in (
            (OUTCOMES, made.map(lambda found: found[0]), asked[0].about, Outcome),
            (MOMENTS, made.flatMap(lambda found: found[1]), RUN_COLUMNS, Moment),
        ):
            names = [*columns, *(one.name for one in fields(cls))]
            form = ", ".join(f"{one} {_SQL[_KINDS[one]]}" for one in names)
            session.createDataFrame(rdd.map(_as_tuple), form).write.parquet(str(folder / name))
    finally:
        made.unpersist()


def _as_tuple(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(None if value is None else _KINDS[name](value) for name, value in row.items())


# -- asking --------------------------------------------------------------------------------------

QUESTION = """
    with told as (
        select ours.*, ours.beyond_interval_mean / periodic.beyond_interval_mean as share
        from outcomes ours left join outcomes periodic
          on periodic.way = 'periodic' and periodic.seed = ours.seed
         and periodic.story = ours.story and periodic.days = ours.days
         and periodic.queues = ours.queues and periodic.nodes = ours.nodes
         and periodic.interval = ours.interval and periodic.bytes_mean = ours.bytes_mean)
    select story, queues, nodes, interval, way, copies_at_once, copies_in_all,
           count(*) as runs, avg(below_mean) as below_mean, max(below_longest) as below_longest,
           avg(below_least) as below_least,
           avg(beyond_interval_mean) as beyond_mean, max(beyond_interval_mean) as beyond_worst,
           avg(share) as share_of_periodic, max(share) as share_worst,
           max(peak_bytes_of_a_node) as peak_of_a_node, max(peak_bytes) as peak_of_all,
           sum(for_nothing) as for_nothing, sum(unmended) as unmended
    from told
    group by story, queues, nodes, interval, way, copies_at_once, copies_in_all
    order by story, queues, nodes, interval, way, copies_at_once, copies_in_all
"""


@frozen(kw_only=True)
class Summary:
    """The figures of one way with one limit, over all seeds."""

    story: Annotated[str, "the failures of the cluster: rack, rolling or day"]
    queues: Annotated[Count, "how many queues"]
    nodes: Annotated[Count, "how many nodes"]
    interval: Annotated[Seconds, "between two looks at a queue"]
    way: Annotated[str, "events, periodic or ours"]
    copies_at_once: Annotated[Count, "the most copies of a node at a time"]
    copies_in_all: Annotated[int | None, "the most copies of all nodes at a time; null: no limit"]
    runs: Annotated[Count, "runs, each with another seed"]
    below_mean: Annotated[Seconds, "the mean time below the target, mean of the runs"]
    below_longest: Annotated[Seconds, "the longest time below of any queue in any run"]
    below_least: Annotated[
        float | None,
        "the least mean that any order of copies has at these peaks, mean of the runs; null: the"
        " failures are not all at once",
    ]
    beyond_mean: Annotated[Seconds, "`below_mean` without the failure interval"]
    beyond_worst: Annotated[Seconds, "the same of the worst run"]
    share_of_periodic: Annotated[
        float | None,
        "the mean without the failure interval, as a share of that of periodic with the same seed,"
        " mean of the runs; null: periodic was not run",
    ]
    share_worst: Annotated[float | None, "that share in the worst run"]
    peak_of_a_node: Annotated[float, "the highest peak of a node in any run, bytes a second"]
    peak_of_all: Annotated[float, "the highest peak of all nodes in any run, bytes a second"]
    for_nothing: Annotated[Count, "needless changes, of all runs"]
    unmended: Annotated[Count, "queues below the target at the end, of all runs"]


@frozen(kw_only=True)
class ManyRuns:
    """`reconcile results --json`: the results of many runs, by way and limit."""

    summaries: Annotated[tuple[Summary, ...], "in the order of story, sizes, way and limits"]


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(PARQUET))


def ask(session: Any, folder: Path) -> ManyRuns:
    """Return Spark's answer to `QUESTION` about a folder that `make` wrote."""
    if not (folder / OUTCOMES).is_dir():
        raise UsageProblem(
            f"{folder} has no {OUTCOMES}", next="make it: joinproto reconcile simulate --out DIR"
        )
    files = sorted((folder / OUTCOMES).glob("*.parquet"))
    damaged = [one for one in files if _first_bytes(one) != PARQUET]
    if damaged or not files:
        raise UsageProblem(
            f"{damaged[0] if files else folder / OUTCOMES} is not Parquet",
            next="make it again: joinproto reconcile simulate --out DIR",
        )
    outcomes = session.read.parquet(str(folder / OUTCOMES))
    lacking = sorted({one.name for one in fields(Outcome)} - set(outcomes.columns))
    if lacking:
        raise UsageProblem(
            f"{folder} was made by another version: it has no {lacking[0]}",
            next="make it again: joinproto reconcile simulate --out DIR",
        )
    outcomes.createOrReplaceTempView(OUTCOMES)
    found = session.sql(QUESTION).collect()
    return ManyRuns(summaries=tuple(Summary(**row.asDict()) for row in found))
