"""A thread for work that blocks: the caller waits for a moment, then does something else.

An fsync takes less time than to come back to the loop: then the answer is there at once.  Where a
disk hangs, the loop continues.
"""

from __future__ import annotations

import threading
from queue import SimpleQueue

from joinproto.host.ports import Work


class WorkerThread:
    """One thread, which begins with the first work and ends with the process or `close`."""

    def __init__(self) -> None:
        self._works: SimpleQueue[Work | None] = SimpleQueue()
        self._done = threading.Lock()  # held until the work is done
        self._done.acquire()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    def does(self, work: Work, seconds: float) -> bool:
        """Start the call, and return whether it ended within that time; `wait` for it if not."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._works.put(work)
        if not self._done.acquire(timeout=seconds):
            return False
        self._raise()
        return True

    def wait(self) -> None:
        """Return when it is done."""
        self._done.acquire()
        self._raise()

    def close(self) -> None:
        """Begin nothing more."""
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
