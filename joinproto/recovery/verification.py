"""After the restart: do the members form one cluster again?  The verdict on their answers.  No I/O.

The first case that holds gives the exit code.

    no member answers                                     1
    two of the asked members are of two clusters          3
    their stores, or their views, are on two branches     4
    a member does not answer, or does not serve clients   5
    they serve in two views of one chain                  5   one member is a step behind
    otherwise                                             0   the cluster runs

One active member can be enough, because it serves only after every member of its view was ready in
it.  But it does not report the present state of the other members.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from attrs import field, frozen

from joinproto.codec.json_form import filled
from joinproto.codec.malformed import Malformed
from joinproto.join.ids import short
from joinproto.join.lineage import Lineage, Order, compare
from joinproto.join.view import Kind, View
from joinproto.pick.table import Verdict
from joinproto.recovery import schema
from joinproto.recovery.found import Found
from joinproto.recovery.judgement import group_results, store_result
from joinproto.recovery.live import Live, LiveView
from joinproto.recovery.node_file import NodeFile
from joinproto.recovery.words import typed


@frozen(kw_only=True)
class AskedMember:
    """One member that was asked.  `live`: None if it did not answer; then `problem` says why.

    `store`: the store in its data directory.  `mark`: the newest entry in the store's history that
    permits a restart, None if there is no such entry.
    """

    node: NodeFile
    live: Live | None
    store: Found = field(repr=False)
    problem: str = ""
    mark: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        return self.node.member

    @property
    def lineage(self) -> Lineage | None:
        """Return the chain on the member's disk, None if it cannot be read."""
        return None if self.store.record is None else self.store.record.lineage


@frozen(kw_only=True)
class Verification:
    """The result of a verification.

    `verdict`: None if the cluster runs or no member answers.  `missing`: electors that do not
    answer or are not in the newest view, each with the reason.
    """

    asked: tuple[AskedMember, ...]
    code: int
    verdict: Verdict | None
    sentence: str
    evidence: tuple[str, ...]
    missing: tuple[tuple[str, str], ...]
    not_examined: tuple[str, ...]
    next: str

    @property
    def word(self) -> str:
        """Return the answer in one or two words."""
        if self.verdict is not None:
            return "not yet" if self.verdict is Verdict.UNPROVEN else self.verdict.value
        return "no answer" if self.code else "runs"


def verify(asked: Sequence[AskedMember]) -> Verification:
    """Return whether these members are one cluster that serves."""
    code, verdict, sentence, after = _result(asked)
    view = _newest([item.live for item in asked if item.live is not None])
    here = {item.name for item in asked if item.live is not None}
    electors = sorted({name for item in asked for name in item.node.electors})
    known = set(electors) | (set(view.members) if view is not None else set())
    quiet = sorted(known - here)
    return Verification(
        asked=tuple(asked),
        code=code,
        verdict=verdict,
        sentence=sentence,
        evidence=tuple(line for item in asked for line in _lines(item)),
        missing=tuple(_missing_electors(asked, view, electors)) if here else (),
        not_examined=(
            *([f"{', '.join(quiet)}: run this on their machines, too"] if quiet else []),
            "the frames: whether every acknowledged frame is there",
        ),
        next=after,
    )


def _result(asked: Sequence[AskedMember]) -> tuple[int, Verdict | None, str, str]:
    live = [item.live for item in asked if item.live is not None]
    first = asked[0]
    status = f"joinproto status --config {typed(first.node.file)}"
    if not live:
        names = ", ".join(item.name for item in asked)
        start = f"joinproto node --config {typed(first.node.file)}"
        start = f"{start}   (its log says why it ended, if it did)"
        return 1, None, f"No member answers: {names}.", start
    apart = _two_clusters(asked)
    if apart:
        return (
            3,
            Verdict.DIFFERENT_CLUSTERS,
            apart,
            "check --config, and the data directory of each member",
        )
    forked = _two_branches(asked)
    if forked:
        stores = " ".join(str(item.node.data) for item in asked)
        return (
            4,
            Verdict.DIVERGED,
            forked,
            f"stop all members; then joinproto recover compare {stores}",
        )
    silent = [item for item in asked if item.live is None]
    if silent:
        names = ", ".join(item.name for item in silent)
        do = "does" if len(silent) == 1 else "do"
        start = f"joinproto node --config {typed(silent[0].node.file)}"
        return 5, Verdict.UNPROVEN, f"{names} {do} not answer; the other members do.", start
    idle = [one for one in live if not one.serves]
    if idle:
        said = "; ".join(_idle_text(one) for one in idle)
        return (
            5,
            Verdict.UNPROVEN,
            f"Not all members serve clients yet: {said}.",
            _next_step(idle[0], status),
        )
    views = {one.view.id for one in live if one.view is not None}
    view = _newest(live)
    if len(views) != 1 or view is None:
        said = "The members serve in different views: one member is a step behind."
        return 5, Verdict.UNPROVEN, said, "ask again"
    names = ", ".join(one.member for one in live)
    said = (
        f"The cluster runs: all members of {_view(view)} were ready in it, and {names}"
        f" serve{'s' if len(live) == 1 else ''} clients."
    )
    return 0, None, said, f"none; {status} shows the state at any time"


def _two_clusters(asked: Sequence[AskedMember]) -> str:
    """Return the evidence of two clusters among the members that answer, "" if there is none."""
    for item in asked:
        live = item.live
        if live is None:
            continue
        if live.member != item.node.member or live.cluster_name != item.node.cluster:
            return (
                f"{item.node.file} is of {item.node.member} of {item.node.cluster}, and"
                f" {live.member} of {live.cluster_name} answers."
            )
        if live.initial and item.store.cluster and live.initial != item.store.cluster:
            return (
                f"{live.member} runs with initial signature {short(live.initial)}, and"
                f" {item.store.name} has {short(item.store.cluster)}."
            )
    signatures = {item.live.initial: item.name for item in asked if item.live and item.live.initial}
    if len(signatures) > 1:
        said = ", ".join(f"{name} has {short(one)}" for one, name in sorted(signatures.items()))
        return f"Different initial signatures: {said}."
    return ""


def _two_branches(asked: Sequence[AskedMember]) -> str:
    """Return the evidence that two members are on different branches, "" if there is none."""
    for one, other in combinations(asked, 2):
        if one.lineage is None or other.lineage is None:
            continue
        try:
            found = compare(one.lineage, other.lineage)
        except Malformed as malformed:
            return f"{one.name} and {other.name}: {malformed}."
        if found.order is Order.DIVERGED:
            return (
                f"{one.name} and {other.name} are on two branches: view {found.common_number} is"
                " the last that both have."
            )
    views: dict[int, LiveView] = {}
    for item in asked:
        view = None if item.live is None else item.live.view
        if view is not None and views.setdefault(view.number, view).id != view.id:
            return f"Two views have the number {view.number}: {item.name} is on another branch."
    return ""


def _idle_text(live: Live) -> str:
    waits = f", waits ({live.waiting})" if live.waiting else ""
    return f"{live.member} is {live.phase}{waits}"


def _next_step(live: Live, status: str) -> str:
    if live.waiting is not None and "I6" in str(live.waiting):
        return "joinproto recover pick, with all stores: no member has been permitted to restart"
    if live.phase in ("aborted", "stopped"):
        return f"look at the log of {live.member}; it says why the member ended"
    return f"start the members that are missing, and wait; {status} shows the progress"


def _newest(live: Sequence[Live]) -> LiveView | None:
    views = [one.view for one in live if one.view is not None]
    return max(views, key=lambda view: view.number, default=None)


def _missing_electors(
    asked: Sequence[AskedMember], view: LiveView | None, electors: Sequence[str]
) -> Iterator[tuple[str, str]]:
    silent = {item.name: item.problem for item in asked if item.live is None}
    for name in electors:
        if name in silent:
            yield name, f"it does not answer: {silent[name]}"
        elif view is not None and name not in view.members:
            yield name, "it is not a member of the newest view: not started yet, or being updated"


def _lines(item: AskedMember) -> Iterator[str]:
    live = item.live
    if live is None:
        yield f"{item.name}: {item.node.control}: {item.problem}"
    else:
        serves = "serves clients" if live.serves else "serves no client"
        view = "in no view" if live.view is None else f"in {_view(live.view)}"
        yield (
            f"{item.name}: {live.phase}, {serves}, {view}; at frame {live.seq}, connected to"
            f" {', '.join(sorted(live.peers)) or 'no peer'}"
        )
    yield from (f"{item.store.name}: {problem}" for problem in item.store.problems)
    if item.mark is not None:
        yield _mark_line(item, item.mark)


def _mark_line(item: AskedMember, mark: Mapping[str, Any]) -> str:
    """Return a line on the permission to restart in this store, and whether it was used."""
    by = f"{mark.get('what')} of {mark.get('when', 'an unknown time')} by {mark.get('who', '?')}"
    said = f"{item.name}: the {by}, from view {short(str(mark.get('tip')))}"
    lineage = item.lineage or Lineage()
    number = lineage.number_of(str(mark.get("tip")))
    after: View | None = None
    if number is not None:
        after = next((view for view in lineage.views if view.number == number + 1), None)
    if after is None:
        return f"{said}: no view has followed it yet"
    kind = "the restart" if after.kind is Kind.RESTART else "not a restart, so it was not needed"
    return f"{said}: view {after.number} followed ({after.kind.name} {short(after.id)}): {kind}"


def _view(view: LiveView) -> str:
    return f"view {view.number} ({view.kind.upper()} {short(view.id)} of {', '.join(view.members)})"


def result_of(found: Verification) -> schema.Result:
    """Return the object of `--json`."""
    stores = tuple(item.store for item in found.asked)
    return schema.Result(
        stores=tuple(map(store_result, stores)),
        groups=group_results(stores),
        verdict=found.verdict,
        evidence=(found.sentence, *found.evidence),
        missing=tuple(schema.Missing(member=name, why=why) for name, why in found.missing),
        next=found.next,
        members=tuple(map(_schema_of, found.asked)),
    )


def _schema_of(item: AskedMember) -> schema.Asked:
    live = item.live
    if live is None:
        return schema.Asked(member=item.name, answers=False, problem=item.problem or None)
    view = None if live.view is None else live.view.id
    peers = tuple(sorted(live.peers))
    return filled(schema.Asked, live, member=item.name, answers=True, view=view, peers=peers)
