"""The manager that is built in: each broker is a member of the view chain, too.

The members keep one log, in which each frame is a view of hot standby, and all read it in one
order (`joinproto/log`): that is the chain (`joinproto/standby/chain.py`).  Who is cut off from a
majority writes nothing there, and so drops nobody and is not promoted.  No device fences: an old
primary confirms what all of its last view have, or nothing.

Source: hot standby, H2 to H4, H8; join protocol, section 3.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import anyio
from attrs import define, field

from joinproto.apps.node.stopped import permit_restart
from joinproto.apps.standby.keeping.views import ROOM, packed, unpacked
from joinproto.apps.standby.links import SERVING
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
from joinproto.net.network import Network
from joinproto.net.tcp import TcpTransport
from joinproto.standby.chain import follows, heard, is_proven, may_promote, promoted, turn
from joinproto.standby.events import Answer, Promote, Superseded
from joinproto.standby.machine import step
from joinproto.standby.messages import View
from joinproto.standby.tables import Verdict

if TYPE_CHECKING:
    from joinproto.apps.standby.core import Core

log = logging.getLogger("joinproto.standby")

KEPT_FRAMES = 1_000
TURN_SECONDS = 0.5
"""Between the turns of two brokers, so that they do not ask at the same moment."""
ANSWER_SECONDS = 5.0
"""How long a promotion that was asked for waits for the chain."""


@define(eq=False)
class Manager:
    """Of one broker.  `chain`: the last view.  An application of the log (`Remembering`)."""

    core: Core
    chain: View = View()
    cluster: Cluster | None = None
    replicated: ReplicatedLog | None = None
    there: frozenset[str] = frozenset()  # members of the join protocol's view
    kind: str = "standby-chain-1"
    _asked: View | None = None  # a promotion of this broker that is not decided
    _answer: asyncio.Future[Answer] | None = None
    _writing: View | None = None  # of this primary, likewise
    _decided: list[tuple[View, bool]] = field(factory=list)
    _closed_at: float | None = None
    _unserved: tuple[float, View] | None = None  # since when nobody serves, behind which view

    # -- its life --------------------------------------------------------------------------

    async def run(self) -> None:
        """Be a member until cancelled; raises what ends it."""
        settings = self.core.settings
        names = frozenset(settings.brokers)
        config = Config(
            member=settings.broker,
            electors=names,
            wait_for=len(names) // 2 + 1,
            options=self.kind,
            cluster_name=settings.cluster,
            # The marks of brokers' own stores are what an operator decides; this follows them.
            total_failure=TotalFailure.AUTOMATIC,
            patience=settings.timing.heartbeat,
            heartbeat=settings.timing.heartbeat,
        )
        network = Network(
            member=settings.broker,
            cluster_name=settings.cluster,
            electors=names,
            listen=settings.chain[settings.broker],
            addresses={name: at for name, at in settings.chain.items() if name != settings.broker},
            silence=settings.timing.silence,
            secret=settings.secret,
            tls=settings.tls,
            is_insecure=True,
        )
        with ExitStack() as stack:
            disk = open_disk(settings.data / ROOM, settings.broker, settings.cluster)
            stack.callback(disk.close)
            keeping = Keeping(
                snapshot_every=KEPT_FRAMES,
                keep_frames=KEPT_FRAMES,
                before_dropping=disk.before_dropping,
            )
            self.replicated = ReplicatedLog(disk.journal, self, keeping=keeping)
            host = Host(
                store=disk.store,
                transport=TcpTransport(network),
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
                "the chain of views was closed for all", next="start the brokers again"
            )

    def _events(self) -> EventLog:
        settings = self.core.settings
        return open_log(settings.events and settings.events / ROOM, settings.broker)

    @property
    def is_open(self) -> bool:
        """Return whether views can be written now, and all that were are known here."""
        return self.replicated is not None and self.replicated.is_open

    # -- the log (`Remembering`) -----------------------------------------------------------

    def apply(self, frame: Frame) -> None:
        """Take a frame of the log: the same everywhere, so its chain is, too."""
        view = unpacked(Entry.of(frame.data).body)
        fits = follows(self.chain, view)
        if fits:
            self.chain = view
        # A copy, submitted again, of what a state brought along: it is in the chain as well.
        self._decided.append((view, fits or view == self.chain))
        self._soon()

    def state(self) -> Iterator[bytes]:
        yield packed(self.chain)

    def restore(self, state: bytes) -> None:
        self.chain = unpacked(state)
        self._soon()

    def opened(self, view: Membership) -> None:
        self.there = frozenset(seat.member for seat in view.members)
        self._soon()

    def closed(self, why: Closing) -> None:
        self.there = frozenset()

    def _soon(self) -> None:
        # Not in the member's own step: what a broker does then may take an fsync.
        asyncio.get_running_loop().call_soon(self._decide)

    # -- what is written -------------------------------------------------------------------

    def write(self, view: View) -> None:
        """Write a view of this primary down; then comes `ViewWritten`, or it serves no more."""
        self._writing = view
        self._submit(view)

    def _submit(self, view: View) -> None:
        if self.replicated is None or self.cluster is None:
            return

        def lost() -> None:
            # Nobody knows whether it is there; a second one behind it changes nothing.
            if view in (self._asked, self._writing):
                self._submit(view)

        self.replicated.submit(packed(view), lambda position: None, lost)
        self.cluster.nudge()

    def _decide(self) -> None:
        decided, self._decided = self._decided, []
        for view, fits in decided:
            if view == self._writing:
                self._writing = None
                if fits:
                    self.core.view_written(view)
            elif view == self._asked:
                self._asked = None
                is_ours = fits and self.chain.generation == view.generation
                self._answered(
                    self.core.promoted(self._event(view)) if is_ours else self._came_first()
                )
        # A promotion that was decided elsewhere ends this one, and what it was about to write.
        if self.core.serves and self.chain.generation > self.core.state.view.generation:
            self.core.do(Superseded(self.chain))

    def _came_first(self) -> Answer:
        why = f"the chain has another view already: {self.chain.primary} is primary in it"
        return Answer(Verdict.REFUSED, "H2", why)

    def _event(self, view: View) -> Promote:
        core = self.core
        peers = heard(core.links.peers_told())
        proven = core.settings.continues and is_proven(
            core.settings.broker, core.links.stores(), self.chain
        )
        return Promote(peers=peers, view=view, now=core.now(), timeout=core.patience, proven=proven)

    def _answered(self, answer: Answer) -> None:
        waiting, self._answer = self._answer, None
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    # -- who is promoted -------------------------------------------------------------------

    def would(self) -> Answer:
        """Return what this broker would answer to a promotion by the chain as it is now."""
        me = self.core.settings.broker
        if self.core.serves:
            return Answer(Verdict.IGNORED, "H3", f"{me} is {self.core.role.value} already")
        if not self.is_open:
            why = f"{me} reaches no majority of the brokers, so nobody can be promoted here"
            return Answer(Verdict.REFUSED, "H2", why)
        if not may_promote(self.chain, me):
            why = f"{me} is not in the last view of {self.chain.primary}: it lacks something"
            return Answer(Verdict.REFUSED, "H4", why)
        effects = step(self.core.state, self._event(promoted(self.chain, me))).effects
        if self.chain.generation > 0 == self.core.state.view.generation:
            # Its name is in the chain; what it had is gone: an empty directory was given to it.
            why = f"{me} has an empty store, and {self.chain.primary} was primary before"
            return Answer(Verdict.REFUSED, "H4", why)
        return next(effect for effect in effects if isinstance(effect, Answer))

    async def promote(self) -> Answer:
        """Ask the chain that this broker be primary; return what came of it."""
        found = self.would()
        if found.verdict is not Verdict.ACCEPTED:
            return found
        if self._asked is None:
            self._ask()
        if self._answer is None:
            self._answer = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(asyncio.shield(self._answer), ANSWER_SECONDS)
        except TimeoutError:
            why = f"the chain took no view within {ANSWER_SECONDS:g} s; it may do so later"
            return Answer(Verdict.REFUSED, "H2", why)

    def _ask(self) -> None:
        self._asked = promoted(self.chain, self.core.settings.broker)
        self._submit(self._asked)

    def tick(self) -> None:
        """Promote it where nobody serves and it is its turn; demote it where it is cut off."""
        core, now = self.core, self.core.now()
        if not self.is_open:
            self._unserved = None
            self._closed_at = self._closed_at or now
            if core.serves and now - self._closed_at > core.settings.timing.silence:
                log.warning("reaches no majority of the brokers: serves no more")
                core.turn()
            return
        self._closed_at = None
        me = core.settings.broker
        if self._is_served() or self._asked is not None:
            self._unserved = None
            return
        if self._unserved is None or self._unserved[1] != self.chain:
            self._unserved = (now, self.chain)
        at = turn(self.chain, me, self.there)
        if at is not None and now - self._unserved[0] >= self._pause(at):
            if self.would().verdict is Verdict.ACCEPTED:
                self._ask()
            self._unserved = (now, self.chain)

    def _is_served(self) -> bool:
        if self.core.serves:
            return True
        other = self.core.links.others.get(self.chain.primary)
        return (
            other is not None
            and other.role in SERVING
            and other.view.generation >= self.chain.generation
        )

    def _pause(self, at: int) -> float:
        chain, others = self.chain, self.core.links.others
        # It takes part in the chain, and only this broker does not hear from it.
        is_only_unheard = chain.primary in self.there and chain.primary not in others
        is_other = chain.primary != self.core.settings.broker
        extra = 2 * self.core.settings.timing.silence if is_only_unheard and is_other else 0.0
        return TURN_SECONDS * (at + 1) + extra

    # -- what is shown ---------------------------------------------------------------------

    def told(self) -> dict[str, Any]:
        """Return what `joinproto standby status` shows of it."""
        return {
            "open": self.is_open,
            "there": sorted(self.there),
            "generation": self.chain.generation,
            "view": self.chain.number,
            "primary": self.chain.primary or None,
            "up_to_date": list(self.chain.members),
        }
