"""A world's `same`: the equivalence by which a search treats two states as one.

The value of `same(view)` stands for the running members and the monitor: everything else about them
is ignored, even attributes that `shows()` hides.  Messages, disks and the remaining faults are
compared as they are; but with `show_links` or `show_disk`, `same` stands for messages or disks too.
States in which a claim of the world, a premise or `within` has different answers are never merged.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

JUDGED_KINDS: tuple[str, ...] = ("always", "sometimes")
"""Kinds of claims that can be judged although a search leaves out states."""


FOUND_FIRST = "states that same(view) does not tell apart are one"
WARNING = (
    "same(view) is not proved sound: every run shown is real, but further violations may be"
    " reachable through states that were left out"
)


def left_on_disk(world: Any, local: Any) -> Hashable:
    """Return the parts of a member that no view shows: its disk, and whether it is stopped for
    good.
    """
    return local.ended, () if world.show_disk is not None else local.disk


def unsound_same(world: Any) -> Iterator[tuple[str, str]]:
    """Yield pairs of text: a setting that excludes `same`, and the expected one."""
    if world.same is None:
        return
    for item in world.properties:
        if item.kind not in JUDGED_KINDS:
            yield (
                f"property {item.name!r} needs every state and step, and `same` leaves some out",
                "always(...) and sometimes(...) with `same`, or no `same`",
            )
