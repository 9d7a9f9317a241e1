"""The events of the join worlds that are not messages of members: those of hosts, the register and
the ledger, and the choices of the search.
"""

from __future__ import annotations

from enum import Enum

from attrs import frozen

from joinproto.join.ids import ViewId
from joinproto.join.store import Accepted
from joinproto.join.view import Position, Seat, View

REGISTER = "register"
"""The name under which the outside register takes part in a world."""

# -- events alongside messages ------------------------------------------------------------------


class MemberChoice(Enum):
    """A choice of the search for one member."""

    DEADLINE = "the deadline has come"
    SUSPECT = "one of the others is not heard of"  # longer than patience allows, gone or not
    BEAT = "a heartbeat is due"
    READ = "a client reads"
    WRITE = "a client writes"
    SHUT_DOWN = "the operator stops the cluster"
    LEAVE = "the operator lets it leave"
    START_AGAIN = "is started again"  # after its process ended in order

    def __str__(self) -> str:
        return self.value


@frozen
class Lost:
    """Choice: `peer` counts as lost, whether it is or not."""

    peer: str

    def __str__(self) -> str:
        return f"{self.peer} is not heard of"


@frozen
class Found:
    """Choice: `peer` is heard of again."""

    peer: str

    def __str__(self) -> str:
        return f"{self.peer} is heard of again"


# -- messages of the host and the register ----------------------------------------------


@frozen(cache_hash=True)
class FrameMessage:
    view: ViewId
    seq: int

    def __str__(self) -> str:
        return f"frame {self.seq} of {self.view}"


@frozen(cache_hash=True)
class Data:
    """All data of a source in one message; a real host streams it."""

    view: ViewId
    position: Position | None
    frames: tuple[Position, ...]

    def __str__(self) -> str:
        return f"data up to {position_text(self.position)}"


@frozen(cache_hash=True)
class Cas:
    """To the register: let `view` be the successor of its parent, if the parent has none."""

    view: View

    def __str__(self) -> str:
        return f"set the successor: {self.view.id}"


@frozen(cache_hash=True)
class Ask:
    """To the register: which view succeeds `parent`?"""

    parent: ViewId

    def __str__(self) -> str:
        return f"what follows {self.parent}?"


@frozen(cache_hash=True)
class Free:
    """From the register: no view follows `parent`."""

    parent: ViewId

    def __str__(self) -> str:
        return f"nothing follows {self.parent}"


@frozen(cache_hash=True)
class Says:
    """From the register: `view` is its parent's successor."""

    view: View

    def __str__(self) -> str:
        return f"the successor is {self.view.id}"


# -- events of the ledger ------------------------------------------------------------------------


@frozen(cache_hash=True)
class Kept:
    """A frame is durable at a seat that is ready in the frame's view."""

    seat: Seat
    frame: Position

    def __str__(self) -> str:
        return f"{self.seat.member} keeps {position_text(self.frame)}"


@frozen(cache_hash=True)
class ReadBegan:
    """A client's read begins at a member that has these frames."""

    seat: Seat
    frames: tuple[Position, ...]

    def __str__(self) -> str:
        last = self.frames[-1] if self.frames else None
        return f"a read begins at {self.seat.member}, up to {position_text(last)}"


@frozen(cache_hash=True)
class ReadEnded:
    """A member answers its client's read, with at least the frames that it had at the beginning."""

    seat: Seat

    def __str__(self) -> str:
        return f"the read at {self.seat.member} is answered"


@frozen(cache_hash=True)
class Reached:
    """A member that heard no other member is connected again; this view is the latest it knows."""

    seat: Seat
    view: ViewId

    def __str__(self) -> str:
        return f"{self.seat.member} is connected again"


@frozen(cache_hash=True)
class Reopened:
    """A member whose connections come and go serves clients in a view, perhaps again."""

    seat: Seat
    view: ViewId

    def __str__(self) -> str:
        return f"{self.seat.member} serves in {self.view}"


@frozen(cache_hash=True)
class Opened:
    """A member serves clients in a view."""

    view: ViewId

    def __str__(self) -> str:
        return f"serves in {self.view}"


@frozen(cache_hash=True)
class ReadyIn:
    """A member is ready in a view."""

    seat: Seat
    view: ViewId

    def __str__(self) -> str:
        return f"{self.seat.member} is ready in {self.view}"


@frozen(cache_hash=True)
class Returned:
    """A member that had not answered a ballot was started again, without its memory."""

    seat: Seat
    tip: ViewId | None

    def __str__(self) -> str:
        return f"{self.seat.member} was stopped"


@frozen(cache_hash=True)
class Stands:
    """The register has told a process that no view follows this one."""

    seat: Seat
    view: ViewId

    def __str__(self) -> str:
        return f"{self.seat.member} knows that {self.view} stands"


@frozen(cache_hash=True)
class Proposed:
    """A member asks the register for this view."""

    view: ViewId

    def __str__(self) -> str:
        return f"proposed: {self.view}"


@frozen(cache_hash=True)
class ChosenView:
    """A view was chosen by the register, or by the only elector."""

    view: ViewId

    def __str__(self) -> str:
        return f"chosen: {self.view}"


@frozen(cache_hash=True)
class Vote:
    """A member's acceptance of a view is durable."""

    seat: Seat
    accepted: Accepted

    def __str__(self) -> str:
        return f"{self.seat.store_id} accepts {self.accepted.view.id}"


def position_text(position: Position | None) -> str:
    """Return a position as a trace shows it."""
    if position is None:
        return "-"
    return f"{position.seq} of {position.view}"
