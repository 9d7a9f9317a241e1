"""An operator's connection with a node: both prove that they know one secret, or show certificates.

An operator does not know the name of the node that he calls: he calls `ANY`.

Source: Clusterer, U7; running, "Security".
"""

from __future__ import annotations

from collections import deque

import anyio
from attrs import define, field

from joinproto.apps.clusterer.wire import FRAME_BYTES_MAX
from joinproto.net.door import Proved
from joinproto.net.framing import framed
from joinproto.net.link import CLOSED
from joinproto.net.pipes import RECEIVE_BYTES
from joinproto.net.refused import Refused
from joinproto.net.session import TAG_BYTES, Identity, Session

CLUSTER = "joinproto-clusterer"
VERSIONS = (2, 2)
"""Of connections.  1: the Clusterer's own ones, of its first releases."""
EARLIER = "the first version of connections between nodes is not spoken: upgrade all nodes at once"
ANY = "*"
OPERATOR = "operator"
BODIES_MAX = 16
"""Requests that wait; an operator who sends more waits for the answers."""


def session_of(me: str, secret: bytes, dials: str | None) -> Session:
    """Return a session that has not begun."""
    identity = Identity(member=me, cluster_name=CLUSTER, secret=secret, versions=VERSIONS)
    return Session(identity, dials)


def fed(session: Session, frame: bytes) -> bytes | None:
    """Return the body of a frame, None of a greeting; raises `Refused`."""
    return next(iter(list(session.feed(framed(frame)))), None)


def length_of(head: bytes, limit: int = FRAME_BYTES_MAX + TAG_BYTES) -> int:
    """Return how long the frame behind these bytes is; raises `Refused`."""
    length = int.from_bytes(head, "big")
    if not 0 < length <= limit:
        raise Refused(f"a frame of {length} bytes, expected 1 to {limit}")
    return length


@define(eq=False)
class Caller:
    """An operator who has called.  `has_gone`: his side of the connection has ended."""

    guest: Proved
    has_gone: bool = False
    _bodies: deque[bytes] = field(factory=deque)
    _changed: anyio.Event = field(factory=anyio.Event)

    def __attrs_post_init__(self) -> None:
        self._bodies.extend(self.guest.left)

    async def hear(self) -> None:
        """Read until the connection ends; raises `Refused`."""
        try:
            while len(self._bodies) < BODIES_MAX:
                data = await self.guest.stream.receive(RECEIVE_BYTES)
                self._bodies.extend(self.guest.session.feed(data))
                self._tell()
        except CLOSED:
            pass
        self.has_gone = True
        self._tell()

    async def body(self) -> bytes:
        """Return the next request; raises `anyio.EndOfStream`."""
        while not self._bodies:
            if self.has_gone:
                raise anyio.EndOfStream
            await self._changed.wait()
        return self._bodies.popleft()

    async def say(self, body: bytes) -> None:
        await self.guest.stream.send(self.guest.session.seal(body))

    def _tell(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
