"""A record: one value in a file that is always replaced as a whole, and the value before it.

    NAME             the record
    NAME.previous    the record before it; for people only: no process continues from it

A file is an envelope with a checksum (`envelope.py`) around a payload of the system that writes it.

The files have fixed names, and are not slots that are used in turn.  So the name of a damaged file
shows which record it is.  A damaged slot might be the newer or the older record, and its owner
would have to stop in both cases.  No process continues from the previous file, because later
promises would be forgotten.

A write makes a whole new file next to the old one, and then renames it:

    create    a temporary file that did not exist before, in the same directory
    write     all of it, in several steps if the system takes less at once
    sync      its content is on the disk before its name is
    rename    it replaces the old file: a reader finds one of the two, never a part
    sync      the directory, once, after the last rename

After a write has failed, the process writes no more.  After a failed sync the system may have
dropped the unwritten pages and may report the next sync as a success, so a second attempt would
prove nothing.  The process ends, and the next process finds the old or the new record, whole.

Source: recovery, "The metadata on disk".
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Generic, TypeVar

from attrs import define, field, frozen

from joinproto.durable.envelope import (
    FILE_BYTES_MAX,
    PLAIN,
    Envelope,
    Fault,
    Validity,
    seal,
    unseal,
)
from joinproto.durable.filesystem import (
    NO_FILE,
    FileSystem,
    Progress,
    let_go,
    read_all,
    reason,
    replace,
)
from joinproto.errors import (
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreMissing,
    StoreNewer,
    StoreUnreadable,
    StoreWriteFailed,
)

T = TypeVar("T")

META = "store.meta"
"""The name of a store's metadata, a member's and a broker's."""

ASK = f"`joinproto recover inspect` shows both files; do not rename the previous file to {META}"


# -- the two files ---------------------------------------------------------------------------


@frozen(kw_only=True)
class Kind(Generic[T]):
    """The kind of a record.

    `name`: the file's name.  `decode`: reads a payload; raises `ValueError`.  `bare`: reads a file
    of an early version, which wrote no envelope; None if all versions wrote one.  `format_max`: the
    highest format that is read.  `went_back`: returns why the first value cannot have been written
    after the second, "" if it can.  `next`: the advice for a damaged record.
    """

    name: str
    decode: Callable[[bytes], T]
    bare: Callable[[bytes], T] | None = None
    format_max: int = PLAIN
    went_back: Callable[[T, T], str] = lambda current, previous: ""
    next: str

    @property
    def previous(self) -> str:
        return f"{self.name}.previous"

    def is_leftover(self, name: str) -> bool:
        """Return whether this is a temporary file that is being written, or that a crash left."""
        if not name.endswith(".tmp"):
            return False
        pattern = rf"{re.escape(self.name)}(\.previous)?\.[0-9a-f]{{16}}\.tmp"
        return re.fullmatch(pattern, name) is not None


@frozen(kw_only=True)
class Slot(Generic[T]):
    """One of the two files.

    `generation`: the number in the file, 0 if it has no envelope, None if no number was read; it is
    certain only for a valid file.  `problem`: the fault, "" for a valid or an absent file.
    `error`: the system's error, if it could not read the file.  `raw`: the bytes of the file.
    """

    path: Path
    validity: Validity
    generation: int | None = None
    contents: T | None = None
    problem: str = ""
    error: OSError | None = field(default=None, eq=False, repr=False)
    raw: bytes = field(default=b"", repr=False)


@frozen
class Slots(Generic[T]):
    """Both files, read together."""

    current: Slot[T]
    previous: Slot[T]


def read_slots(files: FileSystem, folder: int, path: Path, kind: Kind[T]) -> Slots[T]:
    """Return both files of the open directory `folder`, which is at `path`."""
    # Read the previous file first.  Otherwise, if another process is writing: we read generation 5,
    # it writes 6 and 7, and we read 6 as the generation before 5.
    previous = _read_slot(files, folder, path / kind.previous, kind)
    return Slots(_read_slot(files, folder, path / kind.name, kind), previous)


def _read_slot(files: FileSystem, folder: int, at: Path, kind: Kind[T]) -> Slot[T]:
    try:
        file = files.open_to_read(folder, at.name)
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
    return judge(at, raw, kind)


def judge(path: Path, raw: bytes, kind: Kind[T]) -> Slot[T]:
    """Return the slot for the bytes of one file; never raises, whatever the bytes are."""
    found: Envelope | Fault = unseal(raw)
    decode = kind.decode
    if kind.bare is not None and isinstance(found, Fault) and found.validity is Validity.FOREIGN:
        found, decode = Envelope(0, raw), kind.bare
    if isinstance(found, Envelope) and found.format > kind.format_max:
        problem = f"has format {found.format}, expected {kind.format_max} at most"
        found = Fault(Validity.NEWER, problem, found.generation)
    contents, validity, problem = None, Validity.VALID, ""
    if isinstance(found, Fault):
        validity, problem = found.validity, found.problem
    else:
        try:
            contents = decode(found.payload)
        except ValueError as error:
            validity, problem = Validity.CORRUPT, str(error)
    return Slot(
        path=path,
        validity=validity,
        generation=found.generation,
        contents=contents,
        problem=problem,
        raw=raw,
    )


def refusal(slots: Slots[T], kind: Kind[T]) -> StoreError | None:
    """Return why no process may continue from these files; None if a process may."""
    current, previous = slots.current, slots.previous
    match current.validity:
        case Validity.VALID:
            return _not_the_last(slots, kind) or _obstacle(previous)
        case Validity.ABSENT if previous.validity is Validity.ABSENT:
            return StoreMissing(
                f"{current.path}: not there, expected the metadata of a store",
                next="check the path; a new store must be created before it is opened",
            )
        case Validity.ABSENT:
            return StoreCorrupt(
                f"{current.path}: not there, although {kind.previous} is\n"
                f"{_previous_text(previous)}",
                next=kind.next,
            )
        case Validity.NEWER:
            return StoreNewer(
                f"{current.path}: written by a newer version: {current.problem}\n{_UNCHANGED}",
                next="start the version of joinproto that wrote it, or a newer one",
            )
        case Validity.FOREIGN:
            return StoreForeign(
                f"{current.path}: not a store of joinproto: {current.problem}\n{_UNCHANGED}",
                next="check the path; if it is right, the first line of the file is damaged",
            )
        case Validity.CORRUPT:
            return StoreCorrupt(
                f"{current.path}: corrupt: {current.problem}\n{_previous_text(previous)}",
                next=kind.next,
            )
        case Validity.UNREADABLE:
            refused = StoreUnreadable(
                f"{current.path}: cannot be read: {current.problem}\n{_UNCHANGED}",
                next="look at the permissions and at the disk, then start again",
            )
            refused.__cause__ = current.error
            return refused


def problems(slots: Slots[T], kind: Kind[T]) -> tuple[str, ...]:
    """Return the faults of both files, one sentence each, the worst first."""
    found = [
        f"{slot.path.name}: {slot.validity.value}: {slot.problem}"
        for slot in (slots.current, slots.previous)
        if slot.validity not in (Validity.VALID, Validity.ABSENT)
    ]
    current, previous = slots.current, slots.previous
    if current.validity is Validity.ABSENT and previous.validity is not Validity.ABSENT:
        found.insert(0, f"{kind.name}: not there, although {kind.previous} is")
    if current.validity is Validity.VALID:
        found += filter(None, [_evidence_of_age(slots, kind)])
        # After the first write there is no previous file, and after the second write there is none
        # if the power fails between the two renames.  From the third write on there is one.
        generation = current.generation or 0
        if previous.validity is Validity.ABSENT and generation > 2:
            found.append(f"{kind.previous}: not there, although this is generation {generation}")
    return tuple(found)


_UNCHANGED = "  nothing was changed"


def _not_the_last(slots: Slots[T], kind: Kind[T]) -> StoreError | None:
    why = _evidence_of_age(slots, kind)
    if why == "":
        return None
    if slots.previous.validity is Validity.NEWER:
        return StoreNewer(
            f"{slots.current.path}: older than {kind.previous}: {why}\n{_UNCHANGED}",
            next=f"find out who put a file here; start the version that wrote {kind.previous}",
        )
    return StoreCorrupt(
        f"{slots.current.path}: not the generation that was written last: {why}\n{_UNCHANGED}",
        next="find out who copied or restored a file here; `joinproto recover inspect` shows both",
    )


def _obstacle(previous: Slot[T]) -> StoreError | None:
    """Return why the next write would fail: a rename cannot replace a directory by a file."""
    if previous.validity is not Validity.UNREADABLE or not previous.problem.endswith(NO_FILE):
        return None
    return StoreUnreadable(
        f"{previous.path}: {previous.problem}\n{_UNCHANGED}",
        next="find out who put it there, and move it away; then the store can be opened",
    )


def _evidence_of_age(slots: Slots[T], kind: Kind[T]) -> str:
    """Return the evidence that the current file is not the newest generation, "" for none."""
    current, previous = slots.current, slots.previous
    if previous.validity is Validity.NEWER:
        return f"{kind.previous} was written by a newer version: {previous.problem}"
    if current.contents is None or previous.contents is None:
        return ""
    why, now, before = "", current.generation or 0, previous.generation or 0
    if before > now:
        why = f"{kind.previous} has generation {before}, {kind.name} only {now}"
    elif before == now and previous.raw != current.raw:
        why = f"both files have generation {now}, and they differ"
    return kind.went_back(current.contents, previous.contents) or why


def _previous_text(previous: Slot[T]) -> str:
    if previous.validity is not Validity.VALID:
        return f"  {previous.path.name}: {previous.validity.value}\n{_UNCHANGED}"
    return (
        f"  {previous.path.name} holds generation {previous.generation}, an older one: a process"
        f" that continued from it would have forgotten later promises\n{_UNCHANGED}"
    )


# -- an open record ------------------------------------------------------------------------


@define(eq=False)
class Record(Generic[T]):
    """A record in the open directory `folder`, which is at `path`.  For one writer at a time.

    `generation`, `raw`: the generation and the bytes of the record on the disk, 0 and b"" if there
    is none.  `ended`: why this object writes no more, "" as long as it may write.
    """

    files: FileSystem
    folder: int
    path: Path
    kind: Kind[T]
    generation: int = 0
    raw: bytes = field(default=b"", repr=False)
    ended: str = ""

    def read(self) -> Slots[T]:
        """Return both files; raises `StoreError` if no process may continue from the record."""
        slots = read_slots(self.files, self.folder, self.path, self.kind)
        refused = refusal(slots, self.kind)
        if refused is not None and not isinstance(refused, StoreMissing):
            raise refused
        self.generation, self.raw = slots.current.generation or 0, slots.current.raw
        return slots

    def recover(self) -> None:
        """Make the read record durable and remove leftovers; raises `OSError`.

        The caller must have the lock.
        """
        self.make_durable()
        for name in self.files.names(self.folder):
            # Without the lock, another process may be writing this file.
            if self.kind.is_leftover(name):
                self.files.unlink(self.folder, name)

    def make_durable(self) -> None:
        """Make the record that was read durable before it is used; raises `OSError`."""
        # Otherwise: a process renames, and is killed before the fsync of the directory.  The next
        # process reads the new record from memory and makes promises by it.  Then the power fails,
        # and the disk has the old record.  Or an operator has copied a file here without a sync.
        with suppress(FileNotFoundError):
            file = self.files.open_to_read(self.folder, self.kind.name)
            try:
                self.files.sync(file)
            finally:
                let_go(self.files, file)
        self.files.sync_directory(self.folder)

    def write(self, payload: bytes, *, version: int = PLAIN) -> None:
        """Replace the record by `payload`, durably; `version`: the number of the payload's format.

        Raises `StoreWriteFailed` after a fault of the disk; then this object writes no more.
        """
        self.require_usable()
        generation, progress = self.generation + 1, Progress()
        raw = seal(Envelope(generation, payload, version))
        try:
            if self.raw:
                previous = self.kind.previous
                replace(self.files, self.folder, previous, self.raw, progress, shows=False)
            replace(self.files, self.folder, self.kind.name, raw, progress, shows=True)
            progress.step = f"fsync of the directory {self.path.name}"
            self.files.sync_directory(self.folder)
        except OSError as error:
            self.ended = f"{progress.step}: {reason(error)}"
            raise self.failed(may_show=progress.may_show) from error
        except BaseException as error:
            # For example Ctrl-C: it is unknown which steps were taken.
            self.ended = f"{progress.step}: {type(error).__name__}"
            raise
        self.generation, self.raw = generation, raw

    def require_usable(self) -> None:
        """Raise `StoreWriteFailed` after a fault in a write."""
        if self.ended:
            raise StoreWriteFailed(f"{self.path}: writes no more: {self.ended}", next=_LOOK)

    def failed(self, *, may_show: bool = False) -> StoreWriteFailed:
        """Return the error of the failed write; `may_show`: whether it may have taken effect."""
        former, new = self.generation, self.generation + 1
        old = f"generation {former}, whole" if self.raw else "no store"
        left = f"{old}, as before" if self.raw else "no store yet"
        if may_show:
            left = f"either generation {new}, whole, or {old}; a loss of power may leave either"
        return StoreWriteFailed(
            f"{self.path / self.kind.name}: generation {new} was not written\n"
            f"  {self.ended}\n"
            f"  on disk: {left}",
            next=_LOOK,
        )


_LOOK = "end this process (it writes no more), look at the disk, then start it again"


def load(files: FileSystem, path: Path, kind: Kind[T]) -> T | None:
    """Return the record at `path`, after making it durable; None if there is no record.

    Only for the process that writes this record.  Raises `StoreError`.
    """
    with opened(files, path.parent, kind) as record:
        found = record.read().current.contents
        record.recover()
    return found


def keep(files: FileSystem, path: Path, kind: Kind[T], payload: bytes) -> None:
    """Make `payload` the record at `path`, durably; the caller and the errors are as for `load`."""
    with opened(files, path.parent, kind) as record:
        record.read()
        record.recover()  # make the result of an earlier, failed write durable first
        record.write(payload)


def discard(files: FileSystem, path: Path, kind: Kind[T]) -> None:
    """Remove the record at `path`, if any, durably; the caller and the errors are as for `load`."""
    with opened(files, path.parent, kind) as record:
        # One after the other, durably: a previous file without a current file would be refused.
        for name in (kind.previous, kind.name):
            with suppress(FileNotFoundError):
                files.unlink(record.folder, name)
            files.sync_directory(record.folder)


@contextmanager
def opened(files: FileSystem, path: Path, kind: Kind[T]) -> Iterator[Record[T]]:
    """Open the directory `path`, and give the record of this kind in it.

    If the disk refuses an operation other than a write, the error is `StoreUnreadable`.
    """
    at = path / kind.name
    folder = -1
    try:
        folder = files.open_directory(path)
        yield Record(files, folder, path, kind)
    except OSError as error:
        raise StoreUnreadable(
            f"{at}: {reason(error)}", next="check the path, its permissions, and the disk"
        ) from error
    finally:
        let_go(files, folder)
