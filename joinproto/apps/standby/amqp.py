"""AMQP 1.0 to clients: connections, links and deliveries; `clients.py` performs their requests.

A client publishes over a link whose target is a queue's name.  Its delivery is settled when the
message is confirmed (H4).  A client consumes over a link whose source is a queue's name.  A
delivery that it accepts is settled when all backups that must know of the acceptance do (LM4).  A
backup ends the connection of a client, and a client with a list of addresses then tries the next
address.  The backup names the primary to a client that asks for it (H11).

Source: hot standby, H4, H11.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from attrs import define, field
from proton import (
    Condition,
    Delivery,
    Endpoint,
    Event,
    Link,
    Message,
    ProtonException,
    Terminus,
    symbol,
)

from joinproto.apps.standby.engine import EnginePort
from joinproto.apps.standby.keeping.disk import MESSAGE_BYTES_MAX
from joinproto.apps.standby.queues import Held, LiveQueue
from joinproto.apps.standby.transacting import (
    UNKNOWN,
    Reply,
    SettledMessage,
    Transactions,
    accept_within,
    answer_declared,
    transaction_of,
)

if TYPE_CHECKING:
    from joinproto.apps.standby.clients import Clients, Refusal

# The two fields in the header of an AMQP 1.0 message that a broker uses: `durable`, and whether a
# consumer may have had the message before.
#
# The bytes of a message are kept as they came.  A new header is written only if a message is
# delivered again.
#
# Source: AMQP 1.0, part 3, 3.2.1 (header), part 1, 1.6 (encodings).

HEADER_SHORT = b"\x00\x53\x70"
HEADER_LONG = b"\x00\x80\x00\x00\x00\x00\x00\x00\x00\x70"
LISTS = {0xC0: 3, 0xD0: 9}
"""A list's constructor to the offset of its first item, after constructor, size and count."""


def is_durable(body: bytes) -> bool:
    """Return whether the header says that a message is durable; False without a valid header."""
    for start in (HEADER_SHORT, HEADER_LONG):
        if body.startswith(start):
            rest = body[len(start) : len(start) + 12]
            first = rest[LISTS.get(rest[0], len(rest)) :] if rest else b""
            return first[:1] == b"\x41" or first[:2] == b"\x56\x01"
    return False


def redelivered(body: bytes) -> bytes:
    """Return the message with a header that says that a consumer may have had it before.

    Bytes that are not a message are returned unchanged.
    """
    message = Message()
    try:
        message.decode(body)
        message.first_acquirer = False
        message.delivery_count = max(1, message.delivery_count)
        encoded: bytes = message.encode()
    except (ProtonException, ValueError):  # ValueError: text that is not UTF-8
        return body
    return encoded


log = logging.getLogger(__name__)

CREDIT = 500
ADMIN = "qpid.ha-admin"
"""A property of a connection that a backup admits as well; Qpid's broker has the same property."""
WHERE = "joinproto.where"
"""A property of a connection that a backup ends with a frame with the primary's address."""
REDIRECT = "amqp:connection:redirect"


def _answer(link: Link) -> None:
    """Accept a link as requested."""
    link.source.copy(link.remote_source)
    link.target.copy(link.remote_target)
    link.snd_settle_mode = link.remote_snd_settle_mode
    link.rcv_settle_mode = link.remote_rcv_settle_mode
    link.open()


@define(eq=False)
class Consumer:
    """A link that sends a queue's messages to a client.  `sent`: deliveries not settled yet."""

    port: ClientPort
    link: Link
    queue: LiveQueue
    sent: dict[str, tuple[Delivery, Held]] = field(factory=dict)
    count: int = 0
    is_gone: bool = False

    @property
    def credit(self) -> int:
        return int(self.link.credit)

    def send(self, held: Held) -> None:
        """Send a message of the queue; there must be credit."""
        self.count += 1
        tag = str(self.count)
        delivery = self.link.delivery(tag)
        self.link.send(redelivered(held.body) if held.is_redelivered else held.body)
        self.link.advance()
        if self.link.snd_settle_mode == Link.SND_SETTLED:
            delivery.settle()
            self.port.service.take(self.queue.name, held, lambda: None)
        else:
            self.sent[tag] = (delivery, held)
        self.port.soon()

    def settle(self, delivery: Delivery, state: int) -> None:
        """Tell the client the outcome of a message."""
        if not self.port.is_connected:
            return
        if not delivery.settled:
            delivery.update(state)
        delivery.settle()
        self.port.soon()

    def have_again(self, delivery: Delivery, held: Held) -> None:
        """Take back a message whose transaction is undone, as it was before the transaction."""
        if self.is_gone or delivery.settled:
            self.queue.give_back([held])
        else:
            self.sent[delivery.tag] = (delivery, held)

    def gone(self) -> None:
        """Return unsettled messages to the queue."""
        self.is_gone = True
        self.queue.remove(self)
        self.queue.give_back([held for _, held in self.sent.values()])
        self.sent.clear()


@define(eq=False)
class ClientPort(EnginePort):
    """One connection of a client."""

    service: Clients = field(kw_only=True)
    _consumers: dict[Link, Consumer] = field(factory=dict)
    _unconfirmed: dict[Link, int] = field(factory=dict)
    _coordinators: set[Link] = field(factory=set)
    _transactions: Transactions = field(init=False)
    is_admin: bool = False
    _is_refused: bool = False
    _asks_where: bool = False

    def __attrs_post_init__(self) -> None:
        """Begin without a transaction."""
        self._transactions = Transactions(self.service.commit_whole)

    def refuse(self, refusal: Refusal) -> None:
        """Close the connection of an ordinary client, with the primary's address (H11)."""
        if self._wire is None or self.is_admin or self._is_refused:
            return
        self._is_refused = True
        if not self._asks_where or refusal.primary is None:
            # After each connection that was opened, Proton's client starts at the beginning of its
            # list of addresses, and it does not notice that a frame closed the connection.  With
            # an answer it would call the first backup forever, or wait forever.
            self._wire.abort()
            return
        where = refusal.primary
        info = {symbol("network-host"): where.host, symbol("port"): where.port}
        self._connection.open()
        self._connection.condition = Condition(REDIRECT, refusal.why, info)
        self._connection.close()
        self.soon()

    # -- events ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if not self.service.makes_room():
            assert isinstance(transport, asyncio.Transport)
            transport.abort()
            return
        self.service.ports.add(self)
        super().connection_made(transport)

    def connection_lost(self, error: Exception | None) -> None:
        self.service.ports.discard(self)
        if not self.is_connected:
            return
        for consumer in list(self._consumers.values()):
            consumer.gone()
        self._consumers.clear()
        self._transactions.gone()
        super().connection_lost(error)

    def _handle(self, event: Event) -> None:
        if self._is_refused:
            return
        match event.type:
            case Event.DELIVERY:
                self._delivered(event.delivery)
            case Event.LINK_FLOW:
                consumer = self._consumers.get(event.link)
                if consumer is not None:
                    consumer.queue.serve()
                    if event.link.drain_mode:
                        event.link.drained()
            case Event.CONNECTION_REMOTE_OPEN:
                self._opened()
            case Event.SESSION_REMOTE_OPEN:
                event.session.open()
            case Event.LINK_REMOTE_OPEN:
                self._attached(event.link)
            case Event.LINK_REMOTE_CLOSE | Event.LINK_REMOTE_DETACH:
                self._detached(event.link, closes=event.type == Event.LINK_REMOTE_CLOSE)
            case Event.SESSION_REMOTE_CLOSE:
                for link in [one for one in self._consumers if one.session == event.session]:
                    self._consumers.pop(link).gone()
                for link in [one for one in self._unconfirmed if one.session == event.session]:
                    self._forget(link)
                event.session.close()
            case Event.CONNECTION_REMOTE_CLOSE:
                self._connection.close()
            case Event.TRANSPORT_ERROR:
                condition = self._engine.condition
                log.info("a client's connection ended: %s", condition)

    def _opened(self) -> None:
        self.is_opened = True
        properties = self._connection.remote_properties or {}
        self.is_admin = bool(properties.get(ADMIN) or properties.get(symbol(ADMIN)))
        self._asks_where = bool(properties.get(WHERE) or properties.get(symbol(WHERE)))
        refusal = self.service.refusal(is_admin=self.is_admin)
        if refusal is not None:
            log.info("refused a client: %s", refusal.why)
            self.refuse(refusal)
            return
        self._connection.open()

    def _attached(self, link: Link) -> None:
        address = link.remote_source.address if link.is_sender else link.remote_target.address
        refusal = self.service.refusal()
        if refusal is not None:
            self._no_link(link, refusal.why)
        elif link.is_receiver and link.remote_target.type == Terminus.COORDINATOR:
            self._coordinators.add(link)
            self._unconfirmed[link] = 0
            _answer(link)
            link.flow(CREDIT)
            self.soon()
        elif not address:
            self._no_link(link, "the link has no address, expected a queue's name")
        else:
            self.service.queue(address, lambda found: self._linked(link, found))

    def _no_link(self, link: Link, why: str) -> None:
        link.condition = Condition("amqp:not-found", why)
        link.open()
        link.close()
        self.soon()

    def _linked(self, link: Link, found: LiveQueue | str) -> None:
        """Open the link: `found` is its queue, or the reason why there is none."""
        if self._wire is None or link.state & Endpoint.REMOTE_CLOSED:
            return
        if isinstance(found, str):
            self._no_link(link, found)
            return
        _answer(link)
        if link.is_sender:
            consumer = Consumer(self, link, found)
            self._consumers[link] = consumer
            found.add(consumer)
        else:
            self._unconfirmed[link] = 0
            link.flow(CREDIT)
        self.soon()

    def _detached(self, link: Link, *, closes: bool) -> None:
        self._forget(link)
        consumer = self._consumers.pop(link, None)
        if consumer is not None:
            consumer.gone()
        if not link.state & Endpoint.LOCAL_CLOSED:
            link.close() if closes else link.detach()
        self.soon()

    def _forget(self, link: Link) -> None:
        self._unconfirmed.pop(link, None)
        if link in self._coordinators:
            self._coordinators.discard(link)
            self._transactions.gone(link)

    # -- deliveries ------------------------------------------------------------------------

    def _delivered(self, delivery: Delivery) -> None:
        link = delivery.link
        if link.is_receiver:
            if delivery.readable and not delivery.partial:
                self._received(link, delivery)
            elif delivery.pending > 2 * MESSAGE_BYTES_MAX:
                # A long message is refused when it is complete; this one could fill the memory
                # before that.
                log.warning("a client's message is too long: %d bytes so far", delivery.pending)
                self._end()
            elif delivery.aborted:
                delivery.settle()
        elif delivery.updated:
            self._answered(link, delivery)

    def _received(self, link: Link, delivery: Delivery) -> None:
        body = link.recv(delivery.pending) or b""
        is_settled = delivery.settled
        link.advance()
        self._unconfirmed[link] = self._unconfirmed.get(link, 0) + 1

        def done(problem: str) -> None:
            if self._wire is None or link not in self._unconfirmed:
                return
            self._give_credit(link)
            if is_settled:
                return
            if problem:
                delivery.local.condition = Condition("amqp:precondition-failed", problem)
            delivery.update(Delivery.REJECTED if problem else Delivery.ACCEPTED)
            delivery.settle()
            self.soon()

        address = link.remote_target.address
        told = transaction_of(delivery)
        problem = ""
        if len(body) > MESSAGE_BYTES_MAX:
            problem = f"a message of {len(body)} bytes, expected at most {MESSAGE_BYTES_MAX}"
        if link in self._coordinators:
            self._transactions.ask(link, body, lambda reply: self._reply(link, delivery, reply))
        elif told is None and problem:
            done(problem)
        elif told is None:
            self.service.publish(address, body, is_durable(body), done)
        elif not self._transactions.put(told[0], address, body, is_durable(body), problem):
            self._no_transaction(link)
        else:
            self._give_credit(link)
            accept_within(delivery, told[0])
            delivery.settle()
            self.soon()
        if is_settled:
            delivery.settle()

    def _reply(self, link: Link, delivery: Delivery, reply: Reply) -> None:
        """Answer a request to the coordinator."""
        if self._wire is None or link not in self._coordinators:
            return
        self._give_credit(link)
        if reply.id:
            answer_declared(delivery, reply.id)
        elif reply.condition:
            delivery.local.condition = Condition(reply.condition, reply.why)
            delivery.update(Delivery.REJECTED)
        else:
            delivery.update(Delivery.ACCEPTED)
        delivery.settle()
        self.soon()

    def _no_transaction(self, link: Link) -> None:
        link.condition = Condition(UNKNOWN, "there is no such transaction on this connection")
        link.close()
        self._detached(link, closes=True)

    def _give_credit(self, link: Link) -> None:
        """Count a message as confirmed, and let the client send more.

        At most `CREDIT` messages are unconfirmed or expected, so their memory is bounded.
        """
        self._unconfirmed[link] -= 1
        held = int(link.credit) + self._unconfirmed[link]
        if held <= CREDIT // 2:
            link.flow(CREDIT - held)
            self.soon()

    def _answered(self, link: Link, delivery: Delivery) -> None:
        consumer = self._consumers.get(link)
        if consumer is None:
            return
        found = consumer.sent.get(delivery.tag)
        if found is None:
            return
        _, held = found
        state = delivery.remote_state
        told = transaction_of(delivery)
        if told is not None:
            name, outcome = told
            is_gone = outcome in (Delivery.ACCEPTED, Delivery.REJECTED)
            if self._transactions.take(name, SettledMessage(consumer, delivery, held, is_gone)):
                del consumer.sent[delivery.tag]
            else:
                self._no_transaction(link)
            return
        if state in (Delivery.ACCEPTED, Delivery.REJECTED):
            del consumer.sent[delivery.tag]
            done = partial(consumer.settle, delivery, state)
            # There is no queue for rejected messages: they are removed like accepted ones.
            self.service.take(consumer.queue.name, held, done)
        elif state in (Delivery.RELEASED, Delivery.MODIFIED) or delivery.settled:
            del consumer.sent[delivery.tag]
            delivery.settle()
            consumer.queue.give_back([held], is_redelivered=state != Delivery.RELEASED)
