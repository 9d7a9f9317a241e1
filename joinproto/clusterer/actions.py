"""Actions of a story on machines and the network.

An action that does not apply has no effect, such as a start of a node that runs, or a stop of a
node that is off.

Source: the format of stories, docs/clusterer.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from joinproto.clusterer import broker
from joinproto.clusterer.broker import Disk
from joinproto.clusterer.config import Config
from joinproto.clusterer.messages import (
    Apply,
    Boot,
    BootBroker,
    Down,
    Paused,
    Reply,
    Start,
    Stop,
)
from joinproto.clusterer.reading import NotConfig, of_json
from joinproto.clusterer.state import State, Who
from joinproto.clusterer.status import Status
from joinproto.clusterer.story import Action, Op

if TYPE_CHECKING:
    from joinproto.clusterer.simulator import Machine, Simulator


def do(sim: Simulator, action: Action) -> None:
    """Do one action.  The simulator advances the time."""
    name = action.node or ""
    sim.events.append(f"{action.op.value} {name}".strip())
    machine = sim.machines.get(name)
    match action.op:
        case Op.CREATE:
            sim.create(name)
        case Op.CUT:
            _cut(sim, action)
        case Op.HEAL:
            _heal(sim, action)
        case _ if machine is None:
            if action.op is Op.APPLY:
                sim.replies[name] = Reply.OFF.value
        case Op.START:
            _start(sim, machine, action)
        case Op.STOP:
            sim.tell(name, Stop("stopped"))
        case Op.CRASH:
            sim.off(machine, "crashed", loses=True)
        case Op.RESET:
            sim.off(machine, "reset")
            machine.why = "reset"
            machine.disk = Disk()
        case Op.DELETE:
            sim.off(machine, "deleted")
            del sim.machines[name]
        case Op.PAUSE | Op.RESUME:
            _pause(sim, machine, pauses=action.op is Op.PAUSE)
        case Op.APPLY:
            sim.replies[name] = Reply.OFF.value
            sim.tell(name, Apply(_config(sim, action)))


def _start(sim: Simulator, machine: Machine, action: Action) -> None:
    if machine.is_up:
        return
    machine.stirred, machine.retries = True, 0
    who = Who(machine.name, sim.rules, sim.release)
    machine.state = State(who=who)
    fresh = f"{machine.name}#{sim.count(f'{machine.name}#')}"
    sim.tell(
        machine.name, Start(record=machine.disk.whole, given=_config(sim, action), fresh=fresh)
    )


def _pause(sim: Simulator, machine: Machine, *, pauses: bool) -> None:
    """Stop or start the broker of a node, as another program does.

    The other program starts the broker again even if the node was left out meanwhile and waits for
    its shutdown timer.  A pause of a node that is neither ready nor pending changes nothing.
    """
    state = machine.state
    if state is None or state.paused is pauses:
        return
    if pauses and state.status not in (Status.READY, Status.PENDING):
        return
    if pauses and state.status is Status.READY:
        sim.stop_broker(machine)
    elif not pauses:
        does = BootBroker(Boot.FIRST, state.config_now.config.nodes)
        broker.boot(machine.name, does, sim.disks, sim.reaches, lambda: sim.label(machine.name))
    sim.stir()
    sim.tell(machine.name, Paused(pauses))


def _config(sim: Simulator, action: Action) -> Config | None:
    """Return the action's config, or None if there is none or if it is not valid."""
    if action.config is None:
        return None
    try:
        return of_json(action.config, sim.release).config
    except NotConfig as error:
        if action.op is Op.START:
            sim.replies[action.node or ""] = (
                f"started without the given config: {error.found}; write {error.write}"
            )
        return None


def _pairs(action: Action) -> set[frozenset[str]]:
    left, right = action.between or ((), ())
    return {frozenset((one, other)) for one in left for other in right if one != other}


def _cut(sim: Simulator, action: Action) -> None:
    pairs = _pairs(action)
    sim.cut |= pairs
    sim.stir()
    sim.drop(lambda sender, to: frozenset((sender, to)) in pairs)
    for one, other in sorted(tuple(sorted(pair)) for pair in pairs):
        for name, gone in ((one, other), (other, one)):
            if sim.runs(name):
                sim.tell(name, Down(gone))


def _heal(sim: Simulator, action: Action) -> None:
    if action.between is None:
        sim.cut.clear()
    else:
        sim.cut -= _pairs(action)
    sim.stir()
