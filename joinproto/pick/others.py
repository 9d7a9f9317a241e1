"""The evidence of several stores of other brokers: they keep no chain, so less can be proven.

    same frame under one number (Galera)          one history: the larger number has more
    different frames under one number (Galera)    two histories
    last views with a common member (Galera)      the store with the later view has more
    last views without a common member            the stores were on two sides of a partition and
                                                  cannot be ordered
    count of frames (Galera's seqno)              in one view, or without views, the larger has
                                                  more; if it contradicts the views, it is unknown
    two stores that were alone in the end         they cannot be ordered, not even by their counts
    a view in which all its members ended         a store that has no view, and says that it was
                                                  alone, was on the other side
    nodes running at the stop (RabbitMQ)          a ran when b stopped, and b did not run when a
                                                  stopped: a is later, if the wait-for graph agrees
    equal final signatures (Qpid, clean)          the same data
    none of these (Qpid, dirty)                   nothing is known

If stores cannot be ordered, the verdict is never that one of them is the latest.

Source: recovery, "Foreign formats"; Skeen 1985.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import Enum
from itertools import combinations

from attrs import evolve

from joinproto.pick.candidate import Candidate, LastView, State, sharing_key, shown_name
from joinproto.pick.findings import ChainPlace, Findings, MissingStore, StoreFork, row_of
from joinproto.pick.table import StoreRow
from joinproto.pick.wait_graph import Start, WaitGraph, clusters, wait_graph


class Age(Enum):
    """How the data of one store relate to the data of another store."""

    SAME = "same"
    OLDER = "older"
    NEWER = "newer"
    DIVERGED = "diverged"
    UNKNOWN = "unknown"


def examine(
    candidates: Sequence[Candidate],
    *,
    without: Collection[str] = (),
    nodes: int | None = None,
    uncounted: bool = False,
) -> Findings:
    """Return the evidence of stores of at most one cluster, unreadable and empty stores included.

    `without`: members that keep no store, by the operator's word.  `nodes`: how many nodes the
    cluster has, by the operator's word; None if not known.  `uncounted`: the stores' files do not
    give this number either, so an unknown node may have continued.
    """
    rows = {item.name: row_of(item) for item in candidates}
    stores = [item for item in candidates if rows[item.name].has_data]
    copies = sharing_key(
        (item.member, item.name)
        for item in candidates
        if item.member and rows[item.name].is_readable
    )
    believed = [
        item for item in stores if item.name not in copies and item.state is not State.UNFINISHED
    ]
    ages, shown = _ages(believed)
    forks = {one for (one, _), age in ages.items() if age is Age.DIVERGED}
    latest = [
        item
        for item in believed
        if not any(ages[item.name, other.name] is Age.OLDER for other in believed if other != item)
    ]
    unordered = {
        item.name
        for item in latest
        for other in latest
        if item is not other and ages[item.name, other.name] is Age.UNKNOWN
    }
    graph = _graph([item for item in candidates if item.name not in copies])
    if graph is not None and graph.start in (Start.SPLIT, Start.UNORDERED, Start.UNKNOWN):
        unordered |= {item.name for item in latest}
    if graph is not None and graph.start is Start.UNKNOWN and not stores:
        # All are RabbitMQ's ram nodes, which keep no data on disk: the cluster is not empty.
        rows = {name: evolve(row, has_data=row.is_readable) for name, row in rows.items()}
    ran, older = _may_have_run(latest, graph)
    absent = sorted(ran - {item.member for item in believed} - set(without))
    if nodes is not None and len(believed) >= nodes and _are_renamed(believed):
        # All nodes are here.  A name that is not among them is the former name of a node that was
        # started again.
        absent = []
    missing = tuple(_missing_nodes(absent, older, len(candidates), nodes))
    clusters_known = (item.cluster for item in stores if item.cluster is not None)
    rows |= _rows_of_unread(candidates, rows, next(clusters_known, None))
    silent = [
        item
        for item in latest
        if item.last_view is None
        and not item.stopped_last
        and not _is_ordered(item, believed, shown)
    ]
    # If neither frames nor views order clean stores, equal final signatures show that they are
    # the same.
    is_quiet = all(item.state is State.CLEAN for item in believed) and not unordered
    is_shown = is_quiet and (not silent or all(item.final for item in latest))
    for item in stores:
        rows[item.name] = evolve(
            rows[item.name],
            is_copy=item.name in copies,
            is_diverged=item.name in forks,
            covers=item in latest,
            is_latest=item in latest,
            is_unordered=item.name in unordered or (item in silent and not is_shown),
            is_clean=item in latest and item.state is State.CLEAN and (is_shown or not silent),
        )
    names = tuple(item.name for item in latest)
    more = [StoreRow(id="not counted", is_supplied=False, may_know_more=True)] if uncounted else []
    return Findings(
        rows=(
            *rows.values(),
            *(
                StoreRow(id=item.member, is_supplied=False, is_needed=True, may_know_more=True)
                for item in missing
            ),
            *more,
        ),
        lines=(
            *(_line(item, copies, latest, ages, believed) for item in stores),
            *_two_sides(latest),
        ),
        latest=names,
        covering=names,
        clean=tuple(item.name for item in latest if item.state is State.CLEAN),
        missing=missing,
        forks=tuple(map(StoreFork, sorted(forks))),
        places=tuple(
            ChainPlace(
                item.name, order="latest" if item in latest else "behind", covers=item in latest
            )
            for item in stores
        ),
    )


def _ages(
    believed: Sequence[Candidate],
) -> tuple[dict[tuple[str, str], Age], set[tuple[str, str]]]:
    """Return the age of each store relative to each other, and the pairs whose frames show it."""
    pairs = [(one, other) for one in believed for other in believed if one is not other]
    ages = {(one.name, other.name): compare(one, other) for one, other in pairs}
    shown = {(one.name, other.name) for one, other in pairs if _by_history(one, other) is not None}
    for pair in {*_other_sides(believed)} - shown:
        ages[pair] = Age.UNKNOWN
    return ages, shown


def _two_sides(latest: Sequence[Candidate]) -> Iterator[str]:
    """Yield the evidence that two of the latest stores were on two sides of a partition."""
    for one, other in combinations(latest, 2):
        mine, theirs = one.last_view, other.last_view
        if mine is None or theirs is None or None in (mine.step, theirs.step):
            continue
        if not mine.members & theirs.members:
            views = ((one, mine), (other, theirs))
            forced = [item.name for item, view in views if view.is_forced]
            said = f"{one.name} and {other.name} ended in two views that have no member in common"
            were = "were" if len(forced) > 1 else "was"
            hand = (
                f"; {' and '.join(forced)} {were} forced by hand (bootstrap: 1)" if forced else ""
            )
            yield f"{said}{hand}: each may have data that the other store lacks, at any numbers"


def _may_have_run(
    latest: Collection[Candidate], graph: WaitGraph | None
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the nodes that may have run when the latest stores stopped, or later.

    The second set is the part of them that can have run so late only if they were forced to start.
    """
    ran = frozenset[str]().union(
        *(
            item.last_view.members
            for item in latest
            if not item.stopped_last and item.last_view is not None
        )
    )
    if graph is None:
        return ran, frozenset()
    if graph.start is Start.UNKNOWN:
        ran |= set(graph.unheard)
    if graph.start is Start.SUPPLY:
        ran |= set(graph.later)
    # A node that stopped before others may have been forced to start after them.  Only its own
    # store would show this.
    older = frozenset(graph.unheard) - ran
    return ran | older, older


def _are_renamed(stores: Sequence[Candidate]) -> bool:
    """Return whether the broker's nodes have a new name after each start (Galera)."""
    views = [item.last_view for item in stores if item.last_view is not None]
    return any(view.step is not None for view in views)


def _missing_nodes(
    absent: Sequence[str], older: Collection[str], here: int, nodes: int | None
) -> Iterator[MissingStore]:
    """Yield the missing nodes, and one entry for the nodes that are missing without a name.

    `absent`: names of missing nodes; `older`: those that stopped before others.  `here`: how many
    stores were given, of a cluster of `nodes` nodes (None: not known).
    """
    for member in absent:
        yield MissingStore(
            member,
            "",
            is_member=True,
            may_have_data=False,
            may_know_more=True,
            was_older=member in older,
        )
    more = 0 if nodes is None else nodes - here - len(absent)
    if more > 0:
        yield MissingStore(f"{more} of {nodes} nodes", "", may_know_more=True, was_older=True)


def _rows_of_unread(
    candidates: Sequence[Candidate], rows: Mapping[str, StoreRow], cluster: str | None
) -> dict[str, StoreRow]:
    """Return the rows of the stores that cannot be read, or whose update was interrupted.

    Any of them may have been the latest store.  A store that does not name its cluster is taken to
    belong to `cluster`.
    """
    return {
        item.name: evolve(
            rows[item.name],
            is_needed=True,
            may_know_more=True,
            cluster=rows[item.name].cluster or cluster,
        )
        for item in candidates
        if item.state is State.UNFINISHED
        or not (item.state.is_readable or item.state is State.IN_USE)
    }


def compare(one: Candidate, other: Candidate) -> Age:
    """Return the age of `one`'s data relative to the data of `other`, a store of its cluster."""
    if any(item.node is not None and item.node.is_damaged for item in (one, other)):
        return Age.UNKNOWN
    if one.final is not None and other.final is not None:
        return Age.SAME if one.final == other.final else Age.DIVERGED
    return _by_history(one, other) or _by_files(one, other)


def _by_files(one: Candidate, other: Candidate) -> Age:
    """Return the age of `one` relative to `other`, if the frames of both do not show it."""
    if one.lost_view is not other.lost_view:
        return Age.UNKNOWN
    mine, theirs = one.last_view, other.last_view
    if mine is not None and theirs is not None and None not in (mine.step, theirs.step):
        return _by_views(one, other, mine, theirs)
    mine_alone = one.stopped_last or one.may_be_last
    its_alone = other.stopped_last or other.may_be_last
    if mine_alone and its_alone:
        # Only one of two stores can be the last.  If both say so, each continued without the other,
        # or an operator forced one of them, and their numbers prove nothing.  A split is proven
        # only by names that stay the same: a Galera node has a new name after each start.
        is_shown = one.stopped_last and other.stopped_last and _count_each_other(one, other)
        return Age.DIVERGED if is_shown else Age.UNKNOWN
    if one.history is not None or other.history is not None:
        # There is a history, and it does not show that both numbers count the same frames.
        # Otherwise: c stops last but one; a, which stopped before c, is forced to found the cluster
        # again, and its number passes c's.
        return Age.UNKNOWN
    if one.seq is not None and other.seq is not None:
        age = _by_number(one.seq, other.seq)
        # A node that was alone in the end should have the most.  If it has less, others continued
        # without it.
        is_odd = (mine_alone and age is Age.OLDER) or (its_alone and age is Age.NEWER)
        return Age.UNKNOWN if is_odd else age
    if mine is None or theirs is None:
        return Age.UNKNOWN
    if mine.number is not None and theirs.number is not None:
        if mine.number != theirs.number:
            return _by_number(mine.number, theirs.number)
        same_view = mine.id == theirs.id or mine.id is None or theirs.id is None
        return Age.UNKNOWN if same_view else Age.DIVERGED
    saw_other, saw_one = other.member in mine.members, one.member in theirs.members
    if saw_other and saw_one:
        # They stopped together.  If views have ids, the two may have been in different views.
        together = Age.SAME if mine.id is None and theirs.id is None else Age.UNKNOWN
        # If only one node's tables were read, the last writes of the other node are unknown.
        return _by_definitions(one, other) or (
            Age.UNKNOWN if _are_tables_of_one(one, other) else together
        )
    if not saw_other and not saw_one:
        # Either a split, or a third node saw the first one stop, and the second saw the third stop.
        return Age.UNKNOWN
    by_list = Age.OLDER if saw_other else Age.NEWER
    # A node that ran longer has all that the other node has, unless a kill lost some of it, or the
    # node was forced to start.
    return by_list if _by_definitions(one, other) in (None, Age.SAME, by_list) else Age.UNKNOWN


def _by_history(one: Candidate, other: Candidate) -> Age | None:
    """Return the age of `one` relative to `other` by their frames with equal numbers.

    None if these frames do not show it.  A difference in the last frame of either store does not
    count, because a kill may have torn that frame.
    """
    mine, theirs = one.history or {}, other.history or {}
    common = mine.keys() & theirs.keys()
    differing = {number for number in common if mine[number] != theirs[number]}
    ends = {max(mine, default=0), max(theirs, default=0)}
    if differing - ends:
        return Age.DIVERGED
    if one.seq is None or other.seq is None or min(one.seq, other.seq) not in common - differing:
        return None
    return _by_number(one.seq, other.seq)


def _by_definitions(one: Candidate, other: Candidate) -> Age | None:
    """Return the age of `one` relative to `other` by their tables; None unless both were read."""
    mine = None if one.node is None else one.node.definitions
    theirs = None if other.node is None else other.node.definitions
    if mine is None or theirs is None:
        return None
    match bool(mine.changes_missing_in(theirs)), bool(theirs.changes_missing_in(mine)):
        case False, False:
            return Age.SAME
        case True, False:
            return Age.NEWER
        case False, True:
            return Age.OLDER
    return Age.UNKNOWN


def _are_tables_of_one(one: Candidate, other: Candidate) -> bool:
    """Return whether the tables of exactly one of the two nodes were read."""
    read = [item.node is not None and item.node.definitions is not None for item in (one, other)]
    return read[0] != read[1]


def _by_views(one: Candidate, other: Candidate, mine: LastView, theirs: LastView) -> Age:
    """Return the age of `one` relative to `other` by their last views.

    Numbers of views begin again with each founding, so only the steps of two views with a member in
    common show which view was first.
    """
    by_seq = None if one.seq is None or other.seq is None else _by_number(one.seq, other.seq)
    if mine.id == theirs.id and mine.members == theirs.members:
        return by_seq or Age.UNKNOWN
    if mine.step is None or theirs.step is None or mine.step == theirs.step:
        return Age.UNKNOWN
    if not mine.members & theirs.members:
        return Age.UNKNOWN
    by_view = _by_number(mine.step, theirs.step)
    return by_view if by_seq in (None, by_view) else Age.SAME if by_seq is Age.SAME else Age.UNKNOWN


def _is_ordered(
    item: Candidate, others: Sequence[Candidate], shown: Collection[tuple[str, str]]
) -> bool:
    """Return whether the frames of a store show its age relative to each other store."""
    return bool(item.history) and all(
        (item.name, other.name) in shown for other in others if other is not item
    )


def _other_sides(stores: Sequence[Candidate]) -> Iterator[tuple[str, str]]:
    """Yield pairs of stores, in both orders, that were on two sides of a partition.

    One store of a pair ended in a view whose members all ended in it; the other has no view and may
    have been alone.  One of the two sides continued without the other.
    """
    by_view: dict[str, list[Candidate]] = {}
    for item in stores:
        if item.last_view is not None and item.last_view.step is not None and item.last_view.id:
            by_view.setdefault(item.last_view.id, []).append(item)
    for together in by_view.values():
        view = together[0].last_view
        if view is None or {item.member for item in together} != view.members:
            continue
        for item in stores:
            if item.last_view is None and (item.stopped_last or item.may_be_last):
                for each in together:
                    yield item.name, each.name
                    yield each.name, item.name


def _count_each_other(one: Candidate, other: Candidate) -> bool:
    if one.node is None or other.node is None:
        return False
    return one.node.name in other.node.members and other.node.name in one.node.members


def _graph(candidates: Sequence[Candidate]) -> WaitGraph | None:
    """Return the wait-for graph of the largest cluster; None if no store keeps a list of nodes.

    There are several clusters if a node was removed from its cluster.
    """
    lists = [item.node for item in candidates if item.node is not None and item.state.is_readable]
    return wait_graph(clusters(lists)[0]) if lists else None


def _by_number(mine: int, theirs: int) -> Age:
    if mine == theirs:
        return Age.SAME
    return Age.OLDER if mine < theirs else Age.NEWER


def _line(
    item: Candidate,
    copies: Collection[str],
    latest: Collection[Candidate],
    ages: Mapping[tuple[str, str], Age],
    believed: Sequence[Candidate],
) -> str:
    where = f"{shown_name(item.member) or 'a store'} ({item.name})"
    if item.name in copies:
        return f"{where} is a copy: another store also belongs to {shown_name(item.member)}"
    if item.state is State.UNFINISHED:
        return f"{where} was being updated: its numbers are not used, and this store is not picked"
    says = [item.state.value]
    if item.seq is not None:
        says.append(f"at {item.seq}")
    if item.last_view is not None:
        number = "" if item.last_view.number is None else f" (view {item.last_view.number})"
        ran = ", ".join(sorted(map(shown_name, item.last_view.members)))
        says.append(f"when it stopped, {ran} ran{number}")
    if item.stopped_last:
        says.append("it says that it stopped last")
    said = "; ".join(says)
    if item not in latest:
        newer = next(
            other
            for other in believed
            if other is not item and ages[item.name, other.name] is Age.OLDER
        )
        return f"{where}: {said}; older than {shown_name(newer.member) or newer.name}"
    return f"{where}: {said}"
