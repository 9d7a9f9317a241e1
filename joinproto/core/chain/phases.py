"""The phases of a member, and the table that says which one it is in.

After everything that happens, the table is asked again: the phase follows from the record
and from what was heard, so no order of events can leave a member in a phase that its facts
do not justify.  What is done on the way is in the table, too.

Source: join protocol, 3.3 to 3.5; rules W1, I1, I7, I8, J1, P1, P2, S2.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from attrs import frozen

from joinproto.core.machine import Arrow, StateMachine
from joinproto.core.tables import Case, Table
from joinproto.core.terms import ALWAYS, Condition, Members


class Phase(Enum):
    """Where a member is between its start and its end."""

    INITIALIZING = "initializing"  # waits for the view that founds or restarts the cluster
    JOINING = "joining"  # knows the cluster, and is not in its view (J1, J2)
    FROZEN = "frozen"  # has answered a ballot: the next view is being chosen
    UPDATING = "updating"  # in the view, and receives its data (I7)
    READY = "ready"  # has the data, waits for the others (I8, W1)
    ACTIVE = "active"
    SUSPENDED = "suspended"  # hears no majority, so others may go on without it
    STOPPED = "stopped"
    ABORTED = "aborted"


RUNNING = tuple(phase for phase in Phase if phase not in (Phase.STOPPED, Phase.ABORTED))


class Deed(Enum):
    """What is done on the way into a phase."""

    CLOSE_FOR_CLIENTS = "close for clients"
    OPEN_FOR_CLIENTS = "open for clients"
    SAY_HELLO = "say hello to the members of the view"
    HOLD = "write down that it was ready, and tell the members"
    STOP = "stop"
    ABORT = "abort"


class Guard(Enum):
    """A case of the table that can be left out, so that a search shows what it is for."""

    ALL_READY = "active-before-all-are-ready"
    COUNTS_N = "n-is-not-counted"
    SAME_RUN = "goes-on-after-a-restart"
    FROZEN = "frozen-goes-on"
    HEARD = "serves-unheard"
    OPTIONS = "ready-with-other-options"


@frozen(kw_only=True)
class Facts:
    """What the table is about: one member, seen by itself.

    `has_options`: its own are those of the tip, or were when it became ready.  `has_data`: its
    data is where the tip starts, or has grown in it since.  `is_ready`: it was ready in the tip
    in this process.  `was_ready`: in an earlier one.  `all_ready`: so are all members of the
    tip.  `has_n`: they are N, or N was reached before.
    """

    is_aborted: bool = False
    is_done: bool = False
    has_tip: bool = False
    is_open: bool = False
    is_member: bool = False
    is_frozen: bool = False
    has_data: bool = False
    is_ready: bool = False
    was_ready: bool = False
    has_options: bool = True
    all_ready: bool = False
    has_n: bool = False
    hears_majority: bool = True


MEMBERS = Members("I", Facts)


def _i(**facts: bool) -> Condition:
    (name,) = facts
    return MEMBERS.where(**facts).named(_NAMES[name, facts[name]]).has(MEMBERS.me)


_NAMES = {
    ("is_aborted", True): "those with a verdict to abort",
    ("is_done", True): "those who have left, or closed",
    ("has_tip", False): "those without a tip",
    ("is_open", False): "those whose tip is a CLOSE",
    ("is_member", False): "those outside the tip",
    ("is_frozen", True): "those who answered a ballot",
    ("was_ready", True): "those ready in the tip before they were stopped",
    ("has_options", False): "those with other options than the tip's",
    ("has_data", False): "those without the data where the tip starts",
    ("is_ready", False): "those who have not said that they are ready",
    ("all_ready", False): "those who wait for the others' data",
    ("has_n", False): "those in a view of fewer than N",
    ("hears_majority", False): "those who hear no majority",
}


def standing(*, serves: bool, left_out: frozenset[Guard] = frozenset()) -> Table[Phase]:
    """Return the table for a member that `serves` clients now, or does not."""
    close = (Deed.CLOSE_FOR_CLIENTS,) if serves else ()
    cases = (
        Case("I2", "a verdict", _i(is_aborted=True), Phase.ABORTED, (*close, Deed.ABORT)),
        Case("S2", "left, or closed", _i(is_done=True), Phase.STOPPED, (*close, Deed.STOP)),
        Case("I1", "nothing is founded", _i(has_tip=False), Phase.INITIALIZING),
        Case("P2", "closed in order", _i(is_open=False), Phase.INITIALIZING, close),
        Case("J1", "not in the view", _i(is_member=False), Phase.JOINING, (*close, Deed.SAY_HELLO)),
        Case("3.3", "who answers freezes", _i(is_frozen=True), Phase.FROZEN, close),
        Case(
            "P1", "goes on only through a new view", _i(was_ready=True), Phase.INITIALIZING, close
        ),
        # It was asked with others, and has been started again since.
        Case(
            "I2",
            "its options are not those of the view",
            _i(has_options=False),
            Phase.INITIALIZING,
            close,
        ),
        Case(
            "I7",
            "its data is elsewhere",
            _i(has_data=False),
            Phase.UPDATING,
            (*close, Deed.SAY_HELLO),
        ),
        Case("I8", "has the data", _i(is_ready=False), Phase.READY, (*close, Deed.HOLD)),
        Case("I8", "others are not ready", _i(all_ready=False), Phase.READY, close),
        Case("W1", "fewer than N", _i(has_n=False), Phase.READY, close),
        Case("3.5", "hears no majority", _i(hears_majority=False), Phase.SUSPENDED, close),
        Case(
            "I8",
            "all are ready",
            ALWAYS,
            Phase.ACTIVE,
            () if serves else (Deed.OPEN_FOR_CLIENTS,),
        ),
    )
    dropped = {_DROPPED[guard] for guard in left_out}
    return Table(
        "chain-standing",
        "join protocol 3.3 to 3.5; rules W1, I1, I7, I8, J1, P1, P2, S2",
        tuple(case for case in cases if case.name not in dropped),
    )


_DROPPED = {
    Guard.ALL_READY: "others are not ready",
    Guard.COUNTS_N: "fewer than N",
    Guard.SAME_RUN: "goes on only through a new view",
    Guard.FROZEN: "who answers freezes",
    Guard.HEARD: "hears no majority",
    Guard.OPTIONS: "its options are not those of the view",
}


def arrows(left_out: frozenset[Guard] = frozenset()) -> tuple[Arrow[Phase], ...]:
    """Return the arrows of the member: whatever happens, it settles."""
    idle = tuple(phase for phase in RUNNING if phase is not Phase.ACTIVE)
    return (
        Arrow("settle", (Phase.ACTIVE,), standing(serves=True, left_out=left_out)),
        Arrow("settle", idle, standing(serves=False, left_out=left_out)),
    )


@cache
def machine(left_out: frozenset[Guard] = frozenset()) -> StateMachine[Phase]:
    """Return the one machine that all members share."""
    return StateMachine("chain", Phase, arrows(left_out))
