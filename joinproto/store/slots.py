"""The two files of a store: the current generation and the one before.

    joinproto/store.meta             the current generation
    joinproto/store.meta.previous    the generation before; for people, never for members

A member never continues from the previous generation.  It would have forgotten its later promises,
and a voter that forgets its promises makes it possible that one view gets two successors.
"""

from __future__ import annotations

from pathlib import Path

from joinproto.durable import record
from joinproto.durable.envelope import FORMAT
from joinproto.durable.record import ASK, META, Kind
from joinproto.errors import StoreError
from joinproto.store.codec import decode
from joinproto.store.contents import Contents

FOLDER = "joinproto"
"""The name of joinproto's directory in a member's data directory."""

Slot = record.Slot[Contents]
Slots = record.Slots[Contents]


def _went_back(current: Contents, previous: Contents) -> str:
    one, before = current.record.store_id, previous.record.store_id
    return "" if one == before else f"{PREVIOUS} is of store {before}, {CURRENT} of {one}"


KIND = Kind(
    name=META,
    decode=decode,
    format_max=FORMAT,
    went_back=_went_back,
    next=ASK,
)
CURRENT, PREVIOUS = KIND.name, KIND.previous


def judge(path: Path, raw: bytes) -> Slot:
    """Return the slot for the bytes of one file; never raises, whatever the bytes are."""
    return record.judge(path, raw, KIND)


def refusal(slots: Slots) -> StoreError | None:
    """Return why no member may run on these files, or None if a member may."""
    return record.refusal(slots, KIND)


def problems(slots: Slots) -> tuple[str, ...]:
    """Return the problems of both files, one sentence each, the worst first."""
    return record.problems(slots, KIND)
