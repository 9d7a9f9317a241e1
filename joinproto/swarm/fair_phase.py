"""The fair phase of a run: faults stop, members are started, and the cluster must serve.

In some runs the cluster is then closed by an orderly shutdown, and started again.
"""

from __future__ import annotations

from joinproto.join.inputs import ShutdownCluster
from joinproto.swarm.oracle import Violation
from joinproto.swarm.rest import RunningMember, members_that_must_serve, newest
from joinproto.swarm.simulation import Simulation

PATIENCES_MOST = 400
"""The most time for a cluster to come to rest, in multiples of its patience."""

SERVES_MOST = 100
"""The most time for a cluster to serve after the operator's mark, in multiples of its patience."""

PATIENCES_OF_REST = 6
"""The time without a new view at rest, in multiples of the cluster's patience."""


def calm(it: Simulation) -> None:
    """Stop all faults, start all members that can be started, and check that the cluster serves.

    If a disk may have forgotten its promises (`it.oracle.forgets`), only the faults stop.
    """
    it.network.is_mended = True
    it.register.out_of_reach.clear()
    for name, place in it.places.items():
        place.dies_in, place.dies_feeding = None, False
        it.power.discard(name)
        if it.options.pop(name, None) or name in it.gone:
            it.kill(name)
    if it.oracle.forgets:
        return
    if it.scenario.apart:
        it.tell(f"faults stop, but these stay apart: {' '.join(it.scenario.apart)}")
        it.network.mend(apart=it.scenario.apart)
        _start_all(it)
        _await_service(it)
    it.tell("faults stop, all links are whole")
    it.network.mend()
    _start_all(it)
    if _await_service(it) and it.scenario.ends_in_order:
        _shut_down(it)


def _start_all(it: Simulation) -> None:
    for name in it.scenario.members:
        it.begin(name)


def _await_service(it: Simulation) -> bool:
    """Let time pass until the cluster serves and rests; return whether it does.

    Raises `Violation` if it must serve and does not, or if no member serves or says why it waits.
    """
    patience = it.scenario.patience
    began = changed = it.now
    views = len(it.oracle.views)
    marked, permitted = it.scenario.automatic, 0
    for turn in range(PATIENCES_MOST):
        it.advance(it.now + patience)
        for name in list(it.processes):
            it.write(name)
        if len(it.oracle.views) != views:
            views, changed = len(it.oracle.views), it.now
        if it.now - changed >= PATIENCES_OF_REST * patience and it.acked_at > changed:
            return True
        if turn % 20 == 19 and it.acked_at < began:
            if not marked:
                marked, permitted = True, turn
                _mark_all(it)
            elif not _names_that_must_serve(it) or turn - permitted >= SERVES_MOST:
                break
    owing = _names_that_must_serve(it)
    if owing:
        serving = [p.name for p in it.processes.values() if p.opened is not None]
        raise Violation(
            "serves_again",
            f"{' '.join(owing)} hear each other and have all data; {newest(it.oracle)};"
            f" {views} views, serving: {' '.join(serving) or 'none'}; waiting:"
            f" {_waits(it) or 'without a reason'}",
        )
    says = any(one.waiting is not None or one.opened for one in it.processes.values())
    if it.processes and not says:
        phases = ", ".join(f"{p.name} {p.member.phase.value}" for p in it.processes.values())
        raise Violation("says_why", f"{phases}; {newest(it.oracle)}")
    return False


def _waits(it: Simulation) -> str:
    return "; ".join(
        f"{one.name}: {one.waiting.case} {one.waiting.detail}".rstrip()
        for one in it.processes.values()
        if one.waiting is not None
    )


def _mark_all(it: Simulation) -> None:
    it.tell("the operator stops all members, marks their stores, and starts them")
    for name, place in it.places.items():
        it.kill(name)
        place.mark()
    _start_all(it)


def _names_that_must_serve(it: Simulation) -> str:
    up = {
        name: RunningMember(
            one.seat, one.member.record, one.disk.journal.runs, one.member.config.digest
        )
        for name, one in it.processes.items()
    }
    return members_that_must_serve(it.oracle, up, it.network.deaf)


def _shut_down(it: Simulation) -> None:
    """Close the cluster, perhaps while a member has just come back; then start it again."""
    serving = sorted(p.name for p in it.processes.values() if p.opened is not None)
    back = it.chance.choice(["", *it.processes])
    if back:
        it.tell(f"{back} is killed and started")
        it.kill(back)
        it.begin(back)
        it.advance(it.now + it.chance.choice((0.0, 0.1, 1.0)) * it.scenario.patience)
        serving = [p.name for p in it.processes.values() if p.opened is not None]
    if not serving:
        return
    asked = it.chance.choice(serving)
    it.tell(f"{asked} is told to shut down the whole cluster")
    it.step(asked, lambda one: one.tell(ShutdownCluster()))
    for _ in range(PATIENCES_MOST):
        if not it.processes:
            break
        it.advance(it.now + it.scenario.patience)
    tip = newest(it.oracle)
    left = ", ".join(f"{p.name} {p.member.phase.value}" for p in it.processes.values())
    it.oracle.require("all_end", not left, f"{tip}; still there: {left}")
    it.tell("all members are started again")
    _start_all(it)
    _await_service(it)
