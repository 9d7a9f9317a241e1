"""A starting Qpid broker's verdict on the set of initial statuses.

With fewer than N members a broker waits (Q0).  Then
come four checks in this order (Q1 to Q4), then the question whether an update is needed (Q5 to Q8).
Every member past this table counts as active, even one that still waits for its own update; only
members that have the state (R) give updates.
"""

from joinproto.machine.sets import ME, MY_WAIT_FOR, A, C, D, E, I, R, T
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS
from joinproto.machine.vocabulary import Phase, Reason
from joinproto.reference.effects import Action
from joinproto.reference.shapes import aborts, always

# A member that goes on adopts the agreed cluster-id, and writes it at once, whatever it had before.
GO_ACTIVE = (Action.SET_INITIAL, Action.JUDGE_STORE, Action.SERVE, Action.ANNOUNCE)
# The old journal is set aside first; the status file is still the old one.
UPDATE = (Action.DROP_DATA, Action.SET_INITIAL, Action.ANNOUNCE, Action.ASK_FOR_UPDATE)

STARTING: Table[Phase] = Table(
    "qpid-starting",
    "Qpid C++ 0.8 to 0.18, checks at the end of the initial-status exchange",
    (
        Case(
            "Q0",
            "too few members",
            A.is_empty & I.fewer_than(MY_WAIT_FOR),
            Phase.INITIALIZING,
            reason=Reason.TOO_FEW_MEMBERS,
        ),
        aborts(
            "Q1",
            "stores of different clusters",
            (C | D).disagrees_on("initial"),
            Reason.INITIAL_SIGNATURE_MISMATCH,
        ),
        aborts(
            "Q2",
            "clean stores differ",
            A.is_empty & C.disagrees_on("final"),
            Reason.FINAL_SIGNATURE_MISMATCH,
        ),
        aborts(
            "Q3",
            "transient and persistent mixed",
            ~T.is_empty & ~(C | D | E).is_empty,
            Reason.MIXED_TRANSIENT_PERSISTENT,
        ),
        aborts(
            "Q4",
            "no clean store",
            A.is_empty & ~D.is_empty & C.is_empty,
            Reason.NO_CLEAN_STORE,
        ),
        Case("Q5", "a member is active", ~A.is_empty, Phase.JOINING, UPDATE, updates_from=R),
        # The member goes active at once, and does not wait for members that need an update.
        Case("Q6", "own store is clean", C.has(ME), Phase.ACTIVE, GO_ACTIVE),
        Case("Q7", "no member has a used store", (C | D).is_empty, Phase.ACTIVE, GO_ACTIVE),
        Case("Q8", "own store is not clean", ALWAYS, Phase.JOINING, UPDATE, updates_from=C),
    ),
)

UPDATED = always(
    "qpid-updated",
    "Qpid C++ 0.8 to 0.18, end of an update",
    # The member that sent the update is there, so the group has two members or more, and the store
    # is dirty (L2).
    "L2",
    "own update is done",
    Phase.ACTIVE,
    *(Action.TAKE_DATA, Action.MARK_DIRTY, Action.SERVE, Action.ANNOUNCE),
)

WAITING_FOR_UPDATE: Table[Phase] = Table(
    "qpid-waiting-for-update",
    "Qpid C++ 0.8 to 0.18, membership changes during an update",
    (
        Case("Q9", "all possible donors left", (R | C).is_empty, Phase.ABORTED, (Action.ABORT,)),
        Case(
            "Q9",
            "a donor is left",
            ALWAYS,
            Phase.JOINING,
            (Action.ASK_FOR_UPDATE,),
            updates_from=R | C,
        ),
    ),
)
