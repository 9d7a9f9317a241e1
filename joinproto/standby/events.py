"""Events of a broker, and effects for its host.

Effects are performed in the order given: a stored change is durable before the next effect begins
(`perform.py`).

Source: hot standby, H1 to H6, H8.
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from joinproto.standby.broker import Mark
from joinproto.standby.catch_up import Message
from joinproto.standby.messages import Change, Content, View, WiringItem
from joinproto.standby.promote import Peer
from joinproto.standby.replica_state import ReplicaState
from joinproto.standby.tables import Verdict

# -- events: of the broker's role ----------------------------------------------------------------


@frozen(kw_only=True)
class Start:
    """The process starts.

    `mark`, `replica`: as they are on the broker's disk.  `view`: the youngest view on that disk.
    """

    mark: Mark = Mark.CLEAN
    view: View = View()
    replica: ReplicaState = ReplicaState()


@frozen
class Linked:
    """There is a link with this broker, which said that it is primary."""

    primary: str


@frozen
class Gone:
    """The link with this broker is lost or given up: with a backup of ours, or with our primary."""

    broker: str


@frozen(kw_only=True)
class Promote:
    """The manager tells this broker to become primary.  `peers`: the other brokers' answers.

    `view`: the view that the built-in manager has written down for this promotion, with its
    generation and the expected brokers; None with a manager outside, which writes no views.
    `now`: the time in seconds; `timeout`: how many seconds to wait for expected backups (H8).
    `proven`: the manager has seen all stores after a total failure, and this broker's store is the
    last primary's (H10).
    """

    peers: tuple[Peer, ...] = ()
    view: View | None = None
    now: float = 0.0
    timeout: float = 10.0
    proven: bool = False


@frozen
class Demote:
    """The manager tells this broker to stop being primary."""


@frozen(kw_only=True)
class Stop:
    """The process ends.  `in_order`: it was told to end, and has finished its clients' requests."""

    in_order: bool = True


@frozen
class Tick:
    """The present time in seconds; only deadlines use it."""

    now: float


# -- events: of a primary ------------------------------------------------------------------------


@frozen(kw_only=True)
class New:
    """A message that a client sends.

    `replicate`: the message's own setting (H7), None if it has none.
    """

    id: str
    durable: bool = False
    replicate: bool | None = None


@frozen(kw_only=True)
class Draft:
    """A client's changes to one queue."""

    queue: str
    puts: tuple[New, ...] = ()
    takes: tuple[Message, ...] = ()


@frozen
class Commit:
    """A transfer, an acknowledgement, or a transaction of both.

    `Confirm` with the same `token` confirms it.
    """

    token: int
    drafts: tuple[Draft, ...]


@frozen
class Declare:
    """A client or an operator declares an item of wiring; `token` confirms it (LC2)."""

    token: int
    thing: WiringItem


@frozen
class Delete:
    """A client or an operator deletes an item of wiring; `token` confirms it (LC2)."""

    token: int
    thing: WiringItem


@frozen
class Written:
    """Our own store has the changes that `Write` with this token ordered."""

    token: int


@frozen
class Received:
    """A message has come on the link with `sender`."""

    sender: str
    content: Content


@frozen
class More:
    """The link to this backup has room for at most `count` older messages of the queue (H5)."""

    backup: str
    queue: str
    count: int = 1


@frozen
class ViewWritten:
    """Our own store has this view, and so has the built-in manager, if there is one."""

    view: View


@frozen
class Superseded:
    """A younger view than ours exists: another broker is or will be primary (H2)."""

    view: View


OfBackup: TypeAlias = Linked | Demote
OfPrimary: TypeAlias = Commit | Declare | Delete | Written | More | ViewWritten | Superseded | Tick
Event: TypeAlias = Start | Stop | Promote | Received | Gone | OfBackup | OfPrimary


# -- effects ---------------------------------------------------------------------------------


@frozen
class Send:
    """Sends a message on the link with this broker."""

    to: str
    content: Content


@frozen
class Answer:
    """Answers the manager.  `rule`: the rule that decided; `why`: the reason."""

    verdict: Verdict
    rule: str
    why: str

    @property
    def is_accepted(self) -> bool:
        return self.verdict is Verdict.ACCEPTED


@frozen
class KeepView:
    """Stores the view in our own store."""

    view: View


@frozen
class KeepMark:
    """Stores in our own store the mark that the next start reads.

    The mark is dirty while the broker runs.  At the end it says how the broker ended.
    """

    mark: Mark


@frozen
class WriteView:
    """A primary stores the view in our own store, and appends it to the built-in manager's chain.

    `ViewWritten` reports that both have written it.  `Superseded` reports that the manager has a
    younger view.
    """

    view: View


@frozen
class Write:
    """Stores these changes of durable data in our own store; `Written` reports the end.

    Without changes, `Written` reports that all items made or removed before are stored.
    """

    token: int
    changes: tuple[Change, ...] = ()


@frozen
class Keep:
    """A backup stores these changes; those of one transaction are stored together."""

    changes: tuple[Change, ...]


@frozen
class Make:
    """Makes a queue, an exchange or a binding."""

    thing: WiringItem


@frozen
class Remove:
    """Removes a queue with its messages, an exchange or a binding."""

    thing: WiringItem


@frozen
class Confirm:
    """Tells the client that its request with this token is done."""

    token: int


@frozen
class Serve:
    """Opens the broker for ordinary clients (H11), as the primary of this generation."""

    generation: int


@frozen
class Turn:
    """Ends service as a primary: closes for ordinary clients, and ends all links with backups."""

    why: str


@frozen
class Leave:
    """Ends the link with this broker."""

    broker: str
    why: str


Effect: TypeAlias = (
    Send
    | Answer
    | KeepView
    | KeepMark
    | WriteView
    | Write
    | Keep
    | Make
    | Remove
    | Confirm
    | Serve
    | Turn
    | Leave
)
