"""Actions of a scenario, applied to a simulation."""

from __future__ import annotations

from random import Random

from joinproto.join.inputs import Leave, ShutdownCluster
from joinproto.join.view import Seat
from joinproto.swarm.place import Place
from joinproto.swarm.scenario import Action, What
from joinproto.swarm.simulation import Simulation


def do(it: Simulation, action: Action) -> None:
    """Perform the action, unless it is impossible now, such as a change of a disk in use."""
    who, place = action.who, it.places.get(action.who)
    match action.what:
        case What.START:
            it.begin(who)
        case What.CRASH:
            it.kill(who)
        case What.FEEDS:
            it.places[who].dies_feeding = True
        case What.CRASH_SOON | What.POWER | What.GONE:
            if action.what is What.GONE:
                it.gone.add(who)
            if who in it.processes:
                it.places[who].dies_in = int(action.amount)
                if action.what is What.POWER:
                    it.power.add(who)
        case What.BLACKOUT:
            _black_out(it, action)
        case What.CUT:
            it.network.cut(pair for pair in ((who, action.others), (action.others, who)))
        case What.DEAF:
            it.network.cut([(who, action.others)])
        case What.BREAK:
            it.network.lose(who, action.others)
        case What.GIVEN_UP:
            it.network.give_up(who, action.amount)
        case What.SPLIT:
            here = {who, *action.others}
            away = set(it.scenario.members) - here
            it.network.mend()
            it.network.cut(
                pair for x in sorted(here) for y in sorted(away) for pair in ((x, y), (y, x))
            )
        case What.HEAL:
            it.network.mend()
        case What.WRITE:
            it.write(who)
        case What.LEAVE:
            it.step(who, lambda one: one.tell(Leave()))
        case What.SHUTDOWN:
            it.step(who, lambda one: one.tell(ShutdownCluster()))
        case What.JUMP:
            it.clocks[who].ahead += action.amount
            it.step(who)
        case What.OPTIONS:
            it.options[who] = "other"
        case What.USUAL:
            it.options.pop(who, None)
        case What.REGISTER_LOST:
            it.register.out_of_reach[who] = it.now + action.amount
        case What.COPY:
            it.places[who].copy()
        case _ if place is not None and not it.is_up(who):
            _to_its_disk(it, place, action.what)
        case _:
            pass  # its disk is in use


def _to_its_disk(it: Simulation, place: Place, what: What) -> None:
    match what:
        case What.WIPE:
            _wipe(it, place)
        case What.MARK:
            place.mark()
        case What.RESTORE:
            place.restore()
        case What.PUT_BACK:
            place.put_back()


def _wipe(it: Simulation, place: Place) -> None:
    if place.record is not None:
        # Its vote may make a majority later, together with a vote that is under way.
        it.oracle.wiped.add(Seat(place.member, place.record.store_id))
    place.wipe()


def _black_out(it: Simulation, action: Action) -> None:
    chance = Random(f"{it.scenario.seed} {action}")
    for name in (action.who, *action.others):
        # A member that is down dies in its next start.
        it.power.add(name)
        it.places[name].dies_in = chance.choice((0, 1, 2, 3, 5, 8, 13, 30))

    def all_are_out() -> None:
        for name in (action.who, *action.others):
            if name in it.power:
                it.kill(name)

    it.later(action.amount, all_are_out)
