"""Events of a member under the note's rules or Qpid's.

A crash is not an event: it ends the process, and the next process begins with the durable state.
"""

from collections.abc import Hashable
from typing import TypeAlias

from attrs import frozen

from joinproto.machine.vocabulary import Signature, Status


@frozen
class Start:
    """The process starts.  `stamp`: a new signature, for rules that draw one at the start."""

    stamp: Signature | None = None


@frozen
class Agreed:
    """The members agreed on the set of members; all of them receive the same value.

    `members`: the last status of each, in an order that is the same for all.  `stamp`: the
    signature of a cluster that is founded now, such as a time on which the members agreed; two sets
    that were agreed separately never have the same stamp.
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
    """The whole cluster stops.  `final`: its agreed signature; None means that each has its own."""

    final: Signature | None = None


@frozen
class Leave:
    """Only this member stops."""


@frozen
class MarkClean:
    """The operator marks a stopped member's store as clean.

    `final`: a new final signature; None keeps the present one.
    """

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
"""The name of each event in a state machine."""
