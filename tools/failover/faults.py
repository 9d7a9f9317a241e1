"""What a torture does to brokers: one fault after the other, drawn by a seed."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from joinproto.apps.standby.keeping.form import PREVIOUS
from tools.failover.manager import Manager

SECONDS = 30.0


def fail_over(manager: Manager, _random: Random) -> None:
    """Kill the primary; once another one serves, start it again."""
    dead = manager.primary
    manager.kill(dead)
    take_over(manager, dead)
    manager.start(dead)


def take_over(manager: Manager, gone: str) -> None:
    """Promote one of the others, or wait until one serves; raises where nobody does."""
    if manager.is_built_in:
        _another(manager, gone)
        return
    others = [name for name in manager.files if name != gone]
    deadline = time.monotonic() + SECONDS
    while not manager.promote(*others):
        if time.monotonic() > deadline:
            raise RuntimeError(f"nobody could be promoted: {manager.refusals[-2:]}")
        time.sleep(0.2)


def kill_backup(manager: Manager, random: Random) -> None:
    """Kill a backup, and start it again."""
    name = _backup(manager, random)
    manager.kill(name)
    time.sleep(random.random())
    manager.start(name)


def stop_backup(manager: Manager, random: Random) -> None:
    """Stop the process of a backup for a while: longer or shorter than sessions last."""
    with stopped(manager, _backup(manager, random)):
        time.sleep(5 * random.random())


def full_disk(manager: Manager, random: Random) -> None:
    """Let a broker's files grow no more: it ends at its next write, and is started again."""
    name = random.choice([*manager.files])
    pid = manager.agent(name)._pid()
    if pid is None:
        raise RuntimeError(f"{name} does not run")
    size = (manager.agent(name).settings.data / "frames.log").stat().st_size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size + 1_000, resource.RLIM_INFINITY))
    has_ended = manager.agent(name)._until(lambda: manager.agent(name)._pid() is None, SECONDS)
    if not has_ended:  # nobody published
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        return
    if manager.is_built_in or name == manager.primary:
        take_over(manager, name)
    manager.start(name)


def switch(manager: Manager, random: Random) -> None:
    """Promote a backup while the primary runs."""
    manager.promote(_backup(manager, random))


def promote_at_once(manager: Manager, random: Random) -> None:
    """Kill a backup, start it, and promote it before it has caught up."""
    name = _backup(manager, random)
    manager.kill(name)
    manager.start(name)
    manager.promote(name)


def in_order(manager: Manager, _random: Random) -> None:
    """Stop the primary in order, as for work on its machine."""
    gone = manager.primary
    manager.call(gone, "stop")
    take_over(manager, gone)
    manager.start(gone)


def total_failure(manager: Manager, random: Random) -> None:
    """Kill all; what `recover pick` names is marked and promoted first."""
    names = list(manager.files)
    random.shuffle(names)
    for name in names:
        manager.kill(name)
    recover(manager)


def die_promoted(manager: Manager, _random: Random) -> None:
    """Kill all when a promotion is in the chain, and its broker has not kept that view."""
    rooms = [path.with_suffix("") / "standby" for path in manager.files.values()]
    others = [room for room in rooms if room.parent.name != manager.primary]
    for room in others:
        # A directory in the place of the file: the next write of metadata ends the process.
        (room / PREVIOUS).unlink(missing_ok=True)
        (room / PREVIOUS).mkdir()
    manager.kill(manager.primary)
    deadline = time.monotonic() + SECONDS
    while all(manager.status(room.parent.name) for room in others):
        if time.monotonic() > deadline:
            raise RuntimeError(f"nobody was promoted within {SECONDS:g} s")
        time.sleep(0.1)
    for room in others:
        manager.kill(room.parent.name)
        (room / PREVIOUS).rmdir()
    recover(manager)


def recover(manager: Manager) -> None:
    """Mark the store that `recover pick` names, start all, and see that one be primary."""
    paths = [path.with_suffix("") for path in manager.files.values()]
    found = recovered("pick", *paths)
    if found["verdict"] != "proven":
        raise RuntimeError(f"after total failure: {found['verdict']}: {found['evidence']}")
    best = Path(found["latest"][0].partition(":")[2])
    others = [path for path in paths if path != best]
    made = recovered("mark-clean", best, *others)["error"]["next"].rpartition(" ")[2]
    recovered("mark-clean", best, *others, "--yes", "--plan-hash", made)
    manager.start()
    if manager.is_built_in:
        serving = manager.serving(SECONDS)
        if serving != best.name:
            raise RuntimeError(f"{serving or 'nobody'} serves, and not {best.name}")
    elif not manager.promote(best.name):
        raise RuntimeError(f"the best one refused: {manager.refusals[-1]}")


def recovered(*words: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "joinproto", "recover", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _backup(manager: Manager, random: Random) -> str:
    return random.choice([name for name in manager.files if name != manager.primary])


# -- of brokers that promote themselves ----------------------------------------------------


def cut_primary(manager: Manager, _random: Random) -> None:
    """Cut the primary off from the others, but not from its clients, until another one serves."""
    with cut_off(manager, manager.primary):
        _another(manager, manager.primary)


def stop_primary(manager: Manager, _random: Random) -> None:
    """Stop the primary's process until another one serves."""
    with stopped(manager, manager.primary):
        _another(manager, manager.primary)


def two_at_once(manager: Manager, random: Random) -> None:
    """Promote all others at once, while the primary runs, is cut off, or is stopped."""
    others = [name for name in manager.files if name != manager.primary]
    ways = (left_alone, cut_off, stopped)
    with random.choice(ways)(manager, manager.primary):
        promote_at_the_same_time(manager, others)


def promote_at_the_same_time(manager: Manager, names: list[str]) -> None:
    """Promote all of these; return when each has answered."""
    calls = [threading.Thread(target=manager.promote, args=(name,)) for name in names]
    for call in calls:
        call.start()
    for call in calls:
        call.join()


@contextmanager
def cut_off(manager: Manager, name: str) -> Iterator[None]:
    """Part a broker from the others while the block lasts."""
    manager.isolate(name)
    try:
        yield
    finally:
        manager.heal()


@contextmanager
def stopped(manager: Manager, name: str) -> Iterator[None]:
    """Have a broker's process stand still while the block lasts."""
    pid = manager.agent(name)._pid()
    if pid is None:
        raise RuntimeError(f"{name} does not run")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def _another(manager: Manager, former: str) -> None:
    """Wait until another one serves."""
    if not manager.serving(SECONDS, but=former):
        raise RuntimeError(f"nobody took over from {former} within {SECONDS:g} s")


@contextmanager
def left_alone(_manager: Manager, _name: str) -> Iterator[None]:
    """Let it run."""
    yield


FAULTS: Mapping[str, Callable[[Manager, Random], None]] = {
    "fail-over": fail_over,
    "kill-backup": kill_backup,
    "stop-backup": stop_backup,
    "switch": switch,
    "promote-at-once": promote_at_once,
    "full-disk": full_disk,
    "in-order": in_order,
    "total-failure": total_failure,
}
"""Whoever is promoted while another one runs was fenced or takes over by the younger generation;
nobody is promoted who cannot reach the one that runs."""

THEIR_OWN: Mapping[str, Callable[[Manager, Random], None]] = {
    "kill-primary": fail_over,
    "cut-primary": cut_primary,
    "stop-primary": stop_primary,
    "two-at-once": two_at_once,
    "kill-backup": kill_backup,
    "stop-backup": stop_backup,
    "switch": switch,
    "promote-at-once": promote_at_once,
    "full-disk": full_disk,
    "in-order": in_order,
    "total-failure": total_failure,
    "die-promoted": die_promoted,
}
"""Where the manager is built in: it fences nobody, and any promotion may be asked for."""
