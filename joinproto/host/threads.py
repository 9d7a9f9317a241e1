"""The driver for plain threads: a `Cluster` on an event loop in its own thread.

    with ThreadCluster(config, host) as cluster:
        outcome = cluster.wait_active(timeout=30)
        ...
        cluster.stop(timeout=10)

Any thread may call a `ThreadCluster`.  The ports are called in the loop's thread, one call at a
time.  A thread cannot be cancelled from outside, so a member's failure is raised by the next call
and by the end of the block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from joinproto.errors import MisuseError
from joinproto.host.cluster import Cluster
from joinproto.host.outcome import Outcome
from joinproto.host.ports import Host
from joinproto.join.config import Config
from joinproto.join.messages import Abort, Stop
from joinproto.join.phases import Phase
from joinproto.join.store import StoreRecord

T = TypeVar("T")


class ThreadCluster:
    """One member, which runs while the block does; see `Cluster` for the methods."""

    def __init__(self, config: Config, host: Host, *, record: StoreRecord | None = None) -> None:
        self.inner = Cluster(config, host, record=record)
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def __enter__(self) -> ThreadCluster:
        with ExitStack() as stack:
            self._portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(self._portal.wrap_async_context_manager(self.inner))
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._portal = None
        return self._stack.__exit__(kind, error, trace)

    @property
    def phase(self) -> Phase:
        return self.inner.phase

    @property
    def is_active(self) -> bool:
        return self.inner.is_active

    def wait_active(self, *, timeout: float | None = None) -> Outcome:
        return self._open_portal.call(partial(self.inner.wait_active, timeout=timeout))

    def wait_ended(self) -> Stop | Abort | None:
        return self._open_portal.call(self.inner.wait_ended)

    def call(self, function: Callable[[], T]) -> T:
        """Call `function` on the member's event loop, and return its result."""
        return self._open_portal.call(self.inner.call, function)

    def leave(self) -> None:
        self._open_portal.call(self.inner.leave)

    def shutdown_cluster(self) -> None:
        self._open_portal.call(self.inner.shutdown_cluster)

    def stop(self, *, timeout: float = 10.0) -> Stop | Abort | None:
        return self._open_portal.call(partial(self.inner.stop, timeout=timeout))

    @property
    def _open_portal(self) -> BlockingPortal:
        if self._portal is None:
            raise MisuseError("the member does not run", next="use `with ThreadCluster(...)`")
        return self._portal
