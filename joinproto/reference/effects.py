"""Effects: a member's requests to its host, to be performed in their order.

A table names effects by `Action`; a member turns an action into the values below.  A crash may
happen between any two of them.
"""

from collections.abc import Hashable
from enum import Enum
from typing import TypeAlias

from attrs import frozen

from joinproto.machine.vocabulary import Reason, Signature, Status, Store


class Action(Enum):
    """An effect as a table names it."""

    ANNOUNCE = "announce its status"
    ASK_FOR_UPDATE = "ask for an update"
    DROP_DATA = "drop its data"
    TAKE_DATA = "take the source's data and final signature"
    TAKE_INITIAL = "take the source's initial signature"
    SET_INITIAL = "set the initial signature"
    WRITE_FRAME = "write the frame"
    WRITE_COUNTED_FRAME = "write the frame and advance the final signature"
    ACKNOWLEDGE = "acknowledge the frame"
    MARK_CLEAN = "set the final signature and mark the store clean"
    MARK_DIRTY = "mark the store dirty"
    JUDGE_STORE = "judge its store by the size of the group"
    SERVE = "serve clients"
    LOG_RECOVERY = "log: need manual recovery"
    ABORT = "abort"
    EXIT = "leave and stop"


@frozen
class DiskRecord:
    """The part of a member's state that survives a crash."""

    store: Store
    initial: Signature | None = None
    final: Signature | None = None
    data: tuple[Hashable, ...] = ()

    def __str__(self) -> str:
        if self.store in (Store.NONE, Store.EMPTY):
            return f"{self.store.value}, frames {' '.join(map(str, self.data)) or '-'}"
        signatures = f"{self.initial}/{'-' if self.final is None else self.final}"
        return f"{self.store.value} {signatures}, frames {' '.join(map(str, self.data)) or '-'}"


@frozen
class CaseTaken:
    """Names the case and the table of this step, for coverage and logs; the host ignores it."""

    table: str
    label: str
    case: str


@frozen
class Persist:
    """Make the record `kept` durable, as one write, before the next effect is performed."""

    kept: DiskRecord


@frozen
class Announce:
    """Tell every other member this status."""

    status: Status


@frozen
class AskForUpdate:
    """Get the state from one of `sources`; this replaces an earlier request."""

    sources: tuple[str, ...]


@frozen
class Acknowledge:
    """Tell the client that its frame is kept."""

    frame: Hashable


@frozen
class Serve:
    """Serve clients from now on."""


@frozen
class Log:
    """Write `text` to the operator's log."""

    text: str


@frozen
class Abort:
    """Leave the group and end the process; the store stays as it is."""

    label: str
    reason: Reason | None


@frozen
class Exit:
    """Leave the group and end the process, without an error."""


Effect: TypeAlias = (
    CaseTaken | Persist | Announce | AskForUpdate | Acknowledge | Serve | Log | Abort | Exit
)
