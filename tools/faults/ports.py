"""Free ports on loopback, from below those that the system gives to outgoing connections."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack

RANGE = (15_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Return ports that nobody uses now, all different; the system will not give them away."""
    found: list[int] = []
    with ExitStack() as stack:
        while len(found) < count:
            one = stack.enter_context(socket.socket())
            port = random.randrange(*RANGE)
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    return found
