"""Members over TCP: calls, answers, and carries whole messages between those who are proved.

One connection for two members, made by the one that `addresses.dials` says.  A connection on
which nothing comes for `silence` seconds is given up: a member sends heartbeats, so it is a
half-open one, or its member hangs.  A peer that reads too slowly is given up when
`queue_bytes` wait for it.  Both are told as `Down`.

Whoever is not proved yet costs little: a small greeting, a few seconds, one of `STRANGERS_MAX`
places, and when these are taken, the oldest goes.
"""

from __future__ import annotations

import logging
import random
import ssl
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from secrets import token_hex

import anyio
from anyio.abc import ByteStream, SocketAttribute, TaskGroup, TaskStatus
from anyio.streams.tls import TLSAttribute, TLSStream
from attrs import define, field, frozen

from joinproto.drivers.addresses import Address, dials
from joinproto.drivers.direct import connect, serve
from joinproto.drivers.failures import only_one
from joinproto.drivers.lines import one_line
from joinproto.drivers.pipes import RECEIVE_BYTES, Pipe, pipe_of
from joinproto.drivers.ports import Came, Channel, Down, Inbox, Item, QuickInbox, Up
from joinproto.drivers.refused import Refusals, Refused
from joinproto.drivers.session import VERSIONS, Identity, Session
from joinproto.drivers.tls import Contexts, TlsFiles, names_in, why_no_tls
from joinproto.errors import EnvironmentProblem, UsageProblem

log = logging.getLogger(__name__)

STRANGERS_MAX = 64
GREETING_SECONDS = 3.0
PUNISHED_SECONDS = 0.5
BACKOFF_SECONDS = (0.05, 0.5)
FAREWELL = b"."
FAREWELL_SECONDS = 1.0
WATCH_SECONDS = 0.01
CLOSED = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)


@frozen(kw_only=True)
class Network:
    """How a member is reached, and reaches others.

    `addresses`: of the members it may have to call.  `silence`: seconds after which a peer
    that is not heard of is given up.  `secret`, `tls`: how members prove who they are; without
    both `listen` must be on loopback, unless `is_insecure` says that anybody may be a member.
    """

    member: str
    cluster_name: str
    electors: frozenset[str]
    listen: Address
    addresses: Mapping[str, Address]
    silence: float = 2.0
    queue_bytes: int = 64 * 2**20
    secret: bytes = field(default=b"", repr=False)
    tls: TlsFiles | None = None
    is_insecure: bool = False
    versions: tuple[int, int] = VERSIONS

    def __attrs_post_init__(self) -> None:
        if not (self.secret or self.tls or self.listen.is_loopback or self.is_insecure):
            raise UsageProblem(
                f"{self.listen} can be reached from other machines, and neither a secret nor TLS"
                " is set up: anybody could speak for a member, and stop the cluster",
                next="set up a secret or TLS, or listen on 127.0.0.1",
            )
        if not self.silence > 0:
            raise UsageProblem(f"silence is {self.silence} s", next="give more than 0 s")


@define
class _Link:
    """A connection to a proved peer.

    `heard_at`: when something came last; `late`: what came and finds no room at the member.
    """

    session: Session
    whom: str
    pipe: Pipe
    scope: anyio.CancelScope
    heard_at: float = field(factory=time.monotonic)
    late: deque[Item] = field(factory=deque)
    is_late: anyio.Event = field(factory=anyio.Event)
    why: str = ""
    kept: list[bytes] = field(factory=list)
    bytes_kept: int = 0

    @property
    def unsent(self) -> int:
        return self.bytes_kept + self.pipe.unsent

    def push(self, body: bytes) -> None:
        self.pipe.write(self.session.seal(body))

    def keep(self, body: bytes) -> None:
        """The same, with the next flush."""
        self.kept.append(self.session.seal(body))
        self.bytes_kept += len(self.kept[-1])

    def flush(self) -> None:
        if self.kept:
            self.pipe.write(b"".join(self.kept))
            self.kept.clear()
            self.bytes_kept = 0

    def end(self, why: str) -> None:
        self.why = self.why or why
        self.scope.cancel()


class TcpTransport:
    """Carries a member's messages over TCP.  `port`: where it listens, once it does."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.port = 0
        self.refusals = Refusals(log)
        self._links: dict[str, _Link] = {}
        self._strangers: dict[anyio.CancelScope, None] = {}
        self._inbox: Inbox | None = None
        self._quick_inbox: QuickInbox | None = None
        self._fewer = anyio.Event()
        self._is_over = False
        self._gathers = False
        self._punished: dict[str, float] = {}
        self._run = token_hex(16)
        self._tls = None if network.tls is None else Contexts.read(network.tls)

    @property
    def peers(self) -> list[str]:
        """Return the names of those to whom there is a connection."""
        return sorted(self._links)

    # -- the port ------------------------------------------------------------------------------

    async def run(
        self,
        inbox: Inbox,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Listen and call until cancelled."""
        self._inbox = inbox
        self._quick_inbox = inbox if isinstance(inbox, QuickInbox) else None
        listen = self.network.listen
        try:
            listener = await anyio.create_tcp_listener(
                local_host=listen.host, local_port=listen.port, reuse_port=False, backlog=256
            )
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot listen on {listen}: {error.strerror or error}",
                next="look who else listens there, or configure another address",
            ) from error
        self.port = listener.extra(SocketAttribute.local_port)
        async with listener, anyio.create_task_group() as tasks:
            for peer, address in sorted(self.network.addresses.items()):
                if peer != self.network.member and dials(
                    self.network.member, peer, self.network.electors
                ):
                    tasks.start_soon(self._keep_calling, peer, address)
            task_status.started()
            await self._listen(listener, tasks)

    async def _listen(self, listener: anyio.abc.Listener[ByteStream], tasks: TaskGroup) -> None:
        while True:
            try:
                # Until cancelled; ends early where the system runs out of files.
                await serve(listener, self._answer, tasks)
            except OSError as error:
                log.error("accepting connections: %s", error.strerror or error)
                await anyio.sleep(0.2)

    def send(self, to: str, channel: Channel, data: bytes) -> None:
        """Send, if there is a connection; one whose queue is full is given up."""
        link = self._links.get(to)
        if link is None:
            return
        # A single message may be larger than the queue: it is alone then.
        unsent = link.unsent
        if unsent and unsent + len(data) > self.network.queue_bytes:
            link.end(f"{to} reads too slowly: {unsent} bytes wait for it")
            return
        if self._gathers:
            link.keep(channel.value + data)
        else:
            link.push(channel.value + data)

    def gather(self) -> None:
        """Keep what is sent from now on."""
        self._gathers = True

    def flush(self) -> None:
        """Send what was kept, and keep nothing more."""
        self._gathers = False
        for link in self._links.values():
            link.flush()

    def drop(self, peer: str, why: str) -> None:
        """Give up the connection to `peer`, and say why."""
        link = self._links.get(peer)
        if link is not None:
            self._punish(peer, why)
            link.end("dropped")

    async def farewell(self) -> None:
        """Return when the peers have all that was sent to them, or after a second.

        There are no connections from then on: who has said farewell does not call again.
        """
        self._is_over = True
        self.flush()
        for link in self._links.values():
            link.push(FAREWELL)
        with anyio.move_on_after(FAREWELL_SECONDS):
            # Whoever reads a farewell closes, and it is the last thing it reads.
            while self._links:
                await self._fewer.wait()

    # -- making connections --------------------------------------------------------------------

    async def _keep_calling(self, peer: str, address: Address) -> None:
        low, high = BACKOFF_SECONDS
        pause = low
        while not self._is_over:
            began = time.monotonic()
            await self._call(peer, address)
            # A connection that lasted was a good one: the next attempt may come soon.
            pause = low if time.monotonic() - began > high else min(2 * pause, high)
            await anyio.sleep(pause * random.uniform(0.5, 1.0))

    async def _call(self, peer: str, address: Address) -> None:
        stream: ByteStream
        try:
            # Shielded: a call that is cancelled as it succeeds would leave its socket behind.
            with anyio.fail_after(self.network.silence, shield=True):
                stream = await connect(address)
        except (OSError, TimeoutError):
            return  # nobody is there, which is no news
        whom = f"{peer} at {address}"
        try:
            if self._tls is not None:
                stream = await self._wrapped(stream, self._tls, accepts=False)
            await self._converse(stream, whom, peer)
        except (*CLOSED, TimeoutError) as error:
            self._refuse(whom, why_no_tls(error))
        finally:
            await _abandon(stream)

    async def _answer(self, stream: ByteStream) -> None:
        """Speak with whoever has connected; nothing it does may end the listener."""
        whom = _remote(stream)
        with anyio.CancelScope() as scope:
            self._make_room()
            self._strangers[scope] = None
            try:
                if self._tls is not None:
                    stream = await self._wrapped(stream, self._tls, accepts=True)
                await self._converse(stream, whom, None, scope)
            except (*CLOSED, TimeoutError) as error:
                self._refuse(whom, why_no_tls(error))
            finally:
                self._strangers.pop(scope, None)
                await _abandon(stream)

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
            self._refuse("a stranger", f"{STRANGERS_MAX} others came after it")

    # -- one connection ------------------------------------------------------------------------

    async def _converse(
        self,
        stream: ByteStream,
        whom: str,
        dialled: str | None,
        stranger: anyio.CancelScope | None = None,
    ) -> None:
        """Greet, then carry until the connection ends; raises nothing of the connection's."""
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
        except Refused as error:
            self._refuse(whom, str(error))
            with suppress(*CLOSED), anyio.move_on_after(0.2):
                await stream.send(session.take_out())
            return
        except TimeoutError:
            self._refuse(whom, f"no greeting within {GREETING_SECONDS:g} s")
            return
        except CLOSED as error:
            if isinstance(error.__cause__, ssl.SSLError):
                self._refuse(whom, why_no_tls(error))
            elif dialled is None:
                self._refuse(whom, "it left before it greeted")
            elif self._tls is not None:
                self._refuse(
                    whom, "it left as soon as TLS stood: if it refuses ours, its log says why"
                )
            return
        if stranger is not None:
            self._strangers.pop(stranger, None)
        if self._is_over:
            return
        taken = self._taken(session.peer, session.run)
        if taken:
            self._refuse(whom, taken)  # both have greeted at the same moment
        else:
            await self._live(session, whom, stream, left)

    def _identity(self, stream: ByteStream) -> Identity:
        network = self.network
        shown: Callable[[str], str] = lambda name: ""  # noqa: E731
        if network.tls is not None:
            certificate = stream.extra(TLSAttribute.peer_certificate, None)
            names = names_in(dict(certificate or {}))

            def shown(name: str) -> str:
                if name in names:
                    return ""
                named = ", ".join(sorted(names)) or "nobody"
                return f"it says it is {name!r}, and its certificate names {named}"

        def admits(name: str) -> str:
            if time.monotonic() < self._punished.get(name, 0.0):
                return f"{name!r} said what no member says a moment ago"
            return shown(name)

        return Identity(
            member=network.member,
            cluster_name=network.cluster_name,
            secret=network.secret,
            versions=network.versions,
            admits=admits,
            run=self._run,
            taken=self._taken,
        )

    def _taken(self, name: str, run: str) -> str:
        """Return why nobody else may have this name now: a live process has it.

        Of two processes that are configured as one member the later one would take the
        connections of the other one, which takes them back, and no view would last.
        """
        link = self._links.get(name)
        if link is None or not run or link.session.run in ("", run):
            return ""
        return (
            f"a process at {link.whom} runs as {name!r} already; if it is gone, this one is let in"
            f" within {self.network.silence:g} s"
        )

    async def _live(
        self, session: Session, whom: str, stream: ByteStream, left: list[bytes]
    ) -> None:
        """Be connected to a proved peer: `Up` on the way in, `Down` on the way out."""
        peer = session.peer
        assert peer is not None
        with anyio.CancelScope() as scope:
            link = _Link(session, whom, pipe_of(stream), scope)
            former = self._links.get(peer)
            self._links[peer] = link
            if former is not None:
                # It has called anew, so the former connection is dead, and only we did not know.
                former.end("a newer connection")
                await self._tell(Down(peer))
            log.info("connected to %s", one_line(peer))
            await self._tell(Up(peer, session.version))
            await self._carry(link, left)
        if self._links.get(peer) is link:
            del self._links[peer]
            self._fewer.set()
            self._fewer = anyio.Event()
            log.info("lost %s: %s", one_line(peer), link.why or "it went away")
            await self._tell(Down(peer))

    async def _carry(self, link: _Link, left: list[bytes]) -> None:
        def came(data: bytes) -> None:
            link.heard_at = time.monotonic()
            self._hand_over(link, link.session.feed(data))

        try:
            self._hand_over(link, left)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, link)
                tasks.start_soon(self._hand_over_late, link)
                await link.pipe.run(came)
        except* Refused as group:
            self._punish(str(link.session.peer), str(only_one(group)))
            link.why = "refused"
        except* CLOSED:
            pass
        except* TimeoutError:
            link.why = f"nothing was heard for {self.network.silence:g} s"

    async def _watch(self, link: _Link) -> None:
        """Raise when nothing has come for long; what waits for the member has come."""
        while True:
            left = link.heard_at + self.network.silence - time.monotonic()
            if left <= 0 and not link.late:
                raise TimeoutError
            await anyio.sleep(max(left, WATCH_SECONDS))

    def _hand_over(self, link: _Link, bodies: Iterable[bytes]) -> None:
        """Tell the member; what is right and comes before something that is not, as well."""
        peer = str(link.session.peer)
        items: list[Item] = []
        try:
            for body in bodies:
                if body == FAREWELL:
                    raise anyio.EndOfStream
                try:
                    channel = Channel(body[:1])
                except ValueError:
                    raise Refused(f"a frame for channel {body[:1]!r}") from None
                items.append(Came(peer, channel, body[1:]))
        finally:
            if self._links.get(peer) is link:
                rest = items if link.late else items[self._put(items) :]
                if rest:
                    # A peer that floods waits for itself.
                    link.late.extend(rest)
                    link.pipe.hold()
                    link.is_late.set()

    def _put(self, items: list[Item]) -> int:
        """Return how many of them the member takes now."""
        if self._quick_inbox is not None:
            return self._quick_inbox.come(items)
        assert self._inbox is not None
        for count, item in enumerate(items):
            try:
                self._inbox.send_nowait(item)
            except anyio.WouldBlock:
                return count
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                break
        return len(items)

    async def _hand_over_late(self, link: _Link) -> None:
        while True:
            await link.is_late.wait()
            while link.late:
                if self._links.get(str(link.session.peer)) is link:
                    await self._tell(link.late[0])
                link.late.popleft()
            link.is_late = anyio.Event()
            link.heard_at = time.monotonic()
            link.pipe.go_on()

    async def _tell(self, item: Item) -> None:
        assert self._inbox is not None
        # A member that has ended hears nothing, and its connections may still say farewell.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            try:
                self._inbox.send_nowait(item)
            except anyio.WouldBlock:
                await self._inbox.send(item)

    def _punish(self, peer: str, why: str) -> None:
        """Refuse a proved peer, and for a moment whoever has its name: it is broken."""
        now = time.monotonic()
        self._refuse(peer, why)
        self._punished = {name: end for name, end in self._punished.items() if end > now}
        self._punished[peer] = now + PUNISHED_SECONDS

    def _refuse(self, whom: str, why: str) -> None:
        self.refusals.say(time.monotonic(), whom, why)


def _remote(stream: ByteStream) -> str:
    try:
        address = stream.extra(SocketAttribute.remote_address)
    except (anyio.TypedAttributeLookupError, OSError):
        return "somebody"
    return str(Address(str(address[0]), int(address[1])))


async def _abandon(stream: ByteStream) -> None:
    """Close at once: who is given up may not even take a farewell."""
    await anyio.aclose_forcefully(stream)
