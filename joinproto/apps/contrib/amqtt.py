"""An amqtt broker as a member: its port is open only while the member is active.

    broker = ClusteredBroker(broker_config, config=config, network=network, data=path)
    await broker.run()                 returns when the member has ended, or raises its error

or as the front of a node, with its signals, exit codes, `status`, `shutdown`, /health and /metrics:

    run_node(settings, lambda: ClusteredBroker(broker_config, ...))

Only retained messages are replicated.  Sessions, subscriptions, queued messages of QoS 1 and 2, and
messages that are not retained exist only in the broker that received them, and are lost with it.  A
client that connects to another member must subscribe again.  A message that is not retained reaches
only the subscribers of the broker that received it.

A publisher of a retained message with QoS 1 or 2 is answered when every member of the view has the
message on its disk; a subscriber at any member gets it.  When a view ends, clients are disconnected
before the member sends the others any message.

amqtt starts its listeners by itself and swallows exceptions of `on_broker_pre_start`, so this is
not a plugin: the broker is started when the log has opened, and shut down when the log has closed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from amqtt.adapters import ReaderAdapter
from amqtt.broker import Broker, RetainedApplicationMessage
from amqtt.contexts import Action

from joinproto.durable.journal.journal import FRAME_BYTES_MAX, Frame
from joinproto.host.cluster import Cluster
from joinproto.host.eventlog import EventLog, NoLog
from joinproto.host.failures import NotActive
from joinproto.host.ports import Host
from joinproto.join.config import Config
from joinproto.join.messages import Abort, Closing, Stop
from joinproto.join.view import Position, View
from joinproto.log.disk import open_disk
from joinproto.log.entry import Entry
from joinproto.log.replicated import ReplicatedLog
from joinproto.net.network import Network
from joinproto.net.tcp import TcpTransport

log = logging.getLogger(__name__)

PACKET_BYTES_MAX = FRAME_BYTES_MAX
"""The most bytes of a client's packet.  MQTT allows 256 MB, and amqtt reads a packet at once."""
SHUTDOWN_SECONDS = 10.0
END_SECONDS = 3.0


class PacketLimiter(ReaderAdapter):  # type: ignore[misc]  # amqtt ships no types
    """A client's stream, which ends at the first packet longer than `most` bytes.

    `end`: closes the client's connection, which amqtt would leave open.
    """

    def __init__(self, reader: Any, most: int, end: Callable[[], None]) -> None:
        self._reader = reader
        self._most = most
        self._end = end
        self._left = 0  # bytes of the current packet that are still to come
        self._digits: int | None = None  # bits of the length read so far; None between packets
        self._length = 0
        self.has_ended = False

    async def read(self, n: int = -1) -> bytes:
        if not self.has_ended and n <= self._most:
            data = bytes(await self._reader.read(n))
            if self._fits(data):
                return data
        if not self.has_ended:
            log.warning("a client is cut off: its packet is longer than %d bytes", self._most)
            self.has_ended = True
            self._end()
        return b""

    def feed_eof(self) -> None:
        self._reader.feed_eof()

    def _fits(self, data: bytes) -> bool:
        """Follow the packets in `data`; return whether no packet is longer than `most` bytes."""
        while data:
            if self._left:
                self._left, data = max(0, self._left - len(data)), data[self._left :]
                continue
            byte, data = data[0], data[1:]
            if self._digits is None:
                self._digits = self._length = 0  # this byte is the packet's kind
                continue
            self._length |= (byte & 0x7F) << self._digits
            self._digits += 7
            if not byte & 0x80:
                self._left, self._digits = self._length, None
                if self._left > self._most:
                    return False
        return True


class ClusteredBroker(Broker):  # type: ignore[misc]  # amqtt ships no types
    """An amqtt broker that serves while its member does.  For asyncio, as amqtt is."""

    def __init__(
        self,
        broker_config: Any,
        *,
        config: Config,
        network: Network,
        data: Path,
        events: EventLog | None = None,
        packet_bytes_max: int = PACKET_BYTES_MAX,
    ) -> None:
        """`packet_bytes_max`: a client that sends a longer packet is cut off."""
        super().__init__(broker_config)
        self.packet_bytes_max = packet_bytes_max
        self.member_config = config
        self.network = network
        self.data = data
        self.cluster: Cluster | None = None
        self._event_log = NoLog() if events is None else events
        self._log: ReplicatedLog | None = None
        self._retained: dict[str, tuple[bytes, int | None]] = {}
        self._committed: Counter[tuple[str | None, str, bytes]] = Counter()
        self._waiting: set[asyncio.Future[bool]] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._wanted = False
        self._is_started = False
        self.acknowledged = 0
        self.opened_views = 0

    @property
    def count(self) -> int:
        """Return how many clients are connected."""
        return len(self._sessions)

    # -- its life ------------------------------------------------------------------------------

    async def run(self) -> Stop | Abort | None:
        """Be a member until the member has ended; return the reason, or raise its error."""
        name, cluster_name = self.member_config.member, self.member_config.cluster_name
        disk = open_disk(self.data, name, cluster_name)
        try:
            log = ReplicatedLog(disk.journal, self)
            host = Host(
                store=disk.store,
                transport=TcpTransport(self.network),
                service=log,
                transfer=log,
                events=self._event_log,
            )
            async with Cluster(self.member_config, host, record=disk.record) as cluster:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self.serve, cluster, log)
                    ended = await cluster.wait_ended()
                    tasks.cancel_scope.cancel()
                return ended
        finally:
            disk.close()

    async def serve(self, cluster: Cluster, log: ReplicatedLog) -> None:
        """Serve clients while the log is open, until cancelled."""
        self.cluster, self._log = cluster, log
        try:
            await self._follow()
        finally:
            # The broker ends with the member, also after an abort.
            self._cut()
            await self._stop_broker(END_SECONDS)

    async def stop(self, *, timeout: float = 10.0) -> None:  # noqa: ASYNC109
        """Leave the cluster; `run` then returns."""
        if self.cluster is not None:
            await self.cluster.stop(timeout=timeout)

    async def _follow(self) -> None:
        """Start the broker when the log has opened, and shut it down when it has closed."""
        while True:
            self._changed.clear()
            if self._wanted and not self._is_started:
                self._is_started = True
                with anyio.CancelScope(shield=True):
                    await self.start()
                if self.is_closed:
                    self._cut()
            elif not self._wanted and self._is_started:
                await self._stop_broker(SHUTDOWN_SECONDS)
            else:
                await self._changed.wait()

    async def _stop_broker(self, seconds: float) -> None:
        if self._is_started:
            # If a shutdown of amqtt were cancelled half-way, it could not be repeated.
            with anyio.move_on_after(seconds, shield=True):
                await self.shutdown()
            self._is_started = False

    async def _start_listeners(self) -> None:
        # `start` has just cleared the retained messages; no client can connect yet.
        self._retained_messages.update(
            {topic: _message(topic, *kept) for topic, kept in self._retained.items()}
        )
        await super()._start_listeners()

    @property
    def is_closed(self) -> bool:
        """Return whether clients may not be served now."""
        return not self._wanted

    # -- the application of the log ------------------------------------------------------------

    def opened(self, view: View) -> None:
        self._wanted = True
        self.opened_views += 1
        self._changed.set()

    def closed(self, why: Closing) -> None:
        """Serve no client from here on: the port is shut and the connections are gone."""
        self._wanted = False
        self._cut()
        for answer in self._waiting:
            if not answer.done():
                answer.set_result(False)
        self._changed.set()

    def apply(self, frame: Frame) -> None:
        """Keep a retained message that is committed; an empty one removes it."""
        entry = Entry.of(frame.data)
        topic, qos, data = read_message(entry.body)
        if data:
            self._retained[topic] = (data, qos)
        else:
            self._retained.pop(topic, None)
        if not self._is_started:
            return
        if data:
            self._retained_messages[topic] = _message(topic, data, qos)
        else:
            self._retained_messages.pop(topic, None)
        if self._log is not None and entry.origin != self._log.origin:
            # The publisher is at another member; the subscribers of this broker get it from here.
            self._do(self.internal_message_broadcast(topic, data, qos))

    def _cut(self) -> None:
        for server in self._servers.values():
            if server.instance is not None:
                server.instance.close()
        for _, handler in list(self._sessions.values()):
            _abort(handler.writer)

    def _do(self, work: Awaitable[None]) -> None:
        async def done() -> None:
            await work

        task = asyncio.ensure_future(done())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    # -- clients -------------------------------------------------------------------------------

    async def _client_connected(self, listener_name: str, reader: Any, writer: Any) -> None:
        limited = PacketLimiter(reader, self.packet_bytes_max, lambda: _abort(writer))
        await super()._client_connected(listener_name, limited, writer)

    async def _handle_client_session(
        self,
        reader: Any,
        writer: Any,
        client_session: Any,
        handler: Any,
        server: Any,
        listener_name: str,
    ) -> None:
        """Serve one client; its retained messages are committed before they are acknowledged."""
        plain: Callable[[Any], Awaitable[None]] = handler.handle_publish

        async def handle_publish(packet: Any) -> None:
            topic, data = packet.topic_name, packet.data
            if not packet.retain_flag or topic is None or data is None or _is_odd(topic):
                await plain(packet)  # amqtt itself refuses odd topics
                return
            may = await self._topic_filtering(client_session, topic=topic, action=Action.PUBLISH)
            if may:
                if not await self.replicate(topic, bytes(data), packet.qos):
                    return  # not known to be committed, so the client gets no acknowledgement
                self._committed[client_session.client_id, topic, bytes(data)] += 1
            await plain(packet)

        handler.handle_publish = handle_publish
        await super()._handle_client_session(
            reader, writer, client_session, handler, server, listener_name
        )

    async def retain_message(
        self,
        source_session: Any,
        topic_name: str | None,
        data: bytes | bytearray | None,
        qos: int | None = None,
    ) -> None:
        """Retain the broker's own messages; `apply` retains those of clients."""
        if source_session is None or topic_name is None:
            await super().retain_message(source_session, topic_name, data, qos)
            return
        said = (source_session.client_id, topic_name, bytes(data or b""))
        if self._committed[said] > 0:
            self._committed[said] -= 1
            self._committed += Counter()  # drops entries whose count is 0
        else:
            await self.replicate(topic_name, said[2], qos)  # the will of a client that is gone

    async def replicate(self, topic: str, data: bytes, qos: int | None) -> bool:
        """Return True once all members of the view have the message, False if this is unknown."""
        body = write_message(topic, qos, data)
        if self.cluster is None or self._log is None or len(body) > FRAME_BYTES_MAX - 1_000:
            return False
        replicated = self._log
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def done(position: Position) -> None:
            self.acknowledged += 1
            if not answer.done():
                answer.set_result(True)

        def submit() -> bool:
            if replicated.is_open:
                replicated.submit(body, done)
            return replicated.is_open

        self._waiting.add(answer)
        try:
            return await self.cluster.call(submit) and await answer
        except NotActive:
            return False
        finally:
            self._waiting.discard(answer)


# -- messages in frames ------------------------------------------------------------------------


def write_message(topic: str, qos: int | None, data: bytes) -> bytes:
    """Return a retained message as the body of a frame."""
    return json.dumps([topic, qos]).encode() + b"\n" + data


def read_message(body: bytes) -> tuple[str, int | None, bytes]:
    """Return topic, QoS and data of a frame; raises `ValueError` if no such broker wrote it."""
    head, _, data = body.partition(b"\n")
    topic, qos = json.loads(head)
    return str(topic), qos, data


def _message(topic: str, data: bytes, qos: int | None) -> Any:
    return RetainedApplicationMessage(None, topic, data, qos)


def _abort(writer: Any) -> None:
    """End a client's connection at once, over TCP or a web socket."""
    stream = getattr(writer, "_writer", None) or getattr(writer, "_protocol", None)
    transport = getattr(stream, "transport", None)
    if transport is not None:
        transport.abort()


def _is_odd(topic: str) -> bool:
    return not topic or topic.startswith("$") or "#" in topic or "+" in topic
