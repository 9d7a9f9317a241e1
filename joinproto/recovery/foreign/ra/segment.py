"""A segment of Ra: entries of one log that are in no write-ahead log any more.

    RASG, version (2 bytes), the number of entries for which there is room (2)
    index: for each entry its index (8), term (8), offset (8; version 1: 4), size (4), CRC-32 or 0
    data: of one entry after another, in the same order

An entry whose index is not larger than the index before it replaces former entries.  The data are
written before the index.
"""

from __future__ import annotations

from collections.abc import Generator
from zlib import crc32

from joinproto.recovery.foreign.ra.wal import Entry, entry_of
from joinproto.recovery.foreign.ra.window import Window
from joinproto.recovery.foreign.text import NotAsWritten

MAGIC = b"RASG"
HEADER = 8
OFFSET_BYTES = {1: 4, 2: 8}


def entries_in(name: str, uid: bytes, file: Window) -> Generator[Entry, None, str]:
    """Yield the entries of a file; return why its end is not whole, "" if it is."""
    head = file.at(0, HEADER)
    if head[:4] != MAGIC or len(head) < HEADER:
        if not any(head):
            return f"{name}: was created, and never written"
        raise NotAsWritten(f"{name}: is not a segment of Ra")
    version = int.from_bytes(head[4:6], "big")
    if version not in OFFSET_BYTES:
        raise NotAsWritten(f"{name}: has version {version}, which is not known")
    wide = OFFSET_BYTES[version]
    record = 24 + wide
    count = int.from_bytes(head[6:8], "big")
    data = HEADER + record * count
    for number in range(count):
        at = HEADER + record * number
        said = file.at(at, record)
        if not any(said):
            if not file.is_blank(at, HEADER + record * count):
                raise NotAsWritten(f"{name}: an entry is not there, and later ones are")
            break
        if len(said) < record:
            raise NotAsWritten(f"{name}: was cut off")
        index, term = (int.from_bytes(said[i : i + 8], "big") for i in (0, 8))
        offset = int.from_bytes(said[16 : 16 + wide], "big")
        size, crc = (int.from_bytes(said[i : i + 4], "big") for i in (16 + wide, 20 + wide))
        if offset != data or offset + size > file.size:
            raise NotAsWritten(f"{name}: the place of entry {index} is not as it was written")
        data += size
        if crc and crc != file.checksum(offset, size, by=crc32, before=0):
            raise NotAsWritten(f"{name}: entry {index} is not as it was written")
        yield entry_of(name, file, Entry(uid, index, term), offset, size)
    if file.size > max(data, HEADER + record * count):
        return f"{name}: has data after its last entry"
    return ""
