"""All possible contents of a disk after a power failure, from a log of operations.

The assumptions about a disk, which guarantee less than most disks do:

* After a file was synced, the disk has all its bytes.  Before that, the disk may have none of
  them, all, the beginning, the end with zeros before it, or only zeros.
* A name leads to the file that it led to when its directory was synced, or to any file that it
  led to since.  Names change independently, so in any order: after a rename the disk may have
  both names, or neither.
* The writes of a killed process are lost only if the power fails, too.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import field, frozen, mutable

from joinproto.durable.filesystem import RealFileSystem
from joinproto.durable.lock import LOCK
from joinproto.errors import StoreError, StoreMissing
from joinproto.store.handle import open_store
from tests.store.recording import (
    DATA,
    FOLDER,
    DirectorySynced,
    Legal,
    Named,
    Operation,
    Synced,
    Written,
)

Files = frozenset[tuple[str, bytes]]
"""The files in the directory of the store, by name."""


@frozen
class BadState:
    """A state that must not occur: the found value, and the legal values."""

    operations: int
    last: Operation | None
    files: Files = field(repr=lambda files: str({name: len(data) for name, data in files}))
    found: object
    legal: frozenset[object]


@mutable
class _Disk:
    """The disk, with unsynced writes.  `folder`: the directory of the store."""

    folder: str = FOLDER
    names: dict[tuple[str, str], set[int | None]] = field(factory=dict)
    now: dict[tuple[str, str], int | None] = field(factory=dict)
    contents: dict[int, bytes] = field(factory=dict)
    unsynced: set[int] = field(factory=set)

    def do(self, operation: Operation) -> None:
        match operation:
            case Named(directory, name, inode):
                self.names.setdefault((directory, name), {None}).add(inode)
                self.now[directory, name] = inode
            case Written(inode, data):
                self.contents[inode] = b"" if data is None else self.contents.get(inode, b"") + data
                self.unsynced.add(inode)
            case Synced(inode):
                self.unsynced.discard(inode)
            case DirectorySynced(directory):
                for place in self.names:
                    if place[0] == directory:
                        self.names[place] = {self.now[place]}

    def states(self) -> Iterator[Files | None]:
        """Return the possible states: the files of the store's directory, None if there is no
        directory.
        """
        folder = self.names.get((DATA, self.folder), {None})
        if None in folder:
            yield None
        if folder == {None}:
            return
        # Only people read the lock file, so any content of it is allowed.
        places = [place for place in self.names if place[0] == self.folder and place[1] != LOCK]
        for inodes in product(*(sorted(self.names[place], key=str) for place in places)):
            named = [(place[1], i) for place, i in zip(places, inodes, strict=True) if i]
            for contents in product(*(self._parts(inode) for _, inode in named)):
                yield frozenset(zip((name for name, _ in named), contents, strict=True))

    def _parts(self, inode: int) -> list[bytes]:
        whole = self.contents.get(inode, b"")
        if inode not in self.unsynced:
            return [whole]
        size = len(whole)
        parts = {whole, b"", bytes(size)}
        for cut in (1, size // 2, size - 1):
            parts |= {whole[:cut], whole[:cut] + bytes(size - cut), bytes(cut) + whole[cut:]}
        return sorted(parts)


@frozen
class Enumerated:
    """The result of an enumeration.

    `bad`: the first state that is not legal.  `states`: how many were judged.  `choices`: at how
    many moments more than one outcome was found.
    """

    bad: BadState | None
    states: int
    choices: int


def enumerate_crashes(
    diary: Sequence[Operation], judge: "Judge", *, folder: str = FOLDER
) -> Enumerated:
    """Judge the states that a crash after each operation may leave, up to the first bad state."""
    disk = _Disk(folder)
    legal: frozenset[object] = frozenset({None})
    states = choices = 0
    for done, operation in enumerate(diary, start=1):
        disk.do(operation)
        if isinstance(operation, Legal):
            legal = operation.outcomes
        possible = dict.fromkeys(disk.states())
        states += len(possible)
        found = {files: judge.outcome(files) for files in possible}
        choices += len(set(found.values())) > 1
        for files, outcome in found.items():
            if outcome not in legal:
                bad = BadState(done, operation, files or frozenset(), outcome, legal)
                return Enumerated(bad, states, choices)
    return Enumerated(None, states, choices)


class DoesNotWait(RealFileSystem):
    """A real disk without waiting for syncs, because thousands of states are judged."""

    def sync(self, file: int) -> None:
        pass

    def sync_directory(self, directory: int) -> None:
        pass


class Judge:
    """Opens a state as a member would after a restart, each state once."""

    def __init__(self) -> None:
        self.known: dict[Files | None, object] = {}

    def outcome(self, files: Files | None) -> object:
        """Return the record that is found, None if there is no store, or the error."""
        if files is not None:
            # Names and contents of temporary files make no difference, as another test shows.
            # Without this, each state would be judged once for each random name.
            others = [data for name, data in files if name.endswith(".tmp")]
            left = [(f"store.meta.{0:016x}.tmp", max(others))] if others else []
            files = frozenset([*(f for f in files if not f[0].endswith(".tmp")), *left])
        if files not in self.known:
            self.known[files] = self._opened(files)
        return self.known[files]

    def _opened(self, files: Files | None) -> object:
        with TemporaryDirectory() as name:
            path = Path(name)
            if files is not None:
                lay(path, dict(files))
            try:
                with open_store(path, files=DoesNotWait()) as store:
                    if store.problems:
                        return store.problems
                    left = [one for one in (path / FOLDER).iterdir() if one.suffix == ".tmp"]
                    return left or store.record
            except StoreMissing:
                return None
            except StoreError as error:
                return f"{type(error).__name__}: {error}"


def lay(path: Path, files: Mapping[str, bytes], *, name: str = FOLDER) -> None:
    """Lay files into the directory of a store in `path`."""
    folder = path / name
    folder.mkdir(exist_ok=True)
    for each, data in files.items():
        (folder / each).write_bytes(data)
