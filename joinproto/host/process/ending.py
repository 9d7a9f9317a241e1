"""A hard limit for the end of a process, which exits with its code even if something hangs."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable

import anyio

from joinproto.host.process.exits import AT_ONCE
from joinproto.host.process.notify import notify

log = logging.getLogger("joinproto.node")

END_SECONDS = 5.0
"""The most seconds from the moment at which the exit code is known to the process's end."""
LAST_WORDS_SECONDS = 0.5


def end_within(seconds: float, code: int) -> Callable[[], None]:
    """Exit with `code` after this many seconds, from its own thread; return the function that
    cancels this.

    Anything may hang by then: a disk, a library, an event loop.  Nothing is cleaned up, as in a
    crash.
    """
    timer = threading.Timer(seconds, end_at_once, (code, f"did not end within {seconds:g} s"))
    timer.daemon = True
    timer.start()
    return timer.cancel


def end_at_once(code: int, why: str) -> None:
    """Log why, and exit with `code`."""
    # The log may hang, too, at its lock or at its reader.
    last = threading.Thread(target=log.error, args=("%s: ends at once, with code %d", why, code))
    last.daemon = True
    last.start()
    last.join(LAST_WORDS_SECONDS)
    os._exit(code)


async def stop_signals() -> AsyncIterator[signal.Signals]:
    """Yield SIGTERM or SIGINT, which asks for an orderly end; a second ends the process at once."""
    is_stopping = False
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            if is_stopping:
                end_at_once(AT_ONCE, f"{number.name} again")
            is_stopping = True
            notify("STOPPING=1")
            yield number
