"""One run: actions and faults; then all faults end, and the brokers must serve."""

from __future__ import annotations

import asyncio
import random

from attrs import evolve, frozen

from joinproto.standby.broker import Role
from tools.swarms.loop import VirtualLoop, silent
from tools.swarms.shrink import fewer
from tools.swarms.standby.brokers import Brokers
from tools.swarms.standby.oracle import Violation
from tools.swarms.standby.scenario import Action, ActionKind, Scenario

MANAGER_SECONDS = 2.0
"""The seconds between two promotions by a manager outside."""
SERVES_SECONDS = 30.0
"""The seconds after the faults within which a broker must serve; otherwise an operator helps."""
LEVEL_SECONDS = 120.0
"""The seconds within which all backups must be up to date after a broker serves."""
SAME_SECONDS = 30.0
"""The seconds within which all brokers must then have the same messages: a slow write may still be
under way.
"""


@frozen(kw_only=True)
class Outcome:
    """The result of one run.  `claim`: the broken claim, or "".

    `error`: the broken claim with its reason.  `steps`: the machines' steps, `ticks` of them by the
    clock.  `persons`: how often an operator had to mark a store.
    """

    scenario: Scenario
    claim: str = ""
    error: str = ""
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
    brokers = Brokers(scenario, loop)
    loop.set_exception_handler(
        lambda _, context: brokers.failures.append(
            context.get("exception") or AssertionError(context["message"])
        )
    )
    claim = error = ""
    persons = 0
    try:
        for name in scenario.names:
            await brokers.start(name)
        if not scenario.built_in:
            brokers.run_task(_keep_promoting(brokers))
        for action in scenario.actions:
            await brokers.until(lambda at=action.at: loop.time() >= at, 1e9)  # type: ignore[misc]
            await _do(brokers, action)
        persons = await _rest(brokers)
    except Violation as found:
        claim, error = found.claim, str(found)
    finally:
        for name in [*brokers.cores]:
            brokers.kill(name)
    return Outcome(
        scenario=scenario,
        claim=claim,
        error=error,
        steps=brokers.steps,
        ticks=brokers.ticks,
        confirmed=brokers.oracle.confirmed,
        generations=brokers.last.generation,
        persons=persons,
        seconds=loop.time(),
    )


async def _do(brokers: Brokers, action: Action) -> None:
    name, is_up = action.broker, action.broker in brokers.cores
    match action.kind:
        case ActionKind.START:
            await brokers.start(name)
        case ActionKind.KILL | ActionKind.POWER if is_up:
            brokers.kill(name, power=action.kind is ActionKind.POWER)
        case ActionKind.SOON if is_up:
            brokers.cut_power_within(name, int(action.amount))
        case ActionKind.STOP if is_up:
            brokers.observe()
            await brokers.stop(name)
        case ActionKind.CUT:
            brokers.loop.apart.add(name)
        case ActionKind.HEAL:
            brokers.loop.heal()
        case ActionKind.PROMOTE if is_up:
            await _promote(brokers, name)
        case ActionKind.DEMOTE if is_up:
            brokers.observe()
            brokers.run_task(brokers.cores[name].demote())
        case ActionKind.SLOW:
            brokers.slow[name] = action.amount
        case ActionKind.PUBLISH:
            brokers.publish(name, int(action.amount))
        case ActionKind.TAKE:
            brokers.take(name, int(action.amount))
        case ActionKind.TRANSACT:
            brokers.transact(name, int(action.amount))


async def _promote(brokers: Brokers, name: str) -> None:
    """Promote a broker.

    A manager outside promotes only a broker of the newest view, and first ends any other primary,
    also a broker whose promotion is under way.
    """
    if not brokers.scenario.built_in:
        brokers.observe()
        if (able := brokers.promotable()) and name not in able:
            return
        for other in [*brokers.cores]:
            if other != name and (brokers.cores[other].serves or other in brokers.promoting):
                brokers.kill(other)
    brokers.promote(name)


async def _keep_promoting(brokers: Brokers) -> None:
    """Promote a broker whenever none serves, as a manager outside does."""
    while True:
        await asyncio.sleep(MANAGER_SECONDS)
        able = sorted({*brokers.cores} & {*(brokers.promotable() or brokers.scenario.names)})
        serve = any(core.serves for core in brokers.cores.values())
        if able and not serve and not brokers.promoting:
            await _promote(brokers, brokers.chance.choice(able))


async def _rest(brokers: Brokers) -> int:
    """End all faults, and check that the brokers serve all data.

    Return how often an operator had to help: 0 or 1.
    """
    brokers.slow.clear()
    for disk in brokers.disks.values():
        disk.before = lambda _: None
    brokers.loop.heal()
    for name in brokers.scenario.names:
        await brokers.start(name)
    persons = 0
    if not await brokers.until(lambda: _primary(brokers) != "", SERVES_SECONDS):
        persons = 1
        await _mark(brokers)
        if not await brokers.until(lambda: _primary(brokers) != "", SERVES_SECONDS):
            raise Violation("never stuck", f"no broker serves: {_statuses(brokers)}")
    names = sorted(brokers.scenario.names)

    def is_level() -> bool:
        primary = _primary(brokers)
        return bool(primary) and brokers.status(primary)["up_to_date"] == names

    if not await brokers.until(is_level, LEVEL_SECONDS):
        raise Violation("never stuck", f"not all brokers are up to date: {_statuses(brokers)}")
    await brokers.until(lambda: False, 1.0)

    def is_same() -> bool:
        primary = _primary(brokers)
        return bool(primary) and all(
            brokers.contents(name) == brokers.contents(primary) for name in names
        )

    if not await brokers.until(is_same, SAME_SECONDS):
        raise Violation(
            "backups have all", "; ".join(f"{name}: {brokers.contents(name)}" for name in names)
        )
    brokers.oracle.check_end(brokers.contents(_primary(brokers)))
    return persons


def _primary(brokers: Brokers) -> str:
    found = [name for name, core in brokers.cores.items() if core.role is Role.PRIMARY]
    return found[0] if len(found) == 1 else ""


async def _mark(brokers: Brokers) -> None:
    """Mark the best store and restart its broker, as after a total failure.

    If no store has a view, the first promotion was never stored, and all brokers begin anew.
    """
    if not any(core.kept.view.generation for core in brokers.cores.values()):
        await brokers.begin_anew()
        return
    ages = {name: core.kept for name, core in brokers.cores.items()}
    best = max(ages, key=lambda name: (ages[name].view.generation, ages[name].is_primary, name))
    if brokers.scenario.built_in:
        chains = [core.manager.chain for core in brokers.cores.values() if core.manager is not None]
        best = max(chains, key=lambda view: view.age).primary or best
    await brokers.mark(best)
    await brokers.start(best)


def _statuses(brokers: Brokers) -> str:
    return "; ".join(
        f"{name} {said['role']} of {said['primary']}, generation {said['generation']},"
        f" {said['store']}, view {said['up_to_date']}"
        for name in sorted(brokers.cores)
        for said in [brokers.status(name)]
    )
