"""A file next to a journal; it is written in pieces, each on the disk before the next one.

The pieces are written between the steps of the log, so each step is short.  Because each piece is
synced, the final rename needs no sync of the whole file, which would delay the log.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from attrs import define

from joinproto.durable.filesystem import let_go, reason, remove, write_range
from joinproto.durable.journal.journal import Journal


@define
class PieceFile:
    """A file that is written in pieces.

    `size`: the number of bytes on the disk.  `problem`: why the file was given up, "" if it was
    not.  `file`: the descriptor, -1 before the first piece.
    """

    name: ClassVar[str]
    journal: Journal
    size: int = 0
    problem: str = ""
    file: int = -1

    def write(self, data: bytes) -> None:
        """Write the next piece durably; raises `OSError`."""
        files, folder = self.journal.files, self.journal.folder
        if self.file < 0:
            remove(files, folder, self.name)
            self.file = files.create(folder, self.name, 0o640)
        write_range(files, self.file, self.size, data)
        files.sync_data(self.file)
        self.size += len(data)

    def give_up(self, why: str) -> None:
        """Remove the file because of this problem."""
        self.problem = why
        let_go(self.journal.files, self.file)
        self.file = -1
        remove(self.journal.files, self.journal.folder, self.name)

    @contextmanager
    def giving_up(self) -> Iterator[None]:
        """Give the file up if the disk returns an error."""
        try:
            yield
        except OSError as error:
            self.give_up(reason(error))
