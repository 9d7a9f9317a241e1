"""Read the stores that a command line names: local directories, and files of other machines."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path

from attrs import evolve, frozen

from joinproto.durable.filesystem import REAL, JournalFileSystem
from joinproto.errors import StoreUnreadable, UsageProblem
from joinproto.recovery import info, own, pack
from joinproto.recovery.access import SUDO, require_reachable
from joinproto.recovery.found import Format, Found, Raw
from joinproto.recovery.gather import gather, read, stores_inside
from joinproto.recovery.words import shown, typed

INFO_BYTES_MAX = info.FILE_BYTES_MAX
LEVELS_MAX = 3
"""Levels above a wrong path that are searched for stores."""
DIRECTORIES_MAX = 1_000
DIRECTORIES_SHOWN_MAX = 8


def this_host() -> str:
    """Return the name of this machine for messages."""
    return platform.node() or "unknown"


@frozen(kw_only=True)
class Sources:
    """All stores that were named, read once.

    The names of `stores` differ.  `notes`: sentences about words that were not counted, and about
    facts that were not examined.
    """

    stores: tuple[Found, ...]
    notes: tuple[str, ...] = ()


def look(
    words: Sequence[str],
    *,
    kind: Format | None = None,
    positions: Sequence[str] = (),
    host: str | None = None,
    command: str = "pick",
    options: Sequence[str] = (),
    files: JournalFileSystem = REAL,
) -> Sources:
    """Return the stores in these directories, .info files and packs (`-`: standard input).

    `kind`: the format, None to detect it.  `positions`: values of `--position`.  `host`: a name
    for this machine, None for its host name.  `command`: the command of `recover` to type again if
    a directory holds several stores, with these `options`, each quoted for a shell.  Problems of a
    store are part of the result.  Raises `StoreError` for a file that is not whole, `UsageProblem`
    for a wrong path or position.
    """
    here = host or this_host()
    recovered = _positions(positions)
    raws: list[tuple[Raw, str]] = []
    notes: list[str] = []
    seen: set[tuple[int, int]] = set()
    for word in words:
        if word == "-" or _is_file(word):
            carried, note = _read_collected(word)
            raws += [(raw, word) for raw in carried]
            notes += [] if note in ("", *notes) else [note]
            continue
        path = Path(word)
        place = _device_and_inode(path)
        if place is not None and place in seen:
            notes.append(f"{word} is given twice, and counted once")
            continue
        seen |= set() if place is None else {place}
        position = recovered.pop(_key(word), b"")
        raw = gather(path, host=here, kind=kind, recovered=position, files=files)
        require_reachable(raw, near=_stores_hint(path))
        if all(file.is_absent for file in raw.files):
            _require_no_parent(word, words, command, options)
        if raw.format is None:
            _require_not_inside(word, words, command, options)
        raws.append((raw, ""))
    for word, position in list(recovered.items()):
        mine = [
            at for at, (raw, _) in enumerate(raws) if word in (raw.path, f"{raw.host}:{raw.path}")
        ]
        if len(mine) != 1:
            raise UsageProblem(
                f"--position for {word}: no store of this name was given",
                next="write --position DIR=SEQNO with DIR as in the command, or HOST:PATH",
            )
        raws[mine[0]] = (evolve(raws[mine[0]][0], recovered=position), raws[mine[0]][1])
    return Sources(stores=_distinct_stores(raws, notes), notes=tuple(notes))


def _distinct_stores(raws: Sequence[tuple[Raw, str]], notes: list[str]) -> tuple[Found, ...]:
    """Return the stores; two with the same name are one store if they have the same bytes."""
    found: dict[str, Found] = {}
    given: Counter[str] = Counter()
    for raw, source in raws:
        one = read(raw)
        given[one.name] += 1
        if one.name in found:
            before = found[one.name].raw
            if (before.digest, before.in_use) == (raw.digest, raw.in_use):
                notes.append(f"{one.name} is given twice, and counted once")
                continue
            # These are two machines with the same name, or one store at two times.
            number = f"number {given[one.name]}"
            origin = f"from {source}" if source and source != "-" else number
            if f"{one.name} ({origin})" in found:
                origin += f", {number}"
            one = evolve(one, label=f"{one.name} ({origin})")
        found[one.name] = one
    stores = own.with_shared_log(tuple(found.values()))
    if any(one.format is Format.RABBITMQ for one in stores):
        from joinproto.recovery.foreign import rabbitmq

        return rabbitmq.clustered(stores)
    return stores


def _is_file(word: str) -> bool:
    try:
        return Path(word).is_file()
    except (OSError, ValueError):
        return False  # the problem is reported later, when the path is opened


def _stores_hint(path: Path) -> str:
    """Return a hint that names the stores next to this path, "" if there are none."""
    above = Path(os.path.abspath(path)).parent  # noqa: PTH100  links are not followed
    stores = stores_inside(above)
    if not stores:
        return ""
    return f"{shown(str(above))} has these: {' '.join(typed(str(one)) for one in stores)}"


def _require_no_parent(
    word: str, words: Sequence[str], command: str, options: Sequence[str]
) -> None:
    """Raise `UsageProblem` for a directory that is no store but holds stores or .info files.

    The error names the command with these stores or files in place of the directory.
    """
    path = Path(word)
    inside = stores_inside(path) or tuple(sorted(path.glob("*.info"))) or _two_levels_below(path)
    if not inside:
        return
    if closed := _closed_in(path):
        raise UsageProblem(
            f"{shown(str(path))}: is not a data directory; this user may not read"
            f" {', '.join(closed)} in it",
            next=SUDO,
        )
    is_collected = inside[0].suffix == ".info"
    one, several = (
        ("file that collect wrote is", "files that collect wrote are")
        if is_collected
        else ("data directory is", "data directories are")
    )
    if command == "undo" and len(inside) > 1:
        command = "undo DIR, with one of these:"
    if command == "collect" and is_collected:
        command = "pick"
    raise UsageProblem(
        f"{shown(str(path))}: is not a data directory;"
        f" {len(inside)} {one if len(inside) == 1 else several} in it",
        next=_command_again(command, options, words, word, inside),
    )


def _closed_in(path: Path) -> list[str]:
    """Return the names of directories in `path` that this user may not read."""
    return [
        shown(one.name)
        for one in sorted(path.iterdir())
        if one.is_dir() and not os.access(one, os.R_OK | os.X_OK)
    ][:DIRECTORIES_SHOWN_MAX]


def _two_levels_below(path: Path) -> tuple[Path, ...]:
    """Return the stores two levels below `path`."""
    try:
        inside = sorted(one for one in path.iterdir() if one.is_dir() and not one.is_symlink())
    except OSError:
        return ()
    return tuple(store for one in inside[:DIRECTORIES_MAX] for store in stores_inside(one))


def _require_not_inside(
    word: str, words: Sequence[str], command: str, options: Sequence[str]
) -> None:
    """Raise `UsageProblem` for a directory that is only a part of a store."""
    path = Path(os.path.realpath(word))
    for above in list(path.parents)[:LEVELS_MAX]:
        if above.parent != above and above in stores_inside(above.parent):
            raise UsageProblem(
                f"{shown(str(path))}: is a part of the data directory {shown(str(above))}",
                next=_command_again(command, options, words, word, [above]),
            )


_OUTPUT = {"collect": " > NAME.info", "plan": " -o plan.json"}
"""The ends of commands whose output goes to a file."""


def _command_again(
    command: str,
    options: Sequence[str],
    words: Sequence[str],
    word: str,
    stores: Iterable[Path],
) -> str:
    """Return the command to type again, with `stores` in place of `word`."""
    instead = [typed(str(one)) for one in stores]
    given = [one for each in words for one in (instead if each == word else [typed(each)])]
    return f"joinproto recover {' '.join([command, *options, *given])}{_OUTPUT.get(command, '')}"


def _device_and_inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _key(word: str) -> str:
    return os.path.realpath(word) if os.path.exists(word) else word  # noqa: PTH110  no error


def _positions(positions: Sequence[str]) -> dict[str, bytes]:
    """Return the values of `--position DIR=SEQNO` by directory; SEQNO may be a log file."""
    found: dict[str, bytes] = {}
    for text in positions:
        word, equals, value = text.rpartition("=")
        if not equals or not word or not value:
            raise UsageProblem(
                f"--position {text!r}: expected DIR=SEQNO, DIR=UUID:SEQNO or DIR=LOGFILE",
                next="give the number that the broker's recovery printed, or its log",
            )
        is_position = re.fullmatch(r"(?:[0-9a-f-]{36}:)?-?[0-9]+", value) is not None
        found[_key(word)] = value.encode() if is_position else _log_bytes(Path(value))
    return found


def _log_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            # The last line with a position counts.
            if (size := path.stat().st_size) > INFO_BYTES_MAX:  # a pipe has no size, and no seek
                file.seek(size - INFO_BYTES_MAX)
            return file.read(INFO_BYTES_MAX)
    except OSError as error:
        raise UsageProblem(
            f"{path}: cannot be read: {error.strerror}", next="give a number, or a log file"
        ) from error


def _read_collected(word: str) -> tuple[tuple[Raw, ...], str]:
    """Return the directories in an .info file or a pack (`-`: standard input), and a note."""
    try:
        if word == "-":
            data = sys.stdin.buffer.read(INFO_BYTES_MAX + 1)
        else:
            with Path(word).open("rb") as file:
                data = file.read(len(pack.MAGIC))
                if pack.is_pack(data):
                    file.seek(0)
                    return pack.read(file, name=word), pack.UNSEEN
                data += file.read(INFO_BYTES_MAX + 1)
    except PermissionError as error:
        raise UsageProblem(
            f"{shown(word)}: may not be read by this user: {error.strerror}", next=SUDO
        ) from error
    except OSError as error:
        raise StoreUnreadable(
            f"{shown(word)}: cannot be read: {error.strerror or error}", next="look at the disk"
        ) from error
    if len(data) > INFO_BYTES_MAX:
        raise StoreUnreadable(
            f"{word}: is larger than {INFO_BYTES_MAX} bytes",
            next="collect fewer directories into one file, and give several files",
        )
    if pack.is_pack(data):
        return pack.read(BytesIO(data), name=word), pack.UNSEEN
    return info.read(data, name=word), ""
