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
    found = Interrupt()
    if threading.current_thread() is not threading.main_thread():
        yield found
        return

    def stop(number: int, frame: FrameType | None) -> None:
        if found.asked:
            raise KeyboardInterrupt
        found.asked = True
        _say("\nstopping, to tell what was found; once more ends it at once\n")

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield found
    finally:
        signal.signal(signal.SIGINT, before)


def _say(text: str) -> None:
    """Write to standard error, even while a write to it is being interrupted.

    Python's own stream would raise "reentrant call" for the second write.
    """
    with suppress(OSError):
        os.write(error_stream().fileno(), text.encode())
