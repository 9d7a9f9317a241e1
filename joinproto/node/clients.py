"""The port for clients: lines of text, one answer to each.

    append TEXT     ok SEQ                       once every member of the view has it on its disk
    read [FIRST]    SEQ TEXT ..., then end SEQ   all that was acknowledged before, and no more
    get SEQ         ok TEXT
    quit

An answer that begins with `no` says why not: `no not-active suspended` and the like.  Then
nothing was written.  A connection that ends without an answer leaves open whether it was.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream
from attrs import define, field

from joinproto.core.chain.messages import Closing
from joinproto.core.chain.view import Position, View
from joinproto.drivers.addresses import Address
from joinproto.drivers.cluster import Cluster
from joinproto.drivers.failures import NotActive
from joinproto.errors import EnvironmentProblem
from joinproto.log.entry import unpacked
from joinproto.log.journal import Frame
from joinproto.log.replicated import ReplicatedLog

log = logging.getLogger(__name__)

LINE_BYTES_MAX = 64 * 2**10
CLIENTS_MAX = 1_000
PENDING_MAX = 10_000
GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


@define
class Served:
    """The application of the log: it only says when clients may come."""

    why: str = "starting"
    opened_views: int = 0
    changed: Callable[[], None] = lambda: None
    acknowledged: int = 0

    def apply(self, frame: Frame) -> None:
        pass

    def opened(self, view: View) -> None:
        self.why = ""
        self.opened_views += 1
        self.changed()

    def closed(self, why: Closing) -> None:
        self.why = why.value
        self.changed()


@define
class ClientPort:
    """Serves clients of one node, as long as it is active."""

    cluster: Cluster
    log: ReplicatedLog
    served: Served
    count: int = 0
    _limit: anyio.CapacityLimiter = field(factory=lambda: anyio.CapacityLimiter(CLIENTS_MAX))

    async def run(self, address: Address) -> None:
        """Listen until cancelled."""
        try:
            listener = await anyio.create_tcp_listener(
                local_host=address.host, local_port=address.port
            )
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot listen for clients on {address}: {error.strerror or error}",
                next="look who else listens there, or configure another address",
            ) from error
        async with listener:
            await listener.serve(self._serve)

    async def _serve(self, stream: ByteStream) -> None:
        async with stream:
            try:
                if self.count >= CLIENTS_MAX:
                    await stream.send(b"no too-many-clients\n")
                    return
                self.count += 1
                try:
                    await self._talk(stream)
                finally:
                    self.count -= 1
            except GONE:
                pass  # it has left; a write of its own may be in the log

    async def _talk(self, stream: ByteStream) -> None:
        lines = BufferedByteReceiveStream(stream)
        while True:
            try:
                line = await lines.receive_until(b"\n", LINE_BYTES_MAX)
            except anyio.DelimiterNotFound:
                await stream.send(f"no line of more than {LINE_BYTES_MAX} bytes\n".encode())
                return
            except anyio.IncompleteRead:
                return
            word, _, rest = line.rstrip(b"\r").partition(b" ")
            if word == b"quit":
                return
            await stream.send(await self._answer(word, rest))

    async def _answer(self, word: bytes, rest: bytes) -> bytes:
        try:
            match word:
                case b"append":
                    return await self._append(rest)
                case b"read" | b"get":
                    number = int(rest) if rest.isdigit() and len(rest) < 19 else 1
                    return await self._read(max(1, number), one=word == b"get")
        except NotActive:
            return b"no not-active the member has ended\n"
        return b"no such command: append TEXT, read [FIRST], get SEQ, quit\n"

    async def _append(self, text: bytes) -> bytes:
        done = anyio.Event()
        at: list[Position] = []

        def acknowledged(position: Position) -> None:
            at.append(position)
            self.served.acknowledged += 1
            done.set()

        if not self.log.is_open or self.log.pending >= PENDING_MAX:
            return self._closed()
        # All that comes while a step lasts goes into the next one, and into one fsync.
        self.log.submit(text, acknowledged)
        self.cluster.nudge()
        await done.wait()
        return f"ok {at[0].seq}\n".encode()

    async def _read(self, first: int, *, one: bool) -> bytes:
        done = anyio.Event()
        upto: list[int] = []

        def committed(seq: int) -> None:
            upto.append(seq)
            done.set()

        def ask() -> bool:
            if self.log.is_open:
                self.log.barrier(committed)
            return self.log.is_open

        if not await self.cluster.call(ask):
            return self._closed()
        await done.wait()
        last = first if one else upto[0]
        frames = await self.cluster.call(lambda: self._frames(first, min(last, upto[0])))
        if frames is None:
            return self._closed()
        if one:
            found = unpacked(frames[0].data).body if frames else b""
            return b"ok %s\n" % found if frames else b"no such frame\n"
        shown = [b"%d %s\n" % (frame.seq, unpacked(frame.data).body) for frame in frames]
        return b"".join(shown) + b"end %d\n" % (frames[-1].seq if frames else upto[0])

    def _frames(self, first: int, last: int) -> list[Frame] | None:
        """Return frames for one answer; a client asks again from behind its end."""
        if not self.log.is_open:
            return None
        return [frame for frame in self.log.journal.read(first) if frame.seq <= last]

    def _closed(self) -> bytes:
        if self.log.is_open:
            return b"no too-many-pending\n"
        why = self.served.why or "opening"
        return f"no not-active {self.cluster.phase.value}: {why}\n".encode()
