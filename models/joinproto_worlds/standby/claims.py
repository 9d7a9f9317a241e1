"""Claims about a story of hot standby, read from its brokers.

Source: hot standby, H4, H6, H9; LM1 to LM5, LC1 to LC6.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from attrs import frozen

from joinproto.check.properties import Property, always, sometimes
from joinproto.check.view import View
from joinproto.standby import messages
from joinproto.standby.broker import Mark, Role
from joinproto.standby.machine import Broker
from joinproto.standby.primary_state import PrimaryState
from joinproto.standby.replica_state import ReplicaState
from joinproto.standby.replicates import Level
from joinproto_worlds.standby.played import Played, refuses, youngest
from joinproto_worlds.standby.story import Op


@frozen(kw_only=True)
class StoryView:
    """The facts that the claims read.  `primaries`: how many brokers serve; `generations`: in how
    many generations they serve.  `second`: a second broker has taken over; `done`: all actions are
    confirmed.  `CLAIMS` and `REACHED` explain the other fields.
    """

    lost: bool
    unkept: bool
    returned: bool
    torn: bool
    differs: bool
    unchosen: bool
    primaries: int
    generations: int
    stuck: bool
    second: bool
    is_up_to_date: bool
    done: bool


def shown(it: Played) -> StoryView:
    """Return the observation of a story."""
    last = _last(it)
    ops = it.plot.ops
    confirmed = [ops[at] for at in it.confirmed if at >= 0]
    replica = None if last is None else last.replica
    begun = ops[: it.op]
    serving = [one for one in it.brokers.values() if one.serves]
    pairs = [*_pairs_up_to_date(it)]
    return StoryView(
        lost=replica is not None and any(_lacks(replica, one, begun) for one in confirmed),
        unkept=last is not None
        and any(
            _lacks(disk.replica, one, begun)
            for disk in map(it.disk.__getitem__, last.view.members)
            for one in confirmed
        ),
        returned=replica is not None and any(_has_again(replica, one) for one in confirmed),
        torn=replica is not None and any(_is_torn(replica, one) for one in begun),
        differs=any(_differ(primary.replica, backup.replica) for primary, backup in pairs),
        unchosen=any(_unchosen(one.replica) for one in it.brokers.values() if not one.serves),
        primaries=len(serving),
        generations=len({one.view.generation for one in serving}),
        stuck=it.plot.marks == "left" and _is_stuck(it),
        second=last is not None and _took_over(it, last.view),
        is_up_to_date=any(backup.role is Role.BACKUP for _, backup in pairs),
        done=it.op == len(ops) and len(confirmed) == len(ops),
    )


def _last(it: Played) -> Broker | None:
    """Return the primary of the youngest view.

    None if no broker serves, or if a later generation has confirmed an operation.
    """
    serving = [
        one
        for _, one in sorted(it.brokers.items())
        if one.serves and one.view.generation >= it.newest
    ]
    return max(serving, key=lambda one: one.view.age, default=None)


def _is_stuck(it: Played) -> bool:
    """Return whether no broker serves although all brokers run and hear each other, and every
    broker that may be promoted refuses.

    At least one of the refusing brokers has a clean store and has finished catching up, so an
    operator can do no more.
    """
    brokers = it.brokers.values()
    if not all(map(it.runs, it.brokers)) or it.cut_off or any(one.serves for one in brokers):
        return False
    if any(it.half_open()):
        return False  # a broker has not noticed yet that its primary is gone
    able = youngest(it).members
    whole = [one for one in map(it.brokers.__getitem__, able) if one.standing is not Role.CATCHUP]
    return any(one.mark is Mark.CLEAN for one in whole) and all(refuses(it, name) for name in able)


def _took_over(it: Played, view: messages.View) -> bool:
    return view.primary != it.plot.names[0] or view.generation > 1


def _ids(replica: ReplicaState, queue: str) -> tuple[str, ...]:
    return replica.queues[queue].messages.ids if queue in replica.queues else ()


def _lacks(replica: ReplicaState, op: Op, begun: tuple[Op, ...]) -> bool:
    taken = {one for other in begun for one in other.takes}
    if any(one not in taken and one[1] not in _ids(replica, one[0]) for one in op.puts):
        return True
    deleted = [other.deletes for other in begun if other.deletes is not None]
    return (
        op.declares is not None
        and op.declares not in deleted
        and op.declares.key not in replica.things
    )


def _has_again(replica: ReplicaState, op: Op) -> bool:
    return any(one in _ids(replica, queue) for queue, one in op.takes)


def _is_torn(replica: ReplicaState, op: Op) -> bool:
    """Return whether the replica has a part of this transaction, and lacks another part."""
    if not op.is_transaction:
        return False
    done = {one in _ids(replica, queue) for queue, one in op.puts}
    done |= {one not in _ids(replica, queue) for queue, one in op.takes}
    return len(done) > 1


def _pairs_up_to_date(it: Played) -> Iterator[tuple[Broker, Broker]]:
    """Yield each primary with each backup that is up to date and has no message under way."""
    for name, primary in it.brokers.items():
        side = primary.side
        if not isinstance(side, PrimaryState):
            continue
        for backup in sorted(side.followers):
            one = side.followers[backup]
            other = it.brokers[backup]
            is_quiet = it.is_connected(name, backup) and not any(
                content
                for ends, content in it.links.items()
                if {end.rstrip("?") for end in ends} == {name, backup}
            )
            is_done = bool(one.done) and one.done == one.sent and not one.copying
            if is_quiet and is_done and backup in side.view.members:
                yield primary, other


def _differ(one: ReplicaState, other: ReplicaState) -> bool:
    def wiring(replica: ReplicaState) -> set[tuple[Any, str]]:
        things = replica.things.values()
        return {(thing.key, thing.id) for thing in things if thing.says is not Level.NONE}

    return wiring(one) != wiring(other) or any(
        _ids(one, name) != _ids(other, name)
        for name in one.queues
        if (thing := one.thing(name)) is not None and thing.says is not Level.NONE
    )


def _unchosen(replica: ReplicaState) -> bool:
    return any(thing.says is Level.NONE for thing in replica.things.values())


CLAIMS: dict[str, tuple[str, Callable[[StoryView], bool]]] = {
    "lost": ("nothing is lost", lambda it: not it.lost),
    "unkept": (
        "each broker of the view has what was acknowledged on disk",
        lambda it: not it.unkept,
    ),
    "returned": ("what was acknowledged does not return", lambda it: not it.returned),
    "torn": ("transactions are whole", lambda it: not it.torn),
    "differs": ("a backup that is up to date has what the primary has", lambda it: not it.differs),
    "unchosen": ("a backup has only what was chosen", lambda it: not it.unchosen),
    "generation": ("one primary in a generation", lambda it: it.primaries == it.generations),
    "stuck": ("never stuck", lambda it: not it.stuck),
    "alone": ("one primary", lambda it: it.primaries <= 1),
}
REACHED: dict[str, tuple[str, Callable[[StoryView], bool]]] = {
    "second": ("another one takes over", lambda it: it.second),
    "level": ("a backup is up to date", lambda it: it.is_up_to_date),
    "done": ("all is confirmed", lambda it: it.done),
}


def claims(names: tuple[str, ...], reached: tuple[str, ...]) -> list[Property]:
    """Return the claims of these names; `reached`: names of states that some run must reach."""

    def of(holds: Callable[[StoryView], bool]) -> Callable[[View], bool]:
        return lambda view: holds(view["story"])

    return [
        *(always(CLAIMS[name][0], of(CLAIMS[name][1])) for name in names),
        *(sometimes(REACHED[name][0], of(REACHED[name][1])) for name in reached),
    ]
