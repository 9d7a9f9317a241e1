"""The first Ctrl-C ends a search, which reports its findings; the second ends the command."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from attrs import define

from joinproto.cli.output import error_stream


@define
class Interrupt:
    """Whether a stop was requested."""

    asked: bool = False

    def was_asked(self) -> bool:
        return self.asked


@contextmanager
def interruptible() -> Iterator[Interrupt]:
    """Yield the flag that a search polls; Ctrl-C sets it in the main thread only."""
    interrupt = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield interrupt
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if interrupt.asked:
            raise KeyboardInterrupt
        interrupt.asked = True
        _say("\nstopping, to report the findings; Ctrl-C again ends the command at once\n")

    previous = signal.signal(signal.SIGINT, stop)
    try:
        yield interrupt
    finally:
        signal.signal(signal.SIGINT, previous)


def _say(text: str) -> None:
    """Write to standard error, even while a write to it is being interrupted.

    Python's own stream would raise "reentrant call" for the second write.
    """
    with suppress(OSError):
        os.write(error_stream().fileno(), text.encode())
