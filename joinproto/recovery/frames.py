"""The real end of a store's frames: the journal of joinproto's own log, which is only read.

The metadata has the position only as of its last write, but the journal has each frame.  So the
journal (`joinproto/durable/journal/journal.py`), if there is one, says how far the store is.  If a
broker keeps its frames elsewhere, the operator gives the position with --position.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import Annotated

from attrs import field, frozen

from joinproto.codec.json_form import Absent, Written
from joinproto.durable.filesystem import JournalFileSystem, let_go, read_range, reason
from joinproto.durable.journal.journal import FILE, Run, holds, start_from, survey, too_short
from joinproto.durable.journal.records import listed
from joinproto.durable.journal.survey import last_of
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position

__all__ = ["FILE", "Journal", "Run", "look_at_journal", "too_short", "with_frames"]

CHUNK_BYTES = 4 << 20


_RUNS = Written(
    tuple[tuple[str, int, int], ...],
    listed,
    lambda found: tuple(Run(*one) for one in found),
)


@frozen(kw_only=True)
class Journal:
    """The contents of a journal: runs of frames, in order."""

    problem: Annotated[str, "why the journal cannot be believed"] = ""
    # Earlier versions did not write these three fields.
    is_unread: Annotated[bool, Absent(), "whether the system could not read it"] = False
    sha256: Annotated[str, Absent(), "hash of all its bytes, if it was read to its end"] = ""
    is_torn: Annotated[bool, Absent(), "whether it ends in a part of a frame"] = False
    runs: Annotated[tuple[Run, ...], _RUNS, "runs of frames"] = ()
    errno: int | None = field(default=None, eq=False, repr=False)

    @property
    def parts(self) -> list[str]:
        """Return the contents as texts, for a hash over all of them."""
        runs = [f"{run.view} {run.first} {run.last}" for run in self.runs]
        return [*runs, self.problem, str(self.is_unread), self.sha256, str(self.is_torn)]

    @property
    def last(self) -> Position | None:
        return last_of(self.runs)

    def holds(self, position: Position) -> bool:
        return holds(self.runs, position)


def look_at_journal(files: JournalFileSystem, directory: int) -> Journal | None:
    """Return the contents of the journal in an open data directory, None if there is none."""
    try:
        file = files.open_to_read(directory, FILE)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Journal(problem=reason(error), is_unread=True, errno=error.errno)
    try:
        read = partial(read_range, files, file)
        found = survey(read, files.size(file), piece_bytes=CHUNK_BYTES)
        total = sha256()
        while piece := files.read(file, CHUNK_BYTES):
            total.update(piece)
    except OSError as error:
        return Journal(problem=reason(error), is_unread=True, errno=error.errno)
    finally:
        let_go(files, file)
    is_torn = found.end < found.size
    return Journal(
        runs=found.runs, problem=found.problem, sha256=total.hexdigest(), is_torn=is_torn
    )


def with_frames(record: StoreRecord, journal: Journal | None) -> tuple[StoreRecord, str]:
    """Return the record with the position of its journal, and the journal's problem, if any.

    A member refuses a journal exactly if this function returns a problem.
    """
    if journal is not None and journal.problem:
        return record, f"{FILE}: {journal.problem}"
    runs = None if journal is None else journal.runs
    record, problem = start_from(record, runs, is_torn=journal is not None and journal.is_torn)
    return record, f"{FILE}: {problem}" if problem else ""
