"""Connections between nodes: one with each peer, whichever side called.

The connections are those of all systems (`joinproto/net/tcp.py`).  A question that was not answered
is asked once more after its connection broke; a node that cannot be reached is reported as silent.
A peer that sends nothing for `silence` seconds counts as lost, even if its connection seems to be
open.  A node that is busy with its broker answers late, and is not lost.

Source: Clusterer, U7; the monitors of RabbitMQ's Clusterer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Annotated, Any

import anyio
from attrs import Factory, define, field, frozen

from joinproto.apps.clusterer import wire
from joinproto.apps.clusterer.channel import ANY, CLUSTER, EARLIER, VERSIONS
from joinproto.apps.clusterer.wire import Hello
from joinproto.clusterer.messages import QUESTION_OF, Question, token_of
from joinproto.clusterer.reading import Release
from joinproto.codec.json_text import ascii_line
from joinproto.codec.marks import Duration
from joinproto.errors import UsageProblem
from joinproto.host.failures import only_one
from joinproto.host.ports import Came, Channel, Down, Item, Up
from joinproto.net.addresses import EVERYWHERE, Address
from joinproto.net.direct import current_time
from joinproto.net.door import Proved
from joinproto.net.link import CLOSED, DirectInbox
from joinproto.net.network import Network as Mesh
from joinproto.net.pipes import RECEIVE_BYTES
from joinproto.net.refused import Refused, one_line
from joinproto.net.tcp import TcpTransport
from joinproto.net.tls import TlsFiles

# -- operators who call (U7) -----------------------------------------------------------------------

BODIES_MAX = 16
"""The most requests that may wait; with more, the connection counts as ended."""


@define(eq=False)
class Caller:
    """An operator's connection, with requests and answers in one order.

    `has_gone`: the connection has ended, so no answer arrives.
    """

    guest: Proved
    has_gone: bool = False
    _bodies: asyncio.Queue[bytes | Exception] = field(factory=asyncio.Queue)

    def __attrs_post_init__(self) -> None:
        self._queue(self.guest.left)

    async def hear(self) -> None:
        """Read until the connection ends; `body` raises for a bad frame."""
        end: Exception = anyio.EndOfStream()
        try:
            while self._bodies.qsize() < BODIES_MAX:
                data = await self.guest.stream.receive(RECEIVE_BYTES)
                self._queue(self.guest.session.feed(data))
        except CLOSED:
            pass
        except Refused as refused:
            end = refused
        self.has_gone = True
        self._bodies.put_nowait(end)

    async def body(self) -> bytes:
        """Return the next request; raises `anyio.EndOfStream`, `Refused`."""
        found = await self._bodies.get()
        if isinstance(found, Exception):
            raise found
        return found

    async def say(self, body: bytes) -> None:
        await self.guest.stream.send(self.guest.session.seal(body))

    def _queue(self, bodies: Iterable[bytes]) -> None:
        for body in bodies:
            self._bodies.put_nowait(body)


log = logging.getLogger("joinproto.clusterer")

OPERATOR_SECONDS = 60.0
OPERATORS_MAX = 256
PING = ascii_line({"kind": "ping"})
Operator = Callable[[Mapping[str, Any], Callable[[], bool]], Any]


@frozen(kw_only=True)
class Timing:
    """Times, in seconds."""

    poll: Annotated[Duration, "time between two rounds of a waiting node"] = 0.5
    poke: Annotated[Duration, "time between two checks for absent members"] = 2.0
    retry: Annotated[Duration, "time until a failed boot is tried again"] = 5.0
    heartbeat: Annotated[Duration, "time between two heartbeats"] = 1.0
    silence: Annotated[Duration, "time after which a silent peer counts as lost"] = 5.0
    stop: Annotated[Duration, "time after which a stopping node ends, even if a call hangs"] = 300.0


@frozen(kw_only=True)
class MessageReceiver:
    """Callbacks into the host: a message, an undelivered message, the end of a connection, an
    operator's request or its cancellation, an unexpected error.
    """

    message: Callable[[str, Any], None]
    lost: Callable[[str, Any], None]
    down: Callable[[str], None]
    operator: Operator
    broke: Callable[[BaseException], None]


@define(eq=False)
class Peer:
    """Another node.  `unanswered`: open questions, each with how often it was sent.

    `has_greeted`: the node has sent its hello on the present connection.
    `run`: the run of the node's process, "" before the first hello.
    """

    name: str
    address: Address | None = None
    is_connected: bool = False
    has_greeted: bool = False
    outbox: list[Any] = Factory(list)
    unanswered: dict[tuple[type, int], tuple[Any, int]] = Factory(dict)
    calling: asyncio.Task[None] | None = None
    run: str = ""


@define
class Network:
    """All connections of one node."""

    me: Hello
    release: Release
    addresses: Mapping[str, Address]
    timing: Timing
    heard: MessageReceiver
    secret: bytes = field(default=b"", repr=False)
    tls: TlsFiles | None = None
    peers: dict[str, Peer] = Factory(dict)
    _transport: TcpTransport | None = None
    _tasks: set[asyncio.Task[None]] = Factory(set)
    _operators: int = 0
    _closing: bool = False

    # -- towards others ----------------------------------------------------------------------

    def peer(self, name: str) -> Peer:
        """Return the state of a peer; make it if there is none."""
        if name not in self.peers:
            self.peers[name] = Peer(name, self.addresses.get(name))
        return self.peers[name]

    def send(self, to: str, content: Any) -> None:
        """Send a message, after connecting if necessary.

        `heard.lost` is called later if the node cannot be reached.
        """
        if self._closing:
            return
        peer = self.peer(to)
        if isinstance(content, Question):
            peer.unanswered[type(content), token_of(content)] = (content, 1)
        peer.outbox.append(content)
        self._flush(peer)

    def reaches(self, name: str) -> bool:
        """Return whether there is a connection with this node."""
        return name in self.peers and self.peers[name].is_connected

    def _flush(self, peer: Peer) -> None:
        if not peer.is_connected:
            if peer.calling is None:
                peer.calling = self._spawn(self._call(peer))
            return
        for content in peer.outbox:
            self._say(peer.name, wire.put(content))
        peer.outbox.clear()

    def _say(self, to: str, body: bytes) -> None:
        if self._transport is not None:
            self._transport.send(to, Channel.HOST, body)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Report an unexpected error of a task, so that the node ends and does not hang."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.heard.broke(error)

    async def _call(self, peer: Peer) -> None:
        reached = False
        try:
            if self._transport is not None and peer.address is not None:
                reached = await self._transport.reach(peer.name, peer.address)
            elif self._transport is not None:
                why = "no address of this node is known"
                self._transport.refusals.record(current_time(), peer.name, why)
        finally:
            peer.calling = None
        if not reached and not peer.is_connected:
            self._gone(peer)

    def _gone(self, peer: Peer) -> None:
        """Report messages and questions for a node that cannot be reached as lost."""
        asked = [content for content, _ in peer.unanswered.values()]
        rest = [one for one in peer.outbox if not isinstance(one, Question)]
        peer.outbox.clear()
        peer.unanswered.clear()
        for content in (*asked, *rest):
            self.heard.lost(peer.name, content)
        self.heard.down(peer.name)

    # -- events of connections -----------------------------------------------------------------

    def _take(self, item: Item) -> None:
        match item:
            case Up(name):
                peer = self.peer(name)
                peer.is_connected, peer.has_greeted = True, False
                self._say(name, wire.hello(self.me))
                self._flush(peer)
            case Came(name, _, body):
                self._came(self.peer(name), body)
            case Down(name):
                peer = self.peer(name)
                peer.is_connected = peer.has_greeted = False
                if not self._closing:
                    self._lost_connection(peer)

    def _came(self, peer: Peer, body: bytes) -> None:
        try:
            if not peer.has_greeted:
                self._met(peer, wire.hello_of(body, self.release))
            elif body != PING:
                content = wire.taken(body, self.release)
                asks = QUESTION_OF.get(type(content))
                if asks is not None:
                    peer.unanswered.pop((asks, token_of(content)), None)
                self.heard.message(peer.name, content)
        except Refused as error:
            self._say(peer.name, wire.refusal(str(error)))
            if self._transport is not None:
                self._transport.drop(peer.name, str(error))

    def _met(self, peer: Peer, said: Hello) -> None:
        if said.node != peer.name:
            raise Refused(f"{peer.name} says that it is {one_line(str(said.node))}")
        if peer.run and said.run != peer.run:
            self.heard.down(peer.name)  # the node was restarted since the last hello
        peer.run, peer.has_greeted = said.run, True
        if peer.address is None and said.listen is not None and self._transport is not None:
            with suppress(UsageProblem):
                peer.address = _address_of(said.listen, self._transport.host_of(peer.name))

    def _lost_connection(self, peer: Peer) -> None:
        """Ask open questions once more on another connection; if asked twice, report silence."""
        self.heard.down(peer.name)
        for key, (content, sent) in list(peer.unanswered.items()):
            if sent > 1:
                del peer.unanswered[key]
                self.heard.lost(peer.name, content)
            elif content not in peer.outbox:
                peer.unanswered[key] = (content, sent + 1)
                peer.outbox.append(content)
        if peer.outbox:
            self._flush(peer)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self.timing.heartbeat)
            for name, peer in self.peers.items():
                if peer.is_connected:
                    self._say(name, PING)

    # -- the port ----------------------------------------------------------------------------

    async def listen(self, listen: Address) -> int:
        """Open the port, and return its number; raises `EnvironmentProblem`."""
        mesh = Mesh(
            member=str(self.me.node),
            cluster_name=CLUSTER,
            electors=frozenset(),
            listen=listen,
            addresses={},
            silence=self.timing.silence,
            secret=self.secret,
            tls=self.tls,
            is_insecure=True,
            versions=VERSIONS,
            earlier=EARLIER,
            both_call=True,
            aliases=frozenset({ANY}),
        )
        self._transport = transport = TcpTransport(mesh, self._guest)
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        running = self._spawn(
            transport.run(DirectInbox(self._take), task_status=_PortOpened(opened))
        )
        await asyncio.wait((opened, running), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running
        self._spawn(self._beat())
        return transport.port

    async def _guest(self, guest: Proved) -> None:
        """Answer an operator's requests, one after the other."""
        if self._operators >= OPERATORS_MAX:
            return
        self._operators += 1
        caller = Caller(guest)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(caller.hear)
                try:
                    wire.hello_of(await _request(caller), self.release)
                    await caller.say(wire.hello(self.me))
                    while True:
                        asked = wire.unpacked(await _request(caller))
                        # There is no time limit: the service may need long, and its action would
                        # be performed although the caller no longer waits.
                        answer = await self.heard.operator(asked, lambda: caller.has_gone)
                        await caller.say(ascii_line(answer))
                finally:
                    tasks.cancel_scope.cancel()
        except* Refused as group:
            log.warning("an operator is refused: %s", only_one(group))
            with suppress(*CLOSED):
                await caller.say(wire.refusal(str(only_one(group))))
        except* TimeoutError:
            log.warning("an operator sent no whole request within %g s", OPERATOR_SECONDS)
        except* CLOSED:
            pass
        finally:
            caller.has_gone = True
            self._operators -= 1

    async def close(self) -> None:
        """End all connections when the peers have all messages, or after a second."""
        self._closing = True
        if self._transport is not None:
            await self._transport.farewell()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _request(caller: Caller) -> bytes:
    """Return an operator's next request; raises `TimeoutError` as well as `Caller.body`'s."""
    with anyio.fail_after(OPERATOR_SECONDS):
        return await caller.body()


class _PortOpened:
    """Sets a future when the transport reports that its port is open."""

    def __init__(self, opened: asyncio.Future[None]) -> None:
        self._opened = opened

    def started(self, value: None = None) -> None:
        self._opened.set_result(value)


def _address_of(said: str, called_from: str) -> Address:
    """Return a peer's address; if it listens everywhere, with the host from which it called."""
    at = Address.parse(said)
    return Address(called_from, at.port) if at.host in EVERYWHERE and called_from else at
