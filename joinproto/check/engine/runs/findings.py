"""The result of each claim of a finished search, with the runs that show it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from attrs import Factory, define, evolve

from joinproto.check.engine.claims.judge import Claim
from joinproto.check.engine.runs.paths import FoundRun, path_to, uncounted
from joinproto.check.engine.search import Search
from joinproto.check.memory import MemoryLimitMet
from joinproto.check.properties import ON_FAIR_RUNS, ON_RUNS
from joinproto.check.report import PropertyResult, Result, Trace

if TYPE_CHECKING:
    from joinproto.check.engine.liveness.graph import Graph


@define
class Findings:
    """The results of a search.  `whole`: whether the search found all states and judged all claims.

    `idle`: fairness demands for steps that are never possible.  `notes`: texts about steps that
    abstract worlds cannot take.
    """

    results: dict[str, PropertyResult] = Factory(dict)
    traces: dict[str, Trace] = Factory(dict)
    whole: bool = True
    stopped_by: str = ""
    idle: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def shown(self) -> Trace | None:
        """Return the shortest run that breaks a claim; of several, that of the first claim."""
        broken = [name for name, item in self.results.items() if item.result == "violated"]
        broken = [name for name in broken if name in self.traces]
        return min((self.traces[name] for name in broken), key=_length, default=None)


def _length(trace: Trace) -> int:
    return len(trace.steps)


def findings_of(
    search: Search,
    *,
    witnesses: bool = False,
    way_to: Callable[[Search, Any, int], FoundRun] = path_to,
    judge_runs: Callable[[Search, list[Claim], Findings], None] | None = None,
) -> Findings:
    """Return the result of every claim of the world, in its order.

    `witnesses`: whether to rebuild the run to every `sometimes`, too.  `way_to`, `judge_runs`: used
    in place of `path_to` and `judge_graph` if the states are not in this process.
    """
    found = Findings(stopped_by=search.found.stopped_by)
    found.whole = not search.found.stopped_by and not search.found.violated
    for hit in search.found.hits:
        item = hit.claim.property
        broken = item.kind == "always"
        trace = None
        if broken or witnesses:
            initial, steps, _ = way_to(search, hit.rows, hit.level)
            trace = Trace(item.name, item.kind, initial, steps)
        add_result(found, hit.claim, "violated" if broken else "reached", trace, hit.level)
    on_runs = [claim for claim in search.judge.claims if claim.property.kind in ON_RUNS]
    if search.found.unmapped:
        # The shortest run with such a step ends on the last level, so these levels are enough.
        on_runs = search.judge.implementing
    if on_runs and (found.whole or search.found.unmapped):
        judge = judge_runs or judge_graph
        uncounted(search, lambda: judge(search, on_runs, found))
    for claim in search.judge.claims:
        if claim.property.name not in found.results:
            add_result(
                found, claim, _result_without_hit(search, claim, whole=found.whole), None, None
            )
    found.results = {
        claim.property.name: _with_premise(claim, found.results[claim.property.name])
        for claim in search.judge.claims
    }
    return found


def add_result(
    found: Findings, claim: Claim, result: Result, trace: Trace | None, length: int | None
) -> None:
    """Add the result of `claim`."""
    item = claim.property
    found.results[item.name] = PropertyResult(
        item.name, item.kind, result, length, trace=trace, about=item.meaning
    )
    if trace is not None:
        found.traces[item.name] = trace


def _result_without_hit(search: Search, claim: Claim, *, whole: bool) -> Result:
    if not whole:
        return "unknown"
    if claim.property.kind != "sometimes":
        return "holds"
    # A missing state may be reachable only through a state that the search did not expand.
    left_out = search.world.same is not None or search.beyond > 0
    return "unknown" if left_out else "not-reached"


def _with_premise(claim: Claim, result: PropertyResult) -> PropertyResult:
    if claim.property.premise is None:
        return result
    return evolve(result, premise_met=claim.premise_met)


def judge_graph(search: Search, claims: list[Claim], found: Findings) -> None:
    """Judge claims about whole runs on the graph of all states; add the runs that break them."""
    # Imported here, because SciPy takes a while to load, and most searches do not need it.
    from joinproto.check.engine.liveness.graph import Graph

    try:
        graph = Graph(search)
        for claim in claims:
            trace = _broken_run(search, graph, claim, found)
            if trace is not None:
                add_result(found, claim, "violated", trace, len(trace.steps))
        if any(claim.property.kind in ON_FAIR_RUNS for claim in claims):
            found.idle = tuple(graph.unmatched_fairness())
    except (MemoryLimitMet, MemoryError):
        found.whole = False
        found.stopped_by = "the memory limit, before all runs could be judged"


def _broken_run(search: Search, graph: Graph, claim: Claim, found: Findings) -> Trace | None:
    item = claim.property
    if item.kind in ON_FAIR_RUNS:
        fair = graph.fair_run_breaking(claim)
        if fair is None:
            return None
        lasso = fair.run.loop_at, fair.run.fairness, fair.run.due_at
        return Trace(item.name, item.kind, fair.initial, fair.steps, *lasso)
    if item.scope == "step":
        broken = graph.run_to_broken_step(claim)
        if broken is None:
            return None
        found.notes += (broken.abstract_note,) if broken.abstract_note else ()
        return Trace(item.name, item.kind, broken.initial, broken.steps)
    bad = graph.deadlocks(claim) if item.kind == "no deadlock" else graph.impossible(claim)
    if len(bad) == 0:
        return None
    level, end = graph.level_of(int(bad[0]))
    initial, steps, _ = path_to(search, bad[bad < end], level)
    return Trace(item.name, item.kind, initial, steps)
