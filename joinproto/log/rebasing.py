"""A base that comes from another member, in pieces, and takes the place of the journal."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial

from attrs import define

from joinproto.durable.filesystem import let_go, read_range, reason, remove, write_range
from joinproto.durable.journal.index import Index
from joinproto.durable.journal.journal import Journal, Replacement
from joinproto.durable.journal.records import BASE_BYTES_MAX, HEAD, Run, base_of
from joinproto.errors import StoreWriteFailed

NEW = "frames.log.base"
INDEX_NEW = "frames.index.base"


@define
class BasePieces:
    """`common`: the last frame that both have; `runs`: those that it must stand for; `size`:
    bytes that have come.  `problem`: why it is not taken, "" as long as nothing is wrong.
    """

    journal: Journal
    common: int
    runs: tuple[Run, ...]
    kind: str
    size: int = 0
    problem: str = ""
    _file: int = -1

    @property
    def last(self) -> int:
        """Return the last frame for which it stands."""
        return self.runs[-1].last

    def take(self, data: bytes) -> None:
        """Put the next piece on the disk; raises `StoreWriteFailed`."""
        try:
            self._take(data)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> StoreWriteFailed:
        return StoreWriteFailed(
            f"{self.journal.path.with_name(NEW)}: {reason(error)}\n  the journal is as it was",
            next="look at the disk, then start the member again",
        )

    def _take(self, data: bytes) -> None:
        files, folder = self.journal.files, self.journal.folder
        if self._file < 0:
            remove(files, folder, NEW)
            self._file = files.create(folder, NEW, 0o640)
        if self.size + len(data) > HEAD.size + BASE_BYTES_MAX:
            self._give_up("its base is too long")
            return
        # The rename in `finish` rests on this: each piece is on the disk before the next one.
        write_range(files, self._file, self.size, data)
        files.sync_data(self._file)
        self.size += len(data)

    def _give_up(self, why: str) -> None:
        self.problem = why
        let_go(self.journal.files, self._file)
        self._file = -1
        remove(self.journal.files, self.journal.folder, NEW)

    def finish(self, before: Callable[[], None]) -> None:
        """Replace the journal if the base is as announced; `before` is called first.

        Raises `StoreWriteFailed`.
        """
        if self._file < 0:
            self.problem = "its base is empty"
            return
        files, folder = self.journal.files, self.journal.folder
        try:
            base = base_of(partial(read_range, files, self._file))
        except OSError as error:
            raise self._failed(error) from error
        if isinstance(base, str):
            self._give_up(base)
            return
        if base.runs != self.runs or base.size != self.size:
            self._give_up("its base is of other frames than it said")
            return
        if base.kind != self.kind:
            self._give_up(f"its frames were dropped by {base.kind!r}, this is {self.kind!r}")
            return
        before()
        index = Index.open(files, folder, self.journal.path.with_name(INDEX_NEW))
        index.begin((), 0, start=base.size, first=base.last.seq + 1)
        self.journal.replace_by(
            Replacement(
                name=NEW,
                file=self._file,
                base=base,
                runs=base.runs,
                offsets=array("Q"),
                end=base.size,
                index=index,
            )
        )
