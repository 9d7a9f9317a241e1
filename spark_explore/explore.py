"""Searches on Spark (`run`), in this process (`here`), or in both, one after the other (`auto`)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from attrs import evolve, field, frozen
from attrs.converters import optional

from joinproto.check.check import conclude, report_of
from joinproto.check.engine.runs.coverage import coverage_of
from joinproto.check.engine.runs.findings import Findings, findings_of
from joinproto.check.engine.search import Search
from joinproto.check.engine.stopping import Limits, Tick
from joinproto.check.engine.tables.answers import Answers
from joinproto.check.report import Report
from joinproto.check.world import World
from joinproto.errors import EnvironmentProblem, UsageProblem
from spark_explore import cost
from spark_explore.analyses import judge_runs
from spark_explore.frontier import Frontier
from spark_explore.handover import HandoverWatch, take_over
from spark_explore.journal import Journal
from spark_explore.places import Folder, Place, as_place
from spark_explore.session import (
    await_executors,
    cores_of,
    explained,
    is_here,
    open_context,
    owners_for,
    refuse_without_spark,
)
from spark_explore.storage import Storage, seen_by_all
from spark_explore.table_server import Outgrown
from spark_explore.temporary import own_folder
from spark_explore.trace import trace_to

SEED = 20_000
"""The driver expands smaller frontiers itself, because a job on Spark would take longer."""

FRONTIER_MAX = 2_000_000
"""With `auto` and a cluster, the size of a frontier from which a cluster is faster."""


@frozen(kw_only=True)
class Plan:
    """The plan of a search.

    `identity`: the facts that identify the run, for its folder.  `seed`: the size of a frontier
    from which Spark takes over.  `owners`: the number of shares of the states; None means one for
    each core.  `keeps_states`: write the dataset to `out`; `keeps_edges`: write also all steps.
    `tell`: gets messages for the user.  Only for a search in this process: `answers`, members'
    known answers; `workers`, the number of threads; `witnesses`, find a run to every `sometimes`.
    """

    limits: Limits = field(factory=Limits)
    master: str | None = None
    out: Place | None = field(default=None, converter=optional(as_place))
    resume: bool = False
    symmetry: bool = False
    witnesses: bool = False
    identity: Mapping[str, Any] = field(factory=dict)
    seed: int = SEED
    owners: int | None = None
    keeps_states: bool = True
    keeps_edges: bool = False
    progress: Callable[[Tick], None] | None = None
    tell: Callable[[str], None] | None = None
    answers: Answers | None = None
    workers: int = 1

    def say(self, text: str) -> None:
        if self.tell is not None:
            self.tell(text)


def unknown_to_executors(world: World) -> str:
    """Return the features of a world that only the local engine supports, or ""."""
    parts = ("show_links", world.show_links), ("within", world.within), ("same", world.same)
    return " and ".join(name for name, given in parts if given)


def run(world: World, plan: Plan) -> Report:
    """Return the report of a search of `world` on Spark."""
    if plan.symmetry:
        raise UsageProblem(
            "--symmetry is for the local engine: executors do not know which members are alike",
            next="leave out --symmetry, or --engine spark",
        )
    if unknown := unknown_to_executors(world):
        raise UsageProblem(
            f"world {world.name} has {unknown}, which executors do not know",
            next=f"leave out --engine spark, or take {unknown} out of the world",
        )
    with cost.Watch() as watch, _context(plan.master) as context:
        return explore(world, plan, context, watch)


def explore(world: World, plan: Plan, context: Any, watch: cost.Watch) -> Report:
    """Return the report of a search in an existing session."""
    spent = cost.Spent.now(watch)
    with explained(), _storage(plan) as storage:
        journal = Journal(storage, plan.out, dict(plan.identity))
        # Executors know messages only as bits, so contents of the network are not numbered.
        search = _search(world, plan, numbers_contents=False)
        if plan.resume and journal.has_begun():
            await_executors(context)
            frontier = journal.restore(search, _host(context))
        else:
            handover = HandoverWatch(search, frontier_max=plan.seed)
            search.run()
            if not handover.paused:
                _keep_states(plan, "write_local", search)
                return _of_local(search, spent)
            frontier = take_over(
                search, handover, storage, owners=_owners(plan, context), host=_host(context)
            )
        return _on_spark(frontier, plan, context, journal, spent)


def _search(world: World, plan: Plan, **more: Any) -> Search:
    return Search(world, limits=plan.limits, symmetry=plan.symmetry, progress=plan.progress, **more)


def here(world: World, plan: Plan) -> Report:
    """Search in this process, without Spark; write the dataset if the plan has `out`."""
    began, cpu = time.perf_counter(), time.process_time()
    search = _search(world, plan, answers=plan.answers, workers=plan.workers)
    search.run()
    return _concluded(search, plan, began, cpu)


def _concluded(search: Search, plan: Plan, began: float, cpu: float) -> Report:
    report = conclude(search, began=began, cpu=cpu, witnesses=plan.witnesses)
    if plan.out is not None:
        # If there is such a file, it is of an earlier run on Spark.
        (plan.out / "search").remove(["growth.json"])
    problem = _keep_states(plan, "write_local", search)
    return _with_note(report, problem) if problem else report


def _keep_states(plan: Plan, write: str, *searched: Any) -> str:
    """Write the dataset; return a note if a missing package prevented that, else ""."""
    if plan.out is None or not plan.keeps_states:
        return ""
    try:
        from spark_explore import dataset

        getattr(dataset, write)(*searched, plan.out, edges=plan.keeps_edges)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        return "no dataset was written: pyarrow is not installed (pip install 'joinproto[query]')"
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot write the dataset to {plan.out}: {error.strerror or error}",
            next="free some space there, or leave out --out",
        ) from error
    return ""


def auto(world: World, plan: Plan) -> Report:
    """Search in this process; hand over to Spark if memory runs out or a frontier is large."""
    began, cpu = time.perf_counter(), time.process_time()
    search = _search(world, plan, answers=plan.answers, workers=plan.workers)
    cluster = plan.master is not None and cores_of(plan.master) is None
    handover = HandoverWatch(search, frontier_max=FRONTIER_MAX if cluster else None)
    search.run()
    if not handover.paused and not handover.is_out_of_memory:
        return _concluded(search, plan, began, cpu)
    try:
        refuse_without_spark()
        if plan.symmetry:
            raise UsageProblem("it does not support --symmetry", next="")
        if unknown := unknown_to_executors(world):
            raise UsageProblem(f"it does not support a world's {unknown}", next="")
        if (numbered := sum(search.tables.value_counts())) * 2 > search.states.count:
            raise UsageProblem(
                f"its driver also holds the numbered values in memory, and the"
                f" {search.states.count:,} states have {numbered:,} of them",
                next="",
            )
    except (EnvironmentProblem, UsageProblem) as problem:
        # The search may have paused for a cluster; then it is not complete.
        search.found.stopped_by = (
            search.found.stopped_by or "a large frontier, which a cluster should search"
        )
        return _with_note(
            _concluded(search, plan, began, cpu), f"Spark cannot continue: {problem.message}"
        )
    plan.say(
        f"Spark continues from {search.states.count:,} states:"
        f" {search.found.stopped_by or 'a large frontier, and a cluster'}; Spark's processes take"
        " additional memory"
    )
    with cost.Watch() as watch, explained(), _storage(plan) as storage:
        spent = cost.Spent.now(watch, began=began)
        journal = Journal(storage, plan.out, dict(plan.identity))
        # Before the session starts: this moves the rows from memory to files.
        frontier = take_over(
            search, handover, storage, owners=_owners(plan, None), host="127.0.0.1"
        )
        with _context(plan.master) as context:
            frontier.host = _host(context)
            return _on_spark(frontier, plan, context, journal, spent)


def _on_spark(
    frontier: Frontier, plan: Plan, context: Any, journal: Journal, spent: cost.Spent
) -> Report:
    if cores_of(str(context.master)) is None:
        if plan.out is None and not is_here(str(context.master)):
            raise UsageProblem(
                f"a cluster ({context.master}) needs a place that all its machines can open",
                next="name one with --out: s3://BUCKET/PATH, or a shared folder",
            )
        seen_by_all(context, frontier.storage.place)
    frontier.open()
    try:
        journal.keep(frontier)
        _go_on(frontier, plan, context, journal, spent)
        _keep_states(plan, "write_frontier", frontier, context)
        journal.keep_growth(frontier)
        return _of_frontier(frontier, context, spent)
    finally:
        frontier.close()


def _go_on(
    frontier: Frontier, plan: Plan, context: Any, journal: Journal, spent: cost.Spent
) -> None:
    limits, found = plan.limits, frontier.search.found
    while not frontier.done and not frontier.verdicts.violated:
        if limits.states is not None and frontier.distinct >= limits.states:
            found.stopped_by = f"the limit of {limits.states:,} states"
            break
        if limits.seconds is not None and spent.seconds > limits.seconds:
            found.stopped_by = f"the limit of {limits.seconds:g} seconds"
            break
        try:
            frontier.advance(context, frontier.levels_of_job())
        except Outgrown:
            frontier.repack(context)
            journal.keep(frontier)
        journal.keep_sometimes(frontier)
        if plan.progress is not None:
            plan.progress(frontier.tick(spent.seconds))
    journal.keep(frontier)


# -- to the report ---------------------------------------------------------------------


def _with_note(report: Report, note: str) -> Report:
    return evolve(report, notes=(*report.notes, note))


def _of_local(search: Search, spent: cost.Spent) -> Report:
    """Return the report of a search that ended in the driver before Spark had work."""
    report = conclude(search, began=spent.began, cpu=0.0)
    note = f"{report.distinct:,} states: the driver searched them before executors had work"
    return evolve(
        _with_note(report, note),
        engine="spark",
        cpu_seconds=spent.cpu_seconds,
        peak_rss_bytes=spent.peak_bytes,
    )


def _of_frontier(frontier: Frontier, context: Any, spent: cost.Spent) -> Report:
    """Return the report of a search whose states are in files."""
    search = frontier.search
    search.tables.codes.ask_again()
    coverage = coverage_of(search, outcomes=frontier.outcomes)
    return report_of(
        search,
        _findings(frontier, context),
        coverage,
        engine="spark",
        levels=tuple(frontier.levels),
        distinct=frontier.distinct,
        generated=frontier.generated,
        seconds=spent.seconds,
        cpu_seconds=spent.cpu_seconds,
        peak_rss_bytes=spent.peak_bytes,
        bytes_per_state=frontier.bytes_per_state,
    )


def _findings(frontier: Frontier, context: Any) -> Findings:
    search = frontier.search
    search.found.hits, search.found.violated = frontier.verdicts.hits, frontier.verdicts.violated
    search.found.unmapped = frontier.verdicts.unmapped
    for claim in search.judge.whole:
        if claim.premise_bit >= 0:
            claim.premise_met = bool(frontier.verdicts.flags_any >> claim.premise_bit & 1)

    def way(_: Search, rows: Any, level: int) -> Any:
        return trace_to(frontier, context, frontier.verdicts.targets[int(rows[0])], level)

    return findings_of(
        search,
        way_to=way,
        judge_runs=lambda _, claims, found: judge_runs(frontier, context, claims, found),
    )


# -- where it runs ---------------------------------------------------------------------


@contextmanager
def _context(master: str | None) -> Iterator[Any]:
    context = open_context(master)
    try:
        yield context
    finally:
        context.stop()


def _owners(plan: Plan, context: Any) -> int:
    if plan.owners is not None:
        return plan.owners
    if context is not None:
        await_executors(context)
        return owners_for(context)
    return max(2, cores_of(plan.master or "local[*]") or 2)


def _host(context: Any) -> str:
    return (
        "127.0.0.1"
        if is_here(str(context.master))
        else str(context.getConf().get("spark.driver.host"))
    )


@contextmanager
def _storage(plan: Plan) -> Iterator[Storage]:
    if plan.out is None:
        with own_folder() as folder:
            yield Storage(Folder(folder))
        return
    place = plan.out.absolute() / "search"
    if not plan.resume:
        # Another run may have left files there.
        place.clear()
    place.make()
    if isinstance(place, Folder):
        yield Storage(place)
        return
    with own_folder() as cache:
        yield Storage(place, cache)
