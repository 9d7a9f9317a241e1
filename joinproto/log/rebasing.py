"""A base from another member: it comes in pieces, and then replaces the journal."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from attrs import define

from joinproto.durable.filesystem import read_range, reason
from joinproto.durable.journal.index import Index
from joinproto.durable.journal.journal import Replacement
from joinproto.durable.journal.records import BASE_BYTES_MAX, HEAD, Run, base_of
from joinproto.errors import StoreWriteFailed
from joinproto.log.pieces import PieceFile

NEW = "frames.log.base"
INDEX_NEW = "frames.index.base"


@define(kw_only=True)
class BasePieces(PieceFile):
    """The file for the pieces of a base.

    `common`: the last frame that both members have.  `runs`: the frames that the base must replace.
    `kind`: the name of the application whose state the base must hold (`Remembering.kind`).
    """

    name: ClassVar[str] = NEW
    common: int
    runs: tuple[Run, ...]
    kind: str

    @property
    def last(self) -> int:
        """Return the last frame that the base replaces."""
        return self.runs[-1].last

    def take(self, data: bytes) -> None:
        """Write the next piece durably, or set `problem`; raises `StoreWriteFailed`."""
        if self.size + len(data) > HEAD.size + BASE_BYTES_MAX:
            self.give_up("its base is too long")
            return
        try:
            self.write(data)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> StoreWriteFailed:
        return StoreWriteFailed(
            f"{self.journal.path.with_name(NEW)}: {reason(error)}\n  the journal is as it was",
            next="look at the disk, then start the member again",
        )

    def finish(self, before: Callable[[], None]) -> None:
        """Replace the journal by the base if it is the announced base; otherwise set `problem`.

        `before`: called just before the journal is replaced.  Raises `StoreWriteFailed`.
        """
        if self.file < 0:
            self.problem = "its base is empty"
            return
        files, folder = self.journal.files, self.journal.folder
        try:
            base = base_of(partial(read_range, files, self.file))
        except OSError as error:
            raise self._failed(error) from error
        if isinstance(base, str):
            self.give_up(base)
            return
        if base.runs != self.runs or base.size != self.size:
            self.give_up("its base is not the one that it announced: other frames or another size")
            return
        if base.kind != self.kind:
            self.give_up(
                f"its base is the state of application {base.kind!r}, this is {self.kind!r}"
            )
            return
        before()
        index = Index.open(files, folder, self.journal.path.with_name(INDEX_NEW))
        index.begin((), 0, start=base.size, first=base.last.seq + 1)
        self.journal.replace_by(
            Replacement(
                name=NEW,
                file=self.file,
                base=base,
                runs=base.runs,
                offsets=array("Q"),
                end=base.size,
                index=index,
            )
        )
