"""The host of a broker: passes events to the machine, and performs the effects.

All changes of clients in one turn of the event loop are one commit of the machine.  The durable
changes go to the disk in one fsync, and a backup answers once.  So many messages share the cost of
the slowest operations.  The decisions are in `joinproto/standby/machine.py`.

The machine takes an event at once.  Its effects (`acting.py`) are done in their order, and wait for
the disk; the event loop does not wait (`performing.py`).  So there are two states.  `state` is the
machine's.  `shown` is the last state whose effects are all done; other brokers are told `shown`.

Source: hot standby, H1 to H11.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import define, field

from joinproto.apps.standby.acting import BrokerPorts
from joinproto.apps.standby.bodies import Bodies
from joinproto.apps.standby.clients import Clients
from joinproto.apps.standby.copying import Copies
from joinproto.apps.standby.keeping.disk import Disk
from joinproto.apps.standby.keeping.form import BrokerRecord
from joinproto.apps.standby.links import Links
from joinproto.apps.standby.performing import InlineWorker, TaskQueue, Worker
from joinproto.apps.standby.settings import Settings
from joinproto.errors import JoinprotoError
from joinproto.host.eventlog import EventLog
from joinproto.standby.broker import Role, Variant
from joinproto.standby.events import Answer, Demote, Effect, Event, Promote, Start, Stop, Tick
from joinproto.standby.machine import Broker, step
from joinproto.standby.messages import View
from joinproto.standby.peers import said_by
from joinproto.standby.perform import perform
from joinproto.standby.primary_state import Keeper, Who
from joinproto.standby.tables import Verdict

if TYPE_CHECKING:
    from joinproto.apps.standby.managing import Manager

log = logging.getLogger("joinproto.standby")

ENDS = Answer(Verdict.REFUSED, "H1", "this broker ends")


@define(eq=False)
class Core:
    """One broker.

    `manager`: the built-in manager; None if the manager is outside.  `failure`: the error that
    ended the broker.  `patience`: seconds that a new primary waits for backups.
    """

    settings: Settings
    disk: Disk
    events: EventLog
    worker: Worker = field(factory=InlineWorker)
    links: Links = field(init=False)
    state: Broker = field(init=False)
    shown: Broker = field(init=False)
    bodies: Bodies = field(init=False)
    clients: Clients = field(init=False)
    copies: Copies = field(init=False)
    manager: Manager | None = field(init=False, default=None)
    ended: asyncio.Event = field(factory=asyncio.Event)
    failure: BaseException | None = None
    patience: float = field(init=False)
    acting: BrokerPorts = field(init=False)
    _line: TaskQueue = field(init=False)
    _turn_is_due: bool = False
    _is_stopping: bool = False

    def __attrs_post_init__(self) -> None:
        """Make the parts; nothing runs before `start`."""
        who = Who(
            me=self.settings.broker,
            variant=Variant.OURS,
            keeper=Keeper.BUILT_IN if self.settings.chain else Keeper.OUTSIDE,
            default=self.settings.defaults.replicate,
            order=self.settings.copying.order,
        )
        self.state = self.shown = Broker(who=who)
        self._line = TaskQueue(self._fail, self.worker)
        self.bodies = Bodies(self.disk)
        self.patience = self.settings.timing.backups
        self.links = Links(self)
        self.clients = Clients(self)
        self.copies = Copies(self)
        self.acting = BrokerPorts(self)

    def start(self) -> None:
        """Start as a backup that looks for its primary; a later crash leaves a dirty store."""
        kept = self.kept
        self.do(Start(mark=kept.mark, view=kept.view, replica=self.bodies.replica))
        self.say("started", mark=kept.mark.value, generation=kept.view.generation)

    async def stop(self, *, in_order: bool = True) -> None:
        """End the broker, and return when the machine's mark of this end is on the disk.

        `in_order`: first finish what clients have asked for.
        """
        if self.ended.is_set() or self._is_stopping:
            return
        if in_order:
            self.turn_ends()
            await self._line.settled()
        self.do(Stop(in_order=in_order))
        self._is_stopping = True
        await self._line.settled()
        if self.failure is None and in_order:
            self.say("stopped")
        self.ended.set()

    @property
    def kept(self) -> BrokerRecord:
        return self.disk.kept

    @property
    def role(self) -> Role:
        return self.shown.role

    @property
    def serves(self) -> bool:
        """Return whether this broker is primary by the machine; others may not know it yet."""
        return self.state.serves

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def say(self, kind: str, **facts: object) -> None:
        """Write a line of the event log."""
        self.events.write(kind, broker=self.settings.broker, **facts)

    def _fail(self, error: BaseException) -> None:
        # After a failed write no message is confirmed, and the process ends.
        log.error("%s", error)
        self.failure = self.failure or error
        self.ended.set()
        self._line.clear()

    # -- the machine -----------------------------------------------------------------------

    def do(self, event: Event) -> tuple[Effect, ...]:
        """Give the machine an event; return its effects, which are done or scheduled."""
        if self.ended.is_set() or self._is_stopping:
            return ()
        before = self.state
        try:
            found = step(before, event)
        except JoinprotoError as error:
            self._fail(error)
            return ()
        self.state = found.state
        tasks = [perform(effect, self.acting) for effect in found.effects]
        if said_by(before) != said_by(self.state):
            tasks.append(partial(self._reached, self.state))
        self._line.put(*tasks)
        return found.effects

    def _reached(self, state: Broker) -> None:
        before, self.shown = self.shown, state
        if state.role is before.role:
            return
        generation = state.view.generation
        log.info("%s -> %s, generation %d", before.role.value, state.role.value, generation)
        self.say("role", was=before.role.value, role=state.role.value, generation=generation)
        self.links.tell_all()

    def schedule_turn_end(self) -> None:
        """Schedule `turn_ends` for this turn of the event loop."""
        if not self._turn_is_due:
            self._turn_is_due = True
            asyncio.get_running_loop().call_soon(self.turn_ends)

    def turn_ends(self) -> None:
        """Commit the changes of clients in this turn of the event loop, and write them to disk."""
        self._turn_is_due = False
        if self.ended.is_set():
            return
        self.clients.commit()
        self._line.put(self.acting.turn_ends)

    def view_written(self, view: View) -> None:
        """Write a view to this broker's disk; all other brokers in the view already have it."""
        self._line.put(partial(self.acting.has_view, view))

    def tick(self) -> None:
        """Handle due timers."""
        self.do(Tick(self.now()))
        if self.manager is not None:
            self.manager.tick()

    # -- the manager -----------------------------------------------------------------------

    async def promote(self) -> dict[str, Any]:
        """Try to become primary; return the verdict, as `joinproto ask standby.promote` does."""
        if not self.serves:
            await self.links.ask_all()
        if self.manager is not None:
            found = await self.manager.promote()
        else:
            peers = self.links.around.peers()
            found = self.promoted(Promote(peers=peers, now=self.now(), timeout=self.patience))
        await self._line.settled()
        if self.ended.is_set():
            found = ENDS
        return {
            "broker": self.settings.broker,
            "verdict": found.verdict.value,
            "role": self.role.value,
            "generation": self.state.view.generation,
            "rule": found.rule,
            "why": found.why,
        }

    def promoted(self, event: Promote) -> Answer:
        """Pass a promotion to the machine, and return its answer."""
        answers = [effect for effect in self.do(event) if isinstance(effect, Answer)]
        found = answers[0] if answers else ENDS
        log.info("promotion %s (%s): %s", found.verdict.value, found.rule, found.why)
        self.say("promote", verdict=found.verdict.value, rule=found.rule)
        return found

    def turn(self) -> None:
        """Stop serving, and follow the next primary."""
        self.do(Demote())
        self.links.follow_primary()

    async def demote(self) -> dict[str, Any]:
        """Demote this broker after all pending requests of clients; return its new role."""
        if self.serves:
            self.turn_ends()
            await self._line.settled()
        self.turn()
        await self._line.settled()
        return {"broker": self.settings.broker, "role": self.role.value}
