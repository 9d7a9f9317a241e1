"""Ambiguities and gaps of the note: one switch each.

`AS_WRITTEN` takes the words as they stand.  The others change one thing, and the searched worlds
compare it with them.
"""

from enum import Enum

from attrs import frozen


class DirtyFrom(Enum):
    """The moment when the clean mark is removed.  S2 says only that any other end leaves a dirty
    store.
    """

    UPDATE = "the start of an update"
    ACTIVE = "going active"
    NEVER = "never"


@frozen
class Readings:
    """`clean_waits`: I8 holds for clean members, too; as written only the others wait.

    `dirty_from`: see above.  `update_in_place`: an update overwrites the old data, instead
    of replacing it in one step when it is complete.  `only_complete_are_clean`: an orderly
    shutdown marks clean only members that have the state; as written it marks all.
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
"""By name, for the command line."""
