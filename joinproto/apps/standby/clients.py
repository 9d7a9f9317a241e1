"""The client side of a primary: its queues, deliveries under way, and confirmations.

All changes of clients in one turn of the event loop are one commit of the machine.

Source: hot standby, H4, H7, H11.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from secrets import token_hex
from typing import TYPE_CHECKING, Protocol

from attrs import define, field, frozen

from joinproto.apps.standby.queues import Held, LiveQueue
from joinproto.apps.standby.recording import spans
from joinproto.net.accepting import connections_max
from joinproto.net.addresses import Address
from joinproto.standby.broker import Variant
from joinproto.standby.catch_up import Message
from joinproto.standby.clients import admit
from joinproto.standby.events import Commit, Declare, Draft, New
from joinproto.standby.messages import Kind, WiringItem
from joinproto.standby.replica_state import numbered

if TYPE_CHECKING:
    from joinproto.apps.standby.core import Core


# The changes of clients in one turn of the event loop, before they become one commit.  No I/O.


@frozen
class Refusal:
    """Why ordinary clients are not served.  `primary`: the primary's address, None if unknown."""

    why: str
    primary: Address | None = None


class Port(Protocol):
    """One connection of a client.  Only `ClientPort` of `amqp.py` implements it.

    That class is not imported here, because its file imports Proton.
    """

    is_admin: bool
    is_opened: bool
    began: float

    def refuse(self, refusal: Refusal) -> None:
        """End an ordinary client's connection, with the primary's address if it is known (H11)."""

    def drop(self) -> None:
        """End the connection at once."""


@frozen
class Publishing:
    """A message that is being published.

    `done`: called with "" when the message is confirmed, or with the reason why it is refused.
    """

    id: str
    body: bytes
    durable: bool
    done: Callable[[str], None]


@define
class QueueChanges:
    """Changes of one queue: the messages put, and the messages taken with functions to call."""

    puts: list[Publishing] = field(factory=list)
    takes: list[tuple[Held, Callable[[], None]]] = field(factory=list)

    def draft(self, queue: str) -> Draft:
        """Return these changes as the machine takes them."""
        return Draft(
            queue=queue,
            puts=tuple(New(id=one.id, durable=one.durable) for one in self.puts),
            takes=tuple(
                Message(id=held.id, sequence=held.position, durable=held.durable)
                for held, _ in self.takes
            ),
        )


log = logging.getLogger("joinproto.standby")

NAME_MAX = 200
COUNTS = ("confirmed", "acknowledged", "promotions", "refused_clients")


@define(eq=False)
class Clients:
    """The clients of one broker.

    `ports`: their connections, at most `most`.  `live`: the queues, while this broker serves.
    """

    core: Core
    ports: set[Port] = field(factory=set)
    live: dict[str, LiveQueue] = field(factory=dict)
    most: int = field(factory=connections_max)
    counts: dict[str, int] = field(factory=lambda: dict.fromkeys(COUNTS, 0))
    _gathered: dict[str, QueueChanges] = field(factory=dict)
    _waiting: dict[int, list[Callable[[], None]]] = field(factory=dict)
    _declaring: dict[str, list[Callable[[LiveQueue | str], None]]] = field(factory=dict)
    _token: int = 0
    _made: int = 0

    def confirm(self, token: int) -> None:
        """Tell the clients that wait for the commit `token`."""
        waiting = self._waiting.pop(token, ())
        if waiting:
            self.core.say("confirm", token=token)
        for done in waiting:
            done()

    def removed(self, queue: str) -> None:
        """Stop serving a queue."""
        if queue in self.live:
            self.live.pop(queue).is_gone = True

    def serve(self, generation: int) -> None:
        """Open for clients; a consumer may have had each message before."""
        self.counts["promotions"] += 1
        log.info("serves in generation %d", generation)
        if self.core.events.is_on:
            there = {
                name: spans(
                    put.id for put in queue.in_order if self.core.bodies.is_kept(name, put.id)
                )
                for name, queue in self.core.bodies.queues.items()
                if self.core.state.replica.is_shared(name)
            }
            self.core.say("serves", generation=generation, has=there)
        for name, queue in self.core.bodies.queues.items():
            live = self.live[name] = LiveQueue(name)
            for put in queue.in_order:
                durable = self.core.bodies.is_kept(name, put.id)
                live.offer(Held(put.id, put.position, put.body, durable, is_redelivered=True))
        asyncio.get_running_loop().call_soon(self._declare_configured)

    def _declare_configured(self) -> None:
        for name in self.core.settings.queues:
            if self.core.serves and name not in self.live:
                self.queue(name, lambda _: None)

    def close(self, why: str) -> None:
        """Close for clients; messages that are not confirmed yet are never confirmed."""
        log.warning("serves no more: %s", why)
        self._waiting.clear()
        self._declaring.clear()
        self._gathered = {}
        for live in self.live.values():
            live.is_gone = True
        self.live.clear()
        asyncio.get_running_loop().call_soon(self._refuse_all)

    def _refuse_all(self) -> None:
        for port in list(self.ports):
            refusal = self.refusal(is_admin=port.is_admin)
            if refusal is not None:
                port.refuse(refusal)
            else:
                # An administrator may connect again.  Its pending requests never get an answer.
                port.drop()

    # -- the port's questions ----------------------------------------------------------------

    def makes_room(self) -> bool:
        """Return whether one more client fits; the oldest unopened connection may be ended."""
        if len(self.ports) < self.most:
            return True
        unopened = [port for port in self.ports if not port.is_opened]
        if not unopened:
            log.warning("no room for another client: %d are connected", len(self.ports))
            return False
        oldest = min(unopened, key=lambda port: port.began)
        self.ports.discard(oldest)
        oldest.drop()
        return True

    def refusal(self, *, is_admin: bool = False) -> Refusal | None:
        """Return why a client may not enter, None if it may (H11)."""
        primary = self.core.links.primary_address
        said = None if primary is None else str(primary)
        found = admit(Variant.OURS, self.core.role, primary=said, is_admin=is_admin)
        if found.is_admitted:
            return None
        self.counts["refused_clients"] += 1
        return Refusal(found.why, None if found.primary is None else primary)

    def queue(self, name: str, done: Callable[[LiveQueue | str], None]) -> None:
        """Call `done` with a queue when all backups that count have its declaration (LC2).

        If there is no such queue, `done` gets the reason.
        """
        if name in self._declaring:
            self._declaring[name].append(done)
            return
        if name in self.live:
            done(self.live[name])
            return
        if not name.isprintable() or len(name) > NAME_MAX:
            done(f"a queue's name is 1 to {NAME_MAX} printable characters")
            return
        said = self.core.settings.queues.get(name)
        if said is None and not self.core.settings.defaults.create:
            done(f"there is no queue {name!r}, and `defaults.create` is false")
            return
        thing = WiringItem(
            kind=Kind.QUEUE,
            name=name,
            id=token_hex(8),
            says=None if said is None else said.replicate,
            durable=(said or self.core.settings.defaults).durable,
        )
        live = self.live[name] = LiveQueue(name)
        self._token += 1
        self._declaring[name] = [done]

        def confirmed() -> None:
            for each in self._declaring.pop(name, ()):
                each(live)

        self._waiting[self._token] = [confirmed]
        self.core.do(Declare(self._token, thing))

    def publish(self, queue: str, body: bytes, durable: bool, done: Callable[[str], None]) -> None:
        """Put a message at the back of a queue; `done` is called when it is confirmed (H4)."""
        if not self.core.serves or queue not in self.live:
            done(f"there is no queue {queue!r} here")
            return
        self._made += 1
        name = f"{self.core.state.view.generation}.{self.core.settings.broker}.{self._made}"
        work = self._gathered.setdefault(queue, QueueChanges())
        work.puts.append(Publishing(name, body, durable, done))
        self.core.schedule_turn_end()

    def take(self, queue: str, held: Held, done: Callable[[], None]) -> None:
        """Remove a message; `done` is called when the backups know that (LM4)."""
        if self.core.serves and queue in self.live:
            self._gathered.setdefault(queue, QueueChanges()).takes.append((held, done))
            self.core.schedule_turn_end()

    def commit_whole(
        self,
        puts: list[tuple[str, bytes, bool]],
        takes: list[tuple[str, Held]],
        done: Callable[[str], None],
    ) -> None:
        """Put all changes of a transaction into the commit of this turn (LM3).

        `done` gets "" when all are confirmed, or the reason why none was made.
        """
        names = {*(queue for queue, _, _ in puts), *(queue for queue, _ in takes)}
        if not self.core.serves:
            # This broker no longer serves, but its clients and queues may still be here.
            done("this broker is no longer primary")
            return
        # A queue that is being declared does not exist yet: its changes would be left out.
        if lacking := sorted(names - (self.live.keys() - self._declaring.keys())):
            done(f"there is no queue {lacking[0]!r} here")
            return
        waits = len(puts) + len(takes)

        def one_more(_: str = "") -> None:
            nonlocal waits
            waits -= 1
            if waits == 0:
                done("")

        for queue, body, durable in puts:
            self.publish(queue, body, durable, one_more)
        for queue, held in takes:
            self.take(queue, held, one_more)
        if not waits:
            done("")

    def commit(self) -> None:
        """Commit the clients' changes of this turn as one."""
        gathered, self._gathered = self._gathered, {}
        if not gathered or not self.core.serves:
            return
        drafts: list[Draft] = []
        waiting: list[Callable[[], None]] = []
        for queue, work in gathered.items():
            there = self.core.state.replica.queues, self.live, self.core.bodies.queues
            if any(queue not in one for one in there):
                continue
            puts = numbered(
                self.core.state.replica.queues[queue], ((one.id, one.durable) for one in work.puts)
            )
            helds = [
                Held(put.id, put.sequence, one.body, put.durable)
                for put, one in zip(puts, work.puts, strict=True)
            ]
            for held in helds:
                self.core.bodies.hold(queue, held)
            drafts.append(work.draft(queue))
            waiting.append(partial(self._confirmed, self.live[queue], helds, work))
        self._token += 1
        self._waiting[self._token] = waiting
        if self.core.events.is_on:
            self._say(gathered)
        self.core.do(Commit(self._token, tuple(drafts)))
        for draft in drafts:
            for message in draft.takes:
                self.core.bodies.forget(draft.queue, message)

    def _say(self, gathered: Mapping[str, QueueChanges]) -> None:
        """Log the changes of durable messages in replicated queues; other messages may be lost."""

        def said(
            ids: Callable[[QueueChanges], Iterable[str]],
        ) -> dict[str, dict[str, list[list[int]]]]:
            is_shared = self.core.state.replica.is_shared
            found = {name: spans(ids(work)) for name, work in gathered.items() if is_shared(name)}
            return {name: one for name, one in found.items() if one}

        self.core.say(
            "commit",
            token=self._token,
            puts=said(lambda work: (put.id for put in work.puts if put.durable)),
            takes=said(lambda work: (held.id for held, _ in work.takes if held.durable)),
        )

    def _confirmed(self, live: LiveQueue, helds: list[Held], work: QueueChanges) -> None:
        self.counts["confirmed"] += len(helds)
        for held, put in zip(helds, work.puts, strict=True):
            put.done("")
            live.offer(held)
        self.counts["acknowledged"] += len(work.takes)
        for _, done in work.takes:
            done()
