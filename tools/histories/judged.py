"""Compare verdicts about a history with the known data of its stores, and find wrong verdicts.

A verdict is wrong if a store that it calls proven, clean or a tie lacks an acknowledged write that
another store of the history has, given to the tool or not; if a given store that it does not name
has an acknowledged write that the named stores lack; or if it says that no data are lost by a start
with a store that lacks acknowledged writes.  Writes that no store has any longer do not count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path

from attrs import field, frozen

from joinproto.pick.table import Verdict
from joinproto.recovery.cli_look import judgement_of
from joinproto.recovery.judgement import Judgement

CLAIMS = (Verdict.PROVEN, Verdict.TIE, Verdict.CLEAN)
COUNTED = ("galera", "postgresql")
"""Brokers whose files do not name all nodes, so `--nodes` gives the number of nodes."""
SHOWN_BY_ALL = ("forced", "restored-apart")
"""Kinds in which the files show every restored or wiped store if all stores are given."""
NAMED = (*CLAIMS, Verdict.UNPROVEN, Verdict.DIVERGED)


@frozen(kw_only=True)
class History:
    """The actions on a cluster, and the directories it left.

    `kind`: the name of the plot.  `events`: texts, in order.  `stores`: the directory of each node,
    which was not started since the end, or its collected files.  `has`: the data of each node's
    store if it is started alone; a node whose disk is lost is in neither.  `acknowledged`: writes
    confirmed to clients.  `nodes`: the number of nodes of the whole cluster.  `positions`: the log
    of `mariadbd --wsrep-recover` of each node (Galera).  `names`: of a kept history, the node of
    each name that `recover` gives a store.  `confirmed`: the number of messages in each queue; only
    a start shows if they are lost.  `queues`: the queue of each message, for messages that are
    known by name. `is_unseen`: a store was put back or wiped, and files may not show it.  `faults`:
    facts of our reader that the product contradicts.
    """

    broker: str
    seed: int
    kind: str
    events: tuple[str, ...]
    stores: Mapping[str, Path]
    has: Mapping[str, frozenset[str]]
    acknowledged: frozenset[str]
    nodes: int
    positions: Mapping[str, Path] = field(factory=dict)
    names: Mapping[str, str] = field(factory=dict)
    confirmed: Mapping[str, int] = field(factory=dict)
    queues: Mapping[str, str] = field(factory=dict)
    is_unseen: bool = False
    faults: tuple[str, ...] = ()

    @property
    def kept(self) -> frozenset[str]:
        """Return the acknowledged messages that some store has."""
        return self.acknowledged & frozenset[str]().union(*self.has.values())

    def lacks(self, node: str) -> frozenset[str]:
        """Return the acknowledged messages that some store has, and this one lacks."""
        return self.kept - self.has[node]


@frozen(kw_only=True)
class SubsetVerdict:
    """The verdict about a subset of the stores, and its errors.

    `given`: the nodes of the subset.  `named`: nodes that the verdict calls the latest.  `wrong`:
    errors.  `assumed`: errors of a verdict that says that it assumes no lost or replaced store, if
    there is one.  `claims`: the number of queues that the verdict calls proven.
    """

    given: tuple[str, ...]
    verdict: Verdict
    named: tuple[str, ...]
    next: str
    text: str = field(repr=False)
    wrong: tuple[str, ...]
    assumed: tuple[str, ...] = ()
    claims: int = 0

    @property
    def is_true_claim(self) -> bool:
        return self.verdict in CLAIMS and not self.wrong and not self.assumed


def judged(history: History) -> Iterator[SubsetVerdict]:
    """Yield the verdict about every subset of the stores, all of them first."""
    nodes = sorted(history.stores)
    for size in range(len(nodes), 0, -1):
        for given in combinations(nodes, size):
            yield judge(history, given)


def judge(history: History, given: tuple[str, ...]) -> SubsetVerdict:
    """Return the verdict about these stores, and its errors."""
    called = {node: name for name, node in history.names.items()}
    found = judgement_of(
        words=[str(history.stores[node]) for node in given],
        kind="auto",
        positions=[
            f"{called.get(node, history.stores[node])}={history.positions[node]}"
            for node in given
            if node in history.positions
        ],
        nodes=history.nodes if history.broker in COUNTED else None,
    )
    node_of = {str(path.resolve()): node for node, path in history.stores.items()}
    named = tuple(sorted(history.names.get(one.name) or node_of[one.path] for one in found.latest))
    wrong = tuple(_wrong(history, found, named, given))
    is_shown = history.kind in SHOWN_BY_ALL and len(given) == len(history.stores)
    is_unseen = history.is_unseen and not is_shown
    is_assumed = is_unseen and any("assumed:" in line for line in found.evidence)
    return SubsetVerdict(
        given=given,
        verdict=found.verdict,
        named=named,
        next=found.next,
        text="\n".join((found.sentence, *found.evidence, *found.not_examined)),
        wrong=() if is_assumed else wrong,
        assumed=wrong if is_assumed else (),
    )


def _wrong(
    history: History, found: Judgement, named: tuple[str, ...], given: tuple[str, ...]
) -> Iterator[str]:
    if found.verdict in CLAIMS:
        for node in named:
            if lost := history.lacks(node):
                yield f"{found.verdict.value} {node}, which lacks {len(lost)} acknowledged"
    if found.verdict in NAMED and named:
        reach = frozenset[str]().union(*(history.has[node] for node in named))
        for node in sorted({*given} - {*named}):
            if rival := (history.has[node] & history.acknowledged) - reach:
                yield f"{node} is left out, and has {len(rival)} that {', '.join(named)} lack"
    if "nothing is lost" in found.next or "no definition is lost" in found.next:
        first = first_of(found.next, tuple(history.stores))
        if first is not None and (lost := history.lacks(first)):
            yield f"nothing is lost by starting with {first}, which lacks {len(lost)}"


def first_of(text: str, nodes: tuple[str, ...]) -> str | None:
    """Return the node that a line of advice names first, or None if it names no node."""
    places = {node: text.find(node) for node in nodes if node in text}
    return min(places, key=lambda node: places[node]) if places else None
