"""Manual recovery: comparing stores, and the operator's mark.

Source: join-protocol note, "Manual Recovery", rules P3 and R1 to R3.  The note leaves it to the
tools to find the "latest" store.  Final signatures are only equal or different, so they do not show
which store is the latest.
"""

from enum import Enum

from joinproto.machine.sets import ME, C, D, E, I, T
from joinproto.machine.tables import SILENT, Case, Table
from joinproto.machine.terms import ALWAYS
from joinproto.machine.vocabulary import Phase
from joinproto.reference.effects import Action


class SignatureOrder(Enum):
    """The relation between the signatures of several stores."""

    NO_SIGNATURE = "no signature"
    DIFFERENT_CLUSTERS = "different clusters"
    SAME_STATE = "same state"
    ONE_IS_LATER = "one is later"


def comparison() -> Table[SignatureOrder]:
    """Return the table over the stores that the operator names, as set I."""
    return Table(
        "note-comparison",
        'note, "Manual Recovery"',
        (
            Case(
                "R1", "a store without a signature", ~(E | T).is_empty, SignatureOrder.NO_SIGNATURE
            ),
            Case(
                "R1",
                "initial signatures differ",
                I.disagrees_on("initial"),
                SignatureOrder.DIFFERENT_CLUSTERS,
            ),
            Case(
                "R2",
                "final signatures differ",
                I.disagrees_on("final"),
                SignatureOrder.ONE_IS_LATER,
            ),
            Case("R2", "final signatures are equal", ALWAYS, SignatureOrder.SAME_STATE),
        ),
    )


def mark() -> Table[Phase]:
    """Return the table of a stopped member whose store the operator marks clean."""
    return Table(
        "note-mark",
        'note, "mark the latest store as clean"',
        (
            Case(
                "R3",
                "the operator marks the store clean",
                D.has(ME),
                Phase.STOPPED,
                (Action.MARK_CLEAN,),
            ),
            Case("R3", "clean already", C.has(ME), Phase.STOPPED),
            Case(SILENT, "no store that could be the latest", ALWAYS, Phase.STOPPED),
        ),
    )
