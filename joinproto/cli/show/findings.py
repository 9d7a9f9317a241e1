"""The findings of a report in words, without layout: for the terminal and the page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib.util import find_spec

from attrs import frozen

from joinproto.check.properties import ON_FAIR_RUNS
from joinproto.check.report import PropertyResult, Report
from joinproto.check.same import FOUND_FIRST
from joinproto.cli.show.amounts import count, duration, plural, size
from joinproto.cli.show.pieces import Piece, Role, visible

MARKS = {
    "holds": Piece("holds", Role.GOOD),
    "reached": Piece("reached", Role.GOOD),
    "violated": Piece("VIOLATED", Role.BAD),
    "not-reached": Piece("NOT REACHED", Role.BAD),
    "unknown": Piece("unknown", Role.WARN),
}

NUMBERED_REPORTED_MIN = 32 << 20
"""Bytes that the search of any small world takes for numbered values; only more is reported."""

GROWING_MAX = 3

LIMITS = {
    "memory": "--max-memory SIZE",
    "states": "--max-states N",
    "second": "--max-seconds N",
    "time": "--max-seconds N",
}
"""Word in the reason of an early end -> the option that moves that limit."""


@frozen
class Fact:
    """A heading and its text, or a command and its purpose."""

    heading: str
    text: str


def result(report: Report) -> Piece:
    """Return the result in words, with the expected result if that adds information.

    The words tell a violated claim from a state that is never reached.
    """
    is_broken = any(item.result == "violated" for item in report.properties)
    fails = "VIOLATED" if is_broken else "NOT REACHED (a `sometimes` never comes true)"
    match report.result, report.expected:
        case "violated", "violated":
            return Piece(f"{fails}, as expected", Role.GOOD)
        case "violated", _:
            return Piece(fails, Role.BAD)
        case "holds", "violated":
            # The given options, which are not known here, may be the reason why it holds.
            return Piece("HOLDS; with its default options it must fail", Role.WARN)
        case "holds", _:
            return Piece("holds", Role.GOOD)
        case _ if report.coverage.void:
            return Piece("UNDETERMINED: a claim was not put to a test", Role.WARN)
        case _ if report.stopped_by:
            return Piece("UNDETERMINED: no violation so far, the rest is unknown", Role.WARN)
        case _:
            return Piece("UNDETERMINED: no violation, and not all was found", Role.WARN)


def costs(report: Report) -> Iterator[Fact]:
    """Yield the extent of the search, and its costs."""
    if report.stopped_by:
        yield Fact("stopped", visible(report.stopped_by))
    if growing := report.coverage.growing:
        listed = "; ".join(map(visible, growing[:GROWING_MAX]))
        more = f"; {len(growing) - GROWING_MAX} more" if len(growing) > GROWING_MAX else ""
        yield Fact("grows", f"{listed}{more}: without a bound, no search ends by itself")
    yield Fact(
        "states",
        f"{count(report.distinct)} distinct, {count(report.generated)} generated,"
        f" depth {count(report.depth)}",
    )
    if report.beyond:
        yield Fact("bound", f"{plural(report.beyond, 'state')} beyond it: judged, no step taken")
    yield Fact("time", f"{duration(report.seconds)}, CPU {duration(report.cpu_seconds)}")
    memory = f"{size(report.peak_rss_bytes)} at most" if report.peak_rss_bytes else "not known"
    if report.bytes_per_state:
        memory += f", {report.bytes_per_state:,.1f} bytes a state"
    if report.row_bits:
        memory += f" ({plural(report.row_bits, 'bit')} of content)"
    if report.numbered_bytes > NUMBERED_REPORTED_MIN:
        memory += f", {size(report.numbered_bytes)} for numbered values"
    yield Fact("memory", memory)
    yield Fact("code", f"{plural(report.calls, 'call')} of members' code")
    if any(item.kind in ON_FAIR_RUNS for item in report.properties):
        words = "; ".join(report.fair_to) or "none: no step is ever forced"
        yield Fact("fairness", visible(words))
    reductions = ", ".join(map(visible, report.reductions)) or "none"
    how = "state by state" if report.method == "states" else f"{visible(report.engine)} engine"
    yield Fact("search", f"{how}, reductions: {reductions}")


def exercised(report: Report) -> str:
    """Return the search's coverage, in numbers."""
    steps = sum(map(bool, report.coverage.actions.values()))
    cases = sum(map(bool, report.coverage.rules.values()))
    taken = f"{plural(steps, 'kind')} of steps"
    return f"{taken} and {plural(cases, 'case')} of tables" if cases else taken


def not_exercised(report: Report) -> Iterator[str]:
    """Yield the parts that the search never exercised: claims that hold say nothing about them."""
    void = report.coverage.void
    if len(void) > 1 and len({*void.values()}) == 1:
        yield f"claims are open: {visible(min(void.values()))}"
    early = ended_early(report)
    waiting = sum(item.result == "unknown" for item in report.properties)
    for item in report.properties:
        name = f"“{visible(item.name)}”"
        if is_empty(item):
            yield f"{name} says nothing here: its premise was never met"
        if item.result == "not-reached":
            yield f"{name} was not reached" + _shown_texts(report)
        if item.name in void or (item.result == "unknown" and (not early or waiting == 1)):
            yield f"{name} is open: {why_open(report, item)}"
    if waiting > 1 and early:
        yield f"{waiting} claims are open: {early} before they were judged"
    yield from map(visible, report.coverage.never)


def why_open(report: Report, item: PropertyResult) -> str:
    """Return why a claim is neither true nor false here, in words."""
    if item.name in report.coverage.void:
        return visible(report.coverage.void[item.name])
    if left_out(report) and not ended_early(report):
        return "not found, and it may lie behind the states that were left out"
    return "the search ended before it was judged"


def _shown_texts(report: Report) -> str:
    """Return the texts that members showed, for a person who looks for a misspelt text."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, texts in report.coverage.shown.items():
        alike.setdefault(texts, []).append(visible(name))
    rows = [
        f"{', '.join(names)}: {', '.join(map(visible, texts))}" for texts, names in alike.items()
    ]
    return f"; shown were {'; '.join(rows)}" if rows else ""


def left_out(report: Report) -> bool:
    """Return whether the world kept the search from taking steps from some states."""
    return FOUND_FIRST in report.reductions or report.beyond > 0


def is_empty(item: PropertyResult) -> bool:
    """Return whether a claim says nothing, because its premise was true in no judged state."""
    return item.premise_met is False and item.result != "unknown"


def ended_early(report: Report) -> str:
    """Return, in words, where the search ended early; "" if it saw everything."""
    if report.stopped_by:
        return "the search ended at a limit"
    # Claims about whole runs are judged when all states are found.  A broken `always` ends the
    # search before that, and so does `implements` if a state stands for no abstract state.
    broken = {item.kind for item in report.properties if item.result == "violated"}
    is_open = any(item.result == "unknown" for item in report.properties)
    if "always" in broken or ("implements" in broken and is_open and not left_out(report)):
        return "the search ended at the violation"
    return ""


def remark(item: PropertyResult) -> str:
    """Return the remark that follows a property's name; "" for no remark."""
    words = []
    if item.trace_length is not None:
        words.append(f"in {plural(item.trace_length, 'step')}")
    if is_empty(item):
        words.append("premise NEVER met")
    return "; ".join(words)


def command(report: Report) -> str:
    """Return the shortest command that checks the same world."""
    return f"joinproto check {shlex.quote(report.world)}"


def next_commands(report: Report, typed: str, *, has_sizes: bool = True) -> Iterator[Fact]:
    """Yield commands to type next, each with its purpose.

    `typed`: the command that gave this report.  `has_sizes`: whether the world can be built with
    another number of members.
    """
    if report.trace is not None:
        yield Fact(f"{typed} --trace run.html", "read the run as a page")
        yield Fact(f"{typed} --trace test_run.py", "get the run as a test")
    elif report.result == "incomplete":
        if report.stopped_by == "interrupted":
            yield Fact(f"{typed} --max-seconds N", "search for a given time")
            return
        if report.coverage.void:
            return
        if not report.stopped_by:
            drawn = typed.replace(" check ", " simulate ", 1)
            yield Fact(drawn, "look for it in random runs, which leave no state out")
            return
        limit = next((flag for word, flag in LIMITS.items() if word in report.stopped_by), "")
        yield Fact(f"{typed} {limit or '--max-memory SIZE'}", "search on with a higher limit")
        # Files can hold states, in this process alone, but not the graph of all steps.
        if limit != LIMITS["memory"] or " --checkpoint " in typed:
            return
        if "all runs" not in report.stopped_by:
            yield Fact(f"{typed} --checkpoint DIR", "search, and keep the states in files in DIR")
        if find_spec("pyspark") is not None:
            yield Fact(f"{typed} --master 'local[*]'", "search on with Spark, which keeps to disk")
    elif next(not_exercised(report), ""):
        yield Fact(f"{typed} --trace report.html", "read the counts of all that was exercised")
    elif has_sizes:
        larger = re.sub(r" --members \S+", "", typed)
        yield Fact(f"{larger} --members N", "search the same world with more members")
