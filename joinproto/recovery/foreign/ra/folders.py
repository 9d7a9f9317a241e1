"""The folders of Ra on a node's disk: opened for reading only, and made into one digest each.

A write-ahead log may have half a gigabyte, and it holds messages, so only the digests that `log.py`
made of these files are carried.  Nothing is locked; a link in the place of a file is refused, but
for segments: those that Ra compacts are replaced by links, and hold nothing behind the snapshot.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from attrs import evolve, frozen

from joinproto.durable.filesystem import JournalFileSystem, let_go, read_range, reason
from joinproto.recovery.foreign.ra import dets, log, members, segment, snapshot, wal
from joinproto.recovery.foreign.ra.log import Log, RaSystem
from joinproto.recovery.foreign.ra.members import Config
from joinproto.recovery.foreign.ra.window import Window
from joinproto.recovery.foreign.text import NotAsWritten

SYSTEMS = ("coordination", "quorum")
GLOBS = tuple(
    f"{system}/*/{name}"
    for system in SYSTEMS
    for name in (
        "meta.dets",
        "names.dets",
        "*.wal",
        "*/config",
        "*/*.segment",
        "*/snapshots/*/snapshot.dat",
    )
)
"""The files to read, as shell patterns."""
CONFIG = "config"
FLAGS = "feature_flags"
BESIDE = f"-{FLAGS}"
"""The key of the list of feature flags in a `Raw`, and the suffix of its file next to the
directory.
"""
DIGEST = " digest"
UNREAD = f"Ra's files{DIGEST}"
"""The key of a digest, and of one that the system refused."""


@frozen
class Folder:
    """An open folder: `path` is for messages."""

    files: JournalFileSystem
    handle: int
    path: str = ""

    def names(self) -> list[str]:
        return sorted(self.files.names(self.handle))

    @contextmanager
    def inside(self, name: str) -> Iterator[Folder | None]:
        """Give the folder of this name, None if there is none or it is no folder."""
        try:
            handle = self.files.open_directory_in(self.handle, name)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
                raise
            yield None
            return
        try:
            yield Folder(self.files, handle, f"{self.path}{name}/")
        finally:
            let_go(self.files, handle)

    @contextmanager
    def file(self, name: str) -> Iterator[Window]:
        handle = self.files.open_to_read(self.handle, name)
        try:
            size = self.files.size(handle)
            yield Window(partial(read_range, self.files, handle), size)
        finally:
            let_go(self.files, handle)

    def bytes_of(self, name: str, *, bytes_max: int) -> bytes:
        with self.file(name) as file:
            if file.size > bytes_max:
                raise NotAsWritten(f"{self.path}{name}: is larger than {bytes_max} bytes")
            return file.read(0, file.size)


def digests(files: JournalFileSystem, directory: int) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of a digest for each Ra system in a node's directory."""
    top = Folder(files, directory)
    for system in SYSTEMS:
        with top.inside(system) as above:
            if above is None:
                continue
            for node in above.names():
                with above.inside(node) as folder:
                    if folder is not None:
                        yield f"{system}/{node}{DIGEST}", _system(system, folder).to_bytes()


def says_more(digest: bytes | None) -> bool:
    """Return whether a digest has a log in it, or says why there is none."""
    return digest is None or digest not in {RaSystem(one).to_bytes() for one in SYSTEMS}


def _system(system: str, folder: Folder) -> RaSystem:
    try:
        return _read(system, folder)
    except NotAsWritten as error:
        return RaSystem(system, problem=str(error))
    except OSError as error:
        return RaSystem(system, problem=_refused(folder, error))


def _refused(folder: Folder, error: OSError) -> str:
    """Return the system's error; raises it again if another user may read the files."""
    if error.errno in (errno.EACCES, errno.EPERM):
        raise error
    return f"{folder.path}: {reason(error)}"


def _read(system: str, folder: Folder) -> RaSystem:
    there, node = folder.names(), folder.path.split("/")[-2]
    wals = _by_number(there, ".wal")
    configs: list[Config] = []
    logs: dict[bytes, Log] = {}
    for name in there:
        with folder.inside(name) as inside:
            if inside is None or CONFIG not in (inside_names := inside.names()):
                continue
            config, made = _log(inside, inside_names)
            if config.node != node:
                # `config` has no checksum, but Ra calls this folder by the node's name.
                wrong = f"{inside.path}{CONFIG}: is of {config.node}, and lies under {node}"
                made.problem = made.problem or wrong
                config = evolve(config, node=node)
            configs.append(config)
            logs[config.uid] = made
    for name in wals:
        with folder.file(name) as file:
            torn = log.fed(logs, name, wal.entries_in(folder.path + name, file))
        for each in logs.values():
            each.torn = each.torn or torn
    if not configs and not {log.META, log.NAMES} <= {*there}:
        return RaSystem(
            system, problem="" if not wals else f"{folder.path}: {log.META} is not there"
        )
    meta = log.meta_in(folder.bytes_of(log.META, bytes_max=dets.BYTES_MAX))
    names = log.names_in(folder.bytes_of(log.NAMES, bytes_max=dets.BYTES_MAX))
    return RaSystem(system, log.together(system, configs, logs, meta=meta, names=names))


def _log(folder: Folder, names: Sequence[str]) -> tuple[Config, Log]:
    """Return a log as far as it is in its own folder; a damaged file is the log's problem."""
    data = folder.bytes_of(CONFIG, bytes_max=members.CONFIG_BYTES_MAX)
    config = members.config_in(folder.path + CONFIG, data)
    found = Log()
    found.start_from(0, config.first)
    try:
        newest = _start(folder, found)
        for name in _by_number(names, ".segment"):
            try:
                with folder.file(name) as file:
                    entries = segment.entries_in(folder.path + name, config.uid, file)
                    found.torn = log.fed({config.uid: found}, name, entries) or found.torn
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
        if found.last[0] < newest:
            found.problem = f"{folder.path}: its newest snapshot is not as it was written"
    except NotAsWritten as error:
        found.problem = str(error)
    except OSError as error:
        found.problem = _refused(folder, error)
    return config, found


def _by_number(names: Sequence[str], ending: str) -> list[str]:
    """Return the files of this ending in their order: 4.3 writes more digits, and renames them."""
    found = [name for name in names if name.endswith(ending)]
    return sorted(found, key=lambda name: (len(name.lstrip("0")), name.lstrip("0")))


def _start(folder: Folder, found: Log) -> int:
    """Begin the log behind its newest snapshot that is whole; returns the range that a damaged one
    stood for.

    A kill leaves one that was being written; then the entries that it stands for are still there.
    """
    damaged = 0
    with folder.inside("snapshots") as snapshots:
        if snapshots is None:
            return 0
        for name in reversed(snapshots.names()):
            index = int("0" + name.rpartition("_")[2], 16) if _is_hexadecimal(name) else 0
            with snapshots.inside(name) as one:
                if one is None:
                    continue
                try:
                    with one.file("snapshot.dat") as file:
                        found.start_from(*snapshot.snapshot_in(f"{one.path}snapshot.dat", file))
                except (NotAsWritten, FileNotFoundError):
                    damaged = max(damaged, index)
                else:
                    return damaged
    return damaged


def _is_hexadecimal(name: str) -> bool:
    return all(char in "0123456789abcdefABCDEF" for char in name.rpartition("_")[2])
