"""What a torture does to brokers: one fault after the other, drawn by a seed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from tools.failover.manager import Manager

SECONDS = 30.0


def fail_over(manager: Manager, _random: Random) -> None:
    """Kill the primary, promote another one, start the dead one again."""
    dead = manager.primary
    manager.kill(dead)
    take_over(manager, dead)
    manager.start(dead)


def take_over(manager: Manager, gone: str) -> None:
    """Promote one of the others; raises where nobody takes it."""
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
    pid = manager.agent(_backup(manager, random))._pid()
    if pid is not None:
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(5 * random.random())
        finally:
            os.kill(pid, signal.SIGCONT)


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
    paths = [path.with_suffix("") for path in manager.files.values()]
    found = _recover("pick", *paths)
    if found["verdict"] != "proven":
        raise RuntimeError(f"after total failure: {found['verdict']}: {found['evidence']}")
    best = Path(found["latest"][0].partition(":")[2])
    others = [path for path in paths if path != best]
    made = _recover("mark-clean", best, *others)["error"]["next"].rpartition(" ")[2]
    _recover("mark-clean", best, *others, "--yes", "--plan-hash", made)
    manager.start()
    if not manager.promote(best.name):
        raise RuntimeError(f"the best one refused: {manager.refusals[-1]}")


def _recover(*words: object) -> dict[str, Any]:
    command = [sys.executable, "-m", "joinproto", "recover", *map(str, words), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _backup(manager: Manager, random: Random) -> str:
    return random.choice([name for name in manager.files if name != manager.primary])


FAULTS: Mapping[str, Callable[[Manager, Random], None]] = {
    "fail-over": fail_over,
    "kill-backup": kill_backup,
    "stop-backup": stop_backup,
    "switch": switch,
    "promote-at-once": promote_at_once,
    "in-order": in_order,
    "total-failure": total_failure,
}
"""Whoever is promoted while another one runs was fenced or takes over by the younger generation;
nobody is promoted who cannot reach the one that runs."""
