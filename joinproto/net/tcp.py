"""The transport over TCP, which calls and answers members, and carries messages between them.

Two members have one connection, made by the member that `addresses.dials` names.  A connection on
which no byte comes for `silence` seconds is given up: members send heartbeats, so it is half-open,
or the peer hangs.  A peer that reads too slowly is given up when more than `queue_bytes` wait for
it.  Both are reported as `Down`.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio
from anyio.abc import ByteStream, SocketAttribute, TaskGroup, TaskStatus

from joinproto.errors import EnvironmentProblem, UsageProblem
from joinproto.host.ports import Channel, Down, Inbox, Up
from joinproto.net.addresses import Address, dials
from joinproto.net.direct import connect, current_time, listen
from joinproto.net.door import Door, Proved
from joinproto.net.link import FAREWELL, Link, tell
from joinproto.net.network import Network
from joinproto.net.pipes import pipe_of
from joinproto.net.refused import Refusals, one_line
from joinproto.net.tls import Contexts

log = logging.getLogger(__name__)

OUT_OF_TURN_SECONDS = 8.0
"""Least seconds before a member calls a peer that should call it, but may not know its address."""
FAREWELL_SECONDS = 1.0


Guest = Callable[[Proved], Awaitable[None]]
"""Speaks with a caller that has called one of `Network.aliases`, until the connection ends."""


class TcpTransport:
    """Carries a member's messages over TCP.  `port`: where it listens, once it does."""

    def __init__(self, network: Network, guest: Guest | None = None) -> None:
        self.network = network
        self._guest = guest
        self.port = 0
        self.refusals = Refusals(log)
        tls = None if network.tls is None else Contexts.read(network.tls)
        self._door = Door(network, tls, self.refusals, self._why_not_free)
        self._links: dict[str, Link] = {}
        self._inbox: Inbox | None = None
        self._link_ended = anyio.Event()
        self._is_over = False
        self._gathers = False
        self._tasks: TaskGroup | None = None
        self._called: dict[str, list[Address]] = {}

    @property
    def called(self) -> frozenset[str]:
        """Return the names of the members that were found since the start and are called."""
        return frozenset(self._called)

    @property
    def peers(self) -> list[str]:
        """Return the names of connected peers."""
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
        at = self.network.listen
        try:
            listening = await listen(at)
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot listen on {at}: {_why(error)}",
                next="look which process listens there, or configure another address",
            ) from error
        self.port = listening.port
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            for peer, address in sorted(self.network.addresses.items()):
                if peer != self.network.member and dials(
                    self.network.member, peer, self.network.electors
                ):
                    tasks.start_soon(self._keep_calling, peer, address)
            tasks.start_soon(listening.serve, self._answer, tasks)
            task_status.started()

    def call(self, peer: str, address: Address) -> None:
        """Keep a connection to a member that was found since the start; only while `run` runs.

        Calls at once if it is this side's turn (`addresses.dials`), otherwise only if the other
        side has not called for `OUT_OF_TURN_SECONDS` or more.
        """
        if (
            self._tasks is None
            or peer == self.network.member
            or self._called.get(peer) == [address]
        ):
            return
        self._called[peer] = mark = [address]
        self._tasks.start_soon(self._call_found, peer, mark)

    async def reach(self, peer: str, address: Address) -> bool:
        """Call this member unless it is connected; return whether there is a connection then.

        Calls only while `run` runs.  Takes at most `silence` and the seconds of a greeting.
        """
        if peer in self._links or self._tasks is None:
            return peer in self._links
        done = anyio.Event()

        async def call() -> None:
            try:
                await self._call(peer, address, done.set)
            finally:
                done.set()

        self._tasks.start_soon(call)
        await done.wait()
        return peer in self._links

    def forget(self, peer: str) -> None:
        """Stop calling this peer; a present connection stays."""
        self._called.pop(peer, None)

    async def _call_found(self, peer: str, mark: list[Address]) -> None:
        low, high = self.network.backoff
        turn = dials(self.network.member, peer, self.network.electors)
        # A peer that was forgotten and found again has another mark, and another task calls it.
        while not self._is_over and self._called.get(peer) is mark:
            if not turn:
                await anyio.sleep(OUT_OF_TURN_SECONDS * random.uniform(1.0, 2.0))
            if peer not in self._links and self._called.get(peer) is mark:
                await self._call(peer, mark[0])
            await anyio.sleep(high if turn else low)

    def send(self, to: str, channel: Channel, data: bytes) -> None:
        """Send, if there is a connection; a connection whose queue is full is ended."""
        link = self._links.get(to)
        if link is None:
            return
        # A single message may be larger than the limit if no other message waits.
        unsent = link.unsent
        if unsent and unsent + len(data) > self.network.queue_bytes:
            link.end(f"{to} reads too slowly: {unsent} bytes wait for it")
            return
        if self._gathers:
            link.keep(channel.value + data)
        else:
            link.push(channel.value + data)

    def gather(self) -> None:
        """Hold back messages that are sent from now on."""
        self._gathers = True

    def flush(self) -> None:
        """Send the messages held back, and hold back no more."""
        self._gathers = False
        for link in self._links.values():
            link.flush()

    def unsent(self, peer: str) -> int:
        """Return the bytes for `peer` that the system has not taken yet."""
        link = self._links.get(peer)
        return 0 if link is None else link.unsent

    def host_of(self, peer: str) -> str:
        """Return the host of a connected peer, "" if it is not connected."""
        link = self._links.get(peer)
        with suppress(UsageProblem):
            return "" if link is None else Address.parse(link.remote.rpartition(" at ")[2]).host
        return ""

    def end(self, peer: str, why: str) -> None:
        """End the connection to `peer`, which may call again at once."""
        link = self._links.get(peer)
        if link is not None:
            link.end(why)

    def drop(self, peer: str, why: str) -> None:
        """End the connection to `peer`, which sent a message that no member sends.

        The peer's name is refused for a moment.
        """
        link = self._links.get(peer)
        if link is not None:
            self._door.punish(peer, why)
            link.end("dropped")

    async def farewell(self) -> None:
        """Return when the peers have received all sent messages, or after a second.

        From now on this member calls no peer and lets none in.
        """
        self._is_over = True
        self.flush()
        for link in self._links.values():
            link.push(FAREWELL)
        with anyio.move_on_after(FAREWELL_SECONDS):
            # A farewell is the last message that a peer reads; the peer then closes.
            while self._links:
                await self._link_ended.wait()

    # -- making connections --------------------------------------------------------------------

    async def _keep_calling(self, peer: str, address: Address) -> None:
        low, high = self.network.backoff
        pause = low
        while not self._is_over:
            began = current_time()
            await self._call(peer, address)
            # After a connection that lasted, the next attempt may come soon.
            pause = low if current_time() - began > high else min(2 * pause, high)
            await anyio.sleep(pause * random.uniform(0.5, 1.0))

    async def _call(
        self, peer: str, address: Address, when_proved: Callable[[], None] = lambda: None
    ) -> None:
        """Call a peer, and carry messages until the connection ends.

        `when_proved`: called once the peer has proved its identity.
        """
        stream: ByteStream
        try:
            # Shielded, because a call that is cancelled as it succeeds would leave a socket open.
            with anyio.fail_after(self.network.silence, shield=True):
                stream = await connect(address)
        except (OSError, TimeoutError, ValueError):
            return  # no peer is there, or its host has no address: this is not logged
        await self._speak(stream, f"{peer} at {address}", peer, None, when_proved)

    async def _answer(self, stream: ByteStream) -> None:
        """Speak with a peer that has connected; no action of the peer may end the listener."""
        with anyio.CancelScope() as scope:
            await self._speak(stream, _remote(stream), None, scope)

    # -- one connection ------------------------------------------------------------------------

    async def _speak(
        self,
        stream: ByteStream,
        remote: str,
        dialled: str | None,
        stranger: anyio.CancelScope | None,
        when_proved: Callable[[], None] = lambda: None,
    ) -> None:
        """Greet, then carry messages until the connection ends.

        No error of the connection is raised.
        """
        try:
            proved = await self._door.greet(stream, remote, dialled, stranger)
            if proved is None or self._is_over:
                return
            if proved.session.called:
                if self._guest is not None:
                    await self._guest(proved)
                return
            why = self._why_not_free(proved.peer, proved.session.run)
            if why:
                self._door.refuse(remote, why)  # another process was let in during the greeting
            elif not self._is_second(proved):
                await self._carry(proved, remote, when_proved)
        finally:
            # The stream is closed at once: a peer that was given up may not read any more.
            await anyio.aclose_forcefully(stream)

    def _why_not_free(self, name: str, run: str) -> str:
        """Return why this run may not have this name now, "" if the name is free.

        A live process with another run may have the name.  Otherwise two processes that are
        configured as one member take the connections from each other, and no view lasts.
        """
        link = self._links.get(name)
        if link is None or not run or link.session.run in ("", run):
            return ""
        return (
            f"a process at {link.remote} runs as {name!r} already; if it is gone, this one is"
            f" let in within {self.network.silence:g} s"
        )

    def _is_second(self, proved: Proved) -> bool:
        """Return whether both members have called each other, and the former connection stays.

        The connection that stays is the one made by the member whose turn it is.
        """
        link = self._links.get(proved.peer)
        if not self.network.both_call or link is None or link.session.run != proved.session.run:
            return False
        turn = dials(self.network.member, proved.peer, self.network.electors)
        return (link.session.dials is not None) is turn

    async def _carry(self, proved: Proved, remote: str, when_proved: Callable[[], None]) -> None:
        """Carry a proved peer's messages until the connection ends.

        Reports `Up` before and `Down` after.
        """
        peer, session, inbox = proved.peer, proved.session, self._inbox
        assert inbox is not None
        with anyio.CancelScope() as scope:
            pipe = pipe_of(proved.stream)
            link = Link(peer, session, remote, pipe, scope, inbox, self.network.silence)
            former = self._links.get(peer)
            self._links[peer] = link
            when_proved()
            if former is not None:
                # The peer has called again, so the former connection is dead.
                former.is_replaced = True
                former.end("a newer connection")
                await tell(inbox, Down(peer))
            log.info("connected to %s", one_line(peer))
            await tell(inbox, Up(peer, session.version))
            await link.carry(proved.left)
        if link.refused:
            self._door.punish(peer, link.refused)
        if not link.is_replaced:
            del self._links[peer]
            self._link_ended.set()
            self._link_ended = anyio.Event()
            log.info("lost %s: %s", one_line(peer), link.why or "it went away")
            await tell(inbox, Down(peer))


def _why(error: OSError) -> str:
    """Return why a port cannot be opened, in the system's words and without the address."""
    number = error.errno or 0
    return os.strerror(number) if number > 0 else error.strerror or str(error)


def _remote(stream: ByteStream) -> str:
    try:
        address = stream.extra(SocketAttribute.remote_address)
    except (anyio.TypedAttributeLookupError, OSError):
        return "a peer"
    return str(Address(str(address[0]), int(address[1])))
