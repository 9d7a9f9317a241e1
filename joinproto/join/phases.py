"""The phases of a member, and the table that determines the present phase.

The table is evaluated after each event: the phase follows from the record and the observations, so
no order of events can leave a member in a phase that its facts do not justify.  The table also has
the actions of a member that enters a phase.

Source: join protocol, 3.3 to 3.5; rules W1, I1, I7, I8, J1, P1, P2, S2.
"""

from __future__ import annotations

from enum import Enum
from functools import cache

from attrs import frozen

from joinproto.machine.machine import Arrow, StateMachine
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS, Members


class Phase(Enum):
    """The phase of a member."""

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


class Effect(Enum):
    """An action of a member that enters or leaves a phase."""

    CLOSE_FOR_CLIENTS = "close for clients"
    OPEN_FOR_CLIENTS = "open for clients"
    SAY_HELLO = "say hello to the members of the view"
    HOLD = "write down that it was ready, and tell the members"
    STOP = "stop"
    ABORT = "abort"


@frozen(kw_only=True)
class Facts:
    """The row of the table: the facts that one member knows of itself.

    `is_done`: it has left, or the cluster is closed.  `has_options`: its options are the tip's, or
    were when it became ready.  `has_data`: its data ends where the tip starts, or it was ready in
    the tip in this process.  `is_ready`, `was_ready`: it was ready in the tip in this process, in
    an earlier process.  `all_ready`: all members of the tip are ready.  `has_n`: the tip has N
    members, or N was reached before.
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


_i = MEMBERS.fact

ON_LEAVING = {Phase.ACTIVE: Effect.CLOSE_FOR_CLIENTS}
"""The first action of a member that leaves a phase, whatever its next phase is."""


@cache
def standing() -> Table[Phase]:
    """Return the table of all phases; a member that enters a phase does its case's actions."""
    cases = (
        Case(
            "I2",
            "a verdict",
            _i("there is a verdict to abort", is_aborted=True),
            Phase.ABORTED,
            (Effect.ABORT,),
        ),
        Case(
            "S2",
            "left, or closed",
            _i("it has left, or closed", is_done=True),
            Phase.STOPPED,
            (Effect.STOP,),
        ),
        Case("I1", "nothing is founded", _i("it knows no view", has_tip=False), Phase.INITIALIZING),
        Case(
            "P2",
            "closed in order",
            _i("its tip is a CLOSE", is_open=False),
            Phase.INITIALIZING,
        ),
        Case(
            "J1",
            "not in the view",
            _i("it is not in the tip", is_member=False),
            Phase.JOINING,
            (Effect.SAY_HELLO,),
        ),
        Case(
            "3.3",
            "who answers freezes",
            _i("it has answered a ballot", is_frozen=True),
            Phase.FROZEN,
        ),
        Case(
            "P1",
            "goes on only through a new view",
            _i("it was ready in the tip before it was stopped", was_ready=True),
            Phase.INITIALIZING,
        ),
        # It answered the ballot with other options, and has been started again since.
        Case(
            "I2",
            "its options are not those of the view",
            _i("its options are not the tip's", has_options=False),
            Phase.INITIALIZING,
        ),
        Case(
            "I7",
            "its data is elsewhere",
            _i("its data is not where the tip starts", has_data=False),
            Phase.UPDATING,
            (Effect.SAY_HELLO,),
        ),
        Case(
            "I8",
            "has the data",
            _i("it has not said that it is ready", is_ready=False),
            Phase.READY,
            (Effect.HOLD,),
        ),
        Case(
            "I8",
            "others are not ready",
            _i("others in the tip are not ready", all_ready=False),
            Phase.READY,
        ),
        Case(
            "W1",
            "fewer than N",
            _i("N still counts, and the tip has fewer members", has_n=False),
            Phase.READY,
        ),
        Case(
            "3.5",
            "hears no majority",
            _i("it hears no majority", hears_majority=False),
            Phase.SUSPENDED,
        ),
        Case("I8", "all are ready", ALWAYS, Phase.ACTIVE, (Effect.OPEN_FOR_CLIENTS,)),
    )
    return Table(
        "chain-standing", "join protocol 3.3 to 3.5; rules W1, I1, I7, I8, J1, P1, P2, S2", cases
    )


def arrows() -> tuple[Arrow[Phase], ...]:
    """Return the only arrow of the member: after each event it settles."""
    return (Arrow("settle", RUNNING, standing()),)


@cache
def machine() -> StateMachine[Phase]:
    """Return the one machine that all members share."""
    return StateMachine("chain", Phase, arrows())
