"""A snapshot of Ra: the last entry that it replaces, and the members.

    RASN, version (1 byte), CRC-32 of all that follows, size of the meta data (4), meta data, state

The state is only read for the checksum.  The meta data are a map with `index`, `term` and
`cluster`, which is a list of members, or a map from members to their roles.
"""

from __future__ import annotations

from zlib import crc32

from joinproto.pick.raft import Configuration
from joinproto.recovery.foreign import external
from joinproto.recovery.foreign.ra.members import configuration_of
from joinproto.recovery.foreign.ra.window import STRETCH, Window
from joinproto.recovery.foreign.text import NotAsWritten

MAGIC, VERSION = b"RASN", 1
HEADER = 13


def snapshot_in(name: str, file: Window) -> tuple[int, Configuration]:
    """Return the term of the snapshot's last entry, and the members at this entry's index."""
    head = file.at(0, HEADER)
    if head[:4] != MAGIC or len(head) < HEADER or head[4] != VERSION:
        raise NotAsWritten(f"{name}: is not a snapshot of Ra, or is of another version")
    size = int.from_bytes(head[9:13], "big")
    said = int.from_bytes(head[5:9], "big")
    if size >= STRETCH or said != file.checksum(9, file.size - 9, by=crc32, before=0):
        raise NotAsWritten(f"{name}: is not as it was written")
    meta = dict(external.pairs_of(file.at(HEADER + 1, size - 1)))
    named = {external.atom(key): value for key, value in meta.items()}
    if not {b"index", b"term", b"cluster"} <= named.keys():
        raise NotAsWritten(f"{name}: lacks its index, term or members")
    index, term = external.integer(named[b"index"]), external.integer(named[b"term"])
    return term, configuration_of(named[b"cluster"], index=index, term=term)
