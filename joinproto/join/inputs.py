"""The inputs of a member, as values: a host gives them to `Member.tell`, and so does a search.

The method of `Member` that makes an input explains its meaning for a host.
"""

from __future__ import annotations

from typing import TypeAlias

from attrs import frozen

from joinproto.join.ids import ViewId
from joinproto.join.messages import JoinMessage
from joinproto.join.view import Position, View


@frozen
class Receive:
    """A message from `peer` arrives."""

    peer: str
    message: JoinMessage


@frozen
class PeerUp:
    """A connection to `peer` is there; `confirms`: it speaks version 4 or later."""

    peer: str
    confirms: bool = True


@frozen
class PeerDown:
    """The connection to `peer` is lost."""

    peer: str


@frozen
class Tick:
    """The deadline has come."""


@frozen
class UpdateOverwrites:
    """The data is about to be, for a moment, at no position."""


@frozen
class UpdateProgress:
    """The data now ends at `position`, on the way to the tip."""

    position: Position | None


@frozen
class UpdateDone:
    """The update is complete, and the data ends at `position`."""

    position: Position | None


@frozen
class Appended:
    """Frames of `view`, from `first` to `seq`, are durable; with `first` None only frame `seq`."""

    view: ViewId
    seq: int
    first: int | None = None


@frozen
class Read:
    """Reads have arrived, and wait to be confirmed."""


@frozen
class Leave:
    """This member must leave the cluster."""


@frozen
class ShutdownCluster:
    """The whole cluster must stop."""


@frozen
class RegisterSays:
    """The outside register holds `view` as the successor of its parent."""

    view: View


@frozen
class RegisterFree:
    """The outside register answers `ReadRegister` with these fields: `parent` has no successor."""

    parent: ViewId
    asked: float
    question: int = 0


Input: TypeAlias = (
    Receive
    | PeerUp
    | PeerDown
    | Tick
    | UpdateOverwrites
    | UpdateProgress
    | UpdateDone
    | Appended
    | Read
    | Leave
    | ShutdownCluster
    | RegisterSays
    | RegisterFree
)
