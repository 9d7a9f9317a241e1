"""Virtual time: `anyio.run(story, backend_options=VIRTUAL)`.

If every task waits, the clock jumps to the next timer.  So a story of minutes takes milliseconds,
and a busy machine changes nothing.  Stories must not use threads and sockets: their results need
real time, and the clock does not wait for that.
"""

from __future__ import annotations

import asyncio
import selectors
from contextlib import AbstractContextManager
from typing import Any
from unittest import mock

from joinproto.durable import lock

HOLDER = lock.Holder(pid="10000", host="vm", boot_id="0" * 36)


def one_holder() -> AbstractContextManager[Any]:
    """Write the same holder to each lock file.

    A simulated disk draws by the length of a write, and process ids differ in length.
    """
    return mock.patch.object(lock, "_this_process", return_value=HOLDER)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still while a task runs."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jumps(self))

    def time(self) -> float:
        return self.now


class _Jumps(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # The loop's own pipe, by which threads would wake it, is always registered.
        found = super().select(0) if len(self.get_map()) > 1 else []
        if timeout is None and not found:
            raise RuntimeError("every task waits, and no timer will wake one")
        if timeout:
            # At least a microsecond, because a rounded sum may always be just before the timer.
            self._loop.now += max(timeout, 1e-6)
        return found


VIRTUAL: dict[str, Any] = {"loop_factory": VirtualLoop}
