"""The note's words as values: store, phase, reason, and a member's own status.

Source: join-protocol note, "Terminology" and "Define sets".
"""

from collections.abc import Hashable
from enum import Enum
from typing import TypeAlias

from attrs import Factory, field, frozen

Signature: TypeAlias = str | int
"""A text in a cluster, a small number in a searched world; only equality has a meaning."""

Options: TypeAlias = tuple[tuple[str, Hashable], ...]
"""Option names with values, sorted by name, so that equal options are equal values."""


class Store(Enum):
    """The contents of a member's disk."""

    NONE = "none"  # transient: the member has no store
    EMPTY = "empty"
    CLEAN = "clean"
    DIRTY = "dirty"


class Phase(Enum):
    """The phase of a member."""

    STOPPED = "stopped"
    INITIALIZING = "initializing"  # started, and waits for enough members (I1)
    UPDATING = "updating"  # an initial member that receives the state (I7)
    READY = "ready"  # has the state, waits for the updates of the others (I8)
    JOINING = "joining"  # a newcomer that receives the state (J1, J2)
    ACTIVE = "active"
    ABORTED = "aborted"


class Reason(Enum):
    """Why a member waits or aborts; the words of `joinproto decide`."""

    TOO_FEW_MEMBERS = "too-few-members"
    OPTIONS_DIFFER = "options-differ"
    INITIAL_SIGNATURE_MISMATCH = "initial-signature-mismatch"
    FINAL_SIGNATURE_MISMATCH = "final-signature-mismatch"
    NO_CLEAN_STORE = "no-clean-store"
    MIXED_TRANSIENT_PERSISTENT = "mixed-transient-persistent"
    WRONG_STORE = "wrong-store"
    STORE_NEWER_THAN_CLUSTER = "store-newer-than-cluster"
    STORE_WENT_BACK = "store-went-back"


@frozen
class Status:
    """The facts that a member tells the others about itself; conditions read them.

    `ready`: it has the state, from its own store or by a finished update; by default the same as
    `active`.  `wait_for`: its own N, 1 or more.
    """

    id: str
    store: Store
    initial: Signature | None = field(default=None, kw_only=True)
    final: Signature | None = field(default=None, kw_only=True)
    active: bool = field(default=False, kw_only=True)
    ready: bool = field(default=Factory(lambda self: self.active, takes_self=True), kw_only=True)
    options: Options = field(default=(), kw_only=True)
    wait_for: int = field(default=1, kw_only=True)
