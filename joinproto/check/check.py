"""One search of a world: explore its states, judge every property, and report."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Unpack

from attrs import evolve

from joinproto.check.bounded import Bounds, limits_of
from joinproto.check.exercised import final_report
from joinproto.check.report import Coverage, Report
from joinproto.check.same import FOUND_FIRST, WARNING
from joinproto.check.world import World

if TYPE_CHECKING:
    from joinproto.check.engine.checkpoint import Checkpoint
    from joinproto.check.engine.runs.findings import Findings
    from joinproto.check.engine.tables.answers import Answers


def check(
    world: World,
    *,
    symmetry: bool = False,
    witnesses: bool = False,
    answers: Answers | None = None,
    workers: int = 1,
    checkpoint: Checkpoint | None = None,
    **bounds: Unpack[Bounds],
) -> Report:
    """Return the report of a breadth-first search of `world`.

    `symmetry`: of the states that differ only in the names of interchangeable members, search only
    one.  `bounds` end the search early; the report then says `incomplete`, unless a claim is
    violated.  `witnesses`: also report the shortest run to every `sometimes`.  `answers`: members'
    known answers.  `workers`: the number of threads.  `checkpoint`: files for the states, from
    which a killed search continues; they are removed when the search ends by itself.  Raises
    `ModelProblem` for a model that cannot be explored, `UsageProblem` for a checkpoint of another
    search.
    """
    from joinproto.check.engine.search import Search

    began, cpu = time.perf_counter(), time.process_time()
    try:
        goes_on = checkpoint is not None and checkpoint.open()
        search = Search(
            world,
            limits=limits_of(bounds),
            symmetry=symmetry,
            progress=bounds.get("progress"),
            # A search that continues uses the answers in its checkpoint instead.
            answers=None if goes_on else answers,
            workers=workers,
            files=None if checkpoint is None else checkpoint.files,
            checkpoint=checkpoint,
            goes_on=goes_on,
        )
        search.run()
        report = conclude(search, began=began, cpu=cpu, witnesses=witnesses)
        return report if checkpoint is None else _with_checkpoint_notes(report, checkpoint)
    finally:
        if checkpoint is not None:
            checkpoint.close()


def _with_checkpoint_notes(report: Report, checkpoint: Checkpoint) -> Report:
    """Return the report with notes on the checkpoint; remove it if no limit ended the search."""
    notes = [checkpoint.note]
    if report.stopped_by:
        notes.append(checkpoint.left_note())
    else:
        checkpoint.remove()
    return evolve(report, notes=(*report.notes, *filter(None, notes)))


def conclude(search: Any, *, began: float, cpu: float, witnesses: bool = False) -> Report:
    """Return the report of a `Search` that has run.

    `began`, `cpu`: the wall clock and the processor time at its start, in seconds.
    """
    from joinproto.check import memory
    from joinproto.check.engine.runs.coverage import coverage_of
    from joinproto.check.engine.runs.findings import findings_of

    search.tables.codes.ask_again()
    search.keep_answers()
    coverage = coverage_of(search)
    found = findings_of(search, witnesses=witnesses)
    starts = search.found.levels
    return report_of(
        search,
        found,
        coverage,
        engine="local",
        levels=tuple(b - a for a, b in pairwise(starts)),
        distinct=search.states.count,
        generated=search.found.generated,
        seconds=time.perf_counter() - began,
        cpu_seconds=time.process_time() - cpu,
        peak_rss_bytes=memory.peak_bytes(),
        numbered_bytes=search.numbered_bytes,
        beyond=search.beyond,
        bytes_per_state=(search.states.bytes_used + search.judge.bytes_used) / search.states.count,
    )


def report_of(
    search: Any, found: Findings, coverage: Coverage, *, levels: tuple[int, ...], **measured: Any
) -> Report:
    """Return the report of a search on one machine or on Spark.

    `levels`: distinct states at each depth.  `measured`: the engine, its counts and costs, by the
    names of `Report`.
    """
    world = search.world
    kept = "" if search.answers is None else search.answers.note()
    notes = [*found.notes, kept, "" if world.same is None else WARNING]
    return final_report(
        world,
        found.results.values(),
        coverage,
        idle=found.idle,
        levels=levels,
        calls=search.tables.codes.calls,
        reductions=reductions_of(search),
        row_bits=search.row_bits,
        stopped_by=found.stopped_by,
        notes=tuple(filter(None, notes)),
        **measured,
    )


def reductions_of(search: Any) -> tuple[str, ...]:
    """Return texts that say which states the search left out, and why."""
    world = search.tables.world
    dropped: tuple[str, ...] = () if world.expiry is None else ("messages of no use are dropped",)
    if world.same is not None:
        dropped += (FOUND_FIRST,)
    if search.renaming is None:
        return dropped
    how = "sorted" if search.renaming.sorted_form else "every permutation"
    return (f"symmetry of {len(search.renaming.names)} members ({how})", *dropped)
