"""A write-ahead log of Ra: the newest entries of all logs of a node, one record after another.

    RAWA, version (1 byte)
    record: 1 bit: no earlier entry counts any more (this entry follows a snapshot);
            1 bit: 0: the log's name follows; 22 bits: the number of this log in this file;
            [size (2), name]; Adler-32 of index, term and data, or 0; size of the data (4);
            index (8); term (8); data

A file that was allocated in advance ends in zeros.  A crash may leave a part of a record at the
end, which was never synced.  But a bad disk may leave the same, so the end is reported.

Bounds: a command that changes members has at most `COMMAND_BYTES_MAX` bytes.
"""

from __future__ import annotations

from collections.abc import Generator
from zlib import adler32

from attrs import evolve, frozen

from joinproto.recovery.foreign.ra.window import Window
from joinproto.recovery.foreign.text import NotAsWritten

MAGIC, VERSION = b"RAWA", 1
HEADER = 5
FIXED = 24
COMMAND_BYTES_MAX = 1 << 20
CHANGE = b"$ra_cluster_change"
CHANGE_WITHIN = 32
"""A command that changes members has the word `CHANGE` within this many bytes."""
ZEROS = 13


@frozen
class Entry:
    """One entry of the log `uid`.

    `command`: its data, if it may change members, else b"".  `print`: for a few entries a number
    that is the same on every node (`print_of`), else None.
    """

    uid: bytes
    index: int
    term: int
    command: bytes = b""
    print: int | None = None


def entries_in(name: str, file: Window) -> Generator[Entry, None, str]:
    """Yield the entries of a file; return why its end is not whole, "" if it is."""
    head = file.at(0, HEADER)
    if head[:4] != MAGIC or len(head) < HEADER:
        raise NotAsWritten(f"{name}: is not a write-ahead log of Ra")
    if head[4] != VERSION:
        raise NotAsWritten(f"{name}: has version {head[4]}, which is not known")
    names: dict[int, bytes] = {}
    at = HEADER
    while at < file.size:
        begin = file.at(at, 5)
        if len(begin) < 3:
            return _cut(name, at)
        number = int.from_bytes(begin[:3], "big")
        place, uid = at + 3, names.get(number & 0x3FFFFF, b"")
        if not number & 0x400000:
            if len(begin) < 5:
                return _cut(name, at)
            size = int.from_bytes(begin[3:5], "big")
            if number == 0 and not any(file.at(at, 5 + size + 8)[5 + size :]):
                return "" if file.is_blank(at, file.size) else _cut(name, at)
            uid = file.at(at + 5, size)
            names[number & 0x3FFFFF] = uid
            place = at + 5 + size
        elif number & 0x3FFFFF not in names:
            raise NotAsWritten(f"{name}: byte {at} belongs to a log that is not named")
        fixed = file.at(place, FIXED)
        size = int.from_bytes(fixed[4:8], "big")
        end = place + FIXED + size
        if len(fixed) < FIXED or end > file.size:
            return _cut(name, at)
        said = int.from_bytes(fixed[:4], "big")
        if said and said != file.checksum(place + 8, 16 + size, by=adler32, before=1):
            if any(file.at(end, ZEROS)):
                raise NotAsWritten(f"{name}: the record at byte {at} is not as it was written")
            return _cut(name, at)
        index, term = (int.from_bytes(fixed[i : i + 8], "big") for i in (8, 16))
        yield entry_of(name, file, Entry(uid, index, term), end - size, size)
        at = end
    return ""


def entry_of(name: str, file: Window, entry: Entry, at: int, size: int) -> Entry:
    """Return an entry with `command` and `print` from its data: `size` bytes from `at` on."""
    command, prints = b"", None
    if CHANGE in file.at(at + 1, min(size, CHANGE_WITHIN)):
        if size > COMMAND_BYTES_MAX:
            raise NotAsWritten(f"{name}: a change of members has {size} bytes")
        command = file.at(at + 1, size - 1)
    if entry.index & (entry.index - 1) == 0 and size <= COMMAND_BYTES_MAX:
        prints = print_of(file.at(at, size))
    elif not command:
        return entry
    return evolve(entry, command=command, print=prints)


def print_of(data: bytes) -> int:
    """Return a number for an entry's data, which does not depend on the order in its maps."""
    return adler32(bytes(sorted(data)), 1)


def _cut(name: str, at: int) -> str:
    return f"{name}: the record at byte {at} is not whole"
