"""Brokers, their roles and their stores, as the tables of hot standby know them.

Source: hot standby, H1, H2, H10.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import AtLeast


class Variant(Enum):
    """Whose rules: the document's, those of the broker that shipped, ours."""

    SEED = "seed"
    REAL = "real"
    OURS = "ours"


class Role(Enum):
    """What a broker is; in `catchup` and `connecting` it lacks data or a primary."""

    STANDALONE = "standalone"
    CONNECTING = "connecting"
    CATCHUP = "catchup"
    BACKUP = "backup"
    RECOVERING = "recovering"
    PRIMARY = "primary"
    STOPPED = "stopped"


SHIPPED = {Role.CONNECTING: "joining", Role.BACKUP: "ready", Role.PRIMARY: "active"}
"""What the broker that shipped calls them."""
WORDS = {word: role for role, word in SHIPPED.items()} | {role.value: role for role in Role}


def word_of(role: Role, variant: Variant) -> str:
    """Return the variant's word for a role."""
    return SHIPPED.get(role, role.value) if variant is Variant.REAL else role.value


class Mark(Enum):
    """What a broker's disk says of its last end."""

    CLEAN = "clean"
    DIRTY = "dirty"
    EMPTY = "empty"


@frozen(kw_only=True)
class Store:
    """What stands on one broker's disk."""

    name: Annotated[str, "the broker"]
    mark: Annotated[Mark, "clean: stopped in order; dirty: it crashed; empty: nothing is there"]
    generation: Annotated[int, AtLeast(0), "of the last primary it knew; 0: none"] = 0
    primary: Annotated[bool, "whether it was that primary itself"] = False
    caught_up: Annotated[bool, "a backup: whether it had all that was confirmed"] = True
    position: Annotated[int, AtLeast(0), "messages it had taken in that generation"] = 0

    @property
    def is_whole(self) -> bool:
        """Return whether it has everything that was confirmed in its generation, if it has data."""
        return self.primary or self.caught_up
