"""Running and stopping: the two signatures, and when a store is clean.

Source: join-protocol note, "Terminology", rules S1 and S2.  While the cluster runs, every
frame advances the candidate of the final signature.  The orderly shutdown of the whole cluster
makes it final, by marking the store clean.
"""

from attrs import frozen

from joinproto.machine.sets import ME, T
from joinproto.machine.tables import Case, Table
from joinproto.machine.terms import ALWAYS
from joinproto.machine.vocabulary import Phase, Store
from joinproto.reference.effects import Action
from joinproto.reference.note.readings import AS_WRITTEN, Readings
from joinproto.reference.shapes import always


@frozen
class StoreChange:
    """The effect of one action on a store."""

    label: str
    action: Action
    before: Store
    after: Store


STORE_CHANGES = (
    # S1: with an initial signature a store is not empty any more; without a clean mark it is
    # dirty (S2).
    StoreChange("I3", Action.SET_INITIAL, Store.EMPTY, Store.DIRTY),
    StoreChange("I7", Action.TAKE_INITIAL, Store.EMPTY, Store.DIRTY),
    StoreChange("S2", Action.MARK_CLEAN, Store.EMPTY, Store.CLEAN),
    StoreChange("S2", Action.MARK_CLEAN, Store.DIRTY, Store.CLEAN),
    StoreChange("S2", Action.MARK_DIRTY, Store.CLEAN, Store.DIRTY),
)
"""The changes of a store; an action does not change a store in a state that is not listed here."""


def store_after(action: Action, store: Store) -> Store:
    """Return the state of a store after `action`."""
    for change in STORE_CHANGES:
        if change.action is action and change.before is store:
            return change.after
    return store


RUNNING = always(
    "note-running",
    'note, "Final signature: updated while cluster runs"',
    "S2",
    "a frame advances the final signature",
    Phase.ACTIVE,
    *(Action.WRITE_COUNTED_FRAME, Action.ACKNOWLEDGE),
)
"""The table of an active member that receives a client's frame."""


def shutdown() -> Table[Phase]:
    """Return the table of a member whose store the orderly shutdown marks clean."""
    return Table(
        "note-shutdown",
        'note, "When a broker is shut down as part of an orderly shut-down"',
        (
            Case("S2", "no store to mark", T.has(ME), Phase.STOPPED, (Action.EXIT,)),
            Case(
                "S2",
                "orderly shutdown marks the store clean",
                ALWAYS,
                Phase.STOPPED,
                (Action.MARK_CLEAN, Action.EXIT),
            ),
        ),
    )


SHUTDOWN_OUTSIDE = always(
    "note-shutdown-outside",
    'note, "When a broker is shut down as part of an orderly shut-down"',
    "S2",
    "the store stays as it is",
    Phase.STOPPED,
    Action.EXIT,
)
"""The table of a member whose store the orderly shutdown does not mark."""


def phases_marked_clean(readings: Readings = AS_WRITTEN) -> tuple[Phase, ...]:
    """Return the phases in which an orderly shutdown marks the store clean."""
    if readings.only_complete_are_clean:
        return (Phase.READY, Phase.ACTIVE)
    # As written, "a broker shut down as part of ..." includes a broker that is being updated.
    return (Phase.UPDATING, Phase.READY, Phase.JOINING, Phase.ACTIVE)


START = always(
    "note-start",
    'note, "Terminology"',
    "I1",
    "a member starts",
    Phase.INITIALIZING,
    Action.ANNOUNCE,
)
"""The table of a member that is started."""

LEAVE = always(
    "note-leave",
    'note, "Otherwise the store is considered dirty"',
    # The store stays dirty: its clean mark was removed when the member became active.
    "S2",
    "a member stops alone",
    Phase.STOPPED,
    Action.EXIT,
)
"""The table of a member that stops alone."""
