"""The folders of Ra on a node's disk: a digest is made of each; no file is changed.

A write-ahead log may have half a gigabyte, and it has messages, so only the digests that `log.py`
makes of these files are carried.  No file is locked.  A link in place of a file is refused, but a
segment that is a link is skipped: Ra replaces compacted segments by links, and these have no
entries after the snapshot.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Sequence
from functools import partial

from attrs import evolve

from joinproto.recovery.access import DENIED
from joinproto.recovery.foreign.ra import dets, log, members, segment, snapshot, wal
from joinproto.recovery.foreign.ra.log import Log, RaSystem
from joinproto.recovery.foreign.ra.members import Config
from joinproto.recovery.foreign.ra.window import Window
from joinproto.recovery.foreign.text import NotAsWritten, packed
from joinproto.recovery.foreign.tree import Tree

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
"""Shell patterns of the files that are read."""
CONFIG = "config"
FLAGS = "feature_flags"
FLAGS_SUFFIX = f"-{FLAGS}"
"""Suffix of the file with the feature flags, which is next to the directory; a `Raw` names this
file `FLAGS`."""
DIGEST = " digest"
HEXADECIMAL = re.compile("[0-9a-fA-F]*")
UNREAD = f"Ra's files{DIGEST}"
"""The name in a `Raw` of a digest that could not be made; names of digests end in `DIGEST`."""


def digests(tree: Tree) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the bytes of a digest for each Ra system in a node's directory.

    Raises `NotAsWritten` if this user may not read the files, or if a folder cannot be listed.
    """
    for system in SYSTEMS:
        for node in _names(tree, system) or ():
            folder = f"{system}/{node}"
            names = _names(tree, folder)
            if names is not None:
                yield f"{folder}{DIGEST}", packed(_system(tree, system, folder, names))


def has_log_or_problem(digest: bytes | None) -> bool:
    """Return whether a digest has a log or a problem; None is a digest that could not be made."""
    return digest is None or digest not in {packed(RaSystem(one)) for one in SYSTEMS}


def _names(tree: Tree, folder: str) -> Sequence[str] | None:
    """Return the names in a folder, None if it is a file or a link."""
    try:
        return tree.names(folder)
    except NotAsWritten as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP):
            raise
        return None


def _window(tree: Tree, name: str) -> Window:
    size = tree.size(name)
    if size is None:
        raise NotAsWritten(f"{name}: is not there")
    return Window(partial(tree.read, name), size)


def _bytes_of(tree: Tree, name: str, *, bytes_max: int) -> bytes:
    file = _window(tree, name)
    if file.size > bytes_max:
        raise NotAsWritten(f"{name}: is larger than {bytes_max} bytes")
    return file.read(0, file.size)


def _system(tree: Tree, system: str, folder: str, names: Sequence[str]) -> RaSystem:
    try:
        return _read(tree, system, folder, names)
    except NotAsWritten as error:
        return RaSystem(system, problem=_text_or_raise(error))


def _text_or_raise(error: NotAsWritten) -> str:
    """Return the text of an error; raise the error again if this user may not read the file."""
    if error.errno in DENIED:
        raise error
    return str(error)


def _read(tree: Tree, system: str, folder: str, there: Sequence[str]) -> RaSystem:
    node = folder.rpartition("/")[2]
    wals = _by_number(there, ".wal")
    configs: list[Config] = []
    logs: dict[bytes, Log] = {}
    for name in there:
        inside = f"{folder}/{name}"
        names = _names(tree, inside)
        if names is None or CONFIG not in names:
            continue
        config, made = _log(tree, inside, names)
        if config.node != node:
            # `config` has no checksum, but the folder has the node's name.
            wrong = f"{inside}/{CONFIG}: is of {config.node}, and lies under {node}"
            made.problem = made.problem or wrong
            config = evolve(config, node=node)
        configs.append(config)
        logs[config.uid] = made
    for name in wals:
        path = f"{folder}/{name}"
        torn = log.feed(logs, name, wal.entries_in(path, _window(tree, path)))
        for each in logs.values():
            each.torn = each.torn or torn
    if not configs and not {log.META, log.NAMES} <= {*there}:
        return RaSystem(system, problem="" if not wals else f"{folder}: {log.META} is not there")
    meta = log.meta_in(_bytes_of(tree, f"{folder}/{log.META}", bytes_max=dets.BYTES_MAX))
    names_of = log.names_in(_bytes_of(tree, f"{folder}/{log.NAMES}", bytes_max=dets.BYTES_MAX))
    return RaSystem(system, log.group_logs(system, configs, logs, meta=meta, names=names_of))


def _log(tree: Tree, folder: str, names: Sequence[str]) -> tuple[Config, Log]:
    """Return a log with the entries in its own folder; a damaged file becomes its `problem`."""
    data = _bytes_of(tree, f"{folder}/{CONFIG}", bytes_max=members.CONFIG_BYTES_MAX)
    config = members.config_in(f"{folder}/{CONFIG}", data)
    found = Log()
    found.start_from(0, config.first)
    try:
        newest = _start(tree, folder, found)
        for name in _by_number(names, ".segment"):
            path = f"{folder}/{name}"
            try:
                entries = segment.entries_in(path, config.uid, _window(tree, path))
                found.torn = log.feed({config.uid: found}, name, entries) or found.torn
            except NotAsWritten as error:
                if error.errno != errno.ELOOP:
                    raise
        if found.last[0] < newest:
            found.problem = f"{folder}: its newest snapshot is not as it was written"
    except NotAsWritten as error:
        found.problem = _text_or_raise(error)
    return config, found


def _by_number(names: Sequence[str], ending: str) -> list[str]:
    """Return the files with this ending by number; RabbitMQ 4.3 renames them to longer numbers."""
    found = [name for name in names if name.endswith(ending)]
    return sorted(found, key=lambda name: (len(name.lstrip("0")), name.lstrip("0")))


def _start(tree: Tree, folder: str, found: Log) -> int:
    """Begin the log after its newest whole snapshot; return a damaged snapshot's index, 0 if none.

    A kill may leave an unfinished snapshot; then the entries that it would replace still exist.
    """
    damaged = 0
    for name in reversed(_names(tree, f"{folder}/snapshots") or ()):
        path = f"{folder}/snapshots/{name}"
        if _names(tree, path) is None:
            continue
        file = f"{path}/snapshot.dat"
        try:
            found.start_from(*snapshot.snapshot_in(file, _window(tree, file)))
        except NotAsWritten as error:
            if error.errno is not None:
                raise
            digits = name.rpartition("_")[2]
            damaged = max(damaged, int(f"0{digits}", 16) if HEXADECIMAL.fullmatch(digits) else 0)
        else:
            break
    return damaged
