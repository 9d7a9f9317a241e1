"""Ambiguities and gaps of the note, with one switch for each.

`AS_WRITTEN` takes the words as they stand.  Each other reading changes one thing, and the searched
worlds compare it with `AS_WRITTEN`.
"""

from enum import Enum

from attrs import frozen


class DirtyFrom(Enum):
    """The moment at which a store stops being clean; the note does not say it.

    S2 says only that any end other than an orderly shutdown leaves a dirty store.
    """

    UPDATE = "the start of an update"
    ACTIVE = "going active"
    NEVER = "never"


@frozen
class Readings:
    """One reading of the note.

    `clean_waits`: I8 also holds for clean members; as written, only the others wait.  `dirty_from`:
    see `DirtyFrom`.  `update_in_place`: an update overwrites the old data, instead of replacing it
    in one step at its end.  `only_complete_are_clean`: an orderly shutdown marks only the stores of
    members that have the state; as written, it marks those that are being updated as well.
    """

    clean_waits: bool = False
    dirty_from: DirtyFrom = DirtyFrom.ACTIVE
    update_in_place: bool = False
    only_complete_are_clean: bool = False


AS_WRITTEN = Readings()

READINGS = {
    "as-written": AS_WRITTEN,
    "all-wait": Readings(clean_waits=True),
    "dirty-from-update": Readings(dirty_from=DirtyFrom.UPDATE),
    "never-dirty": Readings(dirty_from=DirtyFrom.NEVER),
    "update-in-place": Readings(update_in_place=True),
    "only-complete-are-clean": Readings(only_complete_are_clean=True),
}
"""The readings by their names on the command line."""
