"""Run a task in a forked process, with limited time, which also ends an endless loop."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import time
import traceback
from collections.abc import Callable
from typing import Any

from attrs import frozen

TIME_OUT = "time-out"
DIED = "died"
WALL = 15
"""The wall-clock limit of a task, in multiples of its processor time: the machine may be busy."""


@frozen
class TaskEnd:
    """The end of a task.  `outcome`: "ok", "time-out", "died" (by a signal) or "raised".

    `value`: its return value.  `error`: its error.  `seconds`: its processor time.
    """

    outcome: str
    value: Any = None
    error: str = ""
    seconds: float = 0.0


def isolated(task: Callable[[], Any], seconds: float) -> TaskEnd:
    """Run `task` in a fork of this process; `seconds`: its limit of processor time.

    The result must fit into JSON.  Changes of modules, caches and memory end with the fork.
    """
    reads, writes = os.pipe()
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(task, seconds, writes)
    os.close(writes)
    content, is_late = _read(reads, began + seconds * WALL)
    os.close(reads)
    if is_late:
        os.kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    cost = round(used.ru_utime + used.ru_stime, 2)
    if content.endswith(b"\n"):
        return TaskEnd(**json.loads(content), seconds=cost)
    by_clock = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
    return TaskEnd(
        TIME_OUT if is_late or by_clock else DIED, error=f"status {status}", seconds=cost
    )


def _child(task: Callable[[], Any], seconds: float, writes: int) -> None:
    limit = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    try:
        ended = {"outcome": "ok", "value": task()}
    except BaseException as error:  # noqa: BLE001 - it is reported to the caller
        where = traceback.extract_tb(error.__traceback__)[-1:]
        place = "".join(f" at {one.filename.rpartition('/')[2]}:{one.lineno}" for one in where)
        ended = {"outcome": "raised", "error": f"{type(error).__name__}: {error}"[:160] + place}
    try:
        os.write(writes, json.dumps(ended).encode() + b"\n")
    finally:
        os._exit(0)


def _read(reads: int, until: float) -> tuple[bytes, bool]:
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reads], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return b"".join(parts), True
        part = os.read(reads, 1 << 16)
        if not part:
            return b"".join(parts), False
        parts.append(part)
