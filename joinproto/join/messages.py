"""Messages between members, except those of the choice, and a member's requests to its host.

Every message may arrive late, twice, or never, and also at a later process of the receiver.  Most
messages state a fact that stays true.  `Refused` and `Confirmed` name the message that they answer.
No receiver relies on the others being new: see the table in the join protocol, 3.9.

Source: join protocol, 3.3 to 3.5, 3.8 and 3.9.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, TypeAlias

from attrs import frozen

from joinproto.codec.marks import AtLeast, Count
from joinproto.join.answers import Answer
from joinproto.join.choice_messages import ChoiceMessage
from joinproto.join.ids import ViewId, short
from joinproto.join.phases import Phase
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position, Seat, View
from joinproto.machine.vocabulary import Reason

# -- messages ------------------------------------------------------------------------------


@frozen(cache_hash=True)
class Hello:
    """Here I am, with this store: tell me the views I do not know, or take me in.

    `number`: the tip's number, 0 for none.  `initial`: the initial signature, None if the store is
    empty.  `hears`: the names of the peers to which a newcomer is connected; empty from a member of
    the tip.  `meeting`: identifies this process and its connection to the receiver; empty from
    older versions.
    """

    status: Answer
    tip: ViewId | None
    number: Count
    initial: ViewId | None
    cluster_name: str
    hears: frozenset[str] = frozenset()
    meeting: str = ""

    def __str__(self) -> str:
        return f"hello, tip {short(self.tip)}; {self.status}"


@frozen(cache_hash=True)
class Welcome:
    """Update from me, alongside the running view; then say hello again (J1, J2)."""

    view: ViewId

    def __str__(self) -> str:
        return "update from me"


@frozen(cache_hash=True)
class Refused:
    """You cannot join: `reason`, with the found and the expected value (J3, I2, I4).

    `meeting`: the `meeting` of the answered hello; empty if there is none.
    """

    reason: Reason
    found: str
    expected: str
    meeting: str = ""

    def __str__(self) -> str:
        return f"refused: {self.reason.value}"


@frozen(cache_hash=True)
class Ready:
    """This store has the data with which the view starts, and has written down that it is ready."""

    view: ViewId
    seat: Seat

    def __str__(self) -> str:
        return f"{self.seat.member} is ready in {short(self.view)}"


@frozen(cache_hash=True)
class WantUpdate:
    """Send me your data.  `view`: the tip that we share."""

    view: ViewId

    def __str__(self) -> str:
        return f"send me your data of {short(self.view)}"


@frozen(cache_hash=True)
class Heartbeat:
    """I am here.  `is_frozen`: I have answered a ballot about this tip's successor."""

    tip: ViewId | None
    number: Count
    seat: Seat
    is_frozen: bool

    def __str__(self) -> str:
        return f"heartbeat, tip {short(self.tip)}{', frozen' if self.is_frozen else ''}"


@frozen(cache_hash=True)
class Confirm:
    """To an elector: does this view still stand?  `number`: the question's number."""

    view: ViewId
    number: Annotated[int, AtLeast(1)]

    def __str__(self) -> str:
        return f"does {short(self.view)} stand? ({self.number})"


@frozen(cache_hash=True)
class Confirmed:
    """From an elector: when I was asked, I had answered no ballot about the view's successor."""

    view: ViewId
    number: Annotated[int, AtLeast(1)]
    seat: Seat

    def __str__(self) -> str:
        return f"{short(self.view)} stands ({self.number})"


MemberMessage: TypeAlias = (
    Hello | Welcome | Refused | Ready | WantUpdate | Heartbeat | Confirm | Confirmed
)
JoinMessage: TypeAlias = ChoiceMessage | MemberMessage


# -- actions of the host --------------------------------------------------------------------


@frozen
class StartUpdate:
    """Receive the state from `source`, in place of an earlier update.  Then call `update_done`.

    `to`: the position to reach, where the view starts.  `beside`: the view runs without this
    member; `to` is then unknown, and the source says where its data ends.
    """

    source: str
    view: View
    to: Position | None
    beside: bool


@frozen
class ServeUpdate:
    """Send the state to `to`: all frames of this member."""

    to: str
    view: View


@frozen
class OpenForClients:
    """Serve clients from now on, in this view.  `is_sequencer`: order their frames, too."""

    view: View
    is_sequencer: bool


class Closing(Enum):
    """Why clients are no longer served."""

    NEXT_VIEW = "the next view is being chosen"
    NO_MAJORITY = "no majority of the electors, or no outside register, is heard"
    STOPPED = "this member stops"
    ABORTED = "this member aborts"


@frozen
class Stop:
    """End the process: this member has left, or the whole cluster is closed (S2)."""

    is_clean: bool


@frozen
class Abort:
    """End the process.  A restart does not help; the store stays as it is.

    `found`, `expected`: for the message to the operator.  `needs_recovery`: the operator has to
    choose with `joinproto recover` first.
    """

    reason: Reason
    found: str
    expected: str
    needs_recovery: bool


@frozen
class CompareAndSet:
    """Ask the outside register: if `parent` has no successor yet, it is `view`.

    Call `register_says` with the successor that the register then has.
    """

    parent: ViewId | None
    view: View


@frozen
class NoSuccessor:
    """The answer of a register that has no successor."""


@frozen
class ReadRegister:
    """Ask the outside register which successor `parent` has.

    Call `register_says` with it, or `register_free` if there is none, with `asked` and `question`.
    If the register is out of reach, do nothing: the member suspends itself in time.  `question`:
    the number of the question of waiting reads; 0: no reads wait.
    """

    parent: ViewId
    asked: float
    question: int = 0


@frozen
class ReadsConfirmed:
    """Answer the reads to which `read` gave the numbers up to `upto`.

    Each frame that was acknowledged before these reads began is in this member's store.
    """

    upto: int


Action: TypeAlias = (
    StartUpdate
    | ServeUpdate
    | OpenForClients
    | Stop
    | Abort
    | CompareAndSet
    | ReadRegister
    | ReadsConfirmed
)


# -- events for people and metrics ------------------------------------------------------------


@frozen
class PhaseChanged:
    """The member went from one phase to another; `label`, `case`: the rule that says so."""

    before: Phase
    after: Phase
    label: str
    case: str


@frozen
class Learned:
    """A view was learned, and is durable."""

    view: View


@frozen
class Waiting:
    """The next view cannot be chosen yet: `label` and `case` of the table say why.

    `reason` `no-clean-store` needs an operator, unless a better store comes.
    """

    label: str
    case: str
    reason: Reason | None
    detail: str = ""
    table: str = ""


@frozen
class Proposes:
    """This member proposes `view`: `label` and `case` of the table say why."""

    label: str
    case: str
    view: View
    table: str


@frozen
class Forbids:
    """The initial members cannot start together: `label` and `case` of the table say why."""

    label: str
    case: str
    reason: Reason
    table: str


@frozen
class Refusal:
    """A message or a newcomer was refused: the found and the expected value."""

    peer: str
    what: str


Event: TypeAlias = PhaseChanged | Learned | Waiting | Proposes | Forbids | Refusal


@frozen
class Sent:
    """A message for a peer."""

    to: str
    message: JoinMessage


@frozen
class Batch:
    """The actions that a host must do now, field by field from the top; then it calls `advance`.

    `close`: before all other actions, stop serving clients and acknowledging frames; None: no
    change.  `persist`: make this record durable before a message is sent; None: no change.
    `sends`: each may be lost, come twice or come late.  `actions`: in this order.  `events`: to log
    or count, at any time.
    """

    close: Closing | None = None
    persist: StoreRecord | None = None
    sends: tuple[Sent, ...] = ()
    actions: tuple[Action, ...] = ()
    events: tuple[Event, ...] = ()

    def __bool__(self) -> bool:
        is_to_do = self.close is not None or self.persist is not None
        return is_to_do or bool(self.sends or self.actions or self.events)
