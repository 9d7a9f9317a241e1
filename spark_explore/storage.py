"""Files that every executor can open: levels, sorted runs, and what each owner has seen.

    levels/    the new states of one level, of one owner, in the order of their keys
    runs/      keys of many levels, sorted; with wide rows, where each row lies as well
    owners/    for one owner after one level: its level file, and the runs of all it has seen

Every file is written under another name and renamed, and none is written twice with another
content: its name has the number of the job.  A step of level k reads what was noted of
level k - 1 and nothing newer, so a step that runs again finds what it found before.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from attrs import asdict, define, evolve, field, frozen

from joinproto.check.engine.rows.merging import merged, merged_pairs
from joinproto.errors import UsageProblem
from spark_explore import parcels
from spark_explore.blocks import ranges
from spark_explore.keys import Ints, Keys, Rows, known, padded

_PLACE_BITS = 40
_PLACE = np.int64((1 << _PLACE_BITS) - 1)


KINDS = ("levels", "runs", "owners")


@frozen
class Run:
    """A sorted file of keys; `places`: where the rows lie, "" where keys are rows."""

    keys: str
    places: str
    count: int


@frozen
class Share:
    """What one owner has after a level.

    `files`: its level file for each level, "" where it has none; `count`: of the last.
    """

    level: int
    owner: int
    count: int
    files: tuple[str, ...]
    runs: tuple[Run, ...]


@define
class Growing:
    """An array that is written piece by piece.  `shape`: of one of its items."""

    file: IO[bytes]
    dtype: type
    shape: tuple[int, ...]
    count: int = 0

    def add(self, piece: npt.NDArray[Any]) -> None:
        """Write more items behind those there are."""
        if not self.count:
            self.head()
        self.file.write(np.ascontiguousarray(piece, self.dtype).data)
        self.count += len(piece)

    def head(self) -> None:
        """Write the header; it takes the same room whatever the count is."""
        self.file.seek(0)
        array: npt.NDArray[Any] = np.empty((0, *self.shape), self.dtype)
        header = np.lib.format.header_data_from_array_1_0(array)
        np.lib.format.write_array_header_1_0(
            self.file, header | {"shape": (self.count, *self.shape)}
        )


@frozen
class Storage:
    """A folder.  `written`: called with the bytes of each file, for whoever counts them."""

    folder: Path
    written: Callable[[int], None] = field(default=lambda _: None, repr=False)

    def make(self) -> None:
        for name in (*KINDS, parcels.FOLDER):
            (self.folder / name).mkdir(parents=True, exist_ok=True)

    # -- whole files -------------------------------------------------------------------

    @contextmanager
    def growing(self, name: str, dtype: type, shape: tuple[int, ...] = ()) -> Iterator[Growing]:
        """Write an array piece by piece, all of it or nothing; no file where it stays empty."""
        with self._replacing(name) as file:
            array = Growing(file, dtype, shape)
            yield array
            if array.count:
                # Not np.save: on a full disk that says how many bytes it wrote, and not why.
                array.head()
                file.seek(0, os.SEEK_END)
        if not array.count:
            (self.folder / name).unlink()
        self.written(array.count * int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize)

    def load(self, name: str) -> npt.NDArray[Any]:
        """Map an array into memory; it cannot be changed."""
        found: npt.NDArray[Any] = np.load(self.folder / name, mmap_mode="r")
        return found

    def write(self, name: str, content: bytes) -> None:
        """Write bytes, all of them or nothing, and not before they are on the disk."""
        with self._replacing(name, sync=True) as file:
            file.write(content)

    @contextmanager
    def _replacing(self, name: str, *, sync: bool = False) -> Iterator[IO[bytes]]:
        path = self.folder / name
        handle, other = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            Path(other).chmod(0o644)
            Path(other).replace(path)
        except BaseException:
            Path(other).unlink(missing_ok=True)
            raise

    # -- shares ------------------------------------------------------------------------

    def note(self, job: int, share: Share) -> None:
        """Write down what an owner has."""
        text = json.dumps(asdict(share))
        name = _share_name(job, share.level, share.owner)
        with self._replacing(name) as file:
            file.write(text.encode())

    def share(self, job: int, level: int, owner: int) -> Share:
        """Return what `owner` had after `level`, as `job` left it."""
        found = json.loads((self.folder / _share_name(job, level, owner)).read_bytes())
        runs = tuple(Run(**run) for run in found.pop("runs"))
        return Share(runs=runs, files=tuple(found.pop("files")), **found)

    def level_rows(self, share: Share, words: int) -> Rows:
        """Map the rows of the share's last level, words of its file."""
        if not share.files or not share.files[-1]:
            return np.zeros((0, words), np.uint64)
        return self.load(share.files[-1])

    def drop_known(self, share: Share, keys: Keys, rows: Rows) -> tuple[Keys, Rows]:
        """Return what of sorted `keys` and `rows` the owner has not seen."""
        for run in reversed(share.runs):
            if len(keys) == 0:
                break
            seen = self._keys(run)
            begin = int(np.searchsorted(seen, keys[0]))
            end = int(np.searchsorted(seen, keys[-1], "right"))
            rows_at = None
            if run.places:
                places = self.load(run.places)[begin:end]
                rows_at = self._reader(share, places, rows.shape[1])
            new = ~known(keys, rows, seen[begin:end], rows_at)
            keys, rows = keys[new], rows[new]
        return keys, rows

    def _reader(self, share: Share, places: Ints, words: int) -> Callable[[Ints], Rows]:
        def rows_at(at: Ints) -> Rows:
            wanted = np.asarray(places[at])
            levels, inside = wanted >> _PLACE_BITS, wanted & _PLACE
            found = np.zeros((len(at), words), np.uint64)
            for level in np.flatnonzero(np.bincount(levels)).tolist():
                here = levels == level
                found[here] = padded(self.load(share.files[level])[inside[here]], words)
            return found

        return rows_at

    def extend(
        self, job: int, share: Share, pieces: Iterable[tuple[Keys, Rows]], words: int, *, wide: bool
    ) -> Share:
        """Write a new level of an owner: sorted keys with their rows, a range after the other.

        `words`: of a row.  Returns the owner's share.
        """
        level, owner = share.level + 1, share.owner
        name = f"{job}-{level}-{owner}.npy"
        file = f"levels/{name}"
        # A level's rows of one word are a run as they are.
        run = Run(f"runs/keys-{name}", f"runs/places-{name}", 0) if wide else Run(file, "", 0)
        with ExitStack() as files:
            levels = files.enter_context(self.growing(file, np.uint64, (words,)))
            beside: list[Growing] = []
            if wide:
                beside.append(files.enter_context(self.growing(run.keys, np.uint64)))
                beside.append(files.enter_context(self.growing(run.places, np.int64)))
            for keys, rows in pieces:
                places = np.arange(levels.count, levels.count + len(rows), dtype=np.int64)
                places += np.int64(level) << _PLACE_BITS
                for array, piece in zip(beside, (keys, places), strict=False):
                    array.add(piece)
                levels.add(rows)
        count, runs = levels.count, share.runs
        if count:
            kept, tail = _split(runs, count)
            new = evolve(run, count=count)
            runs = (*kept, self._merged(name, (*tail, new)) if tail else new)
        after = Share(level, owner, count, (*share.files, file if count else ""), runs)
        self.note(job, after)
        if wide and (not runs or runs[-1].keys != run.keys):
            # Merged into another, and nobody else's.
            for one in (run.keys, run.places):
                (self.folder / one).unlink(missing_ok=True)
        return after

    def _merged(self, name: str, runs: tuple[Run, ...]) -> Run:
        """Write sorted runs as one."""
        if not runs[0].places:
            found = Run(f"runs/{name}", "", sum(run.count for run in runs))
            with self.growing(found.keys, np.uint64) as file:
                for parts in ranges([self._keys(run) for run in runs]):
                    pieces = [self._keys(run)[at] for run, at in zip(runs, parts, strict=True)]
                    file.add(reduce(merged, pieces))
            return found
        found = Run(f"runs/all-keys-{name}", f"runs/all-places-{name}", sum(r.count for r in runs))
        with (
            self.growing(found.keys, np.uint64) as file,
            self.growing(found.places, np.int64) as places,
        ):
            for parts in ranges([self._keys(run) for run in runs]):
                pairs = [
                    (self._keys(run)[at], self.load(run.places)[at])
                    for run, at in zip(runs, parts, strict=True)
                ]
                keys, numbers = reduce(lambda one, other: merged_pairs(*one, *other), pairs)
                file.add(keys)
                places.add(numbers)
        return found

    def _keys(self, run: Run) -> Keys:
        # Mapped anew each time: what was read of it does not stay in memory.
        return self.load(run.keys).reshape(-1)

    def forget(self, job: int, shares: list[Share]) -> None:
        """Remove what `shares`, as `job` left them, do not need.

        Never while a job runs: a step that runs again reads what its first run read.
        """
        used = {name for share in shares for name in share.files}
        used |= {name for share in shares for run in share.runs for name in (run.keys, run.places)}
        used |= {_share_name(job, share.level, share.owner) for share in shares}
        for kind in KINDS:
            for path in (self.folder / kind).iterdir():
                if f"{kind}/{path.name}" not in used:
                    path.unlink(missing_ok=True)


def _split(runs: tuple[Run, ...], count: int) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Return the runs to keep, and those at the end to merge with `count` new keys."""
    at = len(runs)
    while at and runs[at - 1].count <= 2 * count:
        at -= 1
        count += runs[at].count
    return runs[:at], runs[at:]


def _share_name(job: int, level: int, owner: int) -> str:
    return f"owners/{job}-{level}-{owner}.json"


# -- folders ---------------------------------------------------------------------------


def refuse_other_than_a_path(folder: Path) -> None:
    """Refuse a place that only Spark could open: the search maps its files into memory."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", str(folder)):
        scheme = str(folder).partition(":")[0]
        raise UsageProblem(
            f"--out {folder}: a run needs a path, and this is an address of {scheme}",
            next="a folder that every executor can open: local with local[N], else shared (NFS)",
        )


def seen_by_all(context: Any, folder: Path) -> None:
    """Raise `UsageProblem` where an executor does not see what the driver writes here."""
    word = secrets.token_hex(16)
    probe = folder / "probe"
    probe.write_text(word)

    def look(_: Iterable[int]) -> Iterator[tuple[str, str]]:
        try:
            yield socket.gethostname(), "" if probe.read_text() == word else "it holds another file"
        except OSError as error:
            yield socket.gethostname(), error.strerror or str(error)

    many = 4 * context.defaultParallelism
    looked = context.parallelize(range(many), many).mapPartitions(look).collect()
    probe.unlink()
    for host, problem in looked:
        if problem:
            raise UsageProblem(
                f"the executor on {host} cannot open {folder}: {problem}",
                next="give --out a folder that all machines share under the same path (NFS)",
            )
