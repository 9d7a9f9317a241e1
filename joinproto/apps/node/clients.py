"""The port for clients: lines of text, each with one answer.

    append TEXT     ok SEQ                       when the text is on every disk of the view
    read [FIRST]    SEQ TEXT ..., then end SEQ   every frame acknowledged before the read
    get SEQ         ok TEXT
    quit

If the first frames were dropped, `read` begins with the first frame that is left.  The answer to a
request for an earlier frame is `no dropped SEQ`, where SEQ is the last frame that was dropped.

An answer that begins with `no` gives a reason, such as `no not-active suspended`, and no text was
written.  The answer to a read is `no unconfirmed` while too many members have a version that cannot
confirm reads.  If a connection ends without an answer, the line may or may not have been written.

A slow client costs little: answers are made and sent in pieces, few at a time.  A client that does
not take a piece in time, does not end its line, or is silent for long is disconnected.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator

import anyio
from anyio.abc import TaskGroup
from attrs import define, field

from joinproto.apps.node.connection import PIECE_BYTES, Connection
from joinproto.apps.node.settings import Reads
from joinproto.durable.journal.journal import Frame
from joinproto.errors import EnvironmentProblem
from joinproto.host.cluster import Cluster
from joinproto.host.failures import NotActive
from joinproto.join.messages import Closing
from joinproto.join.view import Position, View
from joinproto.log.entry import Entry
from joinproto.log.replicated import ReplicatedLog
from joinproto.net.addresses import Address

log = logging.getLogger(__name__)

CLIENTS_MAX = 1_000
IDLE_SECONDS = 600.0
"""Seconds that a client may be silent."""
SLOW_SECONDS = 10.0
"""Seconds for a line to arrive, and for a piece of an answer to be accepted."""
READS_AT_ONCE = 4
"""Pieces of the journal that are read for clients at the same time."""
PENDING_MAX = 10_000
PENDING_BYTES_MAX = 16 * 2**20
NO_SUCH_COMMAND = b"no such command: append TEXT, read [FIRST], get SEQ, quit\n"
BUFFER_BYTES = 64 * 2**10
LOOK_SECONDS = 1.0
"""Seconds between two checks for slow clients."""


@define
class ClientPort:
    """The server for clients of `joinproto node`; serves them while the node is active.

    `why`: the reason why no client is served; "" while clients are served.
    """

    address: Address
    reads: Reads = Reads.CONFIRMED
    why: str = "starting"
    opened_views: int = 0
    acknowledged: int = 0
    cluster: Cluster = field(init=False, repr=False)
    log: ReplicatedLog = field(init=False, repr=False)
    _clients: dict[Connection, None] = field(factory=dict)
    _tasks: TaskGroup = field(init=False, repr=False)
    _pending_bytes: int = 0
    _at_once: anyio.CapacityLimiter = field(factory=lambda: anyio.CapacityLimiter(READS_AT_ONCE))

    @property
    def count(self) -> int:
        """Return how many clients are connected."""
        return len(self._clients)

    # -- the application of the log: it keeps no state, and says when clients may come ---------

    @property
    def kind(self) -> str:
        """Return the kind of log: its frames are the data, and there is no other state."""
        return "lines"

    def state(self) -> Iterator[bytes]:
        return iter(())

    def restore(self, state: bytes) -> None:
        pass

    def apply(self, frame: Frame) -> None:
        pass

    def opened(self, view: View) -> None:
        self.why = ""
        self.opened_views += 1

    def closed(self, why: Closing) -> None:
        self.why = why.value

    # -- the port ------------------------------------------------------------------------------

    async def serve(self, cluster: Cluster, log: ReplicatedLog) -> None:
        """Listen until cancelled."""
        self.cluster, self.log = cluster, log
        address = self.address
        buffer = memoryview(bytearray(BUFFER_BYTES))

        def connection() -> Connection:
            return Connection(buffer, self._came, self._answer, self._gone)

        try:
            server = await asyncio.get_running_loop().create_server(
                connection, address.host, address.port, backlog=CLIENTS_MAX, start_serving=False
            )
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot listen for clients on {address}: {error.strerror or error}",
                next="look which process listens there, or configure another address",
            ) from error
        try:
            # Starting waits and can be cancelled, so `server` must be assigned first: otherwise
            # it would never be closed.
            await server.start_serving()
            async with anyio.create_task_group() as self._tasks:
                await self._watch()
        finally:
            server.close()
            for client in list(self._clients):
                client.cut()

    async def _watch(self) -> None:
        """Disconnect clients that are slow, or idle for long."""
        while True:
            await anyio.sleep(min(LOOK_SECONDS, SLOW_SECONDS / 4, IDLE_SECONDS / 4))
            now = time.monotonic()
            for client in list(self._clients):
                idle, slow = client.idle_since, client.slow_since
                is_idle = idle is not None and now - idle >= IDLE_SECONDS
                if is_idle or (slow is not None and now - slow >= SLOW_SECONDS):
                    log.debug("a client was disconnected: it was slow, or silent for long")
                    client.cut()

    def _came(self, client: Connection) -> bool:
        if not self._has_room():
            client.answer(b"no too-many-clients\n")
            return False
        self._clients[client] = None
        return True

    def _gone(self, client: Connection) -> None:
        # A write of this client may still be in the log, so its callbacks may come later.
        self._clients.pop(client, None)

    def _has_room(self) -> bool:
        """Return whether one more client fits; the longest idle client may be disconnected."""
        if len(self._clients) < CLIENTS_MAX:
            return True
        idle = [one for one in self._clients if one.idle_since is not None]
        longest = min(idle, key=lambda one: one.idle_since or 0.0, default=None)
        if longest is None or time.monotonic() - (longest.idle_since or 0.0) < SLOW_SECONDS:
            return False
        del self._clients[longest]
        longest.cut()
        return True

    def _answer(self, client: Connection, line: bytes) -> None:
        word, _, rest = line.rstrip(b"\r").partition(b" ")
        match word:
            case b"append":
                self._append(client, rest)
            case b"quit":
                client.end()
            case b"read" | b"get":
                number = max(1, int(rest)) if rest.isdigit() and len(rest) < 19 else None
                self._tasks.start_soon(self._look_up, client, word, number)
            case _:
                client.answer(NO_SUCH_COMMAND)

    def _append(self, client: Connection, text: bytes) -> None:
        def acknowledged(position: Position) -> None:
            self._pending_bytes -= len(text)
            self.acknowledged += 1
            client.answer(b"ok %d\n" % position.seq)

        def lost() -> None:
            self._pending_bytes -= len(text)
            client.end()  # it is unknown whether the text is in the log

        is_full = self.log.pending >= PENDING_MAX or self._pending_bytes >= PENDING_BYTES_MAX
        if is_full or not self.log.is_open:
            client.answer(self._closed())
            return
        self._pending_bytes += len(text)
        # All that arrives during a step goes into the next step, with one fsync.
        self.log.submit(text, acknowledged, lost)
        self.cluster.nudge()

    async def _look_up(self, client: Connection, word: bytes, number: int | None) -> None:
        try:
            if word == b"read":
                await self._read(client, number)
            else:
                await client.send(await self._get(number or 1))
        except NotActive:
            client.answer(b"no not-active the member has ended\n")
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            client.end()
        else:
            client.served()

    async def _read(self, client: Connection, wanted: int | None) -> None:
        """Send the committed frames from number `wanted` on in pieces; None means all of them."""
        upto = await self._committed()
        if isinstance(upto, bytes):
            await client.send(upto)
            return
        first = self.log.journal.first_seq if wanted is None else wanted
        at = first
        while at <= upto:
            frames = await self._frames(at, upto)
            if not frames:
                if at > first:
                    raise anyio.EndOfStream  # the log closed: the answer has no line "end SEQ"
                if wanted is None and self.log.is_open:
                    at = first = self.log.journal.first_seq  # more frames were dropped meanwhile
                    continue
                await client.send(self._refused(at))
                return
            shown = (b"%d %s\n" % (frame.seq, Entry.of(frame.data).body) for frame in frames)
            await client.send(b"".join(shown))
            at = frames[-1].seq + 1
        await client.send(b"end %d\n" % upto)

    async def _get(self, number: int) -> bytes:
        upto = await self._committed()
        if isinstance(upto, bytes):
            return upto
        frames = await self._frames(number, min(number, upto))
        if frames is None:
            return self._refused(number)
        return b"ok %s\n" % Entry.of(frames[0].data).body if frames else b"no such frame\n"

    async def _committed(self) -> int | bytes:
        """Return a frame number: no later frame was acknowledged before this call.

        If the number cannot be confirmed, return the answer for the client instead.
        """
        done = anyio.Event()
        found: list[int | bytes] = []

        def committed(seq: int) -> None:
            found.append(seq)
            done.set()

        def refused(why: str) -> None:
            found.append(self._closed(why))
            done.set()

        is_local = self.reads is Reads.LOCAL
        await self.cluster.call(lambda: self.log.barrier(committed, refused, is_local=is_local))
        await done.wait()
        return found[0]

    async def _frames(self, first: int, last: int) -> list[Frame] | None:
        """Return the next frames from `first` to `last`, at most one piece.

        None if the log is closed, or `first` was dropped.
        """

        def read() -> list[Frame] | None:
            if not self.log.is_open or first < self.log.journal.first_seq:
                return None
            found = self.log.journal.read(first, bytes_max=PIECE_BYTES) if first <= last else []
            return [frame for frame in found if frame.seq <= last]

        async with self._at_once:
            return await self.cluster.call(read)

    def _refused(self, at: int) -> bytes:
        dropped = self.log.journal.first_seq - 1
        if self.log.is_open and at <= dropped:
            return b"no dropped %d\n" % dropped
        return self._closed()

    def _closed(self, why: str = "too-many-pending") -> bytes:
        if self.log.is_open:
            return f"no {why}\n".encode()
        why = self.why or "opening"
        return f"no not-active {self.cluster.phase.value}: {why}\n".encode()
