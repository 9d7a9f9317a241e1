"""Free ports on loopback, below those that the system gives to outgoing connections.

A node that is down for a moment must find its port free again, so each process takes ports from
blocks of its own: a lock, held as long as the process runs, says whose a block is.
"""

from __future__ import annotations

import fcntl
import random
import socket
import tempfile
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

FIRST, LAST = 15_000, 32_000
BLOCK = 50

_locks: list[TextIOWrapper] = []  # held by being open


def _ports() -> Iterator[int]:
    """Yield ports of our own that nobody else listens on."""
    blocks = list(range(FIRST, LAST, BLOCK))
    random.shuffle(blocks)
    for block in blocks:
        path = Path(tempfile.gettempdir()) / f"joinproto-ports-{block}"
        try:
            lock = path.open("a")
        except OSError:
            continue  # another user's
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        _locks.append(lock)
        yield from (port for port in range(block, block + BLOCK) if _is_free(port))
    raise OSError("no ports are left")


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


_next = _ports()


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses, all different, and none a second time in this process."""
    return [next(_next) for _ in range(count)]
