"""Effects in their order, while what blocks is done elsewhere.

The event loop never waits for a disk that hangs: a broker that stood still would lose its sessions,
and with them all its backups.  So an effect that writes is given to a worker, and those behind it
wait until it is done.

Source: hot standby, H2, H4.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, TypeAlias

from attrs import define, field, frozen

from joinproto.host.hand import Hand
from joinproto.host.stepper import QUICK_SECONDS, SLOW_SECONDS

Done: TypeAlias = Callable[[BaseException | None], None]
"""Called in the loop's thread, with what went wrong."""


def _nothing() -> None:
    """Nothing more is to be done."""


@frozen
class Work:
    """What blocks: done before the next effect is begun.  `then`: called in the loop's thread."""

    do: Callable[[], object]
    then: Callable[[], None] = _nothing


def _only(work: Callable[[], object]) -> None:
    work()


class Worker(Protocol):
    """Does one thing at a time."""

    def do(self, work: Callable[[], object], done: Done) -> None:
        """Have it done; `done` is called at once, or later."""


class AtOnce:
    """In the thread of who asks."""

    def do(self, work: Callable[[], object], done: Done) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  told to who asked
            done(error)
            return
        done(None)


@define(eq=False)
class Helper:
    """On a thread of its own, which is waited for a moment, as by `joinproto/host/stepper.py`."""

    _hand: Hand = field(factory=Hand)
    _slow_until: float = 0.0

    def do(self, work: Callable[[], object], done: Done) -> None:
        loop = asyncio.get_running_loop()
        patience = QUICK_SECONDS if loop.time() >= self._slow_until else 0.0
        try:
            is_done = self._hand.does(partial(_only, work), patience)
        except Exception as error:  # noqa: BLE001  told to who asked
            done(error)
            return
        if is_done:
            done(None)
            return
        if patience:
            self._slow_until = loop.time() + SLOW_SECONDS
        waiting = loop.run_in_executor(None, self._hand.wait)
        waiting.add_done_callback(lambda one: None if one.cancelled() else done(one.exception()))

    def close(self) -> None:
        """End the thread, once it has nothing more to do."""
        self._hand.close()


@define(eq=False)
class Line:
    """`perform`: begins an effect, and returns what blocks, if anything does."""

    perform: Callable[[Any], Work | None]
    failed: Callable[[BaseException], None]
    worker: Worker
    _waiting: deque[Any] = field(factory=deque)
    _is_going: bool = False
    _is_busy: bool = False  # the worker
    _settled: list[asyncio.Future[None]] = field(factory=list)

    def put(self, *effects: Any) -> None:
        """Have these done, behind all others."""
        self._waiting.extend(effects)
        self._go_on()

    def clear(self) -> None:
        """Begin nothing more."""
        self._waiting.clear()
        self._rest()

    async def settled(self) -> None:
        """Wait until nothing is to be done any more."""
        while self._is_busy or self._waiting:
            future = asyncio.get_running_loop().create_future()
            self._settled.append(future)
            await future

    def _go_on(self) -> None:
        if self._is_going:
            return
        self._is_going = True
        try:
            while self._waiting and not self._is_busy:
                work = self.perform(self._waiting.popleft())
                if work is not None:
                    self._is_busy = True
                    self.worker.do(work.do, partial(self._done, work.then))
        except Exception as error:  # noqa: BLE001  ends the broker
            self.failed(error)
        finally:
            self._is_going = False
        self._rest()

    def _done(self, then: Callable[[], None], error: BaseException | None) -> None:
        self._is_busy = False
        try:
            if error is not None:
                raise error
            then()
        except Exception as why:  # noqa: BLE001  ends the broker
            self.failed(why)
        self._go_on()

    def _rest(self) -> None:
        if not self._waiting and not self._is_busy:
            settled, self._settled = self._settled, []
            for future in settled:
                if not future.done():
                    future.set_result(None)
