"""The life of a Qpid broker's store status: loading, running, stopping.

The disk has two signatures, and a store is clean exactly if the final one (the shutdown-id) is not
null.  "Empty" is never on disk: the first load writes the file, with a new cluster-id, so a crash
right after it leaves a store that reads as dirty.

The last member of a group is always clean, on the assumption that the cluster restarts from it.
The note has no such rule.
"""

from joinproto.machine.sets import ME, C, D, I, T
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS
from joinproto.machine.vocabulary import Phase, Store
from joinproto.reference.effects import Action

STORE_STATUS: Table[Store] = Table(
    "qpid-store-status",
    "Qpid C++ 0.8 to 0.18, on every change of membership of a running member",
    (
        Case("L1", "no store", T.has(ME), Store.NONE),
        # The group counts every live process, including those that are joining.
        Case("L2", "one of several", ~I.fewer_than(2), Store.DIRTY),
        Case("L3", "last one, clean already", C.has(ME), Store.CLEAN),
        Case("L4", "last one", ALWAYS, Store.CLEAN),  # with a fresh final signature
    ),
)

LOADING: Table[Phase] = Table(
    "qpid-loading",
    "Qpid C++ 0.8 to 0.18, start of a broker",
    (
        Case(
            "L5",
            "a store with a status file",
            (C | D).has(ME),
            Phase.INITIALIZING,
            (Action.ANNOUNCE,),
        ),
        Case("L1", "no store", T.has(ME), Phase.INITIALIZING, (Action.ANNOUNCE,)),
        Case(
            "L6", "first start", ALWAYS, Phase.INITIALIZING, (Action.SET_INITIAL, Action.ANNOUNCE)
        ),
    ),
)

SHUTDOWN: Table[Phase] = Table(
    "qpid-shutdown",
    "Qpid C++ 0.8 to 0.18, shutdown of the whole cluster",
    (
        Case("L1", "no store", T.has(ME), Phase.STOPPED, (Action.EXIT,)),
        # This holds for every member, even for one that still waits for its update.
        Case("L7", "everybody is clean", ALWAYS, Phase.STOPPED, (Action.MARK_CLEAN, Action.EXIT)),
    ),
)

STOPPING: Table[Phase] = Table(
    "qpid-stopping",
    "Qpid C++ 0.8 to 0.18, stop of one broker",
    (Case("L8", "nothing is written", ALWAYS, Phase.STOPPED, (Action.EXIT,)),),
)

MARKING: Table[Phase] = Table(
    "qpid-marking",
    "qpid-cluster-store --mark-clean",
    (
        Case("L1", "no store", T.has(ME), Phase.STOPPED),
        # Any store is marked, with a new final signature, so two marked stores refuse each other
        # (Q2).
        Case("L9", "the operator marks the store", ALWAYS, Phase.STOPPED, (Action.MARK_CLEAN,)),
    ),
)

RUNNING: Table[Phase] = Table(
    "qpid-running",
    "Qpid C++ 0.8 to 0.18, a running member",
    # Final signatures can only be equal or different; none advances while the cluster runs.
    (Case("L10", "a frame", ALWAYS, Phase.ACTIVE, (Action.WRITE_FRAME, Action.ACKNOWLEDGE)),),
)

OTHERS_CHANGE: Table[Phase] = Table(
    "qpid-others-change",
    "Qpid C++ 0.8 to 0.18, on every change of membership of a running member",
    (Case("L2", "the store is judged", ALWAYS, Phase.ACTIVE, (Action.JUDGE_STORE,)),),
)
