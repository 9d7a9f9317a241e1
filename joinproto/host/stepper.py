"""The loop that steps the engine as soon as there is work, in the thread of the event loop.

Short work (`Brief`) runs in a `WorkerThread`, and the loop waits a moment for its end.  Other
blocking work runs in a thread of anyio.  Events that come during a step wait for its end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import anyio
from anyio import to_thread

from joinproto.host.engine import Engine
from joinproto.host.hand import WorkerThread
from joinproto.host.inbox import Inbox, Signal
from joinproto.host.ports import Brief, Gathering, Work

STEP_ITEMS = 512


class Alarm:
    """A timer for the engine's next step without an event."""

    def __init__(self) -> None:
        self._set_to: float | None = None
        self._earlier_time = Signal()

    def advance_to(self, due: float | None) -> None:
        """Set the time of the next step, unless an earlier time is set."""
        if due is not None and (self._set_to is None or due < self._set_to):
            self._set_to = due
            self._earlier_time.ring()

    async def run(self, engine: Engine, bell: Signal) -> None:
        """Ring the bell each time that the set time has come, until cancelled."""
        while True:
            due = self._set_to
            if due is None:
                await self._earlier_time.wait()
                continue
            with anyio.move_on_after(max(0.0, due - engine.now())):
                await self._earlier_time.wait()
            if self._set_to == due and engine.now() >= due:
                self._set_to = None
                bell.ring()


class Stepper:
    """Steps one engine.  `changed`: called after a step that opened, closed or ended it."""

    def __init__(self, engine: Engine, inbox: Inbox, changed: Callable[[], None]) -> None:
        self._engine = engine
        self._inbox = inbox
        self._changed = changed
        # Checked once, because the check takes as long as sending a message.
        transport = engine.host.transport
        self._gathering = transport if isinstance(transport, Gathering) else None
        self._alarm = Alarm()
        self._worker = WorkerThread()
        self._steps: Iterator[Work] | None = None
        self._is_stepping = False
        self._blocking_work: Work | None = None  # of a step that `_turn` has begun
        self._failure: Exception | None = None
        self._reported: tuple[object, object] = (None, None)

    def close(self) -> None:
        """End the helper thread."""
        self._worker.close()

    async def ring_when_due(self) -> None:
        """Wake `run` at the engine's deadlines, until cancelled."""
        await self._alarm.run(self._engine, self._inbox.bell)

    async def run(self) -> None:
        """Step until the member has ended; raises a step's exception."""
        self._inbox.turn = self._turn
        while True:
            work = self._blocking_work or self._go_on()
            while work is not None:
                # The work is not abandoned on a cancel, so that the contents of the disk are known.
                await to_thread.run_sync(work)
                work = self._go_on()
            self._blocking_work = None
            if self._failure is not None:
                raise self._failure
            if not self._engine.runs:
                return
            await self._inbox.bell.wait()

    def _turn(self) -> bool:
        """Step at once when the transport has items; return whether that was possible.

        The task `run` does the rest of a step that blocks.  A task that did whole steps would need
        one more turn of the event loop before each step, and one after it.
        """
        if self._is_stepping or self._failure is not None or not self._engine.runs:
            return False
        self._blocking_work = self._go_on()
        if self._blocking_work or self._failure is not None or not self._engine.runs:
            self._inbox.bell.ring()
        return True

    def _go_on(self) -> Work | None:
        """Begin or continue a step; return the blocking work to do before the next call."""
        engine, gathering = self._engine, self._gathering
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
                rest = self._begin_short(work)
                if rest is not None:
                    return rest
        except Exception as error:  # noqa: BLE001  raised by the task
            self._failure = error
            return None
        self._steps = None
        self._is_stepping = False
        if (engine.opened, engine.ended) != self._reported:
            self._reported = engine.opened, engine.ended
            self._changed()
        self._alarm.advance_to(engine.deadline)
        return None

    def _begin_short(self, work: Work) -> Work | None:
        """Begin `work` if it is short, and wait a moment; return the blocking call that is left.

        None if the work is done.
        """
        if not isinstance(work, Brief):
            return work
        return None if self._worker.begin(work) else self._worker.wait
