"""A connection whose two sides have proved that they know one secret; then every frame is tagged.

It is the session of `joinproto/net/session.py`.  An operator does not know the name of the
node that he calls: he calls `ANY`.

Source: Clusterer, U7; running, "Security".
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress

from attrs import frozen

from joinproto.apps.clusterer.wire import FRAME_BYTES_MAX
from joinproto.net.framing import LENGTH_BYTES, framed
from joinproto.net.refused import Refused
from joinproto.net.session import GREETING_BYTES_MAX, TAG_BYTES, Identity, Session

CLUSTER = "joinproto-clusterer"
VERSIONS = (1, 1)
ANY = "*"
OPERATOR = "operator"


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


@frozen
class Channel:
    """One connection.  `peer`: who has proved that it is this one; `called`: by which name."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    session: Session

    @property
    def peer(self) -> str:
        return self.session.peer or ""

    @property
    def is_operators(self) -> bool:
        return self.session.me.member == ANY

    def send(self, body: bytes) -> None:
        """Send one body."""
        self.writer.write(self.session.seal(body))

    async def body(self) -> bytes:
        """Return the next body; raises `Refused`, or as the stream does."""
        return fed(self.session, await _frame(self.reader)) or b""


async def called(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, me: str, secret: bytes
) -> Channel:
    """Return the connection of whoever calls; raises `Refused`, or as the stream does."""
    first = await _frame(reader, GREETING_BYTES_MAX)
    try:
        said = json.loads(first)
    except (ValueError, RecursionError):
        raise Refused("a greeting that is not JSON") from None
    to_any = isinstance(said, dict) and said.get("to") == ANY
    session = session_of(ANY if to_any else me, secret, None)
    return await _proved(Channel(reader, writer, session), first)


async def calling(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, me: str, secret: bytes, to: str
) -> Channel:
    """Return the connection with the node that was called; raises as `called` does."""
    return await _proved(Channel(reader, writer, session_of(me, secret, to)), None)


async def _proved(channel: Channel, frame: bytes | None) -> Channel:
    session, writer = channel.session, channel.writer
    try:
        if frame is not None:
            fed(session, frame)
        while session.peer is None:
            writer.write(session.take_out())
            fed(session, await _frame(channel.reader, GREETING_BYTES_MAX))
    finally:
        with suppress(OSError):
            writer.write(session.take_out())
    return channel


async def _frame(reader: asyncio.StreamReader, limit: int = FRAME_BYTES_MAX + TAG_BYTES) -> bytes:
    return await reader.readexactly(length_of(await reader.readexactly(LENGTH_BYTES), limit))
