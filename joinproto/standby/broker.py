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
    """The role of a broker.

    In `catchup` the broker still lacks messages of its primary; in `connecting` it has no primary.
    """

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
    raise Refusal(f"{word!r} is not a broker's status", next=f"write one of {', '.join(WORDS)}")


AS_WORD = Written(str, attrgetter("value"), _role_of)
"""Reads a role in the words of either broker, and writes it in ours."""
WORD_OR_NULL = evolve(AS_WORD, kind=str | None)
STATUS = (
    "connecting, catchup, backup, recovering, primary, standalone, stopped;"
    " or joining, ready, active, as the shipped broker calls them"
)
WHOSE = Annotated[Variant, "the rules: the document's, those of the shipped broker, or ours"]
GENERATION = Annotated[
    int, AtLeast(0), "the generation of the last primary that the broker knows; 0: none"
]
NUMBER = Annotated[
    int, AtLeast(0), "the number of the last view that the broker knows in that generation"
]
WAS_PRIMARY = Annotated[bool, "whether the broker was the primary of that view"]


class Mark(Enum):
    """The mark on a broker's disk, which says how the broker ended last."""

    CLEAN = "clean"
    DIRTY = "dirty"
    EMPTY = "empty"


@frozen(kw_only=True)
class Store:
    """The contents of one broker's disk."""

    name: Annotated[str, "the broker"]
    mark: Annotated[
        Mark, "clean: the broker stopped in order; dirty: it crashed; empty: there are no data"
    ]
    generation: Annotated[
        int, AtLeast(0), "the generation of the last primary that the broker knew; 0: none"
    ] = 0
    primary: Annotated[bool, "whether the broker was that primary itself"] = False
    caught_up: Annotated[
        bool, "of a backup: whether it had every message that was confirmed until then"
    ] = True
    position: Annotated[
        int, AtLeast(0), "how many messages the broker had taken in that generation"
    ] = 0

    @property
    def is_whole(self) -> bool:
        """Return whether the store is a primary's, or a backup's that had caught up."""
        return self.primary or self.caught_up
