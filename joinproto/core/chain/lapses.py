"""The rules of a member that can be left out, each under its name, for worlds that must fail."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from typing import TypeVar

from joinproto.core.chain.answers import Weakness
from joinproto.core.chain.chooser import Seam
from joinproto.core.chain.phases import Guard
from joinproto.core.chain.successor import Shortcut


class Lapse(Enum):
    """A rule of the member itself; the others are of its parts."""

    TIP_PERSISTED = "dirty-not-written"
    HELD_PERSISTED = "held-not-persisted"
    UPDATE_MARKED = "update-in-place"
    MARKED_LATE = "unfit-before-the-first-byte"
    JOINER_NOT_CLEAN = "joiner-marked-clean"
    FENCING = "older-frame-accepted"
    COPIES = "copy-taken-in"
    REPLACED = "replaced-not-noticed"
    APART = "apart-taken-in"


Rule = Seam | Weakness | Shortcut | Guard | Lapse
"""Whatever can be left out of a member."""

R = TypeVar("R", Seam, Weakness, Shortcut, Guard, Lapse)


@lru_cache(maxsize=256)
def of_kind(rules: frozenset[Rule], kind: type[R]) -> frozenset[R]:
    return frozenset(rule for rule in rules if isinstance(rule, kind))
