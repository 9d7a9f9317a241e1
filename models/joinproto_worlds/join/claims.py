"""The claims of the join worlds: those that always hold, and states that must be reachable, without
which the first claims would be empty.

Source: join protocol, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter

from attrs import evolve

from joinproto.check.properties import (
    Property,
    always,
    always_beside,
    always_each,
    always_monitor,
    always_pair,
    always_possible,
    sometimes,
    sometimes_monitor,
    sometimes_one,
)
from joinproto.check.view import View
from joinproto.join.ids import Name
from joinproto.join.phases import Phase
from joinproto.join.view import Kind, Position, names_of
from joinproto_worlds.join.bounds import Bounds
from joinproto_worlds.join.ledger import History
from joinproto_worlds.join.member import Shown

LEDGER = {
    "one_successor": "No view has two chosen successors.",
    "no_split_brain": "Members with a majority behind them serve in one view, and commit in one.",
    "waits_for_n": "After a FOUND or RESTART no member serves before N members were ready.",
    "permitted_after_total_failure": "After a total failure only a permitted RESTART goes on.",
}
READS = {"reads_see_acknowledged": "A read that begins after an acknowledgement sees it."}
STANDS = {
    "opens_where_it_stands": "Members that were cut off open in no view that had a successor then."
}
CLOSES = {
    "close_ends": "Members that knew that a view stood do not restart the cluster closed behind it."
}
"""The claims of these four tables are watched by the ledger, which says which one breaks first."""

ALONE = {
    "dirty_before_serving": "On disk, an active member's store is not clean.",
    "position_is_data": "A finished store holds the frames that its position says.",
    "no_wrong_store": "A member is active only with a store of this cluster.",
    "suspended_alone": "A member that hears no majority serves no client.",
}
"""Claims that the state and the disk of a single member decide (`alone.py`)."""

CHOSEN = attrgetter("chosen")


def properties(bounds: Bounds, length: int) -> list[Property]:
    """Return the claims about a world; `length`: how many views its chain has at the beginning."""
    names, natives = bounds.names, bounds.natives
    watched = LEDGER | (READS if bounds.reads else {}) | (STANDS if bounds.hears else {})
    watched |= CLOSES if bounds.asks else {}
    found = [
        *[
            evolve(always_monitor(claim, partial(_is_right, claim)), about=says)
            for claim, says in watched.items()
        ],
        *[
            evolve(always_each(claim, partial(_is_right, claim), among=names), about=says)
            for claim, says in ALONE.items()
        ],
        *beside_the_ledger(natives),
        always_beside(
            "closed_is_quiet", _closed_is_quiet, among=natives, of=_serves_in, of_monitor=CHOSEN
        ),
        always_pair("options_agree", _options_agree, among=names, of=_serves_with),
        *([always("one_view_is_served", one_view_is_served)] if bounds.votes else []),
        *[sometimes_one(_claim_text(name), POSSIBLE[name], among=names) for name in bounds.reaches],
        *([sometimes_monitor("a frame is committed", _is_committed)] if bounds.frames else []),
    ]
    if bounds.recovers:
        serves = partial(_one_active, bounds.views, natives)
        found.append(always_possible("a member serves again", serves))
    if bounds.live:
        found.append(
            always_possible("all become active", partial(_all_active, bounds.views, natives))
        )
    if bounds.leaves and bounds.electors:
        present = partial(_majority_takes_part, names)
        found.append(always_each("a majority is there", present, among=names))
    if bounds.transient:
        kept = partial(_has_a_store, frozenset(bounds.transient))
        found.append(always_each("kept_on_a_store", kept, among=names))
    if bounds.cut:
        # One of the two members whose link is cut for good is given up, and does not come back.
        short = partial(_is_short, length + 1)
        found.append(always_each("the chain comes to rest", short, among=names))
    if bounds.closes and bounds.crashes and not bounds.is_pair:
        closed = partial(_closed_without, names[0])
        found.append(sometimes("closed through its proposer's crash", closed))
    return found


def beside_the_ledger(names: tuple[str, ...]) -> list[Property]:
    """Return the claims: no member knows a view that was not chosen, or lacks a committed frame."""
    tip, data = attrgetter("tip"), attrgetter("tip", "frames")
    committed = attrgetter("committed")
    return [
        always_beside(
            "learned_is_chosen", _learned_is_chosen, among=names, of=tip, of_monitor=CHOSEN
        ),
        always_beside("nothing_lost", _nothing_lost, among=names, of=data, of_monitor=committed),
    ]


def _closed_without(proposer: str, view: View) -> bool:
    """Return whether another member has stopped by the CLOSE while its proposer is down."""
    return proposer not in view.up and any(
        isinstance(shown, Shown) and shown.phase is Phase.STOPPED and _is_close(shown)
        for shown in view.up.values()
    )


def _majority_takes_part(names: tuple[str, ...], shown: Shown) -> bool:
    """Return whether most electors of the member's tip take part in this world."""
    return shown.tip is None or 2 * sum(seat.member in names for seat in shown.tip.electors) > len(
        shown.tip.electors
    )


def _has_a_store(transient: frozenset[str], shown: Shown) -> bool:
    """Return whether a member of the served view has a store, which keeps its frames (3.4)."""
    if shown.phase is not Phase.ACTIVE or shown.tip is None:
        return True
    return not names_of(shown.tip.members) <= transient


def _is_short(views: int, shown: Shown) -> bool:
    return shown.tip is None or shown.tip.number <= views


def _all_active(views: int, natives: tuple[str, ...], view: View) -> bool:
    """Return whether each member is active or has left, or the bounds end the search (P1, P2, P4).

    A world without time can claim only that this stays possible: if each deadline comes before the
    answers, no view is chosen.
    """
    shown = [view[name] for name in natives]
    members = [item for item in shown if isinstance(item, Shown)]
    if any(item.is_tired or (item.tip and item.tip.number == views) for item in members):
        return True
    return len(members) == len(shown) and all(
        item.phase is Phase.ACTIVE or _has_left(item) for item in members
    )


def _one_active(views: int, natives: tuple[str, ...], view: View) -> bool:
    """Return whether a member is active, or the bounds end the search."""
    members = [shown for name in natives if isinstance(shown := view[name], Shown)]
    return any(
        item.is_tired or item.phase is Phase.ACTIVE or (item.tip and item.tip.number == views)
        for item in members
    )


def _is_right(claim: str, shown: Shown | History) -> bool:
    return not shown.wrong.startswith(claim)


def _is_committed(history: History) -> bool:
    return bool(history.committed)


def _learned_is_chosen(tip: Name | None, chosen: frozenset[Name]) -> bool:
    """Return whether a member's tip was chosen."""
    return tip is None or tip in chosen


def _nothing_lost(
    data: tuple[Name | None, tuple[Position, ...] | None], committed: frozenset[Position]
) -> bool:
    """Return whether a member that is ready in its tip has all frames committed up to this view.

    This implies `no_stale_source`, because only a ready member feeds an update.
    """
    tip, frames = data
    if frames is None or tip is None:
        return True
    return all(
        frame in frames
        for frame in committed
        if isinstance(frame.view, Name) and frame.view.number <= tip.number
    )


def _serves_in(shown: Shown) -> Name | None:
    return shown.tip if shown.phase is Phase.ACTIVE else None


def _closed_is_quiet(tip: Name | None, chosen: frozenset[Name]) -> bool:
    """Return whether no CLOSE is chosen after the view that the member serves in (S2)."""
    return tip is None or all(view.kind is not Kind.CLOSE or view.parent != tip for view in chosen)


def _serves_with(shown: Shown) -> tuple[Name | None, str]:
    return _serves_in(shown), shown.options


def _options_agree(one: tuple[Name | None, str], other: tuple[Name | None, str]) -> bool:
    """Return whether two members that are active in the same view have the same options (I2)."""
    (tip, options), (other_tip, other_options) = one, other
    return tip is None or tip != other_tip or options == other_options


def one_view_is_served(view: View) -> bool:
    """Return whether all members that serve with a majority behind them serve in one view."""
    members = [shown for shown in view.up.values() if isinstance(shown, Shown)]
    served = {shown.tip for shown in members if shown.phase is Phase.ACTIVE and shown.tip}
    return len([tip for tip in served if _has_majority(tip, members)]) < 2


def _has_majority(tip: Name, members: list[Shown]) -> bool:
    # Electors that have not promised a successor of the view, and know no later view, support it.
    behind = {shown.seat for shown in members if shown.tip == tip and not shown.is_frozen}
    return 2 * len(behind & tip.electors) > len(tip.electors)


# -- possibilities ------------------------------------------------------------------------------


def _active_in(kind: Kind, shown: Shown) -> bool:
    return shown.phase is Phase.ACTIVE and shown.tip is not None and shown.tip.kind is kind


def _restarted(shown: Shown) -> bool:
    parent = None if shown.tip is None else shown.tip.parent
    return _active_in(Kind.RESTART, shown) and parent is not None and parent.kind is Kind.CLOSE


def _is_close(shown: Shown) -> bool:
    return shown.tip is not None and shown.tip.kind is Kind.CLOSE


def _newcomers_of(tip: Name) -> int:
    return 0 if tip.parent is None else len(tip.members - tip.parent.members)


def _came_back(shown: Shown) -> bool:
    tip = shown.tip
    if not _active_in(Kind.CHANGE, shown) or tip is None or tip.parent is None:
        return False
    before = tip.parent.parent
    return before is not None and bool((tip.members - tip.parent.members) & before.members)


def _has_newcomers(count: int, kind: Kind, shown: Shown) -> bool:
    return _active_in(kind, shown) and shown.tip is not None and _newcomers_of(shown.tip) >= count


def _has_left(shown: Shown) -> bool:
    return shown.phase is Phase.STOPPED and shown.tip is not None and not _is_close(shown)


def _in_phase(phase: Phase, shown: Shown) -> bool:
    return shown.phase is phase


POSSIBLE: Mapping[str, Callable[[Shown], bool]] = {
    **{kind.name: partial(_active_in, kind) for kind in (Kind.FOUND, Kind.CHANGE, Kind.RESTART)},
    "closed and restarted": _restarted,
    "a member that was given up is active again": _came_back,
    "a newcomer is active": partial(_has_newcomers, 1, Kind.CHANGE),
    "two newcomers at once": partial(_has_newcomers, 2, Kind.CHANGE),
    "a dirty and an empty store are updated": partial(_has_newcomers, 2, Kind.RESTART),
    "a member has left": _has_left,
    "a member stops for good": partial(_in_phase, Phase.ABORTED),
    "a member is suspended": partial(_in_phase, Phase.SUSPENDED),
}


def _claim_text(name: str) -> str:
    return f"active in a {name}" if name in Kind.__members__ else name
