"""Accepting connections even if the machine has no file descriptor or memory left for a moment.

If an accept fails for this reason, the listener continues.  The connection waits in the system's
queue, and is accepted when there is room again.
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
"""The errors after which an accept is tried again."""
RETRY_SECONDS = 0.1
KEPT_FREE = 200
"""File descriptors that clients do not get: for the disk, for peers and for status requests."""


def connections_max() -> int:
    """Return the most clients that may be connected at a time, by this process's limit of files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft - KEPT_FREE if soft > 2 * KEPT_FREE else soft // 2


class SpareDescriptor:
    """A file descriptor held in reserve for a time when no other is free."""

    def __init__(self) -> None:
        self._file = -1
        self.hold()

    def hold(self) -> None:
        """Take a file descriptor, unless one is held or none is free."""
        if self._file < 0:
            with suppress(OSError):
                self._file = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def give(self) -> None:
        """Release the file descriptor, so that the next accept succeeds."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


async def serve_each(
    listener: Listener[Any],
    answer: Callable[[Any], Coroutine[Any, Any, None]],
    tasks: TaskGroup,
    spare: SpareDescriptor | None = None,
) -> None:
    """Answer each connection in a task of `tasks`, until cancelled.

    `spare`: is released when no file descriptor is left, so that one more connection is accepted.
    """
    listeners = getattr(listener, "listeners", [listener])
    async with anyio.create_task_group() as accepting:
        for one in listeners:
            accepting.start_soon(_accept, one, answer, tasks, spare)


async def _accept(
    listener: Any,
    answer: Callable[[Any], Coroutine[Any, Any, None]],
    tasks: TaskGroup,
    spare: SpareDescriptor | None,
) -> None:
    is_logged = False
    while True:
        try:
            stream = await listener.accept()
        except (OSError, anyio.BrokenResourceError) as error:
            # anyio wraps the errors of some listeners.
            number = getattr(error, "errno", None) or getattr(error.__cause__, "errno", None)
            if number not in EXHAUSTED:
                raise
            if not is_logged:
                log.warning("cannot accept a connection: %s", os.strerror(number))
            is_logged = True
            if spare is not None:
                spare.give()
            await anyio.sleep(RETRY_SECONDS)
            continue
        is_logged = False
        if spare is not None:
            spare.hold()
        tasks.start_soon(answer, stream)
