"""`latest_is_latest`: the store that the recovery tool calls the latest holds every committed
frame.

In each state of a join world the power may fail everywhere at once.  The operator then has all
stores, or some of them, as they are on the disks, and asks the shipped `pick`.  Each store that it
calls proven, a tie or clean, or with which it says that nothing is lost, is compared with the
frames that were committed so far.

Asking about only some of the stores also covers the case that other members still run, or run
again: a frame that is committed later is committed without the stores that were given.

Source: join protocol, section 4; recovery, verdicts 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial, wraps
from itertools import combinations
from typing import Any

from attrs import evolve, frozen

from joinproto.check.properties import Property, always, sometimes
from joinproto.check.view import ShownAttributes, View
from joinproto.check.world import World
from joinproto.join.lineage import Lineage
from joinproto.join.position import PositionOrder, compare_positions
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position
from joinproto.pick.candidate import Candidate, State
from joinproto.pick.pick import pick
from joinproto.pick.table import Verdict
from joinproto_worlds.join import world as join
from joinproto_worlds.join.words import REGISTER
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation

SURE = (Verdict.PROVEN, Verdict.TIE, Verdict.CLEAN)


@frozen(cache_hash=True)
class Disk:
    """The contents of a member's disk: its record, and its frames."""

    record: StoreRecord
    frames: tuple[Position, ...]


@wraps(join.build, assigned=())
def build(mutant: str | None = None, **options: Any) -> World:
    """Return a join world in which the operator asks `pick` at any moment.

    `mutant`: a rule of `pick` that is left out, or any rule that the join worlds can leave out.
    """
    is_ours = False
    if mutant is not None:
        # Imported here and not above, because the catalogue imports every system.
        from joinproto_worlds.mutations.catalogue import OF_PICK

        is_ours = mutant in OF_PICK
    world = join.build(mutant=None if is_ours else mutant, **options)
    return with_pick(world, mutant if is_ours else None)


def with_pick(world: World, mutant: str | None = None) -> World:
    """Return the world with the claims about `pick` added to its own."""
    ours = claims(PickOptions(REGISTER in world.members, mutant), whole=mutant is None)
    return evolve(world, show_disk=shown_disk, properties=[*world.properties, *ours])


@frozen(cache_hash=True)
class PickOptions:
    """How `pick` is asked.  `outside`: an outside register chooses the views.

    `mutation`: a rule of `pick` that is left out.
    """

    outside: bool
    mutation: str | None = None


def claims(asking: PickOptions, *, whole: bool = True) -> list[Property]:
    """Return the claims about `pick`; `whole`: also those that its answers are of use."""
    found = [
        always("latest_is_latest", partial(latest_is_latest, asking)),
        always("nobody_has_more", partial(nobody_has_more, asking)),
    ]
    if whole:
        found += [
            always("stores_fit_together", partial(stores_fit_together, asking)),
            sometimes("one store is proven the latest", partial(_is_met, asking, Verdict.PROVEN)),
            sometimes("stores tie", partial(_is_met, asking, Verdict.TIE)),
        ]
    return found


def shown_disk(disk: ShownAttributes) -> Disk | None:
    """Return the disk as the operator finds it, or None for the register and transient members."""
    names = [name for name, _ in disk.values]
    if "kept" not in names or disk.kept.transient:
        return None
    return Disk(disk.kept, disk.frames)


# -- the claims ------------------------------------------------------------------------------------


def latest_is_latest(asking: PickOptions, view: View) -> bool:
    """Return whether each store that `pick` calls the latest has every committed frame, whichever
    stores are given.
    """
    return all(view.monitor.committed <= kept for kept in _vouched(stores_of(view), asking))


def nobody_has_more(asking: PickOptions, view: View) -> bool:
    """Return whether no store, given or not, ends later than a store that is proven or a tie.

    Frames at the end of a store that the chain has dropped do not count.
    """
    stores = stores_of(view)
    newest = max((disk.record.lineage for _, disk in stores), key=lambda chain: chain.length)
    ends = [disk.record.position for _, disk in stores if not disk.record.update_unfinished]
    return not any(
        compare_positions(latest, end, (newest,)) is PositionOrder.BEHIND
        for latest in _proven(stores, asking)
        for end in ends
        if not _is_left_behind(end, newest)
    )


def _is_left_behind(end: Position | None, chain: Lineage) -> bool:
    """Return whether a later view of the chain starts before this frame, and so has dropped it."""
    number = None if end is None else chain.number_of(end.view)
    return number is not None and any(
        view.number > number
        and compare_positions(end, view.position, (chain,)) is PositionOrder.AHEAD
        for view in chain.views
    )


def stores_fit_together(asking: PickOptions, view: View) -> bool:
    """Return whether `pick` calls no store damaged, copied, foreign or diverged; none is."""
    return not any(
        found.verdict in (Verdict.DIVERGED, Verdict.CORRUPT, Verdict.DIFFERENT_CLUSTERS)
        or found.has_copy
        for found in _answers(stores_of(view), asking)
    )


def _is_met(asking: PickOptions, verdict: Verdict, view: View) -> bool:
    return any(found.verdict is verdict for found in _answers(stores_of(view), asking))


# -- asking ----------------------------------------------------------------------------------------

Stores = tuple[tuple[str, Disk], ...]


def stores_of(view: View) -> Stores:
    return tuple((name, disk) for name, disk in view.disk.items() if disk is not None)


@cache
def _vouched(stores: Stores, asking: PickOptions) -> frozenset[frozenset[Position]]:
    """Return the frames of each store that an answer calls the latest and sure."""
    frames = {name: frozenset(disk.frames) for name, disk in stores}
    return frozenset(
        frames[name]
        for found in _answers(stores, asking)
        if found.verdict in SURE or found.loses_nothing
        for name in found.latest
    )


@cache
def _proven(stores: Stores, asking: PickOptions) -> frozenset[Position | None]:
    """Return the positions of the stores that an answer calls proven, or a tie."""
    disks = dict(stores)
    return frozenset(
        disks[name].record.position
        for found in _answers(stores, asking)
        if found.verdict in (Verdict.PROVEN, Verdict.TIE)
        for name in found.latest
    )


def _answers(stores: Stores, asking: PickOptions) -> Iterator[Answer]:
    """Yield the answers of `pick` for all stores, and for some of them."""
    for count in range(1, len(stores) + 1):
        for given in combinations(stores, count):
            yield _answer(given, asking)


@frozen
class Answer:
    """The compared parts of an answer.  `latest`: names; `has_copy`: a store is called a copy."""

    verdict: Verdict
    latest: tuple[str, ...]
    loses_nothing: bool
    has_copy: bool


@cache
def _answer(stores: Stores, asking: PickOptions) -> Answer:
    candidates = [_candidate(name, disk.record) for name, disk in stores]
    with applied(mutation(asking.mutation)):
        said = pick(candidates, outside=asking.outside)
    has_copy = any(row.is_copy for row in said.findings.rows)
    return Answer(said.verdict, said.latest, said.loses_nothing, has_copy)


def _candidate(name: str, record: StoreRecord) -> Candidate:
    is_unfinished = record.update_unfinished
    initial = record.lineage.initial
    return Candidate(
        name=name,
        state=State.UNFINISHED if is_unfinished else State(record.state.value),
        member=name,
        cluster=None if initial is None else str(initial),
        record=record,
    )
