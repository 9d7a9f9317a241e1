"""Performs effects in their order, with blocking work in another thread.

The event loop never waits for a disk that hangs: a broker that stood still would lose its sessions,
and with them all its backups.  So a worker performs an effect that writes, and later effects wait
until it is done.

Source: hot standby, H2, H4.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias

from attrs import define, field

from joinproto.host.hand import WorkerThread
from joinproto.machine.step import performing

Done: TypeAlias = Callable[[BaseException | None], None]
"""Called in the event loop's thread, with the error or None."""
Work: TypeAlias = Callable[[], object]
"""Blocking work, which ends before the next work begins."""
Task: TypeAlias = Callable[[], Iterable[Work] | None]
"""An effect, called in the event loop's thread; it yields the blocking work of the effect."""


class Worker(Protocol):
    """Does one piece of work at a time."""

    def do(self, work: Work, done: Done) -> None:
        """Do the work; call `done` at once, or later."""


class InlineWorker:
    """Runs work in the thread of the caller."""

    def do(self, work: Work, done: Done) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  the caller gets it
            done(error)
            return
        done(None)


@define(eq=False)
class ThreadWorker:
    """Runs work on a thread, and waits for it for a short time (`joinproto/host/hand.py`)."""

    _thread: WorkerThread = field(factory=WorkerThread)

    def do(self, work: Work, done: Done) -> None:
        try:
            is_done = self._thread.begin(work)
        except Exception as error:  # noqa: BLE001  the caller gets it
            done(error)
            return
        if is_done:
            done(None)
            return
        waiting = asyncio.get_running_loop().run_in_executor(None, self._thread.wait)
        waiting.add_done_callback(lambda one: None if one.cancelled() else done(one.exception()))

    def close(self) -> None:
        """End the thread after its present work."""
        self._thread.close()


@define(eq=False)
class TaskQueue:
    """Tasks that are done one after the other.  `failed`: called with the error of a task."""

    failed: Callable[[BaseException], None]
    worker: Worker
    _waiting: deque[Task] = field(factory=deque)
    _works: Iterator[Work] | None = None  # the work of the tasks that have begun
    _is_going: bool = False
    _is_busy: bool = False  # the worker works
    _settled: list[asyncio.Future[None]] = field(factory=list)

    def put(self, *tasks: Task) -> None:
        """Append these tasks to the waiting tasks."""
        self._waiting.extend(tasks)
        self._go_on()

    def clear(self) -> None:
        """Drop the waiting tasks, and the rest of those that have begun."""
        self._waiting.clear()
        self._works = None
        self._rest()

    async def settled(self) -> None:
        """Wait until all tasks are done."""
        while self._is_busy or self._waiting:
            future = asyncio.get_running_loop().create_future()
            self._settled.append(future)
            await future

    def _go_on(self) -> None:
        if self._is_going:
            return
        self._is_going = True
        try:
            while not self._is_busy:
                self._works = self._works or performing(self._begins(), lambda task: task())
                work = next(self._works, None)
                if work is None:
                    self._works = None
                    break
                self._is_busy = True
                self.worker.do(work, self._done)
        except Exception as error:  # noqa: BLE001  ends the broker
            self.failed(error)
        finally:
            self._is_going = False
        self._rest()

    def _begins(self) -> Iterator[Task]:
        while self._waiting:
            yield self._waiting.popleft()

    def _done(self, error: BaseException | None) -> None:
        self._is_busy = False
        if error is not None:
            self.failed(error)
        self._go_on()

    def _rest(self) -> None:
        if not self._waiting and not self._is_busy:
            settled, self._settled = self._settled, []
            for future in settled:
                if not future.done():
                    future.set_result(None)
