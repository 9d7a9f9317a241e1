"""The note's member as a state machine: the table for each event in each phase."""

from functools import cache

from joinproto.machine.machine import Arrow, StateMachine
from joinproto.machine.sets import A
from joinproto.machine.vocabulary import Phase
from joinproto.reference.note.initialization import UPDATED, all_updates_done, initialization
from joinproto.reference.note.joining import OTHERS_CHANGE, joined, joining
from joinproto.reference.note.readings import AS_WRITTEN, Readings
from joinproto.reference.note.recovery import mark
from joinproto.reference.note.shutdown import (
    LEAVE,
    RUNNING,
    SHUTDOWN_OUTSIDE,
    START,
    phases_marked_clean,
    shutdown,
)

ALIVE = (Phase.INITIALIZING, Phase.UPDATING, Phase.READY, Phase.JOINING, Phase.ACTIVE)
UNDECIDED = (Phase.INITIALIZING, Phase.UPDATING, Phase.JOINING)


def note_arrows(readings: Readings = AS_WRITTEN) -> tuple[Arrow[Phase], ...]:
    """Return the arrows of the note's member, under one reading of the note."""
    inside = phases_marked_clean(readings)
    outside = tuple(phase for phase in ALIVE if phase not in inside)
    return (
        Arrow("start", (Phase.STOPPED, Phase.ABORTED), START),
        # A new agreed set needs a new decision, also of a member that is being updated: its source
        # may be gone, or the first active member may have come.
        Arrow("agreed", UNDECIDED, joining(readings), when=~A.is_empty),
        Arrow("agreed", UNDECIDED, initialization(readings)),
        Arrow("agreed", (Phase.READY,), all_updates_done(readings)),
        Arrow("agreed", (Phase.ACTIVE,), OTHERS_CHANGE),
        Arrow("update_done", (Phase.UPDATING,), UPDATED),
        Arrow("update_done", (Phase.JOINING,), joined(readings)),
        Arrow("client_write", (Phase.ACTIVE,), RUNNING),
        Arrow("orderly_shutdown", inside, shutdown()),
        Arrow("orderly_shutdown", outside, SHUTDOWN_OUTSIDE),
        Arrow("leave", ALIVE, LEAVE),
        Arrow("mark_clean", (Phase.STOPPED, Phase.ABORTED), mark()),
    )


@cache
def note_machine(readings: Readings = AS_WRITTEN) -> StateMachine[Phase]:
    """Return the machine that all members share under this reading."""
    return StateMachine("note", Phase, note_arrows(readings))
