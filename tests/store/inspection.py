"""`inspect(path)`: the contents of a store and its lock's state; no file is changed.

Works on a read-only mount, and alongside a running member: it does not keep the lock.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from joinproto.durable.envelope import Validity
from joinproto.durable.filesystem import REAL, FileSystem, let_go
from joinproto.durable.lock import LockReport, LockState, look_at_lock
from joinproto.durable.record import read_slots
from joinproto.store.contents import Contents
from joinproto.store.places import open_folder, reading
from joinproto.store.slots import FOLDER, KIND, Slot, problems, refusal


@frozen(kw_only=True)
class Inspection:
    """The contents of the data directory `path` of a member.

    `problems`: one sentence each.  `refusal`: why no member may run on it, "" if one may.
    `leftovers`: names of files that were being written; alongside a running member, perhaps right
    now.
    """

    path: Path
    current: Slot
    previous: Slot
    leftovers: tuple[str, ...]
    lock: LockReport
    problems: tuple[str, ...]
    refusal: str

    @property
    def is_sound(self) -> bool:
        """Return whether a member may run on the store, apart from the lock of a running member."""
        return self.refusal == ""

    @property
    def newest(self) -> Slot | None:
        """Return the newest valid file, None if there is none.

        If it is not the current file, only people may use it: newer promises may be lost.
        """
        valid = [slot for slot in (self.current, self.previous) if slot.validity is Validity.VALID]
        return max(valid, key=lambda slot: slot.generation or 0, default=None)

    @property
    def contents(self) -> Contents | None:
        """Return the contents that a member would run on; None if no member may run on it."""
        return self.current.contents if self.is_sound else None


def inspect(path: Path, *, files: FileSystem = REAL) -> Inspection:
    """Return the contents of the data directory `path`; raises `StoreError` if there are none.

    `StoreMissing`: there is no directory of a store.  `StoreUnreadable`: it cannot be read.
    """
    folder = open_folder(files, path)
    try:
        with reading(path / FOLDER):
            lock = look_at_lock(files, folder)
            slots = read_slots(files, folder, path / FOLDER, KIND)
            names = files.names(folder)
    finally:
        let_go(files, folder)
    refused = refusal(slots)
    found = problems(slots)
    if lock.state is LockState.UNKNOWN:
        found = (*found, lock.problem)
    return Inspection(
        path=path,
        current=slots.current,
        previous=slots.previous,
        leftovers=tuple(filter(KIND.is_leftover, names)),
        lock=lock,
        problems=found,
        refusal="" if refused is None else str(refused),
    )
