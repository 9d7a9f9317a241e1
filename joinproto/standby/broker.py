"""Brokers, their roles and their stores, as the tables of hot standby know them.

Source: hot standby, H1, H2, H10.
"""

from __future__ import annotations

from enum import Enum
from operator import attrgetter
from typing import Annotated

from attrs import frozen

from joinproto.codec.json_form import AtLeast, Written
from joinproto.codec.malformed import Refusal
from joinproto.machine.values import evolve


class Variant(Enum):
    """The variant of the rules: the document's, those of the shipped broker, or ours."""

    SEED = "seed"
    REAL = "real"
    OURS = "ours"


class Role(Enum):
    """The role of a broker; in `catchup` it lacks data, in `connecting` a primary."""

    STANDALONE = "standalone"
    CONNECTING = "connecting"
    CATCHUP = "catchup"
    BACKUP = "backup"
    RECOVERING = "recovering"
    PRIMARY = "primary"
    STOPPED = "stopped"


SHIPPED = {Role.CONNECTING: "joining", Role.BACKUP: "ready", Role.PRIMARY: "active"}
"""The names that the shipped broker uses."""
WORDS = {word: role for role, word in SHIPPED.items()} | {role.value: role for role in Role}


def word_of(role: Role, variant: Variant) -> str:
    """Return the variant's word for a role."""
    return SHIPPED.get(role, role.value) if variant is Variant.REAL else role.value


def _role_of(word: str | None) -> Role | None:
    if word is None or word in WORDS:
        return WORDS.get(word or "")
    raise Refusal(f"{word!r} is not a status", next=f"write one of {', '.join(WORDS)}")


AS_WORD = Written(str, attrgetter("value"), _role_of)
"""Reads a role in the words of either broker, and writes it in ours."""
WORD_OR_NULL = evolve(AS_WORD, kind=str | None)
STATUS = (
    "connecting, catchup, backup, recovering, primary, standalone, stopped;"
    " or joining, ready, active, as the shipped broker calls them"
)
WHOSE = Annotated[Variant, "which rules: the document's, those of the broker that shipped, ours"]
GENERATION = Annotated[int, AtLeast(0), "of the last primary it knows; 0: none"]
NUMBER = Annotated[int, AtLeast(0), "of the last view it knows in that generation"]
WAS_PRIMARY = Annotated[bool, "whether it was that primary"]


class Mark(Enum):
    """The mark of a broker's last end on its disk."""

    CLEAN = "clean"
    DIRTY = "dirty"
    EMPTY = "empty"


@frozen(kw_only=True)
class Store:
    """The contents of one broker's disk."""

    name: Annotated[str, "the broker"]
    mark: Annotated[Mark, "clean: stopped in order; dirty: it crashed; empty: nothing is there"]
    generation: Annotated[int, AtLeast(0), "of the last primary it knew; 0: none"] = 0
    primary: Annotated[bool, "whether it was that primary itself"] = False
    caught_up: Annotated[bool, "a backup: whether it had all that was confirmed"] = True
    position: Annotated[int, AtLeast(0), "messages it had taken in that generation"] = 0

    @property
    def is_whole(self) -> bool:
        """Return whether a store with data has everything confirmed in its generation."""
        return self.primary or self.caught_up
