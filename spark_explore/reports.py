"""From a finished search on Spark to the report, as of any other search."""

from __future__ import annotations

from typing import Any

from attrs import evolve

from joinproto.check.check import conclude, report_of
from joinproto.check.engine.runs.coverage import coverage_of
from joinproto.check.engine.runs.findings import Findings, findings_of
from joinproto.check.engine.search import Search
from joinproto.check.report import Report
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
