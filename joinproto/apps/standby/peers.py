"""Sessions with other brokers: one TCP connection for each pair, the lesser name calls.

A frame is a length, a line of JSON, and bytes behind it: a message's body is never encoded twice.
It is no AMQP link, because what goes over it is no message of a client: roles, generations and
identities, in one order with the messages themselves, so that a backup does one thing after the
other, as the primary did.

Source: hot standby, H2, H5; `joinproto/net/framing.py`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Protocol

from attrs import define, field, frozen

from joinproto.apps.standby.settings import Timing
from joinproto.errors import EnvironmentProblem, JoinprotoError
from joinproto.net.addresses import Address, dials
from joinproto.net.framing import Reader, framed
from joinproto.net.refused import Refused

log = logging.getLogger(__name__)

VERSION = 1
FRAME_BYTES_MAX = 4 << 20
PIECE_BYTES = 1 << 20
WHOLE_BYTES_MAX = 1 << 30
UNSENT_BYTES_MAX = 256 << 20
"""A broker that leaves so much unread is left: it comes back, and catches up."""
MORE, LAST = b"+", b"."
"""How a piece begins; a frame that is whole begins with a brace."""
HELLO_SECONDS = 5.0
STRANGERS_MAX = 50
"""Connections that have not said who they are: of more, the oldest one is ended."""
BEAT = "beat"
HELLO = "hello"


@frozen
class Envelope:
    """One frame.  `facts`: its line of JSON; `body`: the bytes behind it."""

    kind: str
    facts: Mapping[str, Any]
    body: bytes = b""

    def frames(self) -> Iterator[bytes]:
        """Yield it as one frame, or cut into pieces that are."""
        line = json.dumps({"kind": self.kind, **self.facts}, separators=(",", ":")).encode()
        whole = line + b"\n" + self.body
        if len(whole) <= PIECE_BYTES:
            yield framed(whole)
            return
        if len(whole) > WHOLE_BYTES_MAX:
            raise Refused(f"{len(whole)} bytes to send at once, at most {WHOLE_BYTES_MAX} go")
        for at in range(0, len(whole), PIECE_BYTES):
            mark = LAST if at + PIECE_BYTES >= len(whole) else MORE
            yield framed(mark + whole[at : at + PIECE_BYTES])

    @classmethod
    def parse(cls, data: bytes) -> Envelope:
        """Return the frame; raises `Refused`."""
        line, newline, body = data.partition(b"\n")
        try:
            facts = json.loads(line)
            kind = facts.pop("kind")
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            raise Refused(f"not a frame of a broker: {line[:60]!r}") from None
        if not newline or not isinstance(kind, str):
            raise Refused(f"not a frame of a broker: {line[:60]!r}")
        return cls(kind, facts, body)


class Hears(Protocol):
    """Who is told what happens."""

    def met(self, name: str, public: Address) -> None:
        """There is a session with this broker, whose clients call it there."""

    def heard(self, name: str, envelope: Envelope) -> None:
        """It said something."""

    def parted(self, name: str) -> None:
        """The session is gone."""


@frozen(kw_only=True)
class Me:
    """What a broker says of itself at first."""

    broker: str
    cluster: str
    public: Address


@define(eq=False)
class Peers:
    """All sessions of a broker."""

    me: Me
    brokers: Mapping[str, Address]
    timing: Timing
    hears: Hears
    sessions: dict[str, Session] = field(factory=dict)
    _strangers: dict[Session, None] = field(factory=dict)

    async def listen(self) -> asyncio.Server:
        """Return the open port; raises `EnvironmentProblem`."""
        at = self.brokers[self.me.broker]
        try:
            return await asyncio.get_running_loop().create_server(
                lambda: Session(self), at.host, at.port, backlog=STRANGERS_MAX
            )
        except OSError as error:
            raise EnvironmentProblem(
                f"peers {at}: {error.strerror or error}",
                next="look who has the port; or give this broker another one under [brokers]",
            ) from error

    async def call(self) -> None:
        """Call those that this broker calls, again and again, until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for name, at in self.brokers.items():
                if name != self.me.broker and dials(self.me.broker, name, self.brokers):
                    tasks.create_task(self._call(name, at))

    async def _call(self, name: str, at: Address) -> None:
        loop = asyncio.get_running_loop()
        while True:
            if name not in self.sessions:
                with suppress(OSError, TimeoutError):
                    async with asyncio.timeout(self.timing.silence):
                        _, session = await loop.create_connection(
                            lambda: Session(self, called=name), at.host, at.port
                        )
                    await session.ended.wait()
            await asyncio.sleep(self.timing.retry)

    def send(self, name: str, kind: str, facts: Mapping[str, Any], body: bytes = b"") -> bool:
        """Send a frame; return whether there is a session."""
        session = self.sessions.get(name)
        if session is None:
            return False
        session.send(Envelope(kind, facts, body))
        return True

    def unsent(self, name: str) -> int:
        """Return the bytes that the system has not taken yet."""
        session = self.sessions.get(name)
        return 0 if session is None else session.unsent

    def end(self, name: str) -> None:
        """End the session with a broker."""
        session = self.sessions.get(name)
        if session is not None:
            session.end("ended here")

    def came(self, session: Session) -> None:
        """Somebody has called, who has not said yet who it is."""
        self._strangers[session] = None
        if len(self._strangers) > STRANGERS_MAX:
            oldest = next(iter(self._strangers))
            self.known(oldest)
            oldest.end("too many have called")

    def known(self, session: Session) -> None:
        """It has said who it is, or is gone."""
        self._strangers.pop(session, None)

    def close(self) -> None:
        for session in list(self.sessions.values()):
            session.end("this broker ends")


@define(eq=False)
class Session(asyncio.Protocol):
    """One connection.  `called`: whom this broker called; "": it was called."""

    peers: Peers
    called: str = ""
    name: str = ""
    ended: asyncio.Event = field(factory=asyncio.Event)
    _reader: Reader = field(factory=lambda: Reader(FRAME_BYTES_MAX))
    _pieces: bytearray = field(factory=bytearray)
    _wire: asyncio.Transport | None = None
    _heard_at: float = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._wire = transport
        self._heard_at = self._now()
        if not self.called:
            self.peers.came(self)
        me = self.peers.me
        facts = {
            "version": VERSION,
            "broker": me.broker,
            "cluster": me.cluster,
            "public": str(me.public),
        }
        self.send(Envelope(HELLO, facts))
        self._beat()

    def data_received(self, data: bytes) -> None:
        self._heard_at = self._now()
        try:
            for body in self._reader.feed(data):
                if body[:1] not in (MORE, LAST):
                    self._take(Envelope.parse(body))
                    continue
                self._pieces += body[1:]
                if not self.name or len(self._pieces) > WHOLE_BYTES_MAX:
                    raise Refused(f"pieces of {len(self._pieces)} bytes")
                if body[:1] == LAST:
                    whole, self._pieces = bytes(self._pieces), bytearray()
                    self._take(Envelope.parse(whole))
        except (Refused, JoinprotoError) as refused:
            self.end(str(refused))

    def connection_lost(self, error: Exception | None) -> None:
        self._wire = None
        self.peers.known(self)
        self.ended.set()
        if self.name and self.peers.sessions.get(self.name) is self:
            del self.peers.sessions[self.name]
            log.info("no session with %s any more%s", self.name, f": {error}" if error else "")
            self.peers.hears.parted(self.name)

    def send(self, envelope: Envelope) -> None:
        if self._wire is None:
            return
        try:
            for frame in envelope.frames():
                self._wire.write(frame)
        except Refused as refused:
            self.end(str(refused))
            return
        if self.unsent > UNSENT_BYTES_MAX:
            self.end(f"{self.unsent} bytes are for it, and it does not take them")

    @property
    def unsent(self) -> int:
        return 0 if self._wire is None else self._wire.get_write_buffer_size()

    def end(self, why: str) -> None:
        """End it at once."""
        if self._wire is not None:
            log.info("session with %s: %s", self.name or self.called or "somebody", why)
            self._wire.abort()

    def _take(self, envelope: Envelope) -> None:
        if not self.name:
            self._greet(envelope)
        elif envelope.kind != BEAT and self._wire is not None:
            self.peers.hears.heard(self.name, envelope)

    def _greet(self, envelope: Envelope) -> None:
        me, facts = self.peers.me, envelope.facts
        if envelope.kind != HELLO or facts.get("version") != VERSION:
            raise Refused(f"{envelope.kind} of version {facts.get('version')}, expected {VERSION}")
        if facts.get("cluster") != me.cluster:
            raise Refused(f"of cluster {facts.get('cluster')!r}, this is {me.cluster!r}")
        name = str(facts.get("broker"))
        is_known = name in self.peers.brokers and name != me.broker
        if not is_known or (self.called and self.called != name):
            raise Refused(f"broker {name!r} is not expected there")
        public = Address.parse(str(facts.get("public")))
        before = self.peers.sessions.get(name)
        if before is not None:
            # It called again: it knows that the first one is gone.
            before.end("replaced by another one")
            before.connection_lost(None)
        self.name = name
        self.peers.known(self)
        self.peers.sessions[name] = self
        log.info("session with %s", name)
        self.peers.hears.met(name, public)

    def _beat(self) -> None:
        if self._wire is None:
            return
        limit = self.peers.timing.silence if self.name else HELLO_SECONDS
        if self._now() - self._heard_at > limit:
            self.end(f"silent for {limit:g} s")
            return
        if self.name:
            self.send(Envelope(BEAT, {}))
        asyncio.get_running_loop().call_later(self.peers.timing.heartbeat, self._beat)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
