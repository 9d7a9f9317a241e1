"""TCP between nodes: one connection with each, whoever called, and silence where there is none.

What was asked and not answered is asked once more after a connection broke; where nobody can be
reached, that is told as silence.  A peer of which nothing is heard for `silence` seconds is lost,
however the connection looks.  Who is busy with its broker answers late, and is not lost.

Source: Clusterer, U7; the real one's monitors.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from attrs import Factory, define, field, frozen

from joinproto.apps.clusterer import wire
from joinproto.apps.clusterer.channel import Channel, called, calling
from joinproto.apps.clusterer.wire import AskService, Hello, ServiceTold
from joinproto.clusterer.messages import (
    AskAwaited,
    AskLock,
    AskStatus,
    Awaited,
    Locked,
    Told,
)
from joinproto.clusterer.reading import Release
from joinproto.durable.filesystem import reason
from joinproto.errors import EnvironmentProblem, UsageProblem
from joinproto.net.addresses import EVERYWHERE, Address
from joinproto.net.lines import one_line
from joinproto.net.refused import Refusals, Refused

log = logging.getLogger("joinproto.clusterer")

HELLO_SECONDS = 5.0
OPERATOR_SECONDS = 60.0
SESSIONS_MAX = 256
PING = wire.packed({"kind": "ping"})
Operator = Callable[[Mapping[str, Any], Callable[[], bool]], Any]


@frozen(kw_only=True)
class Timing:
    """Seconds: between two rounds, pokes of who is away, boots that failed, signs of life; until
    a peer counts as lost; until a node that was told to stop ends, whatever hangs."""

    poll: float = 0.5
    poke: float = 2.0
    retry: float = 5.0
    heartbeat: float = 1.0
    silence: float = 5.0
    stop: float = 300.0


@frozen(kw_only=True)
class Heard:
    """What the host is called back with: a message, a message that nobody heard, an end; what an
    operator asks, and whether he has gone; an error that nobody expected."""

    message: Callable[[str, Any], None]
    lost: Callable[[str, Any], None]
    down: Callable[[str], None]
    operator: Operator
    broke: Callable[[BaseException], None]


@define(eq=False)
class Session:
    """One connection with a peer that has said who it is."""

    channel: Channel
    heard_at: float


@define(eq=False)
class Peer:
    """Another node.  `unanswered`: what was asked of it, and how often it was sent."""

    name: str
    address: Address | None = None
    sessions: list[Session] = Factory(list)
    outbox: list[Any] = Factory(list)
    unanswered: dict[tuple[type, int], tuple[Any, int]] = Factory(dict)
    dialing: asyncio.Task[None] | None = None
    run: str = ""


_ANSWER_OF: Mapping[type, type] = {
    Told: AskStatus,
    Awaited: AskAwaited,
    Locked: AskLock,
    ServiceTold: AskService,
}


def _number(content: Any) -> int:
    number = getattr(content, "token", None)
    return int(content.number if number is None else number)


@define
class Network:
    """All connections of one node."""

    me: Hello
    release: Release
    addresses: Mapping[str, Address]
    timing: Timing
    heard: Heard
    secret: bytes = field(default=b"", repr=False)
    peers: dict[str, Peer] = Factory(dict)
    refusals: Refusals = field(factory=lambda: Refusals(log))
    _tasks: set[asyncio.Task[None]] = Factory(set)
    _unproved: int = 0
    _open: int = 0
    _closing: bool = False

    # -- towards others ----------------------------------------------------------------------

    def peer(self, name: str) -> Peer:
        """Return what is known of a node."""
        if name not in self.peers:
            self.peers[name] = Peer(name, self.addresses.get(name))
        return self.peers[name]

    def send(self, to: str, content: Any) -> None:
        """Send, or call; `heard.lost` tells later if nobody can be reached."""
        if self._closing:
            return
        peer = self.peer(to)
        if type(content) in _ANSWER_OF.values():
            peer.unanswered[type(content), _number(content)] = (content, 1)
        peer.outbox.append(content)
        self._flush(peer)

    def reaches(self, name: str) -> bool:
        """Say whether there is a connection."""
        return name in self.peers and bool(self.peers[name].sessions)

    def _flush(self, peer: Peer) -> None:
        if not peer.sessions:
            if peer.dialing is None:
                peer.dialing = self._spawn(self._dial(peer))
            return
        channel = peer.sessions[0].channel
        for content in peer.outbox:
            channel.send(wire.put(content))
        peer.outbox.clear()

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """What a call raises that is not expected ends the node, which would else wait for ever."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.heard.broke(error)

    async def _dial(self, peer: Peer) -> None:
        try:
            reached = await self._called(peer)
        finally:
            peer.dialing = None
        if reached is None:
            if peer.sessions:
                self._flush(peer)
            else:
                self._gone(peer)
            return
        await self._session(peer, *reached)

    async def _called(self, peer: Peer) -> tuple[Channel, Hello] | None:
        if peer.address is None:
            self.refusals.say(time.monotonic(), peer.name, "no address of it is known")
            return None
        writer = None
        try:
            async with asyncio.timeout(self.timing.silence):
                reader, writer = await asyncio.open_connection(peer.address.host, peer.address.port)
                me = str(self.me.node)
                channel = await calling(reader, writer, me, self.secret, peer.name)
                channel.send(wire.hello(self.me))
                said = wire.hello_of(await channel.body(), self.release)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, UnicodeError) as error:
            # A host that is no name at all is a UnicodeError.
            log.debug("%s at %s: %s", peer.name, peer.address, str(error) or type(error).__name__)
        except Refused as error:
            self.refusals.say(time.monotonic(), f"{peer.name} at {peer.address}", str(error))
        else:
            if said.node == peer.name:
                return channel, said
            other = "an operator" if said.node is None else said.node
            self.refusals.say(
                time.monotonic(), f"{peer.name} at {peer.address}", f"{other} answers there"
            )
        if writer is not None:
            writer.close()
        return None

    def _gone(self, peer: Peer) -> None:
        """Nobody can be reached there: what was said and asked is lost."""
        asked = [content for content, _ in peer.unanswered.values()]
        rest = [one for one in peer.outbox if type(one) not in _ANSWER_OF.values()]
        peer.outbox.clear()
        peer.unanswered.clear()
        for content in (*asked, *rest):
            self.heard.lost(peer.name, content)
        self.heard.down(peer.name)

    # -- a session ---------------------------------------------------------------------------

    async def _session(self, peer: Peer, channel: Channel, said: Hello) -> None:
        """Read until the connection ends."""
        if peer.run and said.run != peer.run:
            self.heard.down(peer.name)  # it was started anew meanwhile
        peer.run = said.run
        if peer.address is None and said.listen is not None:
            with suppress(UsageProblem):
                peer.address = _reached(Address.parse(said.listen), channel)
        session = Session(channel, time.monotonic())
        peer.sessions.append(session)
        log.info("connected to %s", peer.name)
        self._flush(peer)
        beats = self._spawn(self._beat(peer, session))
        why = "the connection ended"
        try:
            while True:
                body = await channel.body()
                session.heard_at = time.monotonic()
                if body == PING:
                    continue
                content = wire.taken(body, self.release)
                asks = _ANSWER_OF.get(type(content))
                if asks is not None:
                    peer.unanswered.pop((asks, _number(content)), None)
                self.heard.message(peer.name, content)
        except (OSError, asyncio.IncompleteReadError):
            pass
        except Refused as error:
            why = str(error)
            self.refusals.say(time.monotonic(), peer.name, why)
        finally:
            beats.cancel()
            channel.writer.close()
            peer.sessions.remove(session)
            if not self._closing:
                log.info("lost %s: %s", peer.name, why)
                self._lost_session(peer)

    async def _beat(self, peer: Peer, session: Session) -> None:
        while True:
            await asyncio.sleep(self.timing.heartbeat)
            if time.monotonic() - session.heard_at > self.timing.silence:
                log.info("nothing was heard of %s for %g s", peer.name, self.timing.silence)
                session.channel.writer.transport.abort()
                return
            session.channel.send(PING)

    def _lost_session(self, peer: Peer) -> None:
        """What is not answered is asked once more, on another connection; then it is silence."""
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

    # -- the port ----------------------------------------------------------------------------

    async def listen(self, listen: Address) -> asyncio.Server:
        """Return the open port; raises `EnvironmentProblem`."""
        try:
            return await asyncio.start_server(self._accepted, listen.host, listen.port)
        except OSError as error:
            raise EnvironmentProblem(
                f"listen {listen}: {reason(error)}",
                next="stop what has the port, or listen on another one",
            ) from error

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        where = writer.get_extra_info("peername") or ("?", 0)
        whom = f"{where[0]}:{where[1]}"
        self._open += 1
        channel = None
        try:
            channel, said = await self._greeted(reader, writer)
            if said.node != (None if channel.is_operators else channel.peer):
                raise Refused(f"{channel.peer} says that it is {one_line(str(said.node))}")
            channel.send(wire.hello(self.me))
            if said.node is None:
                await self._operator(channel)
            else:
                await self._session(self.peer(said.node), channel, said)
        except (OSError, asyncio.IncompleteReadError):
            pass
        except TimeoutError:
            what, seconds = (
                ("hello", HELLO_SECONDS) if channel is None else ("request", OPERATOR_SECONDS)
            )
            self.refusals.say(time.monotonic(), whom, f"no whole {what} within {seconds:g} s")
        except Refused as error:
            self.refusals.say(time.monotonic(), whom, str(error))
            if channel is not None:
                with suppress(OSError):
                    channel.send(wire.refusal(str(error)))
        finally:
            self._open -= 1
            writer.close()

    async def _greeted(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> tuple[Channel, Hello]:
        """Return the connection of who has proved who it is; those that have not, count apart."""
        if max(self._unproved, self._open - self._unproved) > SESSIONS_MAX:
            raise Refused(f"more than {SESSIONS_MAX} connections")
        self._unproved += 1
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                channel = await called(reader, writer, str(self.me.node), self.secret)
                return channel, wire.hello_of(await channel.body(), self.release)
        finally:
            self._unproved -= 1

    async def _operator(self, channel: Channel) -> None:
        """Answer one request after the other."""
        while True:
            async with asyncio.timeout(OPERATOR_SECONDS):
                asked = wire.unpacked(await channel.body())
            channel.send(wire.packed(await self.heard.operator(asked, channel.reader.at_eof)))
            await channel.writer.drain()

    async def close(self) -> None:
        """End all connections."""
        self._closing = True
        for peer in self.peers.values():
            for session in peer.sessions:
                writer = session.channel.writer
                with suppress(OSError, TimeoutError):
                    async with asyncio.timeout(1):
                        await writer.drain()
                writer.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _reached(said: Address, channel: Channel) -> Address:
    """Return where a peer answers; who listens everywhere does so where it called from."""
    if said.host not in EVERYWHERE:
        return said
    where = channel.writer.get_extra_info("peername")
    return Address(where[0], said.port) if where else said
