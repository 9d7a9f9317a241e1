"""Joining: how a new member joins an active cluster.

Source: join-protocol note, section "Joining", rules J1 to J3, and I2 towards the running
cluster.  Only the newcomer is judged, against the active members only: other newcomers do not
matter, and no active member is disturbed.  N does not matter either.
"""

from joinproto.machine.sets import ME, A, E, K, T
from joinproto.machine.tables import SILENT, Case, Table
from joinproto.machine.terms import ALWAYS
from joinproto.machine.vocabulary import Phase, Reason
from joinproto.reference.effects import Action
from joinproto.reference.note.initialization import activation, update_start
from joinproto.reference.note.readings import AS_WRITTEN, Readings
from joinproto.reference.shapes import aborts, always


def joining(readings: Readings = AS_WRITTEN) -> Table[Phase]:
    """Return the table of a newcomer that receives an agreed set with an active member."""
    ask = update_start(readings)
    return Table(
        "note-joining",
        'note, "Joining"',
        (
            aborts(
                "I2",
                "options differ from the cluster's",
                (A | ME).disagrees_on("options"),
                Reason.OPTIONS_DIFFER,
            ),
            Case("J1", "nothing of its own", (T | E).has(ME), Phase.JOINING, ask, updates_from=A),
            # "Matches" needs something to match.  A cluster of transient members that was
            # founded without a store has no signature, so no store is of this cluster.
            Case(
                "J2",
                "store of this cluster",
                ~K.is_empty & ~(K | ME).disagrees_on("initial"),
                Phase.JOINING,
                ask,
                updates_from=A,
            ),
            aborts("J3", "wrong store", ALWAYS, Reason.WRONG_STORE),
        ),
    )


def joined(readings: Readings = AS_WRITTEN) -> Table[Phase]:
    """Return the table of a newcomer whose update is complete."""
    take = (Action.TAKE_DATA, Action.TAKE_INITIAL, *activation(readings))
    return Table(
        "note-joined",
        'note, "Joining"',
        (
            Case("J1", "update of a new member is done", (T | E).has(ME), Phase.ACTIVE, take),
            Case("J2", "update of a known store is done", ALWAYS, Phase.ACTIVE, take),
        ),
    )


OTHERS_CHANGE = always(
    "note-others-change", 'note, "Joining"', SILENT, "an active member goes on", Phase.ACTIVE
)
"""The table of an active member that receives a new agreed set."""
