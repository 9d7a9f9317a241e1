"""Free ports on loopback, below those that the system uses for outgoing connections.

The port of a node that restarts must still be free, so each process takes ports from blocks of its
own: a process holds a block by binding the block's first port.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

FIRST, LAST = 15_000, 32_000
BLOCK = 50

_held: list[int] = []  # descriptors of bound sockets, which stay open while this process runs


def _ports() -> Iterator[int]:
    """Yield ports of this process's blocks on which no process listens."""
    blocks = list(range(FIRST, LAST, BLOCK))
    random.shuffle(blocks)
    for block in blocks:
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", block))
        except OSError:
            one.close()
            continue
        _held.append(one.detach())
        yield from filter(_is_free, range(block + 1, block + BLOCK))
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
    """Return different ports that are not in use, and that this process never got before."""
    return [next(_next) for _ in range(count)]
