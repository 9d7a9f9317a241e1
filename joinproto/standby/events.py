"""Events of a broker, and effects for its host.

Effects are done in the order given: a stored change is durable before the next effect begins
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
    """The process starts.  `replica`: the contents of its disk; `view`: the youngest one written
    there.
    """

    mark: Mark = Mark.CLEAN
    view: View = View()
    replica: ReplicaState = ReplicaState()


@frozen
class Linked:
    """A link to this broker is up; it said that it is primary."""

    primary: str


@frozen
class Gone:
    """The link with this broker is gone, or given up: a backup, or the broker this one follows."""

    broker: str


@frozen(kw_only=True)
class Promote:
    """The manager says: be primary.  `peers`: the others' answers.

    `view`: of the manager that is built in: the one it has written down for this promotion, with
    its generation, and the expected brokers; None if the manager is outside, and writes nothing.
    `now`, `timeout`: seconds; so long expected backups are awaited (H8).  `proven`: this manager
    has seen the contents of all stores after a total failure, and ours is the last primary's (H10).
    """

    peers: tuple[Peer, ...] = ()
    view: View | None = None
    now: float = 0.0
    timeout: float = 10.0
    proven: bool = False


@frozen
class Demote:
    """The manager says: be primary no more."""


@frozen(kw_only=True)
class Stop:
    """The process ends; `in_order`: it has finished its work."""

    in_order: bool = True


@frozen
class Tick:
    """The present time in seconds; only deadlines use it."""

    now: float


# -- events: of a primary ------------------------------------------------------------------------


@frozen(kw_only=True)
class New:
    """A message that a client sends.  `replicate`: its own setting (H7), None if it has none."""

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
    """A transfer, an acknowledgement, or a transaction of both: it is confirmed by `token`."""

    token: int
    drafts: tuple[Draft, ...]


@frozen
class Declare:
    """A client, or an operator, declares; it is confirmed by `token` (LC2)."""

    token: int
    thing: WiringItem


@frozen
class Delete:
    """The same for a deletion."""

    token: int
    thing: WiringItem


@frozen
class Written:
    """Our own store has the changes for this token."""

    token: int


@frozen
class Received:
    """A message of the link with this broker."""

    sender: str
    content: Content


@frozen
class More:
    """There is room on the link: send this many of the older messages (H5)."""

    backup: str
    queue: str
    count: int = 1


@frozen
class ViewWritten:
    """The manager (built in), or our own store (outside), has this view."""

    view: View


@frozen
class Superseded:
    """A younger view than ours is there: another broker is, or will be, primary (H2)."""

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
    """The answer to the manager: `rule` decided, `why` is the reason."""

    verdict: Verdict
    rule: str
    why: str

    @property
    def is_accepted(self) -> bool:
        return self.verdict is Verdict.ACCEPTED


@frozen
class KeepView:
    """Our own store keeps the view."""

    view: View


@frozen
class KeepMark:
    """Our own store has the mark that a start would find: dirty while it runs, and how it ended."""

    mark: Mark


@frozen
class WriteView:
    """A primary: our own store, and the manager if it is the one built in, write the view down.

    When both have, it is told (`ViewWritten`); a manager that has a younger one: `Superseded`.
    """

    view: View


@frozen
class Write:
    """Stores these changes of durable data in our own store; then comes `Written`.

    Without changes: `Written` comes once all that was made or removed before is kept.
    """

    token: int
    changes: tuple[Change, ...] = ()


@frozen
class Keep:
    """A backup: these changes, those of one transaction together."""

    changes: tuple[Change, ...]


@frozen
class Make:
    """Makes a queue, an exchange or a binding."""

    thing: WiringItem


@frozen
class Remove:
    """Removes it; a queue with its messages."""

    thing: WiringItem


@frozen
class Confirm:
    """Tells the client that it is done."""

    token: int


@frozen
class Serve:
    """Opens for ordinary clients: H11.  `generation`: that it serves in."""

    generation: int


@frozen
class Turn:
    """Closes for ordinary clients, and ends all links with backups: it is primary no more."""

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
