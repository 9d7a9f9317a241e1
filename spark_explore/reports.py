"""From a finished search on Spark to the report, as of any other search."""

from __future__ import annotations

from typing import Any, Literal

from attrs import evolve

from models.check import conclude, reductions_of
from models.engine.coverage import coverage_of
from models.engine.findings import Findings, findings_of
from models.engine.search import Search
from models.report import Report
from spark_explore.analyses import judge_runs
from spark_explore.cost import Spent
from spark_explore.frontier import Frontier
from spark_explore.trace import trace_to


def with_note(report: Report, note: str) -> Report:
    return evolve(report, notes=(*report.notes, note))


def of_local(search: Search, spent: Spent) -> Report:
    """Return the report of a search that ended before there was work for Spark."""
    report = conclude(search, began=spent.began, cpu=0.0)
    note = f"{report.distinct:,} states: the driver searched them before executors had work"
    return evolve(
        with_note(report, note),
        engine="spark",
        cpu_seconds=spent.cpu_seconds,
        peak_rss_bytes=spent.peak_bytes,
    )


def of_frontier(frontier: Frontier, context: Any, spent: Spent) -> Report:
    """Return the report of a search whose states are in files."""
    search = frontier.search
    search.tables.codes.ask_again()
    coverage = coverage_of(search, outcomes=frontier.outcomes)
    found = _findings(frontier, context)
    properties = tuple(found.results.values())
    broken = any(item.result in ("violated", "not-reached") for item in properties)
    result: Literal["holds", "violated", "incomplete"] = (
        "violated" if broken else "incomplete" if found.stopped_by else "holds"
    )
    world = search.world
    return Report(
        world=world.name,
        result=result,
        distinct=frontier.distinct,
        generated=frontier.generated,
        depth=len(frontier.levels),
        levels=tuple(frontier.levels),
        seconds=spent.seconds,
        cpu_seconds=spent.cpu_seconds,
        peak_rss_bytes=spent.peak_bytes,
        calls=search.tables.codes.calls,
        engine="spark",
        reductions=reductions_of(search),
        properties=properties,
        coverage=coverage,
        members=world.size,
        expected=world.expected,
        row_bits=search.row_bits,
        bytes_per_state=frontier.bytes_per_state,
        trace=found.shown(),
        stopped_by=found.stopped_by,
    )


def _findings(frontier: Frontier, context: Any) -> Findings:
    search = frontier.search
    search.found.hits, search.found.violated = frontier.verdicts.hits, frontier.verdicts.violated
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
