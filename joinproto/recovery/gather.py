"""Reading directories: the bytes of the few files that matter, and nothing is changed.

Files are opened for reading only, links in their place are refused, no lock file is made
and no lock kept.  So it works on a read-only mount and alongside a running broker.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import evolve

from joinproto.durable.filesystem import REAL, JournalFileSystem, let_go, read_all, reason
from joinproto.durable.lock import LockState, look_at_lock
from joinproto.errors import StoreError, UsageProblem
from joinproto.recovery import own
from joinproto.recovery.foreign import gcache
from joinproto.recovery.foreign.others import NOT_DATA, TELLING, UNKNOWN_PROGRAM, other_in
from joinproto.recovery.foreign.ra import folders as ra
from joinproto.recovery.foreign.ra.folders import BESIDE, FLAGS
from joinproto.recovery.foreign.text import NotAsWritten
from joinproto.recovery.foreign.tree import OnDisk, inside
from joinproto.recovery.found import EMPTY, FILE_BYTES_MAX, Format, Found, Raw, RawFile, State
from joinproto.recovery.frames import look_at_journal
from joinproto.store.places import open_data_directory
from joinproto.store.slots import FOLDER, KIND

_OURS = {Format.JOINPROTO: "own", Format.STANDBY: "brokers"}
"""The readers of our own formats; those of other brokers are called as their format."""

_DIGESTED = (Format.ETCD, Format.POSTGRESQL, Format.KRAFT)
"""Their files are too large to be carried: they are read in place, by a `Tree`."""

NAMES_MAX = 16
"""Names that are carried of a directory of which nothing is read."""

_FOLDERS = {Format.JOINPROTO: FOLDER, Format.STANDBY: "standby"}
"""Directories with a lock; alongside them the journal."""


def reader_of(kind: Format) -> Any:
    """Return the module that reads this format: see `found.py` for its three names."""
    # Imported when it is needed: most readers never are.
    return import_module(f"joinproto.recovery.{_OURS.get(kind) or f'foreign.{kind.value}'}")


def read(raw: Raw) -> Found:
    """Return the findings in a directory, by the reader of its format."""
    if raw.problem:
        return Found.of(raw, State.UNREADABLE, raw.problem)
    if raw.format is None:
        if other := other_in([file.name for file in raw.files]):
            said = f"a data directory of {other.name}, which is not read here"
            if other is UNKNOWN_PROGRAM:
                said = f"holds {', '.join(file.name for file in raw.files)}: of {other.name}"
            return Found.of(raw, State.UNKNOWN, said)
        none = EMPTY if not raw.files else "no store of a known format is here"
        return Found.of(raw, State.NONE, none)
    found: Found = reader_of(raw.format).read(raw)
    return found


def gather(
    path: Path,
    *,
    host: str,
    kind: Format | None = None,
    recovered: bytes = b"",
    logs: bool = True,
    files: JournalFileSystem = REAL,
) -> Raw:
    """Return the files of the data directory `path`; `kind` None means of whatever format is there.

    `logs`: whether to read RabbitMQ's Raft logs, which may be large.

    Two spellings of one directory are one: `path` is followed to where it leads.  Problems of a
    store are part of the findings.  Raises `UsageProblem` for a directory with files of several
    brokers.
    """
    typed = Path(os.path.abspath(path))  # noqa: PTH100  a link in it is not followed yet
    path = Path(os.path.realpath(typed))
    called = typed.name if typed.name != path.name else ""
    raw = Raw(path=str(path), host=host, format=None, called=called, read_at=time.time())
    try:
        directory = open_data_directory(files, path)
    except StoreError as error:
        problem = error.message.removesuffix("\n  nothing was changed")
        errnos = frozenset({getattr(error.__cause__, "errno", None)})
        return evolve(raw, format=kind, problem=problem, errnos=errnos)
    try:
        there = _there(files, directory, kind)
        if len(there) > 1:
            several = ", ".join(each.value for each in there)
            raise UsageProblem(
                f"{path}: has files of several formats: {several}",
                next=f"say which one counts: --format {next(iter(there)).value}",
            )
        for each, found in there.items():
            more = tuple(_read(files, directory, name) for name in _more(files, directory, each))
            if each is Format.GALERA:
                more = _digested(files, directory)
            if each is Format.RABBITMQ:
                more += _flags(files, typed)
            if each is Format.RABBITMQ and logs:
                more += _logs(files, directory)
            raw = evolve(raw, format=each, files=(*found, *more), recovered=recovered)
            if each in _DIGESTED:
                reader = reader_of(each)
                user = _user_of(path, reader.LOCKED) or _server_in(path, getattr(reader, "PID", ""))
                return evolve(raw, in_use=user)
            if each not in _FOLDERS:
                return raw
            raw = evolve(raw, journal=look_at_journal(files, directory))
            return _with_folder(files, directory, raw, _FOLDERS[each])
        if problem := _hint(files, directory, path):
            return evolve(raw, problem=problem)
        return evolve(raw, files=_telling(files, directory))
    finally:
        let_go(files, directory)


def _there(
    files: JournalFileSystem, directory: int, kind: Format | None
) -> dict[Format, tuple[RawFile, ...]]:
    """Return the files of each format that is there; of `kind` alone, if it is given."""
    there: dict[Format, tuple[RawFile, ...]] = {}
    for each in [kind] if kind else list(Format):
        if each in _DIGESTED:
            if digest := _large(files, directory, each, is_asked=kind is not None):
                there[each] = (digest,)
            continue
        # The previous generation before the current one: a member may be writing.
        names = reversed(reader_of(each).NAMES)
        found = tuple(_read(files, directory, name) for name in names)[::-1]
        is_there = any(not file.is_absent for file in found)
        if is_there or kind or _has_folder(files, directory, each):
            there[each] = found
    if len(there) > 1 and any(map(_has_data, there.values())):
        # An error of the disk is not yet a file of another broker.
        return {
            each: found
            for each, found in there.items()
            if each is Format.JOINPROTO or _has_data(found)
        }
    return there


def _more(files: JournalFileSystem, directory: int, kind: Format) -> tuple[str, ...]:
    """Return the files of a format that are not always called the same."""
    more = getattr(reader_of(kind), "more", lambda _names: ())
    found: tuple[str, ...] = more(_names(files, directory))
    return found


def _has_data(found: Sequence[RawFile]) -> bool:
    return any(file.data is not None for file in found)


def stores_inside(path: Path) -> tuple[Path, ...]:
    """Return the directories directly in `path` that look like stores, sorted."""
    readers = [reader_of(kind) for kind in Format]
    names = [name for one in readers for name in getattr(one, "SIGNS", one.NAMES)]
    try:
        inside = sorted(path.iterdir())
    except OSError:
        return ()
    return tuple(one for one in inside if any(os.path.lexists(one / name) for name in names))


def _hint(files: JournalFileSystem, directory: int, path: Path) -> str:
    """Return where a store may be, if not here; "" if nothing tells."""
    try:
        said = hint(files.names(directory))
    except OSError as error:
        said = f"cannot be listed: {reason(error)}"
    return f"{path}: {said}" if said else ""


def hint(entries: Collection[str]) -> str:
    """Return where the data directory may be, from the contents of this one; "" if unknown."""
    above = {name.partition("/")[2] for name in (*reader_of(Format.QPID).NAMES, *own.NAMES)}
    if near := sorted(above & set(entries)):
        return f"{near[0]} belongs to the directory above: give that one"
    nodes = sorted(name for name in entries if _is_node(name))
    if nodes:
        return f"{nodes[0]} looks like a RabbitMQ node's directory: give that one"
    if "mnesia" in entries:
        return "mnesia may hold RabbitMQ nodes' directories: give one of those"
    return ""


def _is_node(name: str) -> bool:
    node, _, host = name.partition("@")
    beside = (BESIDE, "-plugins-expand", ".pid", "-cluster.config")
    return bool(node and host) and not name.endswith(beside)


def _digested(files: JournalFileSystem, directory: int) -> tuple[RawFile, ...]:
    """Return the digest of Galera's cache, which is too large to be carried."""
    try:
        file = files.open_to_read(directory, gcache.FILE)
    except OSError:
        return ()  # it only adds evidence
    try:
        return (RawFile(gcache.DIGEST, gcache.digest_of(files, file)),)
    except OSError:
        return ()
    finally:
        let_go(files, file)


def _flags(files: JournalFileSystem, typed: Path) -> tuple[RawFile, ...]:
    """Return the list of feature flags that RabbitMQ keeps next to a node's directory."""
    try:
        above = open_data_directory(files, typed.parent)
    except StoreError:
        return ()
    try:
        found = _read(files, above, f"{typed.name}{BESIDE}")
    finally:
        let_go(files, above)
    return () if found.data is None else (evolve(found, name=FLAGS),)


def _logs(files: JournalFileSystem, directory: int) -> tuple[RawFile, ...]:
    """Return the digest of the logs of RabbitMQ's Raft groups, which are also too large."""
    with closing(OnDisk(files, directory)) as tree:
        try:
            return tuple(RawFile(name, data) for name, data in ra.digests(tree))
        except NotAsWritten as error:
            return (RawFile(ra.UNREAD, problem=str(error), errno=error.errno),)


def _large(
    files: JournalFileSystem, directory: int, kind: Format, *, is_asked: bool
) -> RawFile | None:
    """Return the digest of a directory with large files, None if it has another format."""
    reader = reader_of(kind)
    with closing(OnDisk(files, directory)) as tree:
        try:
            if not is_asked and not reader.is_here(tree):
                return None
            return RawFile(reader.NAMES[0], reader.digest(tree))
        except NotAsWritten as error:
            return RawFile(reader.NAMES[0], problem=str(error), errno=error.errno)


def _server_in(path: Path, file: str) -> str:
    """Return the process named in this file that runs in this directory, "" if none is known."""
    if not file:
        return ""
    try:
        pid = int((path / file).read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return ""
    try:
        is_here = Path(f"/proc/{pid}/cwd").readlink() == path
    except PermissionError:
        is_here = True  # of another user: better asked twice
    except OSError:
        is_here = False
    return f"process {pid}, by {file}" if is_here else ""


def _user_of(path: Path, locked: Sequence[str]) -> str:
    """Return the process that has locked one of these files, "" if this system knows of none.

    A lock is not tried, because a program that starts in this moment would find it.
    """
    try:
        locks = Path("/proc/locks").read_text("ascii")
    except (OSError, ValueError):
        return ""
    for name in locked:
        try:
            status = (path / name).stat()
        except OSError:
            continue
        device = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
        for line in locks.splitlines():
            words = line.split()
            if device in words and "->" not in words:
                return f"process {words[words.index(device) - 1]}"
    return ""


def _telling(files: JournalFileSystem, directory: int) -> tuple[RawFile, ...]:
    """Return the names that identify a directory of an unsupported program, else all names in
    it.
    """
    names = {name for name in _names(files, directory) if name[0] != "."} - NOT_DATA
    known = TELLING & names if other_in(TELLING & names) not in (None, UNKNOWN_PROGRAM) else names
    return tuple(map(RawFile, sorted(known)[:NAMES_MAX]))


def _names(files: JournalFileSystem, directory: int) -> tuple[str, ...]:
    try:
        return tuple(files.names(directory))
    except OSError:
        return ()


def _has_folder(files: JournalFileSystem, directory: int, kind: Format) -> bool:
    if kind is Format.RABBITMQ:
        # With Khepri no list of nodes need be there.
        other = other_in(_names(files, directory))
        has_khepri = other is not None and "coordination" in other.has
        return has_khepri and any(ra.says_more(file.data) for file in _logs(files, directory))
    if kind is Format.GALERA:
        # A node that lost its state file may have the latest rows.
        return gcache.FILE in _names(files, directory)
    if kind is not Format.JOINPROTO:
        return False
    # Something of this name is there, whatever is wrong with it.
    return FOLDER in _names(files, directory)


def _with_folder(files: JournalFileSystem, directory: int, raw: Raw, name: str) -> Raw:
    """Return `raw` with the facts in a store's directory besides its two files."""
    try:
        with inside(files, directory, name) as folder:
            names = files.names(folder)
            lock = look_at_lock(files, folder)
    except FileNotFoundError:
        return raw
    except OSError as error:
        problem = f"{name}: {reason(error)}"
        return evolve(raw, lock_problem=problem, errnos=frozenset({error.errno}))
    else:
        leftovers = tuple(filter(KIND.is_leftover, names))
        in_use = str(lock.holder) if lock.state is LockState.HELD else ""
        raw = evolve(raw, in_use=in_use, lock_problem=lock.problem, leftovers=leftovers)
        return evolve(raw, errnos=frozenset({lock.errno}))


def _read(files: JournalFileSystem, directory: int, name: str) -> RawFile:
    """Return one file, below the open directory."""
    above, _, last = name.rpartition("/")
    try:
        with inside(files, directory, above) as folder:
            file = files.open_to_read(folder, last)
            try:
                data = read_all(files, file, bytes_max=FILE_BYTES_MAX)
                modified = os.fstat(file).st_mtime
            finally:
                let_go(files, file)
    except FileNotFoundError:
        return RawFile(name)
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        why = "is a symbolic link, which is not followed" if is_link else reason(error)
        return RawFile(name, problem=why, errno=error.errno)
    if len(data) > FILE_BYTES_MAX:
        return RawFile(name, problem=f"is larger than {FILE_BYTES_MAX} bytes")
    return RawFile(name, data, modified=modified)
