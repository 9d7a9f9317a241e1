"""Read the few files of a data directory that matter, without changing anything.

Files are opened for reading only, links in their place are refused, no lock file is made
and no lock is kept.  So this works on a read-only mount, and while a broker runs.
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
from joinproto.recovery.foreign.others import (
    IDENTIFYING_NAMES,
    NOT_DATA,
    UNKNOWN_PROGRAM,
    program_in,
)
from joinproto.recovery.foreign.ra import folders as ra
from joinproto.recovery.foreign.ra.folders import FLAGS, FLAGS_SUFFIX
from joinproto.recovery.foreign.text import NotAsWritten
from joinproto.recovery.foreign.tree import DiskTree, opened_folder
from joinproto.recovery.found import EMPTY, FILE_BYTES_MAX, Format, Found, Raw, RawFile, State
from joinproto.recovery.frames import look_at_journal
from joinproto.store.places import open_data_directory
from joinproto.store.slots import FOLDER, KIND

_OURS = {Format.JOINPROTO: "own", Format.STANDBY: "brokers"}
"""The modules that read our own formats; those for other brokers have the name of the format."""

_DIGESTED = (Format.ETCD, Format.POSTGRESQL, Format.KRAFT)
"""Formats whose files are too large to carry: a digest of them is made in place, by a `Tree`."""

NAMES_MAX = 16
"""The most names that are carried of a directory of an unknown program."""

_FOLDERS = {Format.JOINPROTO: FOLDER, Format.STANDBY: "standby"}
"""Directories that hold a lock; the journal is next to them."""


def reader_of(kind: Format) -> Any:
    """Return the module that reads this format; `found.py` describes such a module."""
    # Each reader is imported on demand, because few are needed.
    return import_module(f"joinproto.recovery.{_OURS.get(kind) or f'foreign.{kind.value}'}")


def read(raw: Raw) -> Found:
    """Return the meaning of a directory's bytes, from the reader of its format."""
    if raw.problem:
        return Found.of(raw, State.UNREADABLE, raw.problem)
    if raw.format is None:
        if other := program_in([file.name for file in raw.files]):
            said = f"a data directory of {other.name}, which joinproto cannot read"
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
    """Return the files of the data directory `path`.

    `kind`: the format, None to detect it.  `recovered`: the operator's position.  `logs`: whether
    to read RabbitMQ's Raft logs, which may be large.

    Links in `path` are followed, so two spellings of one directory give one path.  Problems of a
    store are part of the result.  Raises `UsageProblem` for a directory with files of several
    brokers.
    """
    typed = Path(os.path.abspath(path))  # noqa: PTH100  links are not followed yet
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
        there = _files_by_format(files, directory, kind)
        if len(there) > 1:
            several = ", ".join(each.value for each in there)
            raise UsageProblem(
                f"{path}: has files of several formats: {several}",
                next=f"say which one counts: --format {next(iter(there)).value}",
            )
        for each, found in there.items():
            more = tuple(
                _read(files, directory, name) for name in _varying_names(files, directory, each)
            )
            if each is Format.GALERA:
                more = _cache_digest(files, directory)
            if each is Format.RABBITMQ:
                more += _flags(files, typed)
            if each is Format.RABBITMQ and logs:
                more += _logs(files, directory)
            raw = evolve(raw, format=each, files=(*found, *more), recovered=recovered)
            if each in _DIGESTED:
                reader = reader_of(each)
                user = _locking_process(path, reader.LOCKED) or _running_server(
                    path, getattr(reader, "PID", "")
                )
                return evolve(raw, in_use=user)
            if each not in _FOLDERS:
                return raw
            raw = evolve(raw, journal=look_at_journal(files, directory))
            return _with_folder(files, directory, raw, _FOLDERS[each])
        if problem := _hint(files, directory, path):
            return evolve(raw, problem=problem)
        return evolve(raw, files=_identifying_names(files, directory))
    finally:
        let_go(files, directory)


def _files_by_format(
    files: JournalFileSystem, directory: int, kind: Format | None
) -> dict[Format, tuple[RawFile, ...]]:
    """Return the files of each format that the directory has, or of `kind` if it is given."""
    there: dict[Format, tuple[RawFile, ...]] = {}
    for each in [kind] if kind else list(Format):
        if each in _DIGESTED:
            if digest := _large_digest(files, directory, each, is_asked=kind is not None):
                there[each] = (digest,)
            continue
        # Read the previous generation before the current one, because a member may be writing.
        names = reversed(reader_of(each).NAMES)
        found = tuple(_read(files, directory, name) for name in names)[::-1]
        is_there = any(not file.is_absent for file in found)
        if is_there or kind or _has_signs(files, directory, each):
            there[each] = found
    if len(there) > 1 and any(map(_has_data, there.values())):
        # A file that cannot be read is no evidence of another broker.
        return {
            each: found
            for each, found in there.items()
            if each is Format.JOINPROTO or _has_data(found)
        }
    return there


def _varying_names(files: JournalFileSystem, directory: int, kind: Format) -> tuple[str, ...]:
    """Return the names of the files of a format whose names differ from store to store."""
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
    """Return a hint where the store may be, or why the directory cannot be listed; "" for none."""
    try:
        said = hint(files.names(directory))
    except OSError as error:
        said = f"cannot be listed: {reason(error)}"
    return f"{path}: {said}" if said else ""


def hint(entries: Collection[str]) -> str:
    """Return a hint where the data directory may be, from the names in this one; "" for none."""
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
    suffixes = (FLAGS_SUFFIX, "-plugins-expand", ".pid", "-cluster.config")
    return bool(node and host) and not name.endswith(suffixes)


def _cache_digest(files: JournalFileSystem, directory: int) -> tuple[RawFile, ...]:
    """Return the digest of Galera's cache, which is too large to be carried."""
    try:
        file = files.open_to_read(directory, gcache.FILE)
    except OSError:
        return ()  # the cache only adds evidence
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
        found = _read(files, above, f"{typed.name}{FLAGS_SUFFIX}")
    finally:
        let_go(files, above)
    return () if found.data is None else (evolve(found, name=FLAGS),)


def _logs(files: JournalFileSystem, directory: int) -> tuple[RawFile, ...]:
    """Return the digests of the logs of RabbitMQ's Raft groups, which are too large to carry."""
    with closing(DiskTree(files, directory)) as tree:
        try:
            return tuple(RawFile(name, data) for name, data in ra.digests(tree))
        except NotAsWritten as error:
            return (RawFile(ra.UNREAD, problem=str(error), errno=error.errno),)


def _large_digest(
    files: JournalFileSystem, directory: int, kind: Format, *, is_asked: bool
) -> RawFile | None:
    """Return the digest of a directory with large files, None if it is not of this format."""
    reader = reader_of(kind)
    with closing(DiskTree(files, directory)) as tree:
        try:
            if not is_asked and not reader.is_here(tree):
                return None
            return RawFile(reader.NAMES[0], reader.digest(tree))
        except NotAsWritten as error:
            return RawFile(reader.NAMES[0], problem=str(error), errno=error.errno)


def _running_server(path: Path, file: str) -> str:
    """Return the process that `file` names, if it runs in this directory; "" if none does."""
    if not file:
        return ""
    try:
        pid = int((path / file).read_text("ascii").split()[0])
    except (OSError, ValueError, IndexError):
        return ""
    try:
        is_here = Path(f"/proc/{pid}/cwd").readlink() == path
    except PermissionError:
        is_here = True  # another user's process; to be safe, assume that it runs here
    except OSError:
        is_here = False
    return f"process {pid}, by {file}" if is_here else ""


def _locking_process(path: Path, locked: Sequence[str]) -> str:
    """Return the process that has locked one of these files, "" if the system shows none.

    The lock is not tried, because a program that starts at that moment would find it taken.
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


def _identifying_names(files: JournalFileSystem, directory: int) -> tuple[RawFile, ...]:
    """Return the names that identify an unsupported program, or all names if none does."""
    names = {name for name in _names(files, directory) if name[0] != "."} - NOT_DATA
    known = (
        IDENTIFYING_NAMES & names
        if program_in(IDENTIFYING_NAMES & names) not in (None, UNKNOWN_PROGRAM)
        else names
    )
    return tuple(map(RawFile, sorted(known)[:NAMES_MAX]))


def _names(files: JournalFileSystem, directory: int) -> tuple[str, ...]:
    try:
        return tuple(files.names(directory))
    except OSError:
        return ()


def _has_signs(files: JournalFileSystem, directory: int, kind: Format) -> bool:
    """Return whether the directory is of this format, although it has none of the usual files."""
    if kind is Format.RABBITMQ:
        # A node with Khepri may have no list of nodes.
        other = program_in(_names(files, directory))
        has_khepri = other is not None and "coordination" in other.has
        return has_khepri and any(
            ra.has_log_or_problem(file.data) for file in _logs(files, directory)
        )
    if kind is Format.GALERA:
        # A node that lost its state file may still have the latest rows.
        return gcache.FILE in _names(files, directory)
    if kind is not Format.JOINPROTO:
        return False
    # A store with damaged or missing files is a store.
    return FOLDER in _names(files, directory)


def _with_folder(files: JournalFileSystem, directory: int, raw: Raw, name: str) -> Raw:
    """Return `raw` with the lock and the leftovers of the store's directory `name`."""
    try:
        with opened_folder(files, directory, name) as folder:
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
    """Return one file; `name`: its path below the open directory."""
    above, _, last = name.rpartition("/")
    try:
        with opened_folder(files, directory, above) as folder:
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
