"""Notifications to the service manager that started a node, if there is one (sd_notify).

A node sends READY=1 once it listens, even if there is no cluster yet, because three hosts that are
started one after the other wait for each other.  STATUS= names the phase for `systemctl status`.
WATCHDOG=1 comes from the event loop, so the service manager notices a node that hangs.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

import anyio

ENVIRONMENT: Mapping[str, str] = os.environ


def notify(text: str) -> None:
    """Send `text` to the service manager; do nothing if there is none, or it does not listen."""
    path = ENVIRONMENT.get("NOTIFY_SOCKET", "")
    if not path.startswith(("/", "@")):
        return
    address = "\0" + path[1:] if path.startswith("@") else path
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as link:
        link.setblocking(False)
        link.sendto(text.encode(), address)


async def keep_watchdog() -> None:
    """Report twice in each watchdog interval that the event loop runs, until cancelled.

    Return at once if the service manager has set no such interval for this process.
    """
    micros = ENVIRONMENT.get("WATCHDOG_USEC", "")
    wanted_by = ENVIRONMENT.get("WATCHDOG_PID", str(os.getpid()))
    if not micros.isdigit() or int(micros) == 0 or wanted_by != str(os.getpid()):
        return
    while True:
        notify("WATCHDOG=1")
        await anyio.sleep(int(micros) / 2e6)
