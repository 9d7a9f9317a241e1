"""A thread for blocking work, for which the caller waits a moment, and then returns to its loop.

An fsync usually takes less time than a turn of the event loop, so its end is worth waiting for.  If
a disk hangs, the loop continues.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue

QUICK_SECONDS = 0.02
SLOW_SECONDS = 0.25
"""For this time after work took longer than `QUICK_SECONDS`, the caller does not wait."""


class WorkerThread:
    """A thread that starts with the first work, and ends with the process or after `close`."""

    def __init__(self) -> None:
        self._works: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._done = threading.Lock()  # held until the work is done
        self._done.acquire()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._slow_until = 0.0

    def begin(self, work: Callable[[], object]) -> bool:
        """Start the work, and return whether it ended within a moment; if not, call `wait` next.

        Raises the work's exception, as `wait` does.
        """
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        began = time.monotonic()
        patience = QUICK_SECONDS if began >= self._slow_until else 0.0
        self._works.put(work)
        if not self._done.acquire(timeout=patience):
            if patience:
                self._slow_until = began + SLOW_SECONDS
            return False
        self._raise()
        return True

    def wait(self) -> None:
        """Return when the work is done; raises its exception."""
        self._done.acquire()
        self._raise()

    def close(self) -> None:
        """End the thread after its present work."""
        if self._thread is not None:
            self._works.put(None)

    def _raise(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _run(self) -> None:
        while (work := self._works.get()) is not None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001  raised where it was asked for
                self._failure = error
            self._done.release()
