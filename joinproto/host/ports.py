"""The interface of a driver to the program around it: the host and its ports.

All methods are called on one event loop, never two at once, and must return soon: blocking work
goes into `Service.work`.  Except for `Service.hear`, none may raise because of a peer's bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from attrs import define, field, frozen

from joinproto.host.clock import SystemClock
from joinproto.host.eventlog import EventLog, NoLog
from joinproto.join.frames import FrameVerdict
from joinproto.join.ids import ViewId
from joinproto.join.inputs import UpdateDone, UpdateProgress
from joinproto.join.messages import Closing, Event, NoSuccessor, ServeUpdate, StartUpdate
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, Seat, View
from joinproto.net.session import VERSIONS

if TYPE_CHECKING:
    from anyio.abc import TaskStatus


Work: TypeAlias = Callable[[], None]
"""Work that blocks, such as an fsync; the driver runs it in a helper thread."""


@frozen
class Brief:
    """Work that takes as long as one small write with its fsync, while the disk works well.

    A driver may wait a moment for this work, which takes less time than another turn of the loop.
    """

    work: Work

    def __call__(self) -> None:
        self.work()


# -- events ----------------------------------------------------------------------------------


class Channel(Enum):
    """The receiver of a message on a connection; the value is the message's first byte."""

    MEMBER = b"m"  # a message of the protocol
    HOST = b"h"  # the host's own: frames, updates


@frozen
class Up:
    """There is a connection to `peer`, which has proved that it is this member.

    `version`: the version of the wire that both speak.
    """

    peer: str
    version: int = VERSIONS[1]


@frozen
class Down:
    """The connection to `peer` is lost."""

    peer: str


@frozen
class Came:
    """A complete message came from `peer`.  `data`: its bytes."""

    peer: str
    channel: Channel
    data: bytes


@frozen
class Call:
    """A function to call on the event loop."""

    function: Callable[[], None]


Item: TypeAlias = Up | Down | Came | Call


# -- the ports -------------------------------------------------------------------------------


class EventLoop(Protocol):
    """The operations of a driver that a service may call, on the event loop only."""

    @property
    def seat(self) -> Seat: ...
    @property
    def view(self) -> View | None: ...
    @property
    def is_ready(self) -> bool: ...
    @property
    def is_frozen(self) -> bool: ...
    @property
    def position(self) -> Position | None: ...
    def now(self) -> float: ...
    def send(self, to: str, data: bytes) -> None: ...
    def speaks(self, peer: str) -> int:
        """Return the version of the wire on the connection to `peer`, 0 if there is none."""

    @property
    def older_electors(self) -> frozenset[str]:
        """Return the electors for whose version no read can be confirmed, by name."""

    def read(self) -> int:
        """Confirm reads later; return the number under which `Reading.confirmed` names them.

        0: they cannot be confirmed, because of `older_electors`, or because the member is not
        active.
        """

    def may_append(self, view: ViewId, seq: int) -> FrameVerdict: ...
    def appended(self, view: ViewId, first: int, last: int, digest: Callable[[int], str]) -> None:
        """Say that these frames are durable here.  `digest`: returns a frame's, for event logs."""

    def may_cut(self) -> bool: ...
    def tell(self, what: UpdateProgress | UpdateDone) -> None:
        """Tell the member how far an update is."""

    def give_up_on(self, peer: str, why: str) -> None: ...
    def note(self, what: str, **facts: object) -> None: ...


class Service(Protocol):
    """The service of the host, which serves the clients and has the frames."""

    def attach(self, loop: EventLoop) -> None:
        """Take the event loop; called once, before all other methods."""

    def open(self, view: View, *, is_sequencer: bool) -> None:
        """Serve clients from now on."""

    def close(self, why: Closing) -> None:
        """Serve no client, and acknowledge no frame, from the return of this call on."""

    def hear(self, peer: str, data: bytes) -> None:
        """Take bytes of the peer's service; raise `Malformed` if no correct peer sends them."""

    def peer_up(self, peer: str) -> None: ...
    def peer_down(self, peer: str) -> None: ...

    def learned(self, view: View) -> None:
        """A view is on the disk: pending work of the former view is void."""

    def work(self) -> Iterator[Work]:
        """Process the collected items: yield blocking work, continue when it is done."""

    @property
    def deadline(self) -> float | None:
        """Return when `work` must be called, whatever else happens."""


@runtime_checkable
class Resting(Protocol):
    """A service whose frames can come to rest, so that an orderly shutdown leaves clean stores."""

    def rest(self, then: Callable[[], None]) -> None:
        """Order no more frames, and call `then` when all members have the same frames.

        The driver calls this only while the service is open.  The service must call `then` within a
        bounded time, whatever happens.
        """


@runtime_checkable
class Reading(Protocol):
    """A service that calls `EventLoop.read` to have reads confirmed."""

    def confirmed(self, upto: int) -> None:
        """Reads up to the number `upto` see all frames acknowledged before they were handed in.

        Reads that are not confirmed when the service closes are never confirmed.
        """


class StateTransfer(Protocol):
    """The transfer of data into a store, and out of it."""

    def start_update(self, update: StartUpdate) -> None:
        """Receive the data; replaces an earlier update, and ends with `tell(UpdateDone(...))`."""

    def serve_update(self, update: ServeUpdate) -> None:
        """Send the data to that member."""


class Store(Protocol):
    """The metadata on disk; `joinproto.StoreHandle` is one."""

    @property
    def record(self) -> StoreRecord: ...

    def write(self, record: StoreRecord) -> None:
        """Return once the record is durable; raise if that is not certain."""


class Inbox(Protocol):
    """The receiver of a transport's events: `joinproto.host.inbox.Inbox`, for example."""

    def come(self, items: Sequence[Item]) -> int:
        """Take items that came together, without waiting; return how many it took.

        An inbox whose member has ended takes all, and drops them.
        """

    async def send(self, item: Item) -> None:
        """Wait for room, and take an item.

        Raises `anyio.ClosedResourceError` if the member takes no more.
        """


class Transport(Protocol):
    """Carries messages between members.

    No message is lost on a connection that lasts; a lost connection is reported.
    """

    async def run(
        self,
        inbox: Inbox,
        *,
        task_status: TaskStatus[None],
    ) -> None:
        """Carry messages until cancelled; report `started` once peers can reach this member."""

    def send(self, to: str, channel: Channel, data: bytes) -> None:
        """Send, if there is a connection; never waits."""

    async def farewell(self) -> None:
        """Return when sent bytes have arrived, or the transport gives up."""

    def drop(self, peer: str, why: str) -> None:
        """End the connection to a peer that sent a message that no correct peer sends."""


@runtime_checkable
class Gathering(Protocol):
    """A transport that can send all messages of a step in one piece."""

    def gather(self) -> None:
        """Hold back messages that are sent from now on."""

    def flush(self) -> None:
        """Send the messages held back, and hold back no more."""


class Register(Protocol):
    """The outside register, such as etcd, that chooses views if `Config.outside` is set (3.7).

    Both methods return in bounded time and raise no error of the server.  They return None if no
    answer came; after `chosen`, it is then unknown whether the register was set.
    """

    async def chosen(self, parent: ViewId | None, view: View) -> View | None:
        """Set `view` as the successor of `parent` if there is none; return the successor."""

    async def successor(self, parent: ViewId) -> View | NoSuccessor | None:
        """Return the present successor of `parent`, never one from a cache that may be outdated."""


class Clock(Protocol):
    """`now`: seconds that never go back.  `epoch_ms`: wall time at which `now` was 0."""

    def now(self) -> float: ...
    def epoch_ms(self) -> int: ...


@define(kw_only=True)
class Host:
    """The ports of one member.

    `seen`: called with each event, for people and metrics.  `facts`: for the event log's first
    line.  `register`: needed if `Config.outside` is set.
    """

    store: Store
    transport: Transport
    service: Service
    transfer: StateTransfer
    clock: Clock = field(factory=SystemClock)
    events: EventLog = field(factory=NoLog)
    seen: Callable[[Event], None] = lambda event: None
    facts: Mapping[str, object] = field(factory=dict)
    register: Register | None = None
