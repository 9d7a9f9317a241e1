"""Two hosts in one process: members of the join protocol whose register is a real server.

Messages go from queue to queue, and may be cut off; stores are in memory and outlive a kill; time
is the event loop's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import anyio
from anyio.abc import TaskGroup
from attrs import define, field

from joinproto.apps.discovery.successors import Successors
from joinproto.join.config import Config
from joinproto.join.ids import ViewId
from joinproto.join.member import Member
from joinproto.join.messages import (
    Abort,
    Action,
    Closing,
    CompareAndSet,
    Event,
    NoSuccessor,
    OpenForClients,
    ReadRegister,
    Sent,
    StartUpdate,
    Stop,
)
from joinproto.join.perform import perform
from joinproto.join.store import StoreRecord
from joinproto.join.view import View
from joinproto.join.wire import decode, encode


@define(eq=False)
class Cluster:
    """All hosts and their stores.

    `cut`: the hosts are cut off from each other.  `without_register`: the hosts that do not reach
    the register.  `served`: for each view, the hosts that served in it.
    """

    group: TaskGroup
    successors: Successors
    hosts: dict[str, Host] = field(factory=dict)
    records: dict[str, StoreRecord] = field(factory=dict)
    cut: bool = False
    without_register: set[str] = field(factory=set)
    served: dict[str, set[str]] = field(factory=dict)

    def start(self, name: str, record: StoreRecord, electors: Iterable[str]) -> Host:
        """Start a member with this store."""
        config = Config(
            member=name,
            electors=frozenset(electors),
            wait_for=1,
            outside=True,
            patience=0.6,
            heartbeat=0.15,
        )
        record = self.records.get(name, record)
        reach = frozenset(() if self.cut else self.hosts)
        now = anyio.current_time()
        member = Member.start(now, config, record, seed=f"{name}-{now}", in_reach=reach)
        host = Host(self, name, member)
        for other in self.hosts.values():
            if not self.cut:
                other.give(partial(other.member.peer_up, anyio.current_time(), name))
        self.hosts[name] = host
        self.group.start_soon(host.run)
        return host

    def kill(self, name: str) -> None:
        """End a host at once, as kill -9 does; its store stays."""
        self.hosts.pop(name).ended = True
        for other in self.hosts.values():
            other.give(partial(other.member.peer_down, anyio.current_time(), name))

    def set_cut(self, cut: bool) -> None:
        """Cut the two hosts off from each other, or connect them again."""
        self.cut = cut
        for one in self.hosts.values():
            for other in self.hosts:
                if other != one.name:
                    change = one.member.peer_down if cut else one.member.peer_up
                    one.give(partial(change, anyio.current_time(), other))

    @property
    def serving(self) -> dict[str, str]:
        """Return the view in which each host serves, by name; other hosts are left out."""
        return {one.name: str(one.opened.id) for one in self.hosts.values() if one.opened}


@define(eq=False)
class Host:
    """One host: a member, its `Ports`, and a loop."""

    cluster: Cluster
    name: str
    member: Member
    opened: View | None = None
    ended: bool = False
    functions: list[partial[None]] = field(factory=list)
    wake: anyio.Event = field(factory=anyio.Event)

    def give(self, function: partial[None]) -> None:
        """Give the member an event."""
        self.functions.append(function)
        self.wake.set()

    async def run(self) -> None:
        while not self.ended:
            while batch := self.member.poll():
                perform(batch, self)
                self.member.advance(batch)
            if self.functions:
                self.functions.pop(0)()
                continue
            due = self.member.deadline
            wait = 1.0 if due is None else max(0.0, due - anyio.current_time())
            self.wake = anyio.Event()
            with anyio.move_on_after(wait):
                await self.wake.wait()
            if due is not None and anyio.current_time() >= due and not self.ended:
                self.member.tick(anyio.current_time())

    # -- the ports ------------------------------------------------------------------------------

    def close(self, why: Closing) -> None:
        del why
        self.opened = None

    def persist(self, record: StoreRecord) -> None:
        self.cluster.records[self.name] = record

    def send_all(self, sends: tuple[Sent, ...]) -> None:
        for sent in sends:
            other = self.cluster.hosts.get(sent.to)
            if other is not None and not self.cluster.cut:
                message = decode(encode(sent.message))
                receive = other.member.receive
                other.give(partial(receive, anyio.current_time(), self.name, message))

    def see(self, event: Event) -> None:
        del event

    def act(self, action: Action) -> None:
        match action:
            case OpenForClients(view, _):
                self.opened = view
                self.cluster.served.setdefault(str(view.id), set()).add(self.name)
            case StartUpdate():
                source = self.cluster.hosts[action.source].member.record.position
                done = partial(self.member.update_done, anyio.current_time(), source)
                self.give(done)
            case CompareAndSet(parent, view):
                self.cluster.group.start_soon(self._sets, parent, view)
            case ReadRegister(parent, asked):
                self.cluster.group.start_soon(self._reads, parent, asked)
            case Stop() | Abort():
                self.ended = True

    async def _sets(self, parent: ViewId | None, view: View) -> None:
        if self.name in self.cluster.without_register:
            return
        found = await self.cluster.successors.chosen(parent, view)
        if found is not None:
            self.give(partial(self.member.register_says, anyio.current_time(), found))

    async def _reads(self, parent: ViewId, asked: float) -> None:
        if self.name in self.cluster.without_register:
            return
        found = await self.cluster.successors.successor(parent)
        if isinstance(found, NoSuccessor):
            self.give(partial(self.member.register_free, anyio.current_time(), parent, asked))
        elif found is not None:
            self.give(partial(self.member.register_says, anyio.current_time(), found))
