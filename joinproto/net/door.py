"""Accepting peers: a peer must greet and prove its identity within a few seconds.

A stranger is a caller that has not proved its identity.  It costs little: a small greeting, a few
seconds, and one of `STRANGERS_MAX` places.  When all places are taken, the oldest stranger's
connection is closed.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from contextlib import suppress
from secrets import token_hex

import anyio
from anyio.abc import ByteStream
from anyio.streams.tls import TLSAttribute, TLSStream
from attrs import define, field, frozen

from joinproto.codec.json_form import filled
from joinproto.net.direct import current_time
from joinproto.net.link import CLOSED
from joinproto.net.network import Network
from joinproto.net.pipes import RECEIVE_BYTES
from joinproto.net.refused import Refusals, Refused
from joinproto.net.session import Identity, Session
from joinproto.net.tls import Contexts, names_in, why_no_tls

STRANGERS_MAX = 64
GREETING_SECONDS = 3.0
PUNISHED_SECONDS = 0.5


@frozen
class Proved:
    """A connection whose peer has proved its name.  `left`: bodies received with its proof."""

    peer: str
    session: Session
    stream: ByteStream
    left: list[bytes]


@define
class Door:
    """Lets in peers that prove their identity.

    `refusals`: records which peers were refused, and why.  `why_not_free`: the function of
    `Identity` with this name.
    """

    network: Network
    tls: Contexts | None
    refusals: Refusals
    why_not_free: Callable[[str, str], str]
    _run: str = field(factory=lambda: token_hex(16))
    _strangers: dict[anyio.CancelScope, None] = field(factory=dict)
    _punished: dict[str, float] = field(factory=dict)

    async def greet(
        self,
        stream: ByteStream,
        remote: str,
        dialled: str | None,
        stranger: anyio.CancelScope | None,
    ) -> Proved | None:
        """Return the proved peer, None if it is refused or the connection ends.

        `remote`: the peer and its address, for the log.  `dialled`: the member that this side has
        called, None if the peer has called.  `stranger`: the scope of a peer that has called,
        cancelled if too many others call before the peer is proved.
        """
        if stranger is not None:
            self._make_room()
            self._strangers[stranger] = None
        try:
            if self.tls is not None:
                stream = await self._wrapped(stream, self.tls, accepts=dialled is None)
            return await self._prove(stream, remote, dialled)
        except (*CLOSED, TimeoutError) as error:
            self.refuse(remote, why_no_tls(error))
            return None
        finally:
            if stranger is not None:
                self._strangers.pop(stranger, None)

    def refuse(self, remote: str, why: str) -> None:
        self.refusals.record(current_time(), remote, why)

    def punish(self, peer: str, why: str) -> None:
        """Record that a proved peer sent wrong bytes; refuse it for `PUNISHED_SECONDS`."""
        now = current_time()
        self.refuse(peer, why)
        self._punished = {name: end for name, end in self._punished.items() if end > now}
        self._punished[peer] = now + PUNISHED_SECONDS

    async def _wrapped(self, stream: ByteStream, tls: Contexts, *, accepts: bool) -> ByteStream:
        with anyio.fail_after(GREETING_SECONDS):
            return await TLSStream.wrap(
                stream,
                server_side=accepts,
                ssl_context=tls.context(accepts=accepts),
                standard_compatible=False,
            )

    def _make_room(self) -> None:
        while len(self._strangers) >= STRANGERS_MAX:
            oldest = next(iter(self._strangers))
            del self._strangers[oldest]
            oldest.cancel()
            self.refuse("a stranger", f"{STRANGERS_MAX} others came after it")

    async def _prove(self, stream: ByteStream, remote: str, dialled: str | None) -> Proved | None:
        session = Session(self._identity(stream), dialled)
        left: list[bytes] = []
        try:
            with anyio.fail_after(GREETING_SECONDS):
                if out := session.take_out():
                    await stream.send(out)
                while session.peer is None:
                    left += session.feed(await stream.receive(RECEIVE_BYTES))
                    if out := session.take_out():
                        await stream.send(out)
            return Proved(session.peer, session, stream, left)
        except Refused as error:
            self.refuse(remote, str(error))
            with suppress(*CLOSED), anyio.move_on_after(0.2):
                await stream.send(session.take_out())
        except TimeoutError:
            self.refuse(remote, f"no greeting within {GREETING_SECONDS:g} s")
        except CLOSED as error:
            if isinstance(error.__cause__, ssl.SSLError):
                self.refuse(remote, why_no_tls(error))
            elif dialled is None:
                self.refuse(remote, "it closed the connection before it greeted")
            elif self.tls is not None:
                self.refuse(
                    remote,
                    "it closed the connection after the TLS handshake; if it refuses our"
                    " certificate, its log says why",
                )
        return None

    def _identity(self, stream: ByteStream) -> Identity:
        network = self.network
        why_not_certified: Callable[[str], str] = lambda name: ""  # noqa: E731
        if network.tls is not None:
            certificate = stream.extra(TLSAttribute.peer_certificate, None)
            names = names_in(dict(certificate or {}))

            def why_not_certified(name: str) -> str:
                if name in names:
                    return ""
                named = ", ".join(sorted(names)) or "no peer"
                return f"it says that it is {name!r}, but its certificate names {named}"

        def why_refused(name: str) -> str:
            if current_time() < self._punished.get(name, 0.0):
                return f"{name!r} sent a message that no member sends, a moment ago"
            if network.only_these and name not in network.addresses:
                return f"{network.member} knows no member {name!r}"
            return why_not_certified(name)

        return filled(
            Identity,
            network,
            why_refused=why_refused,
            run=self._run,
            why_not_free=self.why_not_free,
        )
