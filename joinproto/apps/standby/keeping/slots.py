"""The two files of a broker's metadata: the current one, and the one before.  No I/O.

A broker never goes on from the previous one: it would have forgotten its generation, or that it
was dropped.
"""

from __future__ import annotations

from pathlib import Path

from attrs import field, frozen

from joinproto.apps.standby.keeping.form import CURRENT, PREVIOUS, Kept, NotKept, unpacked
from joinproto.durable.envelope import PLAIN, Fault, Validity, unseal
from joinproto.errors import (
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreMissing,
    StoreNewer,
)


@frozen(kw_only=True)
class Slot:
    """One file.  `writes`: counts the writes of this store, from 1; 0: not known."""

    validity: Validity
    kept: Kept | None = None
    writes: int = 0
    problem: str = ""
    raw: bytes = field(default=b"", repr=False)


@frozen
class Slots:
    current: Slot
    previous: Slot


def slots_of(current: bytes | None, previous: bytes | None) -> Slots:
    """Return what the bytes of both say; None: the file is not there."""
    return Slots(slot_of(current), slot_of(previous))


def slot_of(raw: bytes | None) -> Slot:
    """Return what the bytes of one file say; never raises."""
    if raw is None:
        return Slot(validity=Validity.ABSENT)
    found = unseal(raw)
    if isinstance(found, Fault):
        writes = found.generation or 0
        return Slot(validity=found.validity, writes=writes, problem=found.problem, raw=raw)
    if found.format != PLAIN:
        problem = f"has format {found.format}; a broker's has format {PLAIN}"
        return Slot(validity=Validity.NEWER, writes=found.generation, problem=problem, raw=raw)
    try:
        kept = unpacked(found.payload)
    except NotKept as error:
        return Slot(validity=Validity.CORRUPT, writes=found.generation, problem=str(error), raw=raw)
    return Slot(validity=Validity.VALID, kept=kept, writes=found.generation, raw=raw)


def refusal(room: Path, slots: Slots) -> StoreError | None:
    """Return why no broker may run on these files, None if one may."""
    current, previous = slots.current, slots.previous
    at = room / CURRENT
    unchanged = "  nothing was changed"
    look = (
        "`joinproto recover inspect` shows what is left; do not put the previous one in its place"
    )
    match current.validity:
        case Validity.VALID if why := _went_back(current, previous):
            return StoreCorrupt(f"{at}: not what was written last: {why}\n{unchanged}", next=look)
        case Validity.VALID:
            return None
        case Validity.ABSENT if previous.validity is Validity.ABSENT:
            return StoreMissing(
                f"{at}: not there, expected a broker's store", next="check the path"
            )
        case Validity.ABSENT:
            return StoreCorrupt(f"{at}: not there, although {PREVIOUS} is\n{unchanged}", next=look)
        case Validity.NEWER:
            return StoreNewer(
                f"{at}: written by a newer version: {current.problem}\n{unchanged}",
                next="start the version of joinproto that wrote it, or a newer one",
            )
        case Validity.FOREIGN:
            return StoreForeign(
                f"{at}: no store of joinproto: {current.problem}\n{unchanged}",
                next="check the path; if it is right, the first line of the file is damaged",
            )
        case _:
            return StoreCorrupt(f"{at}: corrupt: {current.problem}\n{unchanged}", next=look)


def _went_back(current: Slot, previous: Slot) -> str:
    """Return what shows that `current` is not the newest one, or ""."""
    if previous.validity is Validity.NEWER:
        return f"{PREVIOUS} was written by a newer version: {previous.problem}"
    if previous.kept is None or current.kept is None:
        return ""
    if previous.writes > current.writes:
        return f"{PREVIOUS} is write {previous.writes}, {CURRENT} only {current.writes}"
    if previous.writes == current.writes and previous.raw != current.raw:
        return f"both files are write {current.writes}, and they differ"
    if previous.kept.view.generation > current.kept.view.generation:
        return f"{PREVIOUS} is of generation {previous.kept.view.generation}, and younger"
    return ""
