"""The watchdog: it ends a call of a model's code that does not return, and reports its place.

A thread looks once a second at the checker's present call.  If the call has taken too long, the
thread raises an exception at the line that the call is executing.  Where no thread can be started,
as in WebAssembly, calls are not watched: the page that searches there can stop its worker.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joinproto.check.problems import ModelProblem, raised_at

SECONDS_MAX = 20.0
"""Far more than an answer takes: a search asks thousands of questions a second."""


class CallTooLong(BaseException):
    """Raised in a call that takes too long.  Not an `Exception`, so that a model's own `except`
    does not catch it.
    """


class Watchdog:
    """The watchdog of one process.  `seconds_max`: for each call, without its wait for a CPU."""

    def __init__(self, seconds_max: float = SECONDS_MAX) -> None:
        self.seconds_max = seconds_max
        self._call = 0
        self._thread = 0
        """The thread of the present call; 0 if there is no call."""
        self._is_watching: bool | None = None
        """Whether the thread that watches runs; None before the first call."""

    def run(self, what: str, call: Callable[[], Any]) -> Any:
        """Return the result of `call`; raises `ModelProblem` if it does not return.

        A call inside another call counts as a part of the outer one.
        """
        if self._thread:
            return call()
        if self._is_watching is None:
            self._is_watching = self._begin()
        self._call += 1
        self._thread = threading.get_ident()
        try:
            return call()
        except CallTooLong as error:
            raise ModelProblem(
                f"{what} has not returned for {self.seconds_max:g} seconds",
                next="it was at this line; let its loop end",
                place=raised_at(error),
            ) from None
        finally:
            self._thread = 0

    def go_on(self) -> None:
        """Count the rest of the present call as a new call."""
        self._call += 1

    def _begin(self) -> bool:
        """Start the thread; return whether that was possible."""
        try:
            threading.Thread(target=self._look, name="endless", daemon=True).start()
        except RuntimeError:
            return False
        return True

    def _look(self) -> None:
        seen, taken, wall, kept = -1, 0.0, 0.0, 0.0
        while True:
            pause = min(1.0, self.seconds_max / 4)
            time.sleep(pause)
            call, thread = self._call, self._thread
            wall_before, kept_before = wall, kept
            wall, kept = time.monotonic(), _seconds_without_cpu(thread)
            if not thread or call != seen:
                seen, taken = call, 0.0
                continue
            taken += counted(wall - wall_before, kept - kept_before, pause)
            if taken >= self.seconds_max and (self._call, self._thread) == (call, thread):
                import ctypes  # here, because it is rarely needed and slow to load

                raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc
                raise_in(ctypes.c_ulong(thread), ctypes.py_object(CallTooLong))
                seen = -1


def counted(wall: float, kept: float, pause: float) -> float:
    """Return how many seconds count for a call between two looks.

    `wall`: seconds by the clock; `kept`: seconds in which its thread waited for a CPU; `pause`: the
    intended seconds between two looks.  After a stop, such as by Ctrl-Z, more seconds have passed.
    """
    return max(0.0, min(wall - kept, pause))


def _seconds_without_cpu(thread: int) -> float:
    """Return for how many seconds a thread has waited for a CPU; 0 if the system does not say."""
    number = next((one.native_id for one in threading.enumerate() if one.ident == thread), 0)
    try:
        text = Path(f"/proc/self/task/{number}/schedstat").read_text("ascii")
        return int(text.split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


WATCH = Watchdog()
