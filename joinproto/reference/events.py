"""Events of a member of the note or of Qpid.

A crash is no event: it ends the process, and the next one begins with the durable state.
"""

from collections.abc import Hashable
from typing import TypeAlias

from attrs import frozen

from joinproto.machine.vocabulary import Signature, Status


@frozen
class Start:
    """The process starts.  `stamp`: a fresh signature, for rules that draw one here."""

    stamp: Signature | None = None


@frozen
class Agreed:
    """The members agreed on which ones they are; all of them receive the same value.

    `members` holds each one's last status, in an order that is the same for all.
    `stamp`: the signature that a cluster founded now would have, for instance the time the
    members agreed on; never the same for two sets that were agreed apart.
    """

    members: tuple[Status, ...]
    stamp: Signature


@frozen
class UpdateDone:
    """The whole state of the member `source` has arrived."""

    source: str
    initial: Signature | None
    final: Signature | None
    data: tuple[Hashable, ...]


@frozen
class ClientWrite:
    """A client's frame, delivered to each active member in the same order."""

    frame: Hashable


@frozen
class OrderlyShutdown:
    """The whole cluster stops.  `final`: the signature it agreed on; None means each its own."""

    final: Signature | None = None


@frozen
class Leave:
    """This member alone stops."""


@frozen
class MarkClean:
    """The operator marks a stopped member's store.  `final`: a new signature, or None."""

    final: Signature | None = None


Event: TypeAlias = Start | Agreed | UpdateDone | ClientWrite | OrderlyShutdown | Leave | MarkClean

TRIGGERS: dict[type, str] = {
    Start: "start",
    Agreed: "agreed",
    UpdateDone: "update_done",
    ClientWrite: "client_write",
    OrderlyShutdown: "orderly_shutdown",
    Leave: "leave",
    MarkClean: "mark_clean",
}
"""The name each event has in a state machine."""
