"""The engine: one member and its host's ports, without threads and without waiting.

The engine fulfils the duties of a host in `docs/embedding.md`.  A driver gives it events, and runs
the blocking work that it yields; the anyio driver does so in worker threads.  One step ends before
the next begins, so the member gets no event while a frame is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from attrs import define, field

from joinproto.codec.malformed import Malformed
from joinproto.errors import MisuseError
from joinproto.host.lines import batch_as_json, input_as_json, start_line
from joinproto.host.member_loop import MemberLoop
from joinproto.host.outcome import Outcome, outcome_of
from joinproto.host.ports import Call, Came, Channel, Down, Host, Item, Reading, Resting, Up, Work
from joinproto.join.config import Config
from joinproto.join.ids import ViewId
from joinproto.join.inputs import (
    Appended,
    Input,
    PeerDown,
    PeerUp,
    Receive,
    ShutdownCluster,
    Tick,
    UpdateOverwrites,
)
from joinproto.join.member import Member
from joinproto.join.messages import (
    Abort,
    Action,
    Batch,
    Closing,
    CompareAndSet,
    Event,
    Learned,
    OpenForClients,
    ReadRegister,
    ReadsConfirmed,
    Sent,
    ServeUpdate,
    StartUpdate,
    Stop,
    Waiting,
)
from joinproto.join.perform import performing
from joinproto.join.phases import RUNNING
from joinproto.join.store import StoreRecord
from joinproto.join.view import View
from joinproto.join.wire import CONFIRMS, decode, encode

log = logging.getLogger(__name__)


@define(eq=False)
class Engine(MemberLoop):
    """A member with its ports.

    `opened`: the view in which clients are served, or None.  `outcome`: how the member first became
    active; `ended`: why it has stopped; both are None before that.  `asks`: set by the driver,
    brings a question to the register.
    """

    config: Config
    host: Host
    views_at_start: int  # number of views in the store when the process started
    opened: View | None = None
    outcome: Outcome | None = None
    ended: Stop | Abort | None = None
    waiting: Waiting | None = None
    asks: Callable[[CompareAndSet | ReadRegister], None] = lambda question: None
    _late_items: list[Item] = field(factory=list)
    _speaks: dict[str, int] = field(factory=dict)
    _polled: Batch | None = None  # the event log has the line of this batch

    @classmethod
    def start(cls, config: Config, host: Host, *, seed: str, record: StoreRecord) -> Engine:
        """Return the engine of a process that starts now; `step` has its first batch."""
        if config.outside and host.register is None:
            raise MisuseError(
                "`Config.outside` is set, and the host has no register",
                next="give `Host(register=...)`, or unset it, so that the electors vote",
            )
        now, epoch = host.clock.now(), host.clock.epoch_ms()
        if host.events.is_on:
            host.events.write("start", **start_line(config, record, seed, now, epoch), **host.facts)
        member = Member.start(now, config, record, seed=seed, epoch=epoch)
        engine = cls(member, config, host, record.lineage.length)
        if host.events.is_on:
            member.hook = engine._write_input
        host.service.attach(engine)
        return engine

    @property
    def runs(self) -> bool:
        return self.ended is None and self.member.phase in RUNNING

    @property
    def deadline(self) -> float | None:
        """Return when `step` must be called even without an event, None if never."""
        due = [at for at in (self.member.deadline, self.host.service.deadline) if at is not None]
        return min(due, default=None)

    def step(self, items: Iterable[Item]) -> Iterator[Work]:
        """Give the member the events, then the time, and perform all effects.

        Yields blocking work, which the driver must finish before it continues the step.  The
        actions of the member's start come first, however late the first step is.
        """
        yield from self._perform()
        for item in items:
            self._tell(item)
            if not (isinstance(item, Came) and item.channel is Channel.HOST):
                yield from self._perform()
        if self.runs and (due := self.member.deadline) is not None and self.now() >= due:
            self.tell(Tick())
            yield from self._perform()
        while self.runs:
            # The service's work may have given the member an input, for which the loop continues.
            yield from self.host.service.work()
            late, self._late_items = self._late_items, []
            if not late and not self.member.poll():
                break
            yield from self._perform()
            for item in late:
                self._tell(item)
                yield from self._perform()

    def close(self, why: Closing) -> None:
        """Stop serving clients, whatever the member decides; for a driver that ends."""
        if self.opened is not None:
            self.opened = None
            self.host.service.close(why)

    # -- events --------------------------------------------------------------------------------

    def _tell(self, item: Item) -> None:
        if not self.runs:
            return
        match item:
            case Up(peer, version):
                self._speaks[peer] = version
                self.tell(PeerUp(peer, confirms=version >= CONFIRMS))
                self.host.service.peer_up(peer)
            case Down(peer):
                self._speaks.pop(peer, None)
                self.tell(PeerDown(peer))
                self.host.service.peer_down(peer)
            case Call(function):
                function()
            case Came(peer, channel, data):
                try:
                    if channel is Channel.MEMBER:
                        self.tell(Receive(peer, decode(data)))
                    else:
                        self.host.service.hear(peer, data)
                except Malformed as error:
                    self.host.transport.drop(peer, str(error))

    # -- actions ------------------------------------------------------------------------------

    def _perform(self) -> Iterator[Work]:
        while batch := self._poll():
            yield from performing(batch, self)
            self.host.events.write("done")
            self.member.advance(batch)

    def _poll(self) -> Batch:
        """Return the next batch, after its line is in the event log."""
        batch = self.member.poll()
        if batch and batch is not self._polled and self.host.events.is_on:
            self.host.events.write("batch", **batch_as_json(batch, self.config.member))
        self._polled = batch
        return batch

    def _write_input(self, now: float, what: Input) -> None:
        """Write the line of an input before the member takes it; frames have their own lines."""
        if isinstance(what, Appended):
            return
        version = self._speaks[what.peer] if isinstance(what, PeerUp) else 0
        kind, facts = input_as_json(what, version)
        self.host.events.write(kind, now=now, **facts)

    def persist(self, record: StoreRecord) -> Iterator[Work]:
        yield partial(self.host.store.write, record)

    def send_all(self, sends: tuple[Sent, ...]) -> None:
        for sent in sends:
            # While the member does not know of a connection, its messages were meant for a former
            # connection, or for none.  A new connection must not carry them, in a version on which
            # its two sides have not agreed.
            if (version := self._speaks.get(sent.to)) is not None:
                data = encode(sent.message, speaks=version)
                self.host.transport.send(sent.to, Channel.MEMBER, data)

    def act(self, action: Action) -> None:
        match action:
            case OpenForClients(view, is_sequencer):
                self.opened = view
                self.waiting = None
                if self.outcome is None:
                    lineage = self.member.record.lineage
                    self.outcome = outcome_of(lineage, self.seat, self.views_at_start)
                self.host.service.open(view, is_sequencer=is_sequencer)
                if self.member.closes:
                    # The ballot for the CLOSE ended in another view, whose frames must rest, too.
                    self._rest(lambda: None)
            case StartUpdate():
                self.host.transfer.start_update(action)
            case ServeUpdate():
                self.host.transfer.serve_update(action)
            case Stop() | Abort():
                self.close(Closing.STOPPED if isinstance(action, Stop) else Closing.ABORTED)
                self.ended = action
            case ReadsConfirmed(upto):
                if self.opened is not None and isinstance(self.host.service, Reading):
                    self.host.service.confirmed(upto)
            case CompareAndSet() | ReadRegister():
                self.asks(action)

    def _rest(self, then: Callable[[], None]) -> None:
        service = self.host.service
        if self.opened is not None and isinstance(service, Resting):
            service.rest(then)
        else:
            then()

    def see(self, event: Event) -> None:
        if isinstance(event, Learned):
            self.host.service.learned(event.view)
        if isinstance(event, Waiting):
            self.waiting = event
        self.host.seen(event)

    # -- the event loop, as the service sees it ----------------------------------------------------

    def now(self) -> float:
        return self.host.clock.now()

    def send(self, to: str, data: bytes) -> None:
        self.host.transport.send(to, Channel.HOST, data)

    def speaks(self, peer: str) -> int:
        return self._speaks.get(peer, 0)

    def appended(self, view: ViewId, first: int, last: int, digest: Callable[[int], str]) -> None:
        if self.host.events.is_on:
            for seq in range(first, last + 1):
                self.host.events.write("appended", view=view, seq=seq, digest=digest(seq))
        self.member.appended(view, last, first=first)

    def may_cut(self) -> bool:
        """Return whether the record on disk says that the data is about to be cut.

        If it does not, the record is written next, and the caller must ask again.
        """
        if not self.member.record.update_unfinished:
            self.tell(UpdateOverwrites())
        return not self.member.poll()

    def shutdown_cluster(self) -> None:
        """Ask for the orderly shutdown of the cluster, once all members have the same frames.

        A store is clean if its data end where the CLOSE says.  If frames were still under way when
        the CLOSE is chosen, only the stores with the most frames would be clean.
        """
        self._rest(partial(self.tell, ShutdownCluster()))

    def give_up_on(self, peer: str, why: str) -> None:
        """Treat `peer` as lost, which ends an update from it."""
        log.warning("%s: %s", peer, why)
        self.host.transport.drop(peer, why)
        # The transport reports the loss as well; a second `Down` does no harm.
        self._late_items.append(Down(peer))

    def note(self, what: str, **facts: object) -> None:
        self.host.events.write(what, **facts)
