"""One run: a storm of actions; then all faults end, and the brokers must serve."""

from __future__ import annotations

import asyncio
import random

from attrs import evolve, frozen

from joinproto.standby.broker import Role
from tools.swarms.loop import VirtualLoop, silent
from tools.swarms.shrink import fewer
from tools.swarms.standby.brokers import Brokers
from tools.swarms.standby.oracle import Violation
from tools.swarms.standby.scenario import Action, Scenario, What

MANAGER_SECONDS = 2.0
"""The seconds between two promotions by a manager outside."""
SERVES_SECONDS = 30.0
"""The seconds after the faults within which a broker must serve; then an operator marks one."""
LEVEL_SECONDS = 120.0
"""The seconds, after a broker serves, within which all backups must be up to date."""
SAME_SECONDS = 30.0
"""The seconds, after that, within which all brokers must have the same messages: a slow write may
still be under way.
"""


@frozen(kw_only=True)
class Outcome:
    """The result of one run.  `claim`: the broken claim, or "".

    `steps`: of the machines; `ticks`: steps of the clock among them.  `persons`: how often an
    operator had to mark a store.
    """

    scenario: Scenario
    claim: str = ""
    what: str = ""
    steps: int = 0
    ticks: int = 0
    confirmed: int = 0
    generations: int = 0
    persons: int = 0
    seconds: float = 0.0


def run(scenario: Scenario) -> Outcome:
    """Play a scenario; the same scenario always gives the same outcome."""
    before = random.getstate()
    random.seed(scenario.seed)  # the mesh draws its pauses from it
    try:
        with silent(), asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(_run(scenario))
    finally:
        random.setstate(before)


def shrunk(outcome: Outcome, seconds: float = 60.0) -> Outcome:
    """Return a run with fewer actions that breaks the same claim."""
    best = outcome

    def fails(actions: tuple[Action, ...]) -> bool:
        nonlocal best
        found = run(evolve(outcome.scenario, actions=actions))
        if found.claim == outcome.claim:
            best = found
        return found.claim == outcome.claim

    fewer(outcome.scenario.actions, fails, seconds=seconds)
    return best


async def _run(scenario: Scenario) -> Outcome:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    it = Brokers(scenario, loop)
    loop.set_exception_handler(
        lambda _, context: it.failures.append(
            context.get("exception") or AssertionError(context["message"])
        )
    )
    claim = what = ""
    persons = 0
    try:
        for name in scenario.names:
            await it.start(name)
        if not scenario.built_in:
            it.tasks(_manages(it))
        for action in scenario.actions:
            await it.until(lambda at=action.at: loop.time() >= at, 1e9)  # type: ignore[misc]
            await _do(it, action)
        persons = await _rest(it)
    except Violation as found:
        claim, what = found.claim, str(found)
    finally:
        for name in [*it.cores]:
            it.kill(name)
    return Outcome(
        scenario=scenario,
        claim=claim,
        what=what,
        steps=it.steps,
        ticks=it.ticks,
        confirmed=it.oracle.confirmed,
        generations=it.last.generation,
        persons=persons,
        seconds=loop.time(),
    )


async def _do(it: Brokers, action: Action) -> None:
    who, is_up = action.who, action.who in it.cores
    match action.what:
        case What.START:
            await it.start(who)
        case What.KILL | What.POWER if is_up:
            it.kill(who, power=action.what is What.POWER)
        case What.SOON if is_up:
            it.dies_within(who, int(action.amount))
        case What.STOP if is_up:
            it.observe()
            await it.stop(who)
        case What.CUT:
            it.loop.apart.add(who)
        case What.HEAL:
            it.loop.heal()
        case What.PROMOTE if is_up:
            await _promote(it, who)
        case What.DEMOTE if is_up:
            it.observe()
            it.tasks(it.cores[who].demote())
        case What.SLOW:
            it.slow[who] = action.amount
        case What.PUBLISH:
            it.publish(who, int(action.amount))
        case What.TAKE:
            it.take(who, int(action.amount))
        case What.TRANSACT:
            it.transact(who, int(action.amount))


async def _promote(it: Brokers, who: str) -> None:
    """Promote a broker.  A manager outside does so by views, and first ends any other primary, even
    one whose promotion is still under way.
    """
    if not it.scenario.built_in:
        it.observe()
        if (able := it.promotable()) and who not in able:
            return
        for name in [*it.cores]:
            if name != who and (it.cores[name].serves or name in it.promoting):
                it.kill(name)
    it.promote(who)


async def _manages(it: Brokers) -> None:
    """Promote a broker whenever none serves, as a manager outside does."""
    while True:
        await asyncio.sleep(MANAGER_SECONDS)
        able = sorted({*it.cores} & {*(it.promotable() or it.scenario.names)})
        serve = any(core.serves for core in it.cores.values())
        if able and not serve and not it.promoting:
            await _promote(it, it.chance.choice(able))


async def _rest(it: Brokers) -> int:
    """End all faults, and check that the brokers serve all data.

    Return how often an operator had to help.
    """
    it.slow.clear()
    for disk in it.disks.values():
        disk.before = lambda _: None
    it.loop.heal()
    for name in it.scenario.names:
        await it.start(name)
    persons = 0
    if not await it.until(lambda: _serves(it) != "", SERVES_SECONDS):
        persons = 1
        await _mark(it)
        if not await it.until(lambda: _serves(it) != "", SERVES_SECONDS):
            raise Violation("never stuck", f"no broker serves: {_said(it)}")
    names = sorted(it.scenario.names)

    def is_level() -> bool:
        serves = _serves(it)
        return bool(serves) and it.status(serves)["up_to_date"] == names

    if not await it.until(is_level, LEVEL_SECONDS):
        raise Violation("never stuck", f"not all are up to date: {_said(it)}")
    await it.until(lambda: False, 1.0)

    def is_same() -> bool:
        serves = _serves(it)
        return bool(serves) and all(it.left(name) == it.left(serves) for name in names)

    if not await it.until(is_same, SAME_SECONDS):
        raise Violation("backups have all", "; ".join(f"{name}: {it.left(name)}" for name in names))
    it.oracle.ends(it.left(_serves(it)))
    return persons


def _serves(it: Brokers) -> str:
    found = [name for name, core in it.cores.items() if core.role is Role.PRIMARY]
    return found[0] if len(found) == 1 else ""


async def _mark(it: Brokers) -> None:
    """Mark the best store and restart its broker, as after a total failure.

    If no store has a view, the first promotion was never stored, and all brokers begin anew.
    """
    if not any(core.kept.view.generation for core in it.cores.values()):
        await it.begin_anew()
        return
    ages = {name: core.kept for name, core in it.cores.items()}
    best = max(ages, key=lambda name: (ages[name].view.generation, ages[name].is_primary, name))
    if it.scenario.built_in:
        chains = [core.manager.chain for core in it.cores.values() if core.manager is not None]
        best = max(chains, key=lambda view: view.age).primary or best
    await it.mark(best)
    await it.start(best)


def _said(it: Brokers) -> str:
    return "; ".join(
        f"{name} {said['role']} of {said['primary']}, generation {said['generation']},"
        f" {said['store']}, view {said['up_to_date']}"
        for name in sorted(it.cores)
        for said in [it.status(name)]
    )
