"""Locks: a node that boots without waiting for others first takes the lock of each node.

All nodes take the locks in the order of names, so no two nodes can each hold a lock that the other
needs.  The lock of a node that is away counts as granted.  A node that is refused a lock gives back
all its locks.

Source: Clusterer, U5.
"""

from __future__ import annotations

from joinproto.clusterer.beginning import rested, succeed
from joinproto.clusterer.messages import AskLock, Boot, Locked, Send, Unlock
from joinproto.clusterer.state import LockHolder, OpenRound, RoundKind, State, Step, Why
from joinproto.clusterer.status import WAITING
from joinproto.clusterer.tables import LOCKS, Lock
from joinproto.clusterer.tables import AskedLock as Row
from joinproto.machine.values import evolve


def begin_locking(state: State) -> Step:
    """Return the step that asks for the first lock."""
    if state.yields:
        # The others know which nodes this node awaits, so one with the same or newer data can go.
        return rested(evolve(state, why=Why("U5", "another is to go first")))
    nodes = state.config_now.config.nodes
    locks = OpenRound(what=RoundKind.LOCKS, token=state.round_now.token, left=nodes)
    return _next(evolve(state, round=locks))


def _next(state: State) -> Step:
    """Ask for the next lock, or boot if none is left."""
    round_, me = state.round_now, state.who.me
    if not round_.left:
        forget = state.joining | (state.record.members - state.config_now.config.nodes)
        return succeed(Step(state), Boot.FIRST, forget=forget)
    first = least(round_, me)
    if first != me:
        return Step(state, (Send(first, AskLock(round_.token)),))
    if answer(state, me) is Lock.REJECT:
        return _refused(state, me)
    held = evolve(state, lock=LockHolder(me, round_.token))
    return _next(evolve(held, round=_taken(round_, me)))


def least(round_: OpenRound, _me: str) -> str:
    """Return the node whose lock is next; all nodes take locks in the same order."""
    return min(round_.left)


def _taken(round_: OpenRound, node: str) -> OpenRound:
    return evolve(round_, left=round_.left - {node}, taken=round_.taken | {node})


def _refused(state: State, node: str) -> Step:
    why = Why("U5", "a lock is held by another")
    return rested(evolve(state, why=why, waits_for=frozenset({node})))


def answer(state: State, sender: str) -> Lock:
    """Return this node's answer to a node that asks for its lock.

    A holder that asks again gets the lock again, because it has begun another round.  Otherwise: a
    asks, and ends; its question arrives after the news that a is gone, so the lock is held for a
    former run of a; a, started again, would never get it.
    """
    is_taken = state.lock is not None and state.lock.node != sender
    row = Row(waiting=state.status in WAITING, taken=is_taken)
    return LOCKS.choose((row,), 0).outcome


def wanted(state: State, sender: str, token: int) -> Step:
    """Return the step that answers a node that asks for this node's lock."""
    if answer(state, sender) is Lock.REJECT:
        return Step(state, (Send(sender, Locked(token, granted=False)),))
    held = evolve(state, lock=LockHolder(sender, token))
    return Step(held, (Send(sender, Locked(token, granted=True)),))


def answered(state: State, sender: str, token: int, *, granted: bool) -> Step:
    """Return the step after another node granted or refused its lock."""
    round_ = state.round
    if round_ is None or round_.what is not RoundKind.LOCKS or round_.token != token:
        # The round was given up meanwhile.  If this node kept the lock, no other could take it.
        return Step(state, (Send(sender, Unlock(token)),) if granted else ())
    if not round_.left or sender != least(round_, state.who.me):
        return Step(state)
    if not granted:
        return _refused(state, sender)
    return _next(evolve(state, round=_taken(round_, sender)))


def freed(state: State, sender: str, token: int) -> Step:
    """Return the step after a node gave this node's lock back."""
    is_holder = state.lock == LockHolder(sender, token)
    return Step(evolve(state, lock=None)) if is_holder else Step(state)
