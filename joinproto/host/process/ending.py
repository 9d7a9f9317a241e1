"""Ends a process with its exit code in bounded time, even if a part of it hangs."""

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
    """Exit with `code` after this many seconds; return the function that cancels the exit.

    A thread of its own does it, because a disk, a library or the event loop may hang.  The process
    ends as in a crash: no clean-up runs.
    """
    timer = threading.Timer(seconds, end_at_once, (code, f"did not end within {seconds:g} s"))
    timer.daemon = True
    timer.start()
    return timer.cancel


def end_at_once(code: int, why: str) -> None:
    """Log the reason `why`, and exit with `code`."""
    # Logging may hang, too, at a lock or at a full pipe.
    last = threading.Thread(target=log.error, args=("%s: ends at once, with code %d", why, code))
    last.daemon = True
    last.start()
    last.join(LAST_WORDS_SECONDS)
    os._exit(code)


async def stop_signals() -> AsyncIterator[signal.Signals]:
    """Yield the first SIGTERM or SIGINT, which asks for an orderly end.

    The second such signal ends the process at once.
    """
    is_stopping = False
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            if is_stopping:
                end_at_once(AT_ONCE, f"{number.name} again")
            is_stopping = True
            notify("STOPPING=1")
            yield number
