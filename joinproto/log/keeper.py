"""The keeper, which makes snapshots, drops frames, and restores the application at a start.

In each step of the log one piece of this work is done, after all work that clients wait for.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Protocol, runtime_checkable

from attrs import frozen

from joinproto.durable.filesystem import remove
from joinproto.durable.journal.journal import Journal
from joinproto.durable.journal.records import until
from joinproto.errors import MisuseError, StoreForeign
from joinproto.host.ports import Work
from joinproto.log import dropping as dropped
from joinproto.log import rebasing
from joinproto.log.snapshot import FILE, FLOOR, NEW, load, making

log = logging.getLogger(__name__)

LEFTOVERS = (NEW, dropped.NEW, dropped.INDEX_NEW, rebasing.NEW, rebasing.INDEX_NEW)
"""The temporary files that remain if a process is killed while it writes them."""


@runtime_checkable
class Remembering(Protocol):
    """An application whose state can be kept, so that frames need not be applied again."""

    @property
    def kind(self) -> str:
        """Return the name of the application and its format; a state of another name is refused."""

    def state(self) -> Iterator[bytes]:
        """Return the state as it is at this call, in pieces.

        A worker asks for the pieces one by one later, while frames are applied, so they must share
        no mutable state.
        """

    def restore(self, state: bytes) -> None:
        """Replace the application's state by this state."""


@frozen(kw_only=True)
class Keeping:
    """When snapshots are made, and which frames are kept.

    `snapshot_every`: frames between two snapshots.  `keep_frames`: the least number of last frames
    that stay readable; None: all.  `before_dropping`: makes it durable that an earlier version must
    not read the journal.
    """

    snapshot_every: int = 100_000
    keep_frames: int | None = None
    before_dropping: Callable[[], None] = lambda: None


def kind_of(application: object) -> str:
    """Return the kind of state that the application keeps, "" if it keeps none."""
    return application.kind if isinstance(application, Remembering) else ""


def keeper_of(journal: Journal, application: object, keeping: Keeping) -> Keeper | None:
    """Return the keeper of this application, None if its state cannot be kept.

    In this case it raises `StoreForeign` if frames were dropped, and `MisuseError` if `keeping`
    drops frames.
    """
    if isinstance(application, Remembering):
        return Keeper(journal, application, keeping)
    if journal.base is not None:
        raise _foreign(journal, "")
    if keeping.keep_frames is not None:
        raise MisuseError(
            "`keep_frames` is set, but the application has no state to keep instead of frames",
            next="leave `keep_frames` out, or give the application `kind`, `state` and `restore`",
        )
    return None


class Keeper:
    """Makes snapshots of an application, and drops frames of its journal.

    `snapshot`: the last frame in the newest snapshot, 0 if there is none.
    """

    def __init__(self, journal: Journal, application: Remembering, keeping: Keeping) -> None:
        self.journal = journal
        self.snapshot = 0
        self._application = application
        self._keeping = keeping
        self._floor = 0  # the last frame that the next drop of frames will replace; 0: none
        self._chore: Iterator[Work] | None = None
        self._tried = 0  # the last frame when a snapshot was last begun or found

    def begin(self) -> int:
        """Restore the application's state, and return the last frame in it."""
        journal, kind = self.journal, self._application.kind
        remove(journal.files, journal.folder, *LEFTOVERS)
        below = self.take_base()
        floor = load(journal, FLOOR, kind)
        if floor is not None and floor.last > below:
            self._floor = floor.last
        found = load(journal, FILE, kind)
        if found is not None and found.last >= below:
            self.snapshot = found.last
            self._application.restore(found.state)
            log.info("the state after frame %d is taken from %s", self.snapshot, FILE)
        self._tried = max(self.snapshot, below)
        return self._tried

    def take_base(self) -> int:
        """Restore the state with which the journal begins; return the last frame in it.

        Raises `StoreForeign`.
        """
        base, kind = self.journal.base, self._application.kind
        if base is None:
            return 0
        if base.kind != kind:
            raise _foreign(self.journal, kind)
        self._application.restore(self.journal.state())
        self._tried = base.last.seq
        return base.last.seq

    @property
    def is_busy(self) -> bool:
        """Return whether a snapshot is being made, or frames are being dropped."""
        return self._chore is not None

    def work(self, applied: int) -> Iterator[Work]:
        """Do one piece of work, if there is any.  `applied`: the last frame that was applied."""
        if self._chore is None:
            self._chore = self._next_chore(applied)
        if self._chore is not None:
            work = next(self._chore, None)
            if work is None:
                self._chore = None
            else:
                yield work

    def _next_chore(self, applied: int) -> Iterator[Work] | None:
        keep = self._keeping.keep_frames
        journal = self.journal
        if self._floor > applied or self.snapshot > applied:
            return None  # the state is older than a snapshot, so frames must be applied first
        # The last frame is kept, because a sequencer sends it to learn the others' positions.
        if keep is not None and journal.first_seq <= self._floor <= applied - max(keep, 1):
            floor, self._floor = self._floor, 0
            log.info("frames up to %d will be dropped", floor)
            return dropped.dropping(journal, self._keeping.before_dropping)
        if applied - self._tried >= self._keeping.snapshot_every:
            self._tried = applied
            is_floor = keep is not None and not self._floor

            def when_made() -> None:
                self.snapshot = applied
                if is_floor:
                    self._floor = applied

            return making(
                journal,
                until(journal.runs, applied),
                self._application.kind,
                self._application.state(),
                is_floor=is_floor,
                when_made=when_made,
            )
        return None


def _foreign(journal: Journal, kind: str) -> StoreForeign:
    wrote = "" if journal.base is None else journal.base.kind
    return StoreForeign(
        f"{journal.path}: its first frames were replaced by the state of application {wrote!r},"
        f" this is application {kind!r}\n  nothing was changed",
        next="start the application that wrote it, or give this one an empty directory",
    )
