"""The evidence of joinproto's own stores of one cluster, each of which keeps its chain of views.

`Evidence`, with its terms *never served* and *covers*, was made for the answers of members in a
ballot.  Here each store counts as an answer, because a store that no process has open does not
change, just as a member that has answered a ballot keeps its answer.

Source: recovery, verdicts 2 to 7; join protocol, 3.3 and 3.4; Skeen 1985, "Determining the
last process to fail".
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from attrs import evolve

from joinproto.codec.malformed import Malformed
from joinproto.join.answers import Answer, Evidence
from joinproto.join.ids import ViewId, short
from joinproto.join.lineage import Comparison, Lineage, Order, compare
from joinproto.join.outside import ONE as REGISTER
from joinproto.join.position import PositionOrder, compare_positions
from joinproto.join.view import Seat, View
from joinproto.pick.candidate import Candidate, sharing_key
from joinproto.pick.chain_words import ComparedStore, lines_of, of_empty_stores, position_text
from joinproto.pick.findings import ChainPlace, Findings, MissingStore, StoreFork, row_of
from joinproto.pick.table import StoreRow


def examine(
    candidates: Sequence[Candidate],
    *,
    without: Collection[str] = (),
    outside: bool = False,
) -> Findings:
    """Return the evidence of stores of at most one cluster, unreadable and empty stores included.

    `without`: names of members that keep no store (T), so that no store of them is missing.
    `outside`: an outside register chooses the views.
    """
    newest = _newest(candidates)
    stores, wrong = _stores(candidates, newest)
    rows = {item.name: row_of(item) for item in candidates}
    if newest.tip is None or wrong:
        return Findings(
            rows=tuple(evolve(row, contradicts=name in wrong) for name, row in rows.items()),
            lines=tuple(wrong.values()) or of_empty_stores(stores),
            lineage=newest,
        )

    on_chain = [item for item in stores if item.is_on_chain]
    copies = _copies(stores) | _names_put_back(on_chain, newest)
    believed = [item for item in on_chain if item.candidate.name not in copies]
    evidence = Evidence.of(newest, map(_answer, believed))
    answers = {item.candidate.name: _answer(item) for item in believed}
    covering = [name for name, answer in answers.items() if evidence.covers(answer)]
    latest, incomparable = _most_frames(covering, answers, newest)
    clean = {name for name, answer in answers.items() if evidence.is_clean(answer)}
    supplied = frozenset(item.seat for item in believed)

    active = _newest_active(evidence)
    beyond = _seats_beyond(newest.tip, stores, believed, supplied, without, outside=outside)
    # A CLOSE records where the data ends.  A store that ends there has all data, so no other store
    # is needed.
    needed = frozenset() if clean else _needed_seats(active, supplied, without)
    missing = tuple(
        MissingStore(
            seat.member,
            seat.store_id,
            is_elector=seat in newest.tip.electors,
            is_member=seat in active.members,
            may_know_more=seat in beyond,
            may_have_data=not covering,
        )
        for seat in sorted(needed | beyond)
    )
    forks = _forks(stores, newest, incomparable, answers)
    is_closed = not newest.tip.is_open and not clean
    unknown = {item.candidate.name for item in stores if item.comparison.order is Order.UNKNOWN}
    for item in stores:
        name = item.candidate.name
        rows[name] = evolve(
            rows[name],
            is_copy=name in copies,
            is_diverged=name in forks or name in incomparable,
            covers=name in covering,
            is_latest=name in latest,
            is_unordered=name in unknown,
            is_clean=name in clean,
            is_closed=is_closed,
        )
    absent = [
        StoreRow(
            id=f"{item.member} {item.store_id}",
            is_supplied=False,
            is_needed=any(seat.store_id == item.store_id for seat in needed),
            may_know_more=item.may_know_more,
        )
        for item in missing
    ]
    return Findings(
        rows=(*rows.values(), *absent),
        lines=tuple(lines_of(stores, copies, evidence, active, covering, latest, newest)),
        lineage=newest,
        active=active,
        covering=tuple(covering),
        latest=tuple(name for name in rows if name in latest),
        clean=tuple(name for name in rows if name in clean),
        missing=missing,
        forks=tuple(forks.values()),
        places=tuple(_place(item, evidence, answers) for item in stores),
        pending=_pending_sentences(believed, newest.tip),
        is_safe=bool(covering) and not beyond and not forks and not incomparable and not copies,
        has_chain=True,
    )


# -- the chain -------------------------------------------------------------------------------


def _newest(candidates: Sequence[Candidate]) -> Lineage:
    """Return the longest chain; of equally long chains the one of the store whose name is first."""
    lineages = [
        item.record.lineage
        for item in sorted(candidates, key=lambda one: one.name)
        if item.record is not None and item.state.is_readable
    ]
    return max(lineages, key=lambda one: (one.length, len(one.views)), default=Lineage())


def _stores(
    candidates: Sequence[Candidate], newest: Lineage
) -> tuple[list[ComparedStore], dict[str, str]]:
    """Return the readable stores, and the problems of those that cannot be compared."""
    stores: list[ComparedStore] = []
    wrong: dict[str, str] = {}
    # Stores that were read together share one lineage object, which is compared only once.
    compared: dict[int, Comparison] = {}
    for item in candidates:
        if item.record is None or item.seat is None:
            continue
        tip, other = item.record.tip, newest.tip
        if tip is not None and other is not None and tip.cluster_name != other.cluster_name:
            wrong[item.name] = (
                f"{item.name} has the initial signature of cluster {other.cluster_name!r} and the"
                f" name {tip.cluster_name!r}: damaged, or put together by hand"
            )
            continue
        lineage = item.record.lineage
        try:
            comparison = compared.get(id(lineage)) or compare(lineage, newest)
        except Malformed as malformed:
            wrong[item.name] = f"{item.name}: {malformed}"
            continue
        compared[id(lineage)] = comparison
        stores.append(ComparedStore(item, item.record, item.seat, comparison))
    return stores, wrong


def _copies(stores: Sequence[ComparedStore]) -> set[str]:
    """Return the names of stores that share their member or their store id with another store."""
    return sharing_key((item.seat.member, item.candidate.name) for item in stores) | sharing_key(
        (item.seat.store_id, item.candidate.name) for item in stores
    )


def _names_put_back(stores: Sequence[ComparedStore], newest: Lineage) -> set[str]:
    """Return the names of stores that were put back from an older copy.

    Such a store does not prove that a view was never served.  Otherwise an older store could be
    called the latest.
    """
    odd = Evidence.of(newest, map(_answer, stores)).went_back
    return {item.candidate.name for item in stores if _answer(item) in odd}


def _answer(item: ComparedStore) -> Answer:
    record = item.record
    return Answer(
        seat=item.seat,
        held=record.held,
        position=record.position,
        update_unfinished=record.update_unfinished,
        is_marked=record.is_marked and item.comparison.order is Order.EQUAL,
    )


def _newest_active(evidence: Evidence) -> View:
    """Return the newest view in which clients may have been served, as far as known."""
    views = evidence.lineage.views
    served = (view for view in reversed(views) if not evidence.was_never_served(view))
    # If no kept view was served, the last served view is a forgotten one, or there was none.  The
    # oldest kept view stands for it.
    return next(served, views[0])


def _most_frames(
    covering: Sequence[str], answers: dict[str, Answer], newest: Lineage
) -> tuple[set[str], set[str]]:
    """Return the covering stores with the most frames, and those that cannot be ordered."""
    best: list[str] = []
    incomparable: set[str] = set()
    for name in covering:
        orders = {
            other: compare_positions(answers[name].position, answers[other].position, (newest,))
            for other in best
        }
        odd = {
            other
            for other, order in orders.items()
            if order in (PositionOrder.INCOMPARABLE, PositionOrder.UNKNOWN)
        }
        incomparable |= odd | ({name} if odd else set())
        if PositionOrder.BEHIND in orders.values():
            continue
        best = [other for other in best if orders[other] is not PositionOrder.AHEAD]
        best.append(name)
    return set(best), incomparable


# -- members whose stores are not here -------------------------------------------------------


def _needed_seats(
    active: View, supplied: frozenset[Seat], without: Collection[str]
) -> frozenset[Seat]:
    """Return the seats of the newest active view whose stores are not here."""
    return frozenset(seat for seat in active.members - supplied if seat.member not in without)


def _seats_beyond(
    tip: View,
    stores: Sequence[ComparedStore],
    believed: Sequence[ComparedStore],
    supplied: frozenset[Seat],
    without: Collection[str],
    *,
    outside: bool,
) -> frozenset[Seat]:
    """Return the seats that may know a view after the tip."""
    if outside or any(item.record.promised == REGISTER for item in stores):
        # If N is 1, the register lets any single member continue alone, and no store here knows the
        # register's contents.
        beyond = (tip.electors | tip.members) - supplied
        return frozenset(seat for seat in beyond if seat.member not in without)
    return _electors_beyond(tip, believed, supplied)


def _electors_beyond(
    tip: View, stores: Sequence[ComparedStore], supplied: frozenset[Seat]
) -> frozenset[Seat]:
    """Return the missing electors that may have continued from the tip; empty if they are too few.

    A successor is chosen when more than half of the electors have accepted it.  Electors that are
    not here may have accepted anything.  Electors that are here have accepted the view in their
    store; if a view was chosen in an earlier ballot, it is this view.
    """
    outside = tip.electors - supplied
    if tip.is_majority(outside):
        return outside
    for view in _accepted(stores, tip):
        voters = {item.seat for item in stores if _accepts(item, view)}
        if not tip.is_majority(outside | voters):
            continue
        # `view` may be chosen, and a missing member may know that.  No store here knows it.  So
        # members of `view` that are here were never ready in it, and then no client was served in
        # it.  A store that does not know `view` has not voted for its successor either.
        never_served = not view.is_open or bool(view.members & supplied)
        later = view.electors - supplied
        if not never_served or view.is_majority(later):
            return later or (view.electors | view.members) - supplied
    return frozenset()


def _accepted(stores: Sequence[ComparedStore], tip: View) -> Iterator[View]:
    seen: set[ViewId] = set()
    for item in stores:
        accepted = item.record.accepted
        if accepted is None or accepted.view.parent != tip.id or accepted.view.id in seen:
            continue
        seen.add(accepted.view.id)
        yield accepted.view


def _accepts(item: ComparedStore, view: View) -> bool:
    return item.record.accepted is not None and item.record.accepted.view.id == view.id


def _pending_sentences(stores: Sequence[ComparedStore], tip: View) -> tuple[str, ...]:
    """Return sentences about accepted successors of the tip; a start completes these views."""
    return tuple(
        f"{view} was accepted by"
        f" {', '.join(item.seat.member for item in stores if _accepts(item, view))}"
        " as the next view; a start that reaches them completes it, without a mark"
        for view in _accepted(stores, tip)
    )


# -- forks and places ------------------------------------------------------------------------


def _forks(
    stores: Sequence[ComparedStore],
    newest: Lineage,
    incomparable: Collection[str],
    answers: dict[str, Answer],
) -> dict[str, StoreFork]:
    found: dict[str, StoreFork] = {}
    for item in stores:
        if item.comparison.order is not Order.DIVERGED:
            continue
        at = item.comparison
        found[item.candidate.name] = StoreFork(
            item.candidate.name,
            common_number=at.common_number,
            common_max=at.common_max,
            common=None if at.common is None else short(at.common),
            own_after=tuple(map(str, at.one_beyond)),
            longest_after=tuple(map(str, at.other_beyond)),
        )
    for name in incomparable:
        where = position_text(answers[name].position, newest)
        found.setdefault(
            name,
            StoreFork(
                name,
                common_number=newest.length,
                common_max=newest.length,
                common=None if newest.tip is None else short(newest.tip.id),
                own_after=(f"data up to {where}, which do not fit the other stores' data",),
            ),
        )
    return found


def _place(item: ComparedStore, evidence: Evidence, answers: dict[str, Answer]) -> ChainPlace:
    """Return where a store is on the chain, for a person who compares the stores."""
    name = item.candidate.name
    newest = evidence.lineage
    ahead = newest.length - item.record.lineage.length
    return ChainPlace(
        name,
        order=item.comparison.order.value,
        views_behind=max(0, ahead) if item.is_on_chain else None,
        covers=name in answers and evidence.covers(answers[name]),
    )
