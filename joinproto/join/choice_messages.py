"""Messages between stores that choose a view, and the requests of the choice to its host.

Each message names the parent, which is the view whose successor must be chosen; None is for the
founding.  If the parent is not the receiver's tip, the message is about another choice.

Source: join protocol, 3.3.
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from joinproto.join.answers import Answer
from joinproto.join.ids import ViewId
from joinproto.join.store import Accepted, Ballot, StoreRecord
from joinproto.join.view import Seat, View


def said(ballot: Ballot) -> str:
    """Return a short text for a ballot: its round, and its store."""
    return f"{ballot.round}.{ballot.store_id}"


# -- messages ------------------------------------------------------------------------------


@frozen(cache_hash=True)
class Prepare:
    """Asks the receiver to promise that it accepts no ballot below this one.

    A member that answers freezes.
    """

    parent: ViewId | None
    ballot: Ballot

    def __str__(self) -> str:
        return f"prepare {said(self.ballot)}"


@frozen(cache_hash=True)
class Promise:
    """The answer to `Prepare`, with the view that this store accepted last.

    `voter`: the member with the store that answers.  The promise is of this store alone: after a
    wipe the member answers as another voter.  `answer`: the store's status, from which the next
    view is made; the choice itself does not need it.  `misses`: the names of the members and
    electors of the tip that the voter does not hear; empty from older versions.
    """

    parent: ViewId | None
    ballot: Ballot
    voter: Seat
    accepted: Accepted | None
    answer: Answer | None = None
    misses: frozenset[str] = frozenset()

    def __str__(self) -> str:
        accepted = "nothing" if self.accepted is None else str(self.accepted.view.id)
        status = "" if self.answer is None else f"; {self.answer}"
        misses = f"; does not hear {' '.join(sorted(self.misses))}" if self.misses else ""
        return f"promise {said(self.ballot)}, accepted {accepted}{status}{misses}"


@frozen(cache_hash=True)
class Accept:
    """Asks the receiver to accept this view in this ballot."""

    parent: ViewId | None
    ballot: Ballot
    view: View

    def __str__(self) -> str:
        return f"accept {self.view.id} in {said(self.ballot)}"


@frozen(cache_hash=True)
class Voted:
    """The answer to `Accept`.  A ballot has one view, so the message names no view."""

    parent: ViewId | None
    ballot: Ballot
    voter: Seat

    def __str__(self) -> str:
        return f"voted in {said(self.ballot)}"


@frozen(cache_hash=True)
class Nack:
    """The refusal of a ballot that is below `promised`."""

    parent: ViewId | None
    ballot: Ballot
    promised: Ballot

    def __str__(self) -> str:
        return f"no to {said(self.ballot)}, promised {said(self.promised)}"


@frozen(cache_hash=True)
class Chosen:
    """Tells the receiver the chosen views after the parent, as far as the sender knows them.

    `initial`: the initial signature, set if the first views after the parent are forgotten.  Only a
    store that is empty, or knows only the FOUND, can use such a message.  `has_frames`: the
    receiver is a member of the last view, and the sender has frames of it, so all its members were
    ready in it; False from older versions.
    """

    parent: ViewId | None
    views: tuple[View, ...]
    initial: ViewId | None = None
    has_frames: bool = False

    @classmethod
    def telling(
        cls, to: str, parent: ViewId | None, number: int, record: StoreRecord
    ) -> Chosen | None:
        """Return the message with the views after `parent`.

        `number`: the number of `parent`.  None if the views that follow `parent` are forgotten.
        """
        lineage, tip, end = record.lineage, record.tip, record.position
        has_frames = (
            tip is not None
            and end is not None
            and end.view == tip.id
            and any(seat.member == to for seat in tip.members)
        )
        if number >= lineage.forgotten:
            views = lineage.views[number - lineage.forgotten :]
            return cls(parent, views, has_frames=has_frames)
        if number <= 1:
            # The initial signature shows that the store's chain continues here.
            return cls(parent, lineage.views, lineage.initial, has_frames)
        return None

    def __str__(self) -> str:
        return "chosen " + ", ".join(str(view.id) for view in self.views)


ChoiceMessage: TypeAlias = Prepare | Promise | Accept | Voted | Nack | Chosen


# -- effects -------------------------------------------------------------------------------


@frozen
class PersistRecord:
    """Make the record durable, as one write, before the next effect is performed."""

    record: StoreRecord


@frozen
class SendTo:
    """Send the message to the member of this name; it may be lost."""

    to: str
    message: ChoiceMessage


@frozen
class FreeToPropose:
    """Enough members have promised, and none of them accepted a view: the host may propose its own.

    The effect is repeated with each later promise, because the host may need more answers than the
    ballot needs: all members for a CLOSE.
    """

    ballot: Ballot
    answered: frozenset[Seat]


@frozen
class Learned:
    """These views are now durable parts of the lineage; the last one is the tip."""

    views: tuple[View, ...]


@frozen
class Outbid:
    """This member gave up its own ballot, because it saw the later ballot `by`.

    Wait before the next `begin`.
    """

    by: Ballot


@frozen
class OutOfStep:
    """`sender` speaks of a parent that this lineage does not know.

    The sender is ahead or on another chain: compare the lineages, then let the sender ask again.
    """

    sender: str
    parent: ViewId | None


@frozen
class AskRegister:
    """Ask the outside register to set the successor of `parent` to `view`, if it has none.

    The register's answer, the successor that it then holds, goes to `OutsideChoice.decided`.
    """

    parent: ViewId | None
    view: View


ChoiceEffect: TypeAlias = (
    PersistRecord | SendTo | FreeToPropose | Learned | Outbid | OutOfStep | AskRegister
)
