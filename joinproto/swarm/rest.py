"""Rest: the liveness claims about a cluster once faults have stopped.

A majority of the electors must serve and come to rest if it is up, its members all hear each other,
and they have every committed frame.  Of the members that have the data, only those count that can
know that they have it: the members of every view since the last view that may have been served.
"""

from __future__ import annotations

from itertools import combinations

from attrs import frozen

from joinproto.durable.journal.journal import Run
from joinproto.join.store import StoreRecord
from joinproto.join.view import Seat, View
from joinproto.machine.vocabulary import Store
from joinproto.swarm.oracle import Oracle


@frozen
class RunningMember:
    """A running member: its record, the frames in its journal, and the digest of its options."""

    seat: Seat
    record: StoreRecord
    runs: tuple[Run, ...]
    digest: str


def newest(oracle: Oracle) -> View | None:
    """Return the newest chosen view; None if no cluster was founded."""
    at = oracle.successor.get(None)
    while at is not None and (following := oracle.successor.get(at.id)) is not None:
        at = following
    return at


def members_that_must_serve(
    oracle: Oracle, up: dict[str, RunningMember], deaf: set[tuple[str, str]]
) -> str:
    """Return the names of the members that must serve, joined; "" if none must."""
    tip = newest(oracle)
    for count in range(len(up), 0, -1):
        for names in combinations(sorted(up), count):
            if any((x, y) in deaf for x in names for y in names):
                continue
            if _must_serve(oracle, tip, [up[name] for name in names]):
                return "".join(names)
    return ""


def _must_serve(oracle: Oracle, tip: View | None, group: list[RunningMember]) -> bool:
    it = oracle.scenario
    default = it.config(it.members[0]).digest
    if len(group) < it.wait_for or any(one.digest != default for one in group):
        return False
    # If no member has learned of the founding, it needs its founders as if it were not chosen.
    if tip is None or all(one.record.tip is None for one in group):
        names, seats = {one.seat.member for one in group}, {one.seat for one in group}
        accepted = [one.record.accepted.view for one in group if one.record.accepted is not None]
        # An accepted FOUND may have been chosen, with a disk that is lost now.
        return set(it.electors) <= names and all(view.is_majority(seats) for view in accepted)
    if not (it.outside or _can_know(oracle, tip, group)) or tip.options_digest != default:
        return False
    line = _in_line(oracle, tip)
    fit = [one for one in group if one.seat in line and _has_all(oracle, one)]
    if not tip.is_open and not any(one.record.state is Store.CLEAN for one in fit):
        return False
    if it.outside:
        return any(not one.record.transient for one in fit)
    return tip.is_majority({one.seat for one in fit})


def _can_know(oracle: Oracle, tip: View, group: list[RunningMember]) -> bool:
    """Return whether a member knows the tip, or enough are up to find out that it is chosen."""
    if tip.parent is None or any(one.record.lineage.length >= tip.number for one in group):
        return True
    return oracle.views[tip.parent].is_majority({one.seat for one in group})


def _in_line(oracle: Oracle, tip: View) -> frozenset[Seat]:
    """Return the seats that are in every view from the last one that may have been served on."""
    line, at = tip.members, tip
    while at.parent is not None and not (
        at.is_open and at.members <= oracle.ready.get(at.id, set())
    ):
        at = oracle.views[at.parent]
        line &= at.members
    return line


def _has_all(oracle: Oracle, one: RunningMember) -> bool:
    return all(
        any(run.view == view and run.first <= seq <= run.last for run in one.runs)
        for seq, view in oracle.committed.items()
    )
