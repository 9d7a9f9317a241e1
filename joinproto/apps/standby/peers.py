"""Sessions with other brokers: one connection for each pair, over the mesh of all systems.

Dialling, proofs of identity, TLS and the end of silent connections are in `joinproto/net/tcp.py`.
A frame is a line of JSON with bytes after it, so a client's message is never encoded twice.  A
session is not an AMQP link, because it also carries roles, generations and identities.  They have
one order with the messages, so that a backup does everything in the order of the primary.

Source: hot standby, H2, H5.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskStatus
from attrs import define, field, frozen

from joinproto.apps.standby.settings import Timing
from joinproto.errors import JoinprotoError
from joinproto.host.ports import Came, Channel, Down, Item, Up
from joinproto.net.addresses import Address
from joinproto.net.link import DirectInbox
from joinproto.net.network import Network
from joinproto.net.refused import Refused
from joinproto.net.tcp import TcpTransport

if TYPE_CHECKING:
    from joinproto.apps.standby.links import Links

log = logging.getLogger(__name__)

PIECE_BYTES = 1 << 20
WHOLE_BYTES_MAX = 1 << 30
MORE, LAST = b"+", b"."
"""The first byte of a piece; a frame that is not cut begins with a brace."""
BEAT = "beat"
HELLO = "hello"


@frozen
class Envelope:
    """One frame.  `facts`: its line of JSON without the kind; `body`: the bytes after the line."""

    kind: str
    facts: Mapping[str, Any]
    body: bytes = b""

    def pieces(self) -> Iterator[bytes]:
        """Yield the frame, cut into pieces if it is long; raises `Refused` if it is too long."""
        line = json.dumps({"kind": self.kind, **self.facts}, separators=(",", ":")).encode()
        whole = line + b"\n" + self.body
        if len(whole) <= PIECE_BYTES:
            yield whole
            return
        if len(whole) > WHOLE_BYTES_MAX:
            raise Refused(f"a frame of {len(whole)} bytes, expected at most {WHOLE_BYTES_MAX}")
        for at in range(0, len(whole), PIECE_BYTES):
            mark = LAST if at + PIECE_BYTES >= len(whole) else MORE
            yield mark + whole[at : at + PIECE_BYTES]

    @classmethod
    def parse(cls, data: bytes) -> Envelope:
        """Return the frame in these bytes; raises `Refused`."""
        line, newline, body = data.partition(b"\n")
        try:
            facts = json.loads(line)
            kind = facts.pop("kind")
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            raise Refused(f"not a frame of a broker: {line[:60]!r}") from None
        if not newline or not isinstance(kind, str):
            raise Refused(f"not a frame of a broker: {line[:60]!r}")
        return cls(kind, facts, body)


@define
class Session:
    """A session with another broker.

    `has_greeted`: the other broker has sent its hello; `is_over`: this side has ended the session.
    """

    has_greeted: bool = False
    is_over: bool = False
    _pieces: bytearray = field(factory=bytearray)

    def take(self, data: bytes) -> Envelope | None:
        """Return the frame that these bytes complete, or None; raises `Refused`."""
        if data[:1] not in (MORE, LAST):
            return Envelope.parse(data)
        self._pieces += data[1:]
        if not self.has_greeted or len(self._pieces) > WHOLE_BYTES_MAX:
            raise Refused(f"pieces of {len(self._pieces)} bytes in all, or before a hello")
        if data[:1] == MORE:
            return None
        whole, self._pieces = bytes(self._pieces), bytearray()
        return Envelope.parse(whole)


@define(eq=False)
class Peers:
    """All sessions of a broker.  `public`: its address for clients; `links`: gets all frames."""

    network: Network
    public: Address
    timing: Timing
    links: Links
    _all: dict[str, Session] = field(factory=dict)
    _transport: TcpTransport = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._transport = TcpTransport(self.network)

    @property
    def sessions(self) -> list[str]:
        """Return the names of the brokers with which there is a session."""
        return [name for name, one in self._all.items() if one.has_greeted]

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Listen and dial until cancelled; raises `EnvironmentProblem` if it cannot listen."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._transport.run, DirectInbox(self._take))
            task_status.started()
            while True:
                await anyio.sleep(self.timing.heartbeat)
                for name in self.sessions:
                    self.send(name, BEAT, {})

    def send(self, name: str, kind: str, facts: Mapping[str, Any], body: bytes = b"") -> bool:
        """Send a frame; return whether there is a session with this broker."""
        session = self._all.get(name)
        if session is None or session.is_over:
            return False
        try:
            for piece in Envelope(kind, facts, body).pieces():
                self._transport.send(name, Channel.HOST, piece)
        except Refused as refused:
            self.end(name, str(refused))
        return True

    def unsent(self, name: str) -> int:
        """Return the bytes for this broker that the operating system has not taken yet."""
        return self._transport.unsent(name)

    def end(self, name: str, why: str = "ended here") -> None:
        """End the session with a broker, which may call again."""
        if (session := self._all.get(name)) is not None:
            session.is_over = True
            self._transport.end(name, why)

    def _take(self, item: Item) -> None:
        match item:
            case Up(peer):
                self._all[peer] = Session()
                self.send(peer, HELLO, {"public": str(self.public)})
            case Came(peer, _, data):
                self._came(peer, data)
            case Down(peer):
                session = self._all.pop(peer, None)
                if session is not None and session.has_greeted:
                    self.links.session_ended(peer)

    def _came(self, name: str, data: bytes) -> None:
        session = self._all.get(name)
        if session is None or session.is_over:
            return
        try:
            envelope = session.take(data)
            if envelope is None:
                return
            if not session.has_greeted:
                if envelope.kind != HELLO:
                    raise Refused(f"a frame {envelope.kind} before a hello")
                public = Address.parse(str(envelope.facts.get("public")))
                session.has_greeted = True
                self.links.session_began(name, public)
            elif envelope.kind != BEAT:
                self.links.received(name, envelope)
        except (Refused, JoinprotoError) as refused:
            session.is_over = True
            self._transport.drop(name, str(refused))
