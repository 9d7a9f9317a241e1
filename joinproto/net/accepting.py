"""Accepting connections where the machine may have no file descriptor left.

An accept that fails for want of one is no fault of the listener: the connection waits in the
system's queue, and is taken when there is room again.
"""

from __future__ import annotations

import errno
import logging
import os
import resource
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import anyio
from anyio.abc import Listener, TaskGroup

log = logging.getLogger(__name__)

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Errors of an accept after which it is tried again."""
RETRY_SECONDS = 0.1
KEPT_FREE = 200
"""File descriptors that clients leave for the disk, for peers, and for questions about the
state.
"""


def connections_max() -> int:
    """Return how many clients may be connected at a time, by the limit of this process."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft - KEPT_FREE if soft > 2 * KEPT_FREE else soft // 2


class Spare:
    """A file descriptor that is held for the moment at which there is no other one."""

    def __init__(self) -> None:
        self._file = -1
        self.hold()

    def hold(self) -> None:
        """Take a place again, where one is free."""
        if self._file < 0:
            with suppress(OSError):
                self._file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def give(self) -> None:
        """Release it: the next caller that asks for a place gets it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


async def serve_each(
    listener: Listener[Any],
    answer: Callable[[Any], Coroutine[Any, Any, None]],
    tasks: TaskGroup,
    spare: Spare | None = None,
) -> None:
    """Answer each connection in a task, until cancelled; `spare`: given up to take one more."""
    listeners = getattr(listener, "listeners", [listener])
    async with anyio.create_task_group() as accepting:
        for one in listeners:
            accepting.start_soon(_accept, one, answer, tasks, spare)


async def _accept(
    listener: Any,
    answer: Callable[[Any], Coroutine[Any, Any, None]],
    tasks: TaskGroup,
    spare: Spare | None,
) -> None:
    is_told = False
    while True:
        try:
            stream = await listener.accept()
        except (OSError, anyio.BrokenResourceError) as error:
            # anyio gives some listeners' errors another name.
            number = getattr(error, "errno", None) or getattr(error.__cause__, "errno", None)
            if number not in EXHAUSTED:
                raise
            if not is_told:
                log.warning("cannot accept a connection: %s", os.strerror(number))
            is_told = True
            if spare is not None:
                spare.give()
            await anyio.sleep(RETRY_SECONDS)
            continue
        is_told = False
        if spare is not None:
            spare.hold()
        tasks.start_soon(answer, stream)
