"""The two files of a store: the current generation and the one before.

    joinproto/store.meta             what the store says
    joinproto/store.meta.previous    what it said before; for people, never for members

Two names rather than two slots used in turn, because then a damaged file says by its name
which one it is.  With slots in turn a damaged one may be the newer or the older: a member
would have to stop for both.

A member never goes on from the previous generation.  It would have forgotten what it
promised since, and a voter that forgets lets one view have two successors.
"""

from __future__ import annotations

import errno
import re
from pathlib import Path

from attrs import field, frozen

from joinproto.codec.malformed import Malformed
from joinproto.durable.envelope import FILE_BYTES_MAX, Fault, Validity, unseal
from joinproto.durable.filesystem import NO_FILE, FileSystem, let_go, read_all, reason
from joinproto.errors import (
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreMissing,
    StoreNewer,
    StoreUnreadable,
)
from joinproto.store.codec import decode
from joinproto.store.contents import Contents

ROOM = "joinproto"
"""The directory that is ours, within the member's data directory."""

CURRENT = "store.meta"
PREVIOUS = "store.meta.previous"

TEMPORARY = re.compile(r"store\.meta(\.previous)?\.[0-9a-f]{16}\.tmp")
"""Names of files that are being written, or that a crash left behind."""


@frozen(kw_only=True)
class Slot:
    """One of the two files.

    `generation`: what the file says of itself; only a valid one is to be believed.
    `problem`: what is wrong, "" for a valid or an absent one.  `error`: of the system, where it
    did not give the file.  `raw`: the bytes.
    """

    path: Path
    validity: Validity
    generation: int | None = None
    contents: Contents | None = None
    problem: str = ""
    error: OSError | None = field(default=None, eq=False, repr=False)
    raw: bytes = field(default=b"", repr=False)


@frozen
class Slots:
    """Both files, looked at together."""

    current: Slot
    previous: Slot


def read_slots(files: FileSystem, room: int, path: Path) -> Slots:
    """Return both files of the open directory `room`, which is at `path`."""
    # The previous one first.  The other way round, beside a member that is writing: we read
    # generation 5, it writes 6 and 7, and we read 6 as the one before 5.
    previous = _read_slot(files, room, path, PREVIOUS)
    return Slots(_read_slot(files, room, path, CURRENT), previous)


def _read_slot(files: FileSystem, room: int, path: Path, name: str) -> Slot:
    at = path / name
    try:
        file = files.open_to_read(room, name)
        try:
            raw = read_all(files, file, bytes_max=FILE_BYTES_MAX)
        finally:
            let_go(files, file)
    except FileNotFoundError:
        return Slot(path=at, validity=Validity.ABSENT)
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        problem = "is a symbolic link, which is not followed" if is_link else reason(error)
        return Slot(path=at, validity=Validity.UNREADABLE, problem=problem, error=error)
    if len(raw) > FILE_BYTES_MAX:
        problem = f"is larger than {FILE_BYTES_MAX} bytes"
        return Slot(path=at, validity=Validity.CORRUPT, problem=problem)
    return judge(at, raw)


def judge(path: Path, raw: bytes) -> Slot:
    """Return what the bytes of one file say; never raises, whatever they are."""
    found = unseal(raw)
    if isinstance(found, Fault):
        return Slot(
            path=path,
            validity=found.validity,
            generation=found.generation,
            problem=found.problem,
            raw=raw,
        )
    try:
        contents = decode(found.payload)
    except Malformed as malformed:
        return Slot(
            path=path,
            validity=Validity.CORRUPT,
            generation=found.generation,
            problem=str(malformed),
            raw=raw,
        )
    return Slot(
        path=path,
        validity=Validity.VALID,
        generation=found.generation,
        contents=contents,
        raw=raw,
    )


def refusal(slots: Slots) -> StoreError | None:
    """Return why no member may run on these files, or None if one may."""
    current, previous = slots.current, slots.previous
    match current.validity:
        case Validity.VALID:
            return _went_back(current, previous) or _in_the_way(previous)
        case Validity.ABSENT if previous.validity is Validity.ABSENT:
            return StoreMissing(
                f"{current.path}: not there, expected the metadata of a store",
                next="check the path; a new store is made, not opened",
            )
        case Validity.ABSENT:
            return StoreCorrupt(
                f"{current.path}: not there, although {PREVIOUS} is\n{_before(previous)}",
                next=_ASK,
            )
        case Validity.NEWER:
            return StoreNewer(
                f"{current.path}: written by a newer version: {current.problem}\n{_UNCHANGED}",
                next="start the version of joinproto that wrote it, or a newer one",
            )
        case Validity.FOREIGN:
            return StoreForeign(
                f"{current.path}: no store of joinproto: {current.problem}\n{_UNCHANGED}",
                next="check the path; if it is right, the first line of the file is damaged",
            )
        case Validity.CORRUPT:
            return StoreCorrupt(
                f"{current.path}: corrupt: {current.problem}\n{_before(previous)}", next=_ASK
            )
        case Validity.UNREADABLE:
            refused = StoreUnreadable(
                f"{current.path}: cannot be read: {current.problem}\n{_UNCHANGED}",
                next="look at the permissions and at the disk, then start again",
            )
            refused.__cause__ = current.error
            return refused


def problems(slots: Slots) -> tuple[str, ...]:
    """Return what is wrong with either file, one sentence each, the worst first."""
    found = [
        f"{slot.path.name}: {slot.validity.value}: {slot.problem}"
        for slot in (slots.current, slots.previous)
        if slot.validity not in (Validity.VALID, Validity.ABSENT)
    ]
    current, previous = slots.current, slots.previous
    if current.validity is Validity.ABSENT and previous.validity is not Validity.ABSENT:
        found.insert(0, f"{CURRENT}: not there, although {PREVIOUS} is")
    if current.validity is Validity.VALID:
        found += filter(None, [_backwards(current, previous)])
        # The first two writes leave no previous one behind if the power fails between the
        # two names; later there always is one.
        is_lost = current.generation is not None and current.generation > 2
        if previous.validity is Validity.ABSENT and is_lost:
            found.append(f"{PREVIOUS}: not there, although this is not the first generation")
    return tuple(found)


_UNCHANGED = "  nothing was changed"
_ASK = "`joinproto recover inspect` shows what is left; do not put the previous file in its place"


def _went_back(current: Slot, previous: Slot) -> StoreError | None:
    why = _backwards(current, previous)
    if why == "":
        return None
    if previous.validity is Validity.NEWER:
        return StoreNewer(
            f"{current.path}: older than the file before it: {why}\n{_UNCHANGED}",
            next="start the version of joinproto that wrote it; find out who put a file here",
        )
    return StoreCorrupt(
        f"{current.path}: not what was written last: {why}\n{_UNCHANGED}",
        next="find out who copied or restored a file here; `joinproto recover inspect` shows both",
    )


def _in_the_way(previous: Slot) -> StoreError | None:
    """Return why the next write would fail: no file can take the place of a directory."""
    if previous.validity is not Validity.UNREADABLE or not previous.problem.endswith(NO_FILE):
        return None
    return StoreUnreadable(
        f"{previous.path}: {previous.problem}\n{_UNCHANGED}",
        next="find out who put it there; without it the store can be opened",
    )


def _backwards(current: Slot, previous: Slot) -> str:
    """Return what shows that `current` is not the newest generation of this store, or ""."""
    one, before = current.contents, previous.contents
    if previous.validity is Validity.NEWER:
        return f"{PREVIOUS} was written by a newer version: {previous.problem}"
    if one is None or before is None or current.generation is None or previous.generation is None:
        return ""
    if one.record.store_id != before.record.store_id:
        return (
            f"{PREVIOUS} is of store {before.record.store_id}, {CURRENT} of {one.record.store_id}"
        )
    if previous.generation > current.generation:
        return (
            f"{PREVIOUS} has generation {previous.generation}, {CURRENT} only {current.generation}"
        )
    if previous.generation == current.generation and previous.raw != current.raw:
        return f"both files have generation {current.generation}, and they differ"
    return ""


def _before(previous: Slot) -> str:
    if previous.validity is not Validity.VALID:
        return f"  {PREVIOUS}: {previous.validity.value}\n{_UNCHANGED}"
    return (
        f"  {PREVIOUS} holds generation {previous.generation}, an older one; a member that"
        f" went on from it would have forgotten its promises\n{_UNCHANGED}"
    )
