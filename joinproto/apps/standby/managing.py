"""The built-in manager: each broker is also a member of the view chain.

The members keep one log (`joinproto/log`), in which each frame is a view of hot standby.  All
members read it in the same order; this is the chain (`joinproto/standby/chain.py`).  A broker that
is cut off from a majority cannot write to the log, so it drops no broker and is not promoted.  No
fencing device is needed: an old primary confirms only messages that all brokers of its last view
have.

Source: hot standby, H2 to H4, H8; join protocol, section 3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, assert_never

import anyio
from attrs import define, evolve, field

from joinproto.apps.node.stopped import permit_restart
from joinproto.apps.standby.keeping.views import FOLDER, packed, unpacked
from joinproto.durable.journal.journal import Frame
from joinproto.errors import EnvironmentProblem
from joinproto.host.cluster import Cluster
from joinproto.host.eventlog import EventLog, open_log
from joinproto.host.ports import Host
from joinproto.join.config import Config, TotalFailure
from joinproto.join.messages import Closing
from joinproto.join.view import View as Membership
from joinproto.log.disk import open_disk
from joinproto.log.entry import Entry
from joinproto.log.keeper import Keeping
from joinproto.log.replicated import ReplicatedLog
from joinproto.net.tcp import TcpTransport
from joinproto.standby.events import Answer, Promote, Superseded
from joinproto.standby.managing import (
    Due,
    Managing,
    Now,
    appended,
    decided,
    is_over,
    promotion,
    ticked,
    would,
)
from joinproto.standby.messages import View
from joinproto.standby.tables import Verdict

if TYPE_CHECKING:
    from joinproto.apps.standby.core import Core

log = logging.getLogger("joinproto.standby")

KEPT_FRAMES = 1_000
ANSWER_SECONDS = 5.0
"""The most seconds that a requested promotion waits for the chain."""


@define(eq=False)
class Manager:
    """The manager of one broker, which is an application of the log (`Remembering`)."""

    core: Core
    managing: Managing = Managing()
    cluster: Cluster | None = None
    replicated: ReplicatedLog | None = None
    there: frozenset[str] = frozenset()  # members of the join protocol's view
    kind: str = "standby-chain-1"
    _answer: asyncio.Future[Answer] | None = None
    _decided: list[tuple[View, bool]] = field(factory=list)

    @property
    def chain(self) -> View:
        """Return the last view of the chain."""
        return self.managing.chain

    # -- its life --------------------------------------------------------------------------

    async def run(self) -> None:
        """Run as a member until cancelled; raises the error that ends the member."""
        settings = self.core.settings
        names = frozenset(settings.brokers)
        config = Config(
            member=settings.broker,
            electors=names,
            wait_for=len(names) // 2 + 1,
            options=self.kind,
            cluster_name=settings.cluster,
            # An operator marks only the brokers' own stores; the stores of this log need no mark.
            total_failure=TotalFailure.AUTOMATIC,
            patience=settings.timing.heartbeat,
            heartbeat=settings.timing.heartbeat,
        )
        with ExitStack() as stack:
            disk = open_disk(settings.data / FOLDER, settings.broker, settings.cluster)
            stack.callback(disk.close)
            keeping = Keeping(
                snapshot_every=KEPT_FRAMES,
                keep_frames=KEPT_FRAMES,
                before_dropping=disk.before_dropping,
            )
            self.replicated = ReplicatedLog(disk.journal, self, keeping=keeping)
            host = Host(
                store=disk.store,
                transport=TcpTransport(settings.network(settings.chain)),
                service=self.replicated,
                transfer=self.replicated,
                events=self._events(),
            )
            async with Cluster(config, host, record=disk.record) as self.cluster:
                try:
                    await self.cluster.wait_ended()
                finally:
                    with anyio.CancelScope(shield=True):
                        await self.cluster.halt()
                        permit_restart(disk.store)
            raise EnvironmentProblem(
                "the log of views was shut down for all brokers", next="start the brokers again"
            )

    def _events(self) -> EventLog:
        settings = self.core.settings
        return open_log(settings.events and settings.events / FOLDER, settings.broker)

    @property
    def is_open(self) -> bool:
        """Return whether views can be written now, and all written views are known here."""
        return self.replicated is not None and self.replicated.is_open

    # -- the log (`Remembering`) -----------------------------------------------------------

    def apply(self, frame: Frame) -> None:
        """Apply a frame of the log: all members get the same frames, so their chains are equal."""
        view = unpacked(Entry.of(frame.data).body)
        self.managing, fits = appended(self.managing, view)
        self._decided.append((view, fits))
        self._soon()

    def state(self) -> Iterator[bytes]:
        return iter((packed(self.chain),))  # packed now, because more frames may be applied

    def restore(self, state: bytes) -> None:
        self.managing = evolve(self.managing, chain=unpacked(state))
        self._soon()

    def opened(self, view: Membership) -> None:
        self.there = frozenset(seat.member for seat in view.members)
        self._soon()

    def closed(self, why: Closing) -> None:
        self.there = frozenset()

    def _soon(self) -> None:
        # Later, not in the member's own step: a broker's action may wait for an fsync.
        asyncio.get_running_loop().call_soon(self._decide)

    # -- writing ---------------------------------------------------------------------------

    def write(self, view: View) -> None:
        """Write a view of this primary to the log.

        Later the core gets the written view, or this broker no longer serves.
        """
        self.managing = evolve(self.managing, writing=view)
        self._submit(view)

    def _submit(self, view: View) -> None:
        if self.replicated is None or self.cluster is None:
            return

        def lost() -> None:
            # It is unknown whether the view is in the log; writing it twice changes nothing.
            if self.managing.wants(view):
                self._submit(view)

        self.replicated.submit(packed(view), lambda position: None, lost)
        self.cluster.nudge()

    def _decide(self) -> None:
        seen, self._decided = self._decided, []
        for view, fits in seen:
            self.managing, due = decided(self.managing, view, fits=fits)
            self._do(due, view)
        # If another broker was promoted, this one stops serving; its unwritten view is dropped.
        if is_over(self.managing, self.core.state):
            self.core.do(Superseded(self.chain))

    def _do(self, due: Due, view: View | None = None) -> None:
        match due:
            case Due.NOTHING:
                pass
            case Due.WRITTEN:
                assert view is not None
                self.core.view_written(view)
            case Due.PROMOTED:
                self._answered(self.core.promoted(self._event(view)))
            case Due.CAME_LATE:
                first = self.chain.primary
                why = f"the chain already has another view, in which {first} is primary"
                self._answered(Answer(Verdict.REFUSED, "H2", why))
            case Due.ASK:
                asked = self._event().view
                assert asked is not None
                self.managing = evolve(self.managing, asked=asked)
                self._submit(asked)
            case Due.TURN:
                log.warning("stops serving: this broker reaches no majority of the brokers")
                self.core.turn()
            case never:
                assert_never(never)

    def _event(self, view: View | None = None) -> Promote:
        core = self.core
        return promotion(
            self.managing,
            core.state,
            core.links.around,
            continues=core.settings.continues,
            now=core.now(),
            timeout=core.patience,
            view=view,
        )

    def _answered(self, answer: Answer) -> None:
        waiting, self._answer = self._answer, None
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    # -- which broker is promoted ------------------------------------------------------------------

    async def promote(self) -> Answer:
        """Ask the chain to make this broker primary; return the answer."""
        found = would(self.managing, self.core.state, self._event(), is_open=self.is_open)
        if not found.is_accepted:
            return found
        if self.managing.asked is None:
            self._do(Due.ASK)
        if self._answer is None:
            self._answer = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(asyncio.shield(self._answer), ANSWER_SECONDS)
        except TimeoutError:
            why = (
                f"the view was not in the chain within {ANSWER_SECONDS:g} s; it may be added later"
            )
            return Answer(Verdict.REFUSED, "H2", why)

    def tick(self) -> None:
        """Promote this broker if none serves and it is its turn; demote it if it is cut off."""
        core = self.core
        now = Now(
            at=core.now(),
            is_open=self.is_open,
            there=self.there,
            silence=core.settings.timing.silence,
        )
        self.managing, due = ticked(
            self.managing, core.state, core.links.around, self._event(), now
        )
        self._do(due)

    # -- status ----------------------------------------------------------------------------

    def manager_facts(self) -> dict[str, Any]:
        """Return the manager's facts for `joinproto standby status`."""
        return {
            "open": self.is_open,
            "there": sorted(self.there),
            "generation": self.chain.generation,
            "view": self.chain.number,
            "primary": self.chain.primary or None,
            "up_to_date": list(self.chain.members),
        }
