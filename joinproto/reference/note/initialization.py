"""Initialization: how the initial members form an active cluster.

Source: join-protocol note, sections "Wait for N" and "Initialization", rules W1, W2 and
I1 to I8.  The tables are used only while no member is active.

Every member decides for itself about the same agreed set I.  W1 is not a case here: I1 and I8 must
keep that promise, and the searched worlds show whether they do.  W2 is the case "own store is
clean": several members start from their own stores.
"""

from joinproto.machine.sets import ME, MY_WAIT_FOR, C, D, E, I
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS
from joinproto.machine.vocabulary import Phase, Reason
from joinproto.reference.effects import Action
from joinproto.reference.note.readings import AS_WRITTEN, DirtyFrom, Readings
from joinproto.reference.shapes import aborts, always


def activation(readings: Readings) -> tuple[Action, ...]:
    """Return the actions of a member that becomes active."""
    if readings.dirty_from is DirtyFrom.NEVER:
        return (Action.SERVE, Action.ANNOUNCE)
    return (Action.MARK_DIRTY, Action.SERVE, Action.ANNOUNCE)


def update_start(readings: Readings) -> tuple[Action, ...]:
    """Return the actions of a member that begins an update."""
    actions = [Action.ASK_FOR_UPDATE]
    if readings.update_in_place:
        actions.insert(0, Action.DROP_DATA)
    if readings.dirty_from is DirtyFrom.UPDATE:
        actions.insert(0, Action.MARK_DIRTY)
    return tuple(actions)


def initialization(readings: Readings = AS_WRITTEN) -> Table[Phase]:
    """Return the table of a member that hears an agreed set without an active member."""
    # I8 comes after the note's last "else", which is about members without a clean store.  So,
    # as written, a clean member does not wait for others.
    start = Phase.READY if readings.clean_waits else Phase.ACTIVE
    started = (Action.ANNOUNCE,) if readings.clean_waits else activation(readings)
    return Table(
        "note-initialization",
        'note, "Wait for N" and "Initialization"',
        (
            Case(
                "I1",
                "too few members",
                I.fewer_than(MY_WAIT_FOR),
                Phase.INITIALIZING,
                reason=Reason.TOO_FEW_MEMBERS,
            ),
            aborts("I2", "options differ", I.disagrees_on("options"), Reason.OPTIONS_DIFFER),
            Case(
                "I3",
                "new cluster, own store is empty",
                (C | D).is_empty & E.has(ME),
                Phase.ACTIVE,
                (Action.SET_INITIAL, Action.SERVE, Action.ANNOUNCE),
            ),
            Case(
                "I3",
                "new cluster, no own store",
                (C | D).is_empty,
                Phase.ACTIVE,
                (Action.SERVE, Action.ANNOUNCE),
            ),
            aborts(
                "I4",
                "stores of different clusters",
                (C | D).disagrees_on("initial"),
                Reason.INITIAL_SIGNATURE_MISMATCH,
            ),
            aborts(
                "I5",
                "clean stores differ",
                C.disagrees_on("final"),
                Reason.FINAL_SIGNATURE_MISMATCH,
            ),
            aborts("I6", "no clean store", C.is_empty, Reason.NO_CLEAN_STORE, Action.LOG_RECOVERY),
            Case(
                "I7",
                "own store is not clean",
                ~C.has(ME),
                Phase.UPDATING,
                update_start(readings),
                updates_from=C,
            ),
            Case("I8", "own store is clean", ALWAYS, start, started),
        ),
    )


UPDATED = always(
    "note-updated",
    'note, "Initialization", the last "else"',
    "I7",
    "own update is done",
    Phase.READY,
    *(Action.TAKE_DATA, Action.TAKE_INITIAL, Action.ANNOUNCE),
)
"""The table of an initial member whose update is complete."""


def all_updates_done(readings: Readings = AS_WRITTEN) -> Table[Phase]:
    """Return the table of a member that has the state, and receives a new agreed set."""
    return Table(
        "note-all-updates-done",
        'note, "when all updates done go active"',
        (
            Case("I8", "others are still updating", ~I.every(ready=True), Phase.READY),
            Case("I8", "all updates are done", ALWAYS, Phase.ACTIVE, activation(readings)),
        ),
    )
