"""Checkpoints: the files from which a search continues after it was killed.

    rows-....bin     every state found, in the order in which it was found (`rows/row_file.py`)
    checkpoint.bin   the progress of the search: the ends of its levels, the numbered
                     values in rows, members' answers, counters, and the claims decided so far
    lock             held while a search uses the folder

A checkpoint is written between two levels.  `checkpoint.bin` is written under another name and
renamed into place, once the rows that it counts are on disk.  It has a hash of these rows, and a
hash of itself.  So a search that is killed at any moment leaves the last whole checkpoint.  Rows
after the counted rows are found again, like everything else of an incomplete level.

The rest is computed again: the hash table from the rows, and the claims' verdicts on combinations
by evaluation.  Runs are found backwards through the levels, as in any search.  So the counts, the
verdict and the shortest run are the same as in a search that was never killed.

A checkpoint belongs to one world, its options and its code.  For any other search, the command says
what differs.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from joinproto.check.engine.claims.found import Found, Hit
from joinproto.check.engine.rows.row_file import RowFiles
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.symmetry.same_states import StateKeys
from joinproto.check.engine.tables.kept_values import CannotKeep, Names, read, written
from joinproto.check.engine.tables.numbering import TablesNumbering
from joinproto.check.engine.tables.search_code import (
    code_of,
    member_codes,
    names_of,
    take_numbering,
)
from joinproto.check.memory import MemoryLimitMet
from joinproto.errors import EnvironmentProblem, LimitReached, UsageProblem

if TYPE_CHECKING:
    from joinproto.check.engine.search import Search

FORMAT = b"joinproto checkpoint 1\n"
FILE, NEW, LOCK = "checkpoint.bin", "checkpoint.new", "lock"

SECONDS = 15.0
"""The least number of seconds between two checkpoints."""

_PIECE = 1 << 18
"""Rows that are renamed or compared at once."""


@define
class Checkpoint:
    """The checkpoint of one search, in a folder of its own.

    `run`: values that identify the search, for JSON.  `tell`: called with a text about the level
    from which the search continues.  `seconds`: the least time between two writes, which is also at
    least twenty times as long as the last write took.  `note`: a text about the level from which
    this search continued; empty if it began anew.
    """

    folder: Path
    run: Mapping[str, Any]
    tell: Callable[[str], None] = lambda _: None
    seconds: float = SECONDS
    files: RowFiles = field(init=False)
    note: str = field(init=False, default="")
    _kept: float = field(init=False, factory=time.monotonic)
    _took: float = field(init=False, default=0.0)
    _names: Names | None = field(init=False, default=None)
    _code: str = field(init=False, default="")
    _lock: IO[bytes] | None = field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.files = RowFiles(self.folder)

    # -- the folder ----------------------------------------------------------------------

    def open(self) -> bool:
        """Lock the folder for this process; return whether it holds a search to continue.

        Raises `UsageProblem` if it is not a folder, holds other files or is used by another
        process, and `EnvironmentProblem` if it cannot be written to.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            held = sorted(path.name for path in self.folder.iterdir())
            strange = [name for name in held if not _is_checkpoint_file(name)]
            if strange:
                raise UsageProblem(
                    f"{self.folder} is not empty, and {strange[0]} is not a file of a checkpoint",
                    next="give --checkpoint a new folder",
                )
            self._lock = (self.folder / LOCK).open("ab")
        except (FileExistsError, NotADirectoryError) as error:
            raise UsageProblem(
                f"{self.folder} is not a folder", next="give --checkpoint a new folder"
            ) from error
        except OSError as error:
            raise self._cannot_write(error) from error
        if not _locked(self._lock):
            self.close()
            raise UsageProblem(
                f"another process uses {self.folder}",
                next="wait until it ends, or give --checkpoint another folder",
            )
        return FILE in held

    def remove(self) -> None:
        """Remove all files of the checkpoint, after the search has ended."""
        for name in (FILE, NEW):
            (self.folder / name).unlink(missing_ok=True)
        self.files.close()
        self.close()
        (self.folder / LOCK).unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def close(self) -> None:
        """Release the folder for another process."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def left_note(self) -> str:
        """Return a text about the checkpoint that the next run can use, or ""."""
        path = self.folder / FILE
        if not path.exists():
            return ""
        size = sum(one.stat().st_size for one in self.folder.iterdir())
        levels = self._head()[0]["levels"]
        return (
            f"the same command goes on from level {len(levels) - 1}, {levels[-1]:,} states:"
            f" {self.folder} holds them, {size / 2**20:,.0f} MiB"
        )

    def _cannot_write(self, error: OSError) -> EnvironmentProblem:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        return EnvironmentProblem(
            f"cannot write to {self.folder}: {error.strerror or error}",
            next=("free some space there, or " if is_full else "")
            + "give --checkpoint another folder",
        )

    # -- writing -------------------------------------------------------------------------

    def write_if_due(self, search: Search, found: Found, *, now: bool = False) -> None:
        """Write a checkpoint if it is due, or `now`.  All levels of `found` must be complete."""
        due = time.monotonic() - self._kept >= max(self.seconds, 20 * self._took)
        if now or due or self._names is None:
            if self._names is None:
                self._names, self._code = names_of(search.tables), code_of(search.tables)
            began = time.monotonic()
            try:
                self._write(search, found, self._names)
            except OSError as error:
                raise self._cannot_write(error) from error
            self._kept = time.monotonic()
            self._took = self._kept - began

    def _write(self, search: Search, found: Found, names: Names) -> None:
        search.count_up()
        head = {
            "run": dict(self.run),
            "code": self._code,
            "rows": self.files.name,
            "words": search.states.words,
            "levels": found.levels,
            "generated": found.generated,
            "digest": self.files.digest(found.levels[-1]),
        }
        body = packed(_content(search, found), names, without="--checkpoint")
        text = json.dumps(head).encode()
        whole = len(text).to_bytes(8, "big") + text + body
        self.files.sync()
        with (self.folder / NEW).open("wb") as opened:
            opened.write(FORMAT + hashlib.sha256(whole).digest() + whole)
            opened.flush()
            os.fsync(opened.fileno())
        (self.folder / NEW).replace(self.folder / FILE)
        _sync_folder(self.folder)
        self.files.remove_others()

    # -- continuing ------------------------------------------------------------------------

    def restore(self, search: Search) -> Found:
        """Load the kept states into `search`, a new search of the same world.

        Raises `UsageProblem` if the checkpoint is of another search or the file is damaged, and
        `LimitReached` if the states do not fit under the memory limit.
        """
        head, body = self._head()
        names, code = names_of(search.tables), code_of(search.tables)
        self._refuse_other(head, code)
        self.files.opened(head["rows"], head["words"])
        if self.files.digest(head["levels"][-1]) != head["digest"]:
            raise self._damaged(
                f"the states in {head['rows']} have changed since they were written"
            )
        try:
            content = read(body, names)
        except Exception as error:
            raise self._damaged(f"it cannot be read: {error}") from error
        try:
            _put_back(search, content, head)
        except MemoryLimitMet as error:
            raise LimitReached(
                f"the {head['levels'][-1]:,} states in {self.folder} do not fit under the memory"
                " limit",
                next="use a higher --max-memory",
            ) from error
        claims = {claim.property.name: claim for claim in search.judge.claims}
        hits = [Hit(claims[name], level, rows) for name, level, rows in content["hits"]]
        self._names, self._code, self._kept = names, code, time.monotonic()
        states = f"level {len(head['levels']) - 1} and {head['levels'][-1]:,} states"
        self.note = f"went on from {states}, kept in {self.folder}"
        self.tell(f"going on from {states}, kept in {self.folder}")
        return Found(levels=head["levels"], generated=head["generated"], hits=hits)

    def _head(self) -> tuple[dict[str, Any], bytes]:
        """Return the head of the file, and the bytes after it.  Raises `UsageProblem`."""
        held = (self.folder / FILE).read_bytes()
        if not held.startswith(FORMAT):
            raise self._damaged("another version of joinproto wrote it, or it is not a checkpoint")
        digest, whole = held[len(FORMAT) :][:32], held[len(FORMAT) + 32 :]
        if hashlib.sha256(whole).digest() != digest:
            raise self._damaged("it has changed since it was written")
        end = 8 + int.from_bytes(whole[:8], "big")
        head: dict[str, Any] = json.loads(whole[8:end])
        rows = self.folder / head["rows"]
        if not rows.exists() or rows.stat().st_size < 8 * head["words"] * head["levels"][-1]:
            raise self._damaged(f"the states that it counts are not in {head['rows']}")
        return head, whole[end:]

    def _damaged(self, why: str) -> UsageProblem:
        return UsageProblem(
            f"the search cannot continue from {self.folder / FILE}: {why}",
            next=f"remove {self.folder}, and the search begins anew",
        )

    def _refuse_other(self, head: dict[str, Any], code: str) -> None:
        differs = differences(head["run"], json.loads(json.dumps(dict(self.run))))
        if head["code"] != code:
            differs.append("the model's source, or joinproto's, has changed since")
        if differs:
            raise UsageProblem(
                f"{self.folder} holds another search: {'; '.join(differs)}",
                next="give the options of that search, or give --checkpoint another folder",
            )


def _is_checkpoint_file(name: str) -> bool:
    rows = name.startswith("rows-") and name.endswith(".bin")
    return name in (FILE, NEW, LOCK) or rows


def _locked(opened: IO[bytes]) -> bool:
    """Lock an open file for this process; return False if another process has locked it."""
    try:
        import fcntl
    except ModuleNotFoundError:  # no locks on this system: the user must not start two at a time
        return True
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every system can open a folder
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


# -- values and tables -----------------------------------------------------------------


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> list[str]:
    """Return texts about the facts in which two runs differ."""
    return [
        f"{key} {there.get(key)} there, {here.get(key)} here"
        for key in {**there, **here}
        if there.get(key) != here.get(key)
    ]


def packed(content: Any, names: Names, *, without: str) -> bytes:
    """Return `content` as bytes; raises `UsageProblem` for values that cannot be written.

    `without`: the option that the message advises to leave out.
    """
    try:
        return written(content, names)
    except (CannotKeep, RecursionError) as error:
        raise UsageProblem(
            f"a value of this model cannot be kept in a file: {error}",
            next="hold plain values, enums or classes of the model's own modules; or search"
            f" without {without}",
        ) from error


def numbered(search: Search) -> dict[str, Any]:
    """Return the numbering of a search, as `take_back` reads it."""
    renaming = search.renaming
    return {
        "numbering": TablesNumbering(search.tables).content(),
        "seen": search.judge.seen_numbers,
        "sorted": renaming is not None and renaming.sorted_form,
        "calls": [code.objects.calls for code in member_codes(search.tables)],
    }


def take_back(search: Search, content: dict[str, Any], *, kept: str, next: str) -> None:
    """Give `search`, a new search of the same world, the numbering of an earlier one.

    Raises `UsageProblem` if members answer otherwise now; `kept`, `next`: as for `take_numbering`.
    """
    tables = search.tables
    take_numbering(TablesNumbering(tables), content["numbering"], kept=kept, next=next)
    tables.bound_by(search.budget)
    tables.forget_asked()
    search.judge_anew(sorted_form=content["sorted"])
    search.judge.refresh()
    search.judge.mark(content["seen"])
    if search.renaming is not None:
        search.renaming.refresh()
    for code, calls in zip(member_codes(tables), content["calls"], strict=True):
        code.objects.calls = calls
    search.expand_anew()


def _content(search: Search, found: Found) -> dict[str, Any]:
    judge = search.judge
    return {
        **numbered(search),
        "premises": [claim.property.name for claim in judge.claims if claim.premise_met],
        "hits": [(hit.claim.property.name, hit.level, hit.rows) for hit in found.hits],
        "begins": search.begins,
        "may_number": search.may_number,
        "looked_at": search.looked_at,
        "outside": search.outside,
    }


def _put_back(search: Search, content: dict[str, Any], head: dict[str, Any]) -> None:
    anew = "give --checkpoint a new folder, and the search begins anew"
    take_back(search, content, kept="search", next=anew)
    for claim in search.judge.claims:
        claim.premise_met = claim.property.name in content["premises"]
    for name in ("begins", "may_number", "looked_at", "outside"):
        setattr(search, name, content[name])
    _put_rows_back(search, head["rows"], head["words"], head["levels"][-1])
    search.share_out()


def _put_rows_back(search: Search, name: str, words: int, count: int) -> None:
    files = search.files
    assert files is not None
    rows = files.opened(name, words)
    if search.renaming is not None:
        # Which renaming represents a state depends on the order in which renamings were compared.
        kept, rows = rows, files.fresh(words, count)
        for begin in range(0, count, _PIECE):
            piece = np.array(kept[begin : min(count, begin + _PIECE)])
            search.renaming.canonical(piece)
            rows[begin : begin + len(piece)] = piece
    search.states = RowSet(words, search.budget, room=1, files=files)
    search.states.put_back(rows, count)
    if search.world.same is not None:
        search.alike = StateKeys(search.tables, search.judge, search.budget)
        for begin in range(0, count, _PIECE):
            search.alike.first(rows[begin : min(count, begin + _PIECE)])
