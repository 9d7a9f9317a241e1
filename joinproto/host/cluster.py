"""The driver for anyio: runs a member in tasks, under asyncio and under trio.

    async with Cluster(config, host) as cluster:
        outcome = await cluster.wait_active(timeout=30)
        ...
        await cluster.stop(timeout=10)

All tasks live inside the block.  If the member fails, the block is cancelled, and the failure is
raised from it.  A block that is left without `stop` ends the member as a crash would.  This is
safe, but the others must notice by themselves that the member is gone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from secrets import token_hex
from types import TracebackType
from typing import TypeVar

import anyio
from anyio.abc import TaskGroup, TaskStatus

from joinproto.errors import MisuseError
from joinproto.host.desk import Desk
from joinproto.host.engine import Engine
from joinproto.host.failures import Aborted, NotActive, only_one
from joinproto.host.inbox import Inbox
from joinproto.host.outcome import Outcome
from joinproto.host.ports import Call, Host
from joinproto.host.stepper import Stepper
from joinproto.join.config import Config
from joinproto.join.inputs import Leave
from joinproto.join.messages import Abort, Closing, Stop
from joinproto.join.phases import Phase
from joinproto.join.store import StoreRecord

log = logging.getLogger(__name__)
T = TypeVar("T")

INBOX_ITEMS = 256


class Cluster:
    """One member, running while the block does.

    `record`: the record to start from; by default the store's, which may lack the position of the
    last frame in a journal.

    The block raises `Aborted` (do not restart), `StoreWriteFailed`, or an exception of a port.
    """

    def __init__(self, config: Config, host: Host, *, record: StoreRecord | None = None) -> None:
        self.config = config
        self.host = host
        self._record = record
        self._engine: Engine | None = None
        self._tasks: TaskGroup | None = None
        self._inbox = Inbox(INBOX_ITEMS)
        self._changed: anyio.Event | None = None
        self._calls: set[anyio.Event] = set()
        self._run_scope: anyio.CancelScope | None = None
        self._failure: Exception | None = None
        self._over = False

    # -- the block -----------------------------------------------------------------------------

    async def __aenter__(self) -> Cluster:
        self._tasks = anyio.create_task_group()
        await self._tasks.__aenter__()
        try:
            await self._tasks.start(self._carry)
            await self._tasks.start(self._run)
        except BaseException as error:
            # The tasks of a failed start end here.
            self._tasks.cancel_scope.cancel()
            await self._leave(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._tasks is not None
        self._close()
        if error is None and self._engine is not None and self._engine.ended is not None:
            try:
                await self.wait_ended()  # the member's last messages are still under way
            except BaseException as caught:  # noqa: BLE001  handed to the task group
                kind, error, trace = type(caught), caught, caught.__traceback__
        self._tasks.cancel_scope.cancel()
        return await self._leave(kind, error, trace)

    async def _leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._tasks is not None
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        except BaseExceptionGroup as group:
            raise only_one(group) from group
        finally:
            self._tell_waiters(all_of_them=True)
            self.host.events.close()
            self._inbox.close()

    # -- for programs -------------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """Return the engine; for services and operators that read its state."""
        if self._engine is None:
            raise MisuseError("the member has not started", next="use `async with Cluster(...)`")
        return self._engine

    @property
    def phase(self) -> Phase:
        return self.engine.member.phase

    @property
    def is_active(self) -> bool:
        return self.engine.opened is not None

    @property
    def failure(self) -> Exception | None:
        """Return the member's failure, None as long as it has none."""
        return self._failure

    @property
    def ended(self) -> Stop | Abort | None:
        """Return how the member ended, None as long as it runs."""
        return self.engine.ended

    async def wait_active(self, *, timeout: float | None = None) -> Outcome:  # noqa: ASYNC109
        """Return how the member became active, once it serves clients.

        Raises `NotActive` after `timeout` seconds, or when the member has stopped before;
        `Aborted` when it has to stop, and a restart does not help.
        """
        with anyio.move_on_after(timeout):
            while not self.is_active:
                self._raise_if_ended()
                await self._next_change()
            assert self.engine.outcome is not None
            return self.engine.outcome
        raise NotActive.because(self.phase, self.engine.waiting, timeout)

    async def wait_ended(self) -> Stop | Abort | None:
        """Return once the member has ended, and how; None if the driver was stopped."""
        while not self._over:
            await self._next_change()
        if self._failure is not None:
            raise self._failure
        return self.engine.ended

    async def call(self, function: Callable[[], T]) -> T:
        """Call `function` on the member's event loop, and return its result."""
        done, result = anyio.Event(), Future[T]()

        def kept() -> None:
            try:
                result.set_result(function())
            except Exception as error:  # noqa: BLE001  raised in the caller
                result.set_exception(error)
            finally:
                done.set()

        self._calls.add(done)
        try:
            await self._inbox.send(Call(kept))
            if not self._over:
                await done.wait()
        except anyio.ClosedResourceError:
            pass
        finally:
            self._calls.discard(done)
        if not result.done():
            self._raise_if_ended()
            raise NotActive("the member has ended", next="start it again")
        return result.result()

    def nudge(self) -> None:
        """Schedule a step for work that the service got outside of a step; never waits.

        For a service whose methods may be called between steps, such as the log's `submit`.
        """
        self._inbox.bell.ring()

    async def leave(self) -> None:
        """Ask the others to continue without this member; `wait_ended` tells when they do."""
        await self.call(partial(self.engine.tell, Leave()))

    async def shutdown_cluster(self) -> None:
        """Ask for the orderly shutdown of the whole cluster."""
        await self.call(self.engine.shutdown_cluster)

    async def stop(self, *, timeout: float = 10.0) -> Stop | Abort | None:  # noqa: ASYNC109
        """Leave the cluster, or end without leaving after `timeout` seconds.

        Returns how the member ended, None if it has not.  No client is served then.
        """
        with anyio.move_on_after(timeout):
            try:
                if self.engine.ended is None:
                    await self.leave()
            except NotActive:
                pass
            await self.wait_ended()
        ended = self.engine.ended
        self._close()
        if self._run_scope is not None:
            self._run_scope.cancel()
        if ended is None:
            log.warning("%s stops without having left", self.config.member)
        return ended

    async def halt(self) -> None:
        """End at once, without leaving: it stays a member and an elector, and may come back.

        Then no client is served, and the others know that it is gone.  Raises the member's failure.
        """
        self._close()
        if self._run_scope is not None:
            self._run_scope.cancel()
        await self.wait_ended()
        await self.host.transport.farewell()

    # -- its tasks -----------------------------------------------------------------------------

    async def _carry(self, *, task_status: TaskStatus[None]) -> None:
        await self.host.transport.run(self._inbox, task_status=task_status)

    async def _run(self, *, task_status: TaskStatus[None]) -> None:
        host = self.host
        record = host.store.record if self._record is None else self._record
        engine = Engine.start(self.config, host, seed=token_hex(16), record=record)
        self._engine = engine
        stepper = Stepper(engine, self._inbox, self._tell_waiters)
        assert self._tasks is not None
        self._tasks.start_soon(stepper.ring_when_due)
        if host.register is not None:
            self._tasks.start_soon(Desk.of(engine, host.register, self._inbox).run)
        task_status.started()
        try:
            with anyio.CancelScope() as self._run_scope:
                await stepper.run()
                # A task that still calls the member must not wait for it.
                self._inbox.close()
                # The others need the last messages, such as that the cluster is closed.
                await host.transport.farewell()
                host.events.write("end", how=type(engine.ended).__name__)
                if isinstance(engine.ended, Abort):
                    raise Aborted.because(self.config.member, engine.ended)
        except Exception as error:
            self._failure = error
            raise
        finally:
            self._close()
            stepper.close()
            self._inbox.close()
            self._tell_waiters(all_of_them=True)

    # -- small parts ---------------------------------------------------------------------------

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.close(Closing.STOPPED)

    async def _next_change(self) -> None:
        if self._changed is None:
            self._changed = anyio.Event()
        await self._changed.wait()

    def _tell_waiters(self, *, all_of_them: bool = False) -> None:
        changed, self._changed = self._changed, None
        if changed is not None:
            changed.set()
        if all_of_them:
            self._over = True
            for call in self._calls:
                call.set()

    def _raise_if_ended(self) -> None:
        ended = self.engine.ended
        if self._failure is not None:
            raise self._failure
        if isinstance(ended, Abort):
            raise Aborted.because(self.config.member, ended)
        if ended is not None or self._over:
            raise NotActive("the member has stopped", next="start it again")
