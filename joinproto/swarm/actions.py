"""Actions of a scenario, applied to a simulation."""

from __future__ import annotations

from random import Random

from joinproto.join.inputs import Leave, ShutdownCluster
from joinproto.join.view import Seat
from joinproto.swarm.place import DataDirectory
from joinproto.swarm.scenario import Action, ActionKind
from joinproto.swarm.simulation import Simulation

_BLACKOUT_KEY = "and these lose their power, each in the middle of what it does next"
"""A part of the seed for each blackout.  If it changed, a run's seed would give another run."""


def do(it: Simulation, action: Action) -> None:
    """Perform the action, unless it is impossible now, such as a change of a disk in use."""
    who, place = action.member, it.places.get(action.member)
    match action.kind:
        case ActionKind.START:
            it.begin(who)
        case ActionKind.CRASH:
            it.kill(who)
        case ActionKind.FEEDS:
            it.places[who].dies_feeding = True
        case ActionKind.CRASH_SOON | ActionKind.POWER | ActionKind.GONE:
            if action.kind is ActionKind.GONE:
                it.gone.add(who)
            if who in it.processes:
                it.places[who].dies_in = int(action.amount)
                if action.kind is ActionKind.POWER:
                    it.power.add(who)
        case ActionKind.BLACKOUT:
            _black_out(it, action)
        case ActionKind.CUT:
            it.network.cut(pair for pair in ((who, action.others), (action.others, who)))
        case ActionKind.DEAF:
            it.network.cut([(who, action.others)])
        case ActionKind.BREAK:
            it.network.lose(who, action.others)
        case ActionKind.GIVEN_UP:
            it.network.give_up(who, action.amount)
        case ActionKind.SPLIT:
            here = {who, *action.others}
            away = set(it.scenario.members) - here
            it.network.mend()
            it.network.cut(
                pair for x in sorted(here) for y in sorted(away) for pair in ((x, y), (y, x))
            )
        case ActionKind.HEAL:
            it.network.mend()
        case ActionKind.WRITE:
            it.write(who)
        case ActionKind.LEAVE:
            it.step(who, lambda one: one.tell(Leave()))
        case ActionKind.SHUTDOWN:
            it.step(who, lambda one: one.tell(ShutdownCluster()))
        case ActionKind.JUMP:
            it.clocks[who].ahead += action.amount
            it.step(who)
        case ActionKind.OPTIONS:
            it.options[who] = "other"
        case ActionKind.USUAL:
            it.options.pop(who, None)
        case ActionKind.REGISTER_LOST:
            it.register.out_of_reach[who] = it.now + action.amount
        case ActionKind.COPY:
            it.places[who].copy()
        case _ if place is not None and not it.is_up(who):
            _to_its_disk(it, place, action.kind)
        case _:
            pass  # its disk is in use


def _to_its_disk(it: Simulation, place: DataDirectory, kind: ActionKind) -> None:
    match kind:
        case ActionKind.WIPE:
            _wipe(it, place)
        case ActionKind.MARK:
            place.mark()
        case ActionKind.RESTORE:
            place.restore()
        case ActionKind.PUT_BACK:
            place.put_back()


def _wipe(it: Simulation, place: DataDirectory) -> None:
    if place.record is not None:
        # Its vote may make a majority later, together with a vote that is under way.
        it.oracle.wiped.add(Seat(place.member, place.record.store_id))
    place.wipe()


def _black_out(it: Simulation, action: Action) -> None:
    names = f"{action.member} {action.others}".strip()
    seconds = f" ({action.amount:g})" if action.amount else ""
    chance = Random(f"{it.scenario.seed} {names} {_BLACKOUT_KEY}{seconds}")
    for name in (action.member, *action.others):
        # A member that is down dies in its next start.
        it.power.add(name)
        it.places[name].dies_in = chance.choice((0, 1, 2, 3, 5, 8, 13, 30))

    def all_are_out() -> None:
        for name in (action.member, *action.others):
            if name in it.power:
                it.kill(name)

    it.later(action.amount, all_are_out)
