"""The join note as it is written, in closed worlds: one for each rule, and worlds that fail.

The note assumes that members agree on a set.  So here all members that reach each other receive, at
the same moment, the same set with the present status of each.  A failure of these worlds is
therefore never caused by a lost or late message.

Source: protocol document, section 1 (rules) and section 4 (worlds that must fail);
research on Qpid's real rules for the worlds `qpid-...`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from attrs import asdict, evolve, frozen

from joinproto.check.faults import Faults
from joinproto.check.local import Offline
from joinproto.check.problems import ModelProblem
from joinproto.check.properties import Property, always, eventually, sometimes
from joinproto.check.view import View
from joinproto.check.world import Together, World
from joinproto.machine.vocabulary import Options, Phase, Signature, Store
from joinproto.reference.effects import DiskRecord
from joinproto.reference.events import (
    Agreed,
    ClientWrite,
    Leave,
    MarkClean,
    OrderlyShutdown,
    UpdateDone,
)
from joinproto.reference.note.readings import READINGS, Readings
from joinproto.reference.tabled import Identity
from joinproto_worlds.note.member import ENDED, Acknowledged, Broker, BrokerView, Ledger

NAMES = ("a", "b", "c", "d", "e")


def store(picture: str) -> DiskRecord:
    """Return the store that a picture stands for.

    T: no store; E: empty; C2: clean, with 2 frames; D1: dirty, with 1.  A small letter before
    these names the cluster, as in "yC1"; without such a letter the cluster is x.
    """
    cluster, kind = (picture[0], picture[1:]) if picture[0].islower() else ("x", picture)
    if kind == "T":
        return DiskRecord(Store.NONE)
    if kind == "E":
        return DiskRecord(Store.EMPTY)
    frames = int(kind[1:])
    state = Store.CLEAN if kind[0] == "C" else Store.DIRTY
    return DiskRecord(state, cluster, frames, tuple(range(1, frames + 1)))


@frozen(kw_only=True)
class Plan:
    """The possible events of a world besides faults.

    `rules`: "note" or "qpid".  `frames`: the number of the last frame that clients write.
    `shutdowns`: whether the operator may shut the cluster down.  `marks`: which stores of stopped
    members the operator may mark clean: "" for none, "any", or "latest" for those with the most
    frames.  `leaves`: whether a single member may leave.
    """

    rules: str = "note"
    frames: int = 0
    shutdowns: bool = False
    marks: str = ""
    leaves: bool = False


def groups(view: View) -> Iterator[dict[str, BrokerView]]:
    """Yield the running members of each side of the partition."""
    running = {name: shown for name, shown in view.up.items() if shown.runs}
    if view.split is None:
        yield running
        return
    yield {name: shown for name, shown in running.items() if name in view.split}
    yield {name: shown for name, shown in running.items() if name not in view.split}


def steps(plan: Plan, view: View) -> Iterator[Together]:
    """Yield the possible steps of the layer that agrees on sets, the clients and the operator."""
    ledger = view.monitor
    for group in groups(view):
        if not group:
            continue
        statuses = tuple(shown.status for shown in group.values())
        where = "of " + " ".join(group)
        # Active members of Qpid judge their stores by every new set; the note's just go on.
        if plan.rules == "qpid" or any(not shown.serves for shown in group.values()):
            # Two sets that are agreed apart differ in this stamp: in the members, or in the number
            # of clusters founded or of frames written before.
            stamp = f"{''.join(group)}{ledger.founded}.{ledger.written}"
            agreed = Agreed(statuses, stamp)
            yield Together("agree on the set", dict.fromkeys(group, agreed), where)
        for name, shown in group.items():
            for source in shown.sources:
                if source in group and group[source].status.ready:
                    fed = group[source]
                    done = UpdateDone(source, fed.status.initial, fed.status.final, fed.data)
                    yield Together("finish the update", {name: done}, f"of {name} from {source}")
        serving = [name for name, shown in group.items() if shown.serves]
        if serving and ledger.written < plan.frames:
            frame = ledger.written + 1
            yield Together(
                "write",
                dict.fromkeys(serving, ClientWrite(frame)),
                f"frame {frame} at {' '.join(serving)}",
                fair=False,
            )
        if serving and plan.shutdowns:
            # Qpid's message carries the signature.  Each member of the note has its own candidate
            # for it, which advanced while the cluster ran (S2).
            final = f"stop at {ledger.written}" if plan.rules == "qpid" else None
            yield Together(
                "shut down the cluster",
                dict.fromkeys(group, OrderlyShutdown(final)),
                where,
                fair=False,
            )
        for name in group if plan.leaves else ():
            yield Together("leave", {name: Leave()}, fair=False)
    if plan.marks:
        most = max(len(kept.data) for kept in view.disk.values())
        for name in view:
            latest = len(view.disk[name].data) == most
            if name not in view.up and (latest or plan.marks == "any"):
                # Qpid's tool writes a new signature; the mark of the note keeps the candidate.
                mark = MarkClean(f"mark of {name}" if plan.rules == "qpid" else None)
                yield Together(
                    "mark clean", {name: Offline(mark)}, f"the store of {name}", fair=False
                )


# -- claims -----------------------------------------------------------------------------


def _serving(view: View) -> dict[str, BrokerView]:
    return {name: shown for name, shown in view.up.items() if shown.serves}


def one_cluster(view: View) -> bool:
    """Two members that serve at the same time are of one cluster, with the same frames."""
    seen = {
        (shown.status.initial, shown.data)
        for shown in _serving(view).values()
        if shown.status.store is not Store.NONE
    }
    return len(seen) <= 1


def nothing_lost(view: View) -> bool:
    """Every member that serves has every frame that its cluster ever acknowledged."""
    return all(
        promise.frame in shown.data
        for shown in _serving(view).values()
        for promise in view.monitor.acknowledged
        if promise.initial == shown.status.initial
    )


def no_stale_source(view: View) -> bool:
    """A member that was ready, from its own store or by an update, had every acknowledged frame."""
    return not view.monitor.stale


def no_stale_start(view: View) -> bool:
    """A member that was ready from its own store had every acknowledged frame."""
    return "own store" not in view.monitor.stale


def waits_for_n(wait_for: int, view: View) -> bool:
    """Return whether no member serves, or at least N do."""
    serving = _serving(view)
    return not serving or len(serving) >= wait_for


def options_agree(view: View) -> bool:
    return len({shown.status.options for shown in _serving(view).values()}) <= 1


def dirty_before_serving(view: View) -> bool:
    """On disk, the store of a member that serves is not clean."""
    return all(view.disk[name].store is not Store.CLEAN for name in _serving(view))


def position_is_data(view: View) -> bool:
    """Two clean stores with the same signatures hold the same frames."""
    clean = [kept for kept in view.disk.values() if kept.store is Store.CLEAN]
    return all(
        one.data == other.data
        for one in clean
        for other in clean
        if (one.initial, one.final) == (other.initial, other.final)
    )


def no_wrong_store(origin: dict[str, Signature | None], view: View) -> bool:
    """Return whether each member that serves has the initial signature its store had, if any."""
    return all(
        origin[name] is None or origin[name] == shown.status.initial
        for name, shown in _serving(view).items()
    )


def signature_never_changes(view: View) -> bool:
    return not view.monitor.renamed


def reached(phase: Phase, at_least: int, view: View) -> bool:
    return sum(shown.phase is phase for shown in view.up.values()) >= at_least


def everybody_serves(view: View) -> bool:
    return len(_serving(view)) == len(view)


# -- worlds ------------------------------------------------------------------------------


def build(
    members: int = 2,
    wait_for: int = 2,
    crashes: int = 0,
    partitions: int = 0,
    mutant: str | None = None,
    *,
    rules: str = "note",
    reading: str = "all-wait",
    stores: Sequence[str] = ("E",),
    odd_options: bool = False,
    frames: int = 0,
    claims: Sequence[str] = (),
    goals: Sequence[str] = (),
    rejoins: bool = True,
    **given: Any,
) -> World:
    """Return a world of the note, or of Qpid.

    `stores`: a picture for each member (see `store`); the last picture is for all further members.
    `odd_options`: the last member has other options.  `frames`: how many frames clients write.
    `claims`, `goals`: names of claims.  `rejoins`: whether crashed members start again.  `given`:
    see `Plan`.  `mutant`: `without-I4`, for example, leaves the cases of rule I4 out of the tables.
    """
    if wait_for < 1:
        raise ModelProblem(f"wait-for is {wait_for}", next="give it 1 or more members")
    names = NAMES[:members]
    readings = _reading(reading)
    kept = {name: store(stores[min(at, len(stores) - 1)]) for at, name in enumerate(names)}
    first = max(len(item.data) for item in kept.values())
    plan = Plan(rules=rules, frames=first + frames, **given)
    options: dict[str, Options] = {
        name: (("queue-limit", 2 if odd_options and name == names[-1] else 1),) for name in names
    }
    return World(
        name=rules,
        members={
            name: partial(
                _broker,
                rules,
                readings,
                Identity(name, options[name], wait_for),
                kept[name],
                mutant,
            )
            for name in names
        },
        monitor=partial(_ledger, tuple(kept.values())),
        show_disk=lambda disk: disk.disk,
        together=partial(steps, plan),
        start="down",
        faults=Faults(crashes=crashes, partitions=partitions, restarts=rejoins),
        properties=[
            *(_claim(name, wait_for, kept) for name in claims),
            *(_goal(name, members) for name in goals),
        ],
    )


def _broker(
    rules: str, readings: Readings, me: Identity, kept: DiskRecord, mutant: str | None
) -> Broker:
    return Broker(me, None if rules == "qpid" else readings, kept, kept, mutant=mutant)


def _reading(names: str) -> Readings:
    """Return the reading of this name, or the combination of readings whose names "+" joins."""
    found = READINGS["as-written"]
    usual = asdict(found, recurse=False)
    for name in names.split("+"):
        changed = asdict(READINGS[name], recurse=False)
        found = evolve(found, **{k: v for k, v in changed.items() if v != usual[k]})
    return found


def _ledger(kept: Sequence[DiskRecord]) -> Ledger:
    """Return the first ledger: all frames of each store were acknowledged by its cluster."""
    promises = frozenset(Acknowledged(item.initial, frame) for item in kept for frame in item.data)
    return Ledger(
        written=max(len(item.data) for item in kept),
        founded=0,
        acknowledged=promises,
    )


def _claim(name: str, wait_for: int, kept: dict[str, DiskRecord]) -> Property:
    known: dict[str, Callable[[View], Any]] = {
        "no_split_brain": one_cluster,
        "nothing_lost": nothing_lost,
        "no_stale_source": no_stale_source,
        "no_stale_start": no_stale_start,
        "waits_for_n": partial(waits_for_n, wait_for),
        "options_agree": options_agree,
        "dirty_before_serving": dirty_before_serving,
        "position_is_data": position_is_data,
        "no_wrong_store": partial(
            no_wrong_store, {name: item.initial for name, item in kept.items()}
        ),
        "signature_never_changes": signature_never_changes,
    }
    return always(name, known[name])


def _goal(name: str, members: int) -> Property:
    if name == "all serve in the end":
        return eventually(name, everybody_serves)
    known: dict[str, Callable[[View], Any]] = {
        **dict.fromkeys(("founded", "restarted", "everybody serves"), everybody_serves),
        "a member serves": partial(reached, Phase.ACTIVE, 1),
        "rejoined": lambda view: everybody_serves(view) and view.monitor.crashed,
        "a member aborts": partial(reached, Phase.ABORTED, 1),
        "all abort": partial(reached, Phase.ABORTED, members),
        "two are updated at once": partial(reached, Phase.UPDATING, 2),
        "two join at once": partial(reached, Phase.JOINING, 2),
        "all clean again": lambda view: (
            all(kept.store in (Store.CLEAN, Store.NONE) for kept in view.disk.values())
            and all(shown.phase in ENDED for shown in view.up.values())
            and view.monitor.written > 0
        ),
        "serves again after the shutdown": lambda view: (
            everybody_serves(view) and view.monitor.shutdowns > 0 and view.monitor.written > 0
        ),
    }
    return sometimes(name, known[name])
