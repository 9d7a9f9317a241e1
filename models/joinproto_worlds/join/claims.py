"""The claims of the join worlds: what always holds, and what must be possible, because otherwise
the first claims say nothing.

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
"""Claims that the state and the disk of one member decide."""

CHOSEN = attrgetter("chosen")


def properties(it: Bounds, length: int) -> list[Property]:
    """Return the claims about a world; `length`: how many views its chain has at the beginning."""
    names, natives = it.names, it.natives
    watched = LEDGER | (READS if it.reads else {}) | (STANDS if it.hears else {})
    watched |= CLOSES if it.asks else {}
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
        *([always("one_view_is_served", one_view_is_served)] if it.votes else []),
        *[sometimes_one(_claim_text(name), POSSIBLE[name], among=names) for name in it.reaches],
        *([sometimes_monitor("a frame is committed", _is_committed)] if it.frames else []),
    ]
    if it.recovers:
        serves = partial(_one_active, it.views, natives)
        found.append(always_possible("a member serves again", serves))
    if it.live:
        found.append(always_possible("all become active", partial(_all_active, it.views, natives)))
    if it.leaves and it.electors:
        found.append(always_each("a majority is there", partial(_is_there, names), among=names))
    if it.transient:
        kept = partial(_has_a_store, frozenset(it.transient))
        found.append(always_each("kept_on_a_store", kept, among=names))
    if it.cut:
        # One of the two members whose link is cut for good is given up, and does not come back.
        short = partial(_is_short, length + 1)
        found.append(always_each("the chain comes to rest", short, among=names))
    if it.closes and it.crashes and not it.is_pair:
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


def _is_there(names: tuple[str, ...], shown: Shown) -> bool:
    """Return whether most electors of the member's tip take part in this world."""
    return shown.tip is None or 2 * sum(seat.member in names for seat in shown.tip.electors) > len(
        shown.tip.electors
    )


def _has_a_store(transient: frozenset[str], shown: Shown) -> bool:
    """3.4: a member of each served view has a store; without a store frames end with processes."""
    if shown.phase is not Phase.ACTIVE or shown.tip is None:
        return True
    return not names_of(shown.tip.members) <= transient


def _is_short(views: int, shown: Shown) -> bool:
    return shown.tip is None or shown.tip.number <= views


def _all_active(views: int, natives: tuple[str, ...], view: View) -> bool:
    """Return whether each member is active or has left, or the bounds end the search (P1, P2, P4).

    The claim is that this stays possible without another fault.  A world without time cannot claim
    that all *will* become active: if each deadline comes before the answers, no view is chosen.
    """
    shown = [view[name] for name in natives]
    members = [item for item in shown if isinstance(item, Shown)]
    if any(item.is_tired or (item.tip and item.tip.number == views) for item in members):
        return True
    return len(members) == len(shown) and all(
        item.phase is Phase.ACTIVE or _left(item) for item in members
    )


def _one_active(views: int, natives: tuple[str, ...], view: View) -> bool:
    """Return whether a member is active, or the bounds end the search; this must stay possible."""
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
    """Return whether each member's tip has been chosen."""
    return tip is None or tip in chosen


def _nothing_lost(
    data: tuple[Name | None, tuple[Position, ...] | None], committed: frozenset[Position]
) -> bool:
    """A member that is ready in its tip has all that was committed up to there.

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
    """S2: once the CLOSE is chosen, no member serves in the view that it closes."""
    return tip is None or all(view.kind is not Kind.CLOSE or view.parent != tip for view in chosen)


def _serves_with(shown: Shown) -> tuple[Name | None, str]:
    return _serves_in(shown), shown.options


def _options_agree(one: tuple[Name | None, str], other: tuple[Name | None, str]) -> bool:
    """I2, for two members that are active in the same view."""
    (tip, options), (other_tip, other_options) = one, other
    return tip is None or tip != other_tip or options == other_options


def one_view_is_served(view: View) -> bool:
    """With votes, two members that serve, each with a majority behind it, serve in one view."""
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


def _new_in(tip: Name) -> int:
    return 0 if tip.parent is None else len(tip.members - tip.parent.members)


def _came_back(shown: Shown) -> bool:
    tip = shown.tip
    if not _active_in(Kind.CHANGE, shown) or tip is None or tip.parent is None:
        return False
    before = tip.parent.parent
    return before is not None and bool((tip.members - tip.parent.members) & before.members)


def _newcomers(count: int, kind: Kind, shown: Shown) -> bool:
    return _active_in(kind, shown) and shown.tip is not None and _new_in(shown.tip) >= count


def _left(shown: Shown) -> bool:
    return shown.phase is Phase.STOPPED and shown.tip is not None and not _is_close(shown)


def _in_phase(phase: Phase, shown: Shown) -> bool:
    return shown.phase is phase


POSSIBLE: Mapping[str, Callable[[Shown], bool]] = {
    **{kind.name: partial(_active_in, kind) for kind in (Kind.FOUND, Kind.CHANGE, Kind.RESTART)},
    "closed and restarted": _restarted,
    "a member that was given up is active again": _came_back,
    "a newcomer is active": partial(_newcomers, 1, Kind.CHANGE),
    "two newcomers at once": partial(_newcomers, 2, Kind.CHANGE),
    "a dirty and an empty store are updated": partial(_newcomers, 2, Kind.RESTART),
    "a member has left": _left,
    "a member stops for good": partial(_in_phase, Phase.ABORTED),
    "a member is suspended": partial(_in_phase, Phase.SUSPENDED),
}


def _claim_text(name: str) -> str:
    return f"active in a {name}" if name in Kind.__members__ else name
