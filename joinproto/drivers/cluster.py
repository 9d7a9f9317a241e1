"""The driver for anyio: a member as a task, under asyncio and under trio.

    async with Cluster(config, host) as cluster:
        outcome = await cluster.wait_active(timeout=30)
        ...
        await cluster.stop(timeout=10)

All tasks live inside the block.  Where the member fails the block is cancelled, and the failure
comes out of it.  A block that is left without `stop` ends the member as a crash would: safe, and
the others have to notice.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from secrets import token_hex
from types import TracebackType
from typing import TypeVar

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from joinproto.drivers.engine import Engine
from joinproto.drivers.failures import Aborted, NotActive, only_one
from joinproto.drivers.hand import Hand
from joinproto.drivers.inbox import Bell, Inbox
from joinproto.drivers.outcome import Outcome
from joinproto.drivers.ports import Brief, Call, Gathering, Host, Work
from joinproto.errors import MisuseError
from joinproto.join.config import Config
from joinproto.join.messages import Abort, Closing, Stop
from joinproto.join.phases import Phase
from joinproto.join.store import StoreRecord

log = logging.getLogger(__name__)
T = TypeVar("T")

INBOX_ITEMS = 256
STEP_ITEMS = 512
QUICK_SECONDS = 0.02
SLOW_SECONDS = 0.25
"""So long nothing is waited for after something took longer than `QUICK_SECONDS`."""


class Alarm:
    """Rings when the engine is to be asked, although nothing has happened."""

    def __init__(self) -> None:
        self._set_to: float | None = None
        self._other = Bell()

    def look(self, due: float | None) -> None:
        """Be told after each step; a later time than before is seen when the former comes."""
        if due is not None and (self._set_to is None or due < self._set_to):
            self._set_to = due
            self._other.ring()

    async def run(self, engine: Engine, bell: Bell) -> None:
        """Ring when the time has come, until cancelled."""
        while True:
            due = self._set_to
            if due is None:
                await self._other.wait()
                continue
            with anyio.move_on_after(max(0.0, due - engine.now())):
                await self._other.wait()
            if self._set_to == due and engine.now() >= due:
                self._set_to = None
                bell.ring()


class Cluster:
    """One member, running while the block does.

    `record`: what the disk holds, where the host knows more of it than the store's own record
    (the position of the last frame, from its journal).
    """

    def __init__(self, config: Config, host: Host, *, record: StoreRecord | None = None) -> None:
        self.config = config
        self.host = host
        self._record = record
        self._engine: Engine | None = None
        self._tasks: TaskGroup | None = None
        self._inbox = Inbox(INBOX_ITEMS)
        self._changed: anyio.Event | None = None
        self._alarm = Alarm()
        self._hand = Hand()
        self._slow_until = 0.0
        # Asked once: with each message it would take as long as the message.
        transport = host.transport
        self._gathering = transport if isinstance(transport, Gathering) else None
        self._steps: Iterator[Work] | None = None
        self._is_stepping = False
        self._blocks: Work | None = None  # what a step waits for that was begun outside the task
        self._step_failure: Exception | None = None
        self._told: tuple[object, object] = (None, None)
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
            # A failed start leaves nothing behind: its tasks end here.
            self._tasks.cancel_scope.cancel()
            try:
                await self._leave(type(error), error, error.__traceback__)
            except BaseExceptionGroup as group:
                raise only_one(group) from group
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
                await self.wait_ended()  # what it said last is still on its way
            except BaseException as caught:  # noqa: BLE001  handed to the task group
                kind, error, trace = type(caught), caught, caught.__traceback__
        self._tasks.cancel_scope.cancel()
        try:
            return await self._leave(kind, error, trace)
        except BaseExceptionGroup as group:
            raise only_one(group) from group

    async def _leave(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        assert self._tasks is not None
        try:
            return await self._tasks.__aexit__(kind, error, trace)
        finally:
            self._tell_waiters(all_of_them=True)
            self.host.events.close()
            self._inbox.close()
            self._hand.close()

    # -- what a program asks -------------------------------------------------------------------

    @property
    def engine(self) -> Engine:
        """Return the engine; for what a service and an operator look at."""
        if self._engine is None:
            raise MisuseError("the member has not started", next="use `async with Cluster(...)`")
        return self._engine

    @property
    def phase(self) -> Phase:
        return self.engine.member.it.phase

    @property
    def is_active(self) -> bool:
        return self.engine.opened is not None

    @property
    def failure(self) -> Exception | None:
        """Return what the member failed with, None as long as it did not."""
        return self._failure

    @property
    def ended(self) -> Stop | Abort | None:
        """Return how the member ended, None as long as it runs."""
        return self.engine.ended

    async def wait_active(self, *, timeout: float | None = None) -> Outcome:  # noqa: ASYNC109
        """Return once clients are served: founded, joined or restored.

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
        """Return once the member has ended, and how; None: the driver was stopped."""
        while not self._over:
            await self._next_change()
        if self._failure is not None:
            raise self._failure
        return self.engine.ended

    async def call(self, deed: Callable[[], T]) -> T:
        """Do something on the member's strand, and return what comes out of it."""
        done = anyio.Event()
        result: list[T] = []
        failed: list[Exception] = []

        def kept() -> None:
            try:
                result.append(deed())
            except Exception as error:  # noqa: BLE001  it is raised where it was asked for
                failed.append(error)
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
        if failed:
            raise failed[0]
        if not result:
            self._raise_if_ended()
            raise NotActive("the member has ended", next="start it again")
        return result[0]

    def nudge(self) -> None:
        """Have the service do soon what was handed to it outside of a step; never waits.

        For a service whose methods may be called between steps, as the log's `submit`.
        """
        self._inbox.bell.ring()

    async def leave(self) -> None:
        """Ask the others to go on without this member; `wait_ended` tells when they do."""
        await self.call(self.engine.member.leave)

    async def shutdown_cluster(self) -> None:
        """Ask for the orderly shutdown of the whole cluster."""
        await self.call(self.engine.member.shutdown_cluster)

    async def stop(self, *, timeout: float = 10.0) -> Stop | Abort | None:  # noqa: ASYNC109
        """Leave in order, or after `timeout` seconds without; returns how it ended, None: not.

        Serves nobody any more when it returns.
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
        """End here and now, and be away: it stays a member and an elector, and comes back.

        Serves nobody any more when it returns, and the others know that it is gone.  Raises
        what the member failed with.
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
        assert self._tasks is not None
        self._tasks.start_soon(self._alarm.run, engine, self._inbox.bell)
        task_status.started()
        try:
            with anyio.CancelScope() as self._run_scope:
                await self._work(engine)
                # Whoever still speaks to the member is not heard, and does not wait for it.
                self._hear_no_more()
                # The others need what was said last: that the cluster is closed, or why not.
                await host.transport.farewell()
                host.events.write("end", how=type(engine.ended).__name__)
                if isinstance(engine.ended, Abort):
                    raise Aborted.because(self.config.member, engine.ended)
        except Exception as error:
            self._failure = error
            raise
        finally:
            self._close()
            self._hear_no_more()
            self._tell_waiters(all_of_them=True)

    async def _work(self, engine: Engine) -> None:
        """Step when there is something to do; raises what a step raised."""
        self._inbox.turn = self._turn
        while True:
            work = self._blocks or self._step_on(engine)
            while work is not None:
                # Not abandoned when cancelled: who ends here knows what is on the disk.
                await to_thread.run_sync(work)
                work = self._step_on(engine)
            self._blocks = None
            if self._step_failure is not None:
                raise self._step_failure
            if not engine.runs:
                return
            await self._inbox.bell.wait()

    def _turn(self) -> bool:
        """Step at once, where the transport has something; return whether that was possible.

        The task, which does the rest, would have its turn later, and an empty one before.
        """
        if self._is_stepping or self._step_failure is not None or not self.engine.runs:
            return False
        self._blocks = self._step_on(self.engine)
        if self._blocks or self._step_failure is not None or not self.engine.runs:
            self._inbox.bell.ring()
        return True

    def _step_on(self, engine: Engine) -> Work | None:
        """Do a step, or go on with one; return what is to be done before that is called again."""
        gathering = self._gathering
        try:
            if self._steps is None:
                self._steps = engine.step(self._inbox.take(STEP_ITEMS))
            self._is_stepping = True
            while True:
                if gathering is not None:
                    gathering.gather()
                work = next(self._steps, None)
                if gathering is not None:
                    gathering.flush()
                if work is None:
                    break
                rest = self._rest_of(work)
                if rest is not None:
                    return rest
        except Exception as error:  # noqa: BLE001  raised by the task
            self._step_failure = error
            return None
        self._steps = None
        self._is_stepping = False
        if (engine.opened, engine.ended) != self._told:
            self._told = engine.opened, engine.ended
            self._tell_waiters()
        self._alarm.look(engine.deadline)
        return None

    def _rest_of(self, work: Work) -> Work | None:
        """Begin it, where that may be enough; return what is to be waited for, None: it is done."""
        if not isinstance(work, Brief):
            return work
        began = self.host.clock.now()
        patience = QUICK_SECONDS if began >= self._slow_until else 0.0
        if self._hand.does(work, patience):
            return None
        if patience:
            self._slow_until = began + SLOW_SECONDS
        return self._hand.wait

    # -- small parts ---------------------------------------------------------------------------

    def _close(self) -> None:
        if self._engine is not None:
            self._engine.close(Closing.STOPPED)

    def _hear_no_more(self) -> None:
        self._inbox.close()

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
