"""`pick`: compute the verdict and its evidence from the facts of several stores.  Pure.

`chain.py` (our stores) or `others.py` finds the latest store; `table.py` decides the verdict.

Source: recovery, "Verdicts of `pick`".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from attrs import evolve, frozen

from joinproto.machine.tables import Case
from joinproto.pick import chain, others
from joinproto.pick.candidate import Candidate, State
from joinproto.pick.findings import Findings, row_of
from joinproto.pick.table import StoreRow, Verdict, verdicts


@frozen(kw_only=True)
class Group:
    """The stores of one cluster; `cluster`: None for stores of no cluster, or of an unknown one."""

    cluster: str | None
    names: tuple[str, ...]


@frozen(kw_only=True)
class Pick:
    """The verdict about a set of stores.

    `rule`, `case`: label and name of the deciding case.  `groups`: all given stores, by cluster.
    `findings`: the evidence for at most one cluster; with several, only a row for each store.
    """

    verdict: Verdict
    rule: str
    case: str
    groups: tuple[Group, ...]
    findings: Findings

    @property
    def latest(self) -> tuple[str, ...]:
        """Return the names of the latest stores, or () if the verdict does not name any."""
        silent = (Verdict.DIVERGED, Verdict.IN_USE, Verdict.DIFFERENT_CLUSTERS, Verdict.CORRUPT)
        if self.verdict in silent or any(row.is_copy for row in self.findings.rows):
            return ()
        if self.verdict is Verdict.CLEAN:
            return self.findings.clean
        return self.findings.latest

    @property
    def loses_nothing(self) -> bool:
        """Return whether a restart from `latest` loses no acknowledged frame."""
        return bool(self.latest) and self.findings.is_safe


def pick(
    candidates: Sequence[Candidate],
    *,
    without: Collection[str] = (),
    outside: bool = False,
    nodes: int | None = None,
    uncounted: bool = False,
) -> Pick:
    """Return the latest of these stores, and whether that is proven.

    The names of `candidates` must differ.  `without`: members that keep no store, by the operator's
    word, so that none of their stores is missing.  `outside`: an outside register chooses the
    views.  `nodes`: the number of nodes in a cluster of another broker, if known.  `uncounted`:
    this number matters, and neither the stores nor the operator gave it.
    """
    groups = group(candidates)
    contradictions = _contradictions(candidates)
    if len([one for one in groups if one.cluster is not None]) > 1:
        findings = Findings(rows=tuple(row_of(item) for item in candidates))
    elif any(item.record is not None for item in candidates):
        findings = chain.examine(candidates, without=without, outside=outside)
    else:
        findings = others.examine(candidates, without=without, nodes=nodes, uncounted=uncounted)
    if contradictions:
        findings = evolve(
            findings,
            rows=tuple(evolve(row, cluster=None, contradicts=True) for row in findings.rows),
            lines=(*contradictions, *findings.lines),
        )
    case = _decide(findings.rows)
    return Pick(
        verdict=case.outcome, rule=case.label, case=case.name, groups=groups, findings=findings
    )


def group(candidates: Sequence[Candidate]) -> tuple[Group, ...]:
    """Return the stores by cluster, the largest group first; stores without a cluster are last."""
    names: dict[str | None, list[str]] = {}
    for item in candidates:
        has_cluster = item.state.is_readable or item.state is State.IN_USE
        names.setdefault(item.cluster if has_cluster else None, []).append(item.name)
    ordered = sorted(names.items(), key=lambda one: (one[0] is None, -len(one[1]), str(one[0])))
    return tuple(Group(cluster=cluster, names=tuple(found)) for cluster, found in ordered)


def _contradictions(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    """Return a sentence for each store that shares a view with a store of another cluster.

    A view's id is a hash over all views before it, so one of the two initial signatures is wrong.
    """
    of_view: dict[object, tuple[str | None, str]] = {}
    found: dict[str, str] = {}
    for item in candidates:
        if item.record is None or not item.state.is_readable:
            continue
        for view in item.record.lineage.views:
            cluster, name = of_view.setdefault(view.id, (item.cluster, item.name))
            if cluster != item.cluster:
                found[item.name] = (
                    f"{item.name} and {name} share view {view.number} and have different initial"
                    " signatures: one of them is damaged, or put together by hand"
                )
                break
    return tuple(found.values())


def _decide(rows: Sequence[StoreRow]) -> Case[Verdict]:
    # Every row has the same answer.  Without any store, an empty row is asked about.
    return verdicts().choose(rows or (StoreRow(id="", is_supplied=False),), 0)
