"""Files that every executor can open: levels, and sorted runs.

    levels/    the new states of one owner in one level, in the order of their keys
    runs/      sorted keys of many levels; with wide rows, also the place of each row

No file is written twice: each attempt of a step uses new names.  An owner's `Share` names the valid
files.  It is sent to the driver with the step's counts, and a level is valid when the driver has
written its state (`journal.py`), which names the shares.  A step that was killed, that ran twice,
or that still runs after its job leaves files that no share names; they are removed later.

Files are mapped into memory.  Files of a folder are mapped directly.  A store has each file in a
smaller form (`arrays.py`), and each machine has a folder as a cache of the files that it needs; a
file that is missing there is fetched again.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, reduce
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from joinproto.check.engine.rows.merging import merged, merged_pairs
from joinproto.check.engine.shapes import Column, Ints, Keys, Rows
from joinproto.errors import UsageProblem
from spark_explore import parcels
from spark_explore.arrays import Growing, growing, pack, unpack
from spark_explore.blocks import ranges
from spark_explore.keys import known, padded
from spark_explore.places import Address, Folder, Place, StoreFailure, as_place

_PLACE_BITS = 40
_PLACE = np.int64((1 << _PLACE_BITS) - 1)


KINDS = ("levels", "runs")
_NAME = re.compile(rf"(?:{'|'.join(KINDS)})/[A-Za-z0-9-]+\.npy")


@frozen
class Run:
    """A sorted file of keys.  `places`: the file with the rows' places; "" if keys are rows."""

    keys: str
    places: str
    count: int


@frozen
class Share:
    """The data of one owner after a level.

    `files`: the owner's file of each level, or "".  `count`: the rows in the last of them.
    """

    level: int
    owner: int
    count: int
    files: tuple[str, ...]
    runs: tuple[Run, ...]

    def names(self) -> set[str]:
        """Return the names of all files of the share."""
        return self.needed(wide=True)

    def needed(self, *, wide: bool) -> set[str]:
        """Return the names of the files that a search reads: the last level, and the runs.

        With wide rows it reads all levels, because a key does not show whether a row is known.
        """
        runs = {name for run in self.runs for name in (run.keys, run.places)}
        return {*(self.files if wide else self.files[-1:]), *runs} - {""}


def share_of(found: dict[str, Any]) -> Share:
    """Return a share from its dict, which `attrs.asdict` made.

    Raises `UsageProblem` if a file's name is not one of a search.  The dict may come from a store
    to which others can write, and files of these names are copied to folders of this machine.
    """
    runs = tuple(Run(**run) for run in found["runs"])
    share = Share(**{**found, "files": tuple(found["files"]), "runs": runs})
    for name in share.names():
        if _NAME.fullmatch(name) is None:
            raise UsageProblem(
                f"state.json names {name!r}, which is not a file of a search",
                next="start a new search, without --resume",
            )
    return share


def _object(name: str) -> str:
    """Return the name of a file's object in a store."""
    return f"{name.removesuffix('.npy')}.parquet"


@frozen
class Storage:
    """The files of a search at a place.

    `cache`: the folder for files of a store; None means a cache of this executor.  `on_written`:
    is called with the number of bytes of each file.
    """

    place: Place = field(converter=as_place)
    cache: Path | None = None
    on_written: Callable[[int], None] = field(default=lambda _: None, repr=False)

    @property
    def here(self) -> Path:
        """The folder of the mapped files: the place itself, or the cache."""
        if isinstance(self.place, Folder):
            return self.place.path
        return self.cache or _cache_of(str(self.place))

    @property
    def is_cached_apart(self) -> bool:
        """Whether each executor has its own cache."""
        return self.cache is None and not isinstance(self.place, Folder)

    def make(self) -> None:
        self.place.make()
        for name in (*KINDS, parcels.FOLDER):
            (self.here / name).mkdir(parents=True, exist_ok=True)

    # -- whole files -------------------------------------------------------------------

    @contextmanager
    def growing(self, name: str, dtype: type, shape: tuple[int, ...] = ()) -> Iterator[Growing]:
        """Write an array to a file of `here` in pieces, as a whole or not at all.

        An array that stays empty leaves no file.
        """
        with growing(self.here / name, dtype, shape) as array:
            yield array
        self.on_written(array.count * int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize)

    def load(self, name: str) -> Column:
        """Map an array into memory; it cannot be changed."""
        while True:
            try:
                found: Column = np.load(self.here / name, mmap_mode="r")
            except FileNotFoundError:
                if isinstance(self.place, Folder):
                    raise
                # Tried again and again, because another process may remove the fetched file.
                self._fetch(self.place, name)
            else:
                return found

    def _put(self, place: Address, name: str) -> None:
        with tempfile.NamedTemporaryFile(dir=self.here) as file:
            pack(self.load(name), file)
            file.flush()
            place.put(_object(name), Path(file.name))

    def _fetch(self, place: Address, name: str) -> None:
        with tempfile.TemporaryDirectory(dir=self.here) as folder:
            place.fetch(_object(name), file := Path(folder, "packed"))
            try:
                unpack(file, self.here / name)
            except (ValueError, OSError) as error:
                if getattr(error, "errno", None) is not None:
                    raise  # such as a full disk
                raise StoreFailure(f"{place}/{_object(name)} is damaged: {error}") from error

    def chunks(self, name: str, size: int) -> Iterator[tuple[int, Rows]]:
        """Yield parts of a level's file, each with its first place; the parts are writable."""
        every = self.load(name)
        for begin in range(0, len(every), size):
            # Compiled loops do not accept an array that is mapped from a file.
            yield begin, np.array(every[begin : begin + size])

    # -- shares ------------------------------------------------------------------------

    def level_rows(self, share: Share, words: int) -> Rows:
        """Map the rows of the share's last level.  `words`: of a row if there are no rows."""
        if not share.files or not share.files[-1]:
            return np.zeros((0, words), np.uint64)
        return self.load(share.files[-1])

    def drop_known(self, share: Share, keys: Keys, rows: Rows) -> tuple[Keys, Rows]:
        """Return the sorted `keys` and `rows` without the rows that the owner already has."""
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
        """Write a new level of an owner, and return its new share, whose files are at the place.

        `pieces`: keys with their rows, in the order of the keys.  `words`: of a row.
        """
        level, owner = share.level + 1, share.owner
        name = f"{job}-{level}-{owner}-{secrets.token_hex(6)}.npy"
        file = f"levels/{name}"
        # If rows have one word, the level's file itself is a run.
        run = Run(f"runs/keys-{name}", f"runs/places-{name}", 0) if wide else Run(file, "", 0)
        with ExitStack() as files:
            levels = files.enter_context(self.growing(file, np.uint64, (words,)))
            run_files: list[Growing] = []
            if wide:
                run_files.append(files.enter_context(self.growing(run.keys, np.uint64)))
                run_files.append(files.enter_context(self.growing(run.places, np.int64)))
            for keys, rows in pieces:
                places = np.arange(levels.count, levels.count + len(rows), dtype=np.int64)
                places += np.int64(level) << _PLACE_BITS
                for array, piece in zip(run_files, (keys, places), strict=False):
                    array.add(piece)
                levels.add(rows)
        count, runs = levels.count, share.runs
        if count:
            kept, tail = _split(runs, count)
            new = evolve(run, count=count)
            runs = (*kept, self._merged(name, (*tail, new)) if tail else new)
        after = Share(level, owner, count, (*share.files, file if count else ""), runs)
        if wide and (not runs or runs[-1].keys != run.keys):
            # This run was merged into another run, or is empty, so its files are not needed.
            for one in (run.keys, run.places):
                (self.here / one).unlink(missing_ok=True)
        if isinstance(self.place, Address):
            for one in sorted(after.names() - share.names()):
                self._put(self.place, one)
            self._tidy(owner, share.needed(wide=wide) | after.needed(wide=wide))
        return after

    def _tidy(self, owner: int, used: set[str]) -> None:
        """Remove an owner's unneeded files from the cache; the store still has them."""
        for kind in KINDS:
            for path in (self.here / kind).glob(f"*-{owner}-{'?' * 12}.npy"):
                if f"{kind}/{path.name}" not in used:
                    path.unlink(missing_ok=True)

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
        # Mapped again each time, so that pages that were read do not remain in memory.
        return self.load(run.keys).reshape(-1)

    def forget(self, shares: list[Share]) -> None:
        """Remove files that `shares` do not name.

        No job may be running, because a step that runs again reads the files of its first run.
        """
        used = {name for share in shares for name in share.names()}
        if isinstance(self.place, Address):
            used = {*map(_object, used)}
        for kind in KINDS:
            folder = self.place / kind
            folder.remove(name for name in folder.names() if f"{kind}/{name}" not in used)


def _split(runs: tuple[Run, ...], count: int) -> tuple[tuple[Run, ...], tuple[Run, ...]]:
    """Return the runs to keep, and the last runs, which are merged with `count` new keys."""
    at = len(runs)
    while at and runs[at - 1].count <= 2 * count:
        at -= 1
        count += runs[at].count
    return runs[:at], runs[at:]


@cache
def _cache_of(place: str) -> Path:
    """Return the folder of this executor's cache, which is removed with the executor's folder."""
    spark = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    # Spark gives its Python workers a folder of the executor, and removes it with the executor.
    name = hashlib.sha256(place.encode()).hexdigest()[:16]
    found = Path(spark or tempfile.gettempdir()) / f"joinproto-cache-{os.getuid()}-{name}"
    for kind in KINDS:
        (found / kind).mkdir(parents=True, exist_ok=True)
    return found


def seen_by_all(context: Any, place: Place) -> None:
    """Raise `UsageProblem` if an executor cannot read a file that the driver writes to `place`."""
    word, name = secrets.token_hex(16), f"probe-{secrets.token_hex(4)}"
    place.write(name, word.encode())

    def look(_: Iterable[int]) -> Iterator[tuple[str, str]]:
        # Without pyarrow an executor would fail only at the first large level.
        import pyarrow.parquet  # noqa: F401

        try:
            there = place.read(name) == word.encode()
            yield socket.gethostname(), "" if there else "it has another content there"
        except OSError as error:
            yield socket.gethostname(), error.strerror or str(error)

    many = 4 * context.defaultParallelism
    looked = context.parallelize(range(many), many).mapPartitions(look).collect()
    place.remove([name])
    for host, problem in looked:
        if problem:
            raise UsageProblem(
                f"the executor on {host} cannot open {place}: {problem}",
                next="give --out a folder that all machines share under the same path (NFS), or an"
                " address (s3://BUCKET/PATH)"
                if isinstance(place, Folder)
                else "executors need the store's credentials and endpoint in their environment",
            )
