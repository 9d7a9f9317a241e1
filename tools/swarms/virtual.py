"""An event loop in virtual time: where every task waits, the clock jumps to the next timer."""

from __future__ import annotations

import asyncio
import selectors


class VirtualLoop(asyncio.SelectorEventLoop):
    """Without threads and sockets, which it would not wait for."""

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
        if timeout is None:
            raise RuntimeError("every task waits, and no timer will wake one")
        if timeout > 0:
            # At least a microsecond: a rounded sum may end just before the timer, again and again.
            self._loop.now += max(timeout, 1e-6)
        return []
