"""Galera's cache of write-sets: which transaction has which number on this node.

    galera.cache    a ring of the last write-sets, each with its number and its bytes, which are the
                    same on every node but for a few in their header

A number alone does not tell two histories apart: a node that was forced to go on counts on from
where it was, as the others do.  Where two nodes have the same write-set under one number, their
histories are the same up to it; where they have two, they are not.

The file is as large as its ring (128 MiB), so only a digest of it is kept: for each number eight
bytes of a hash.  Only buffers in one piece from the beginning of the ring are read, and of a node
that was stopped in order those from its oldest one on.  So of a node that was killed after the ring
was full, the newest ones; the rest of an older lap after them begins within a buffer. Where two
digests have no number in common, they show nothing.

Source: galera 26.4 (`gcache_rb_store.cpp`, `gcache_bh.hpp`), seen on real nodes.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping
from hashlib import blake2b

from joinproto.durable.filesystem import JournalFileSystem

FILE = "galera.cache"
DIGEST = "galera.cache digest"
"""The contents of a `Raw` in place of the file: entries of `ENTRY`, by number."""

BEGIN = 1_280  # behind the text and the ring's own header
TEXT_BYTES = 1_024
HEADER = struct.Struct("<qQIHbb")  # number, context, size with this header, flags, store, type
ENTRY = struct.Struct("<q8s")
OFFSET = re.compile(rb"^offset: (\d+)$", re.MULTILINE)
ENTRIES_MAX = 500_000
BUFFER_BYTES_MAX = 1 << 30
HEAD_LEAST = 64


def digest_of(files: JournalFileSystem, file: int) -> bytes:
    """Return the digest of an open cache; raises `OSError`."""
    size = files.size(file)
    text = files.read_at(file, 0, TEXT_BYTES)
    if not text.startswith(b"Version: "):
        return b""
    begins = [BEGIN]
    if (oldest := OFFSET.search(text)) is not None:
        begins.insert(0, int(oldest[1]))
    found = dict(entry for begin in begins for entry in _buffers(files, file, begin, size))
    numbers = sorted(found)[-ENTRIES_MAX:]
    return b"".join(ENTRY.pack(number, found[number]) for number in numbers)


def _buffers(files: JournalFileSystem, file: int, at: int, end: int) -> Iterator[tuple[int, bytes]]:
    while at + HEADER.size <= end:
        head = files.read_at(file, at, HEADER.size)
        if len(head) < HEADER.size:
            return
        number, _, size, _, _, kind = HEADER.unpack(head)
        if not HEADER.size <= size <= min(end - at, BUFFER_BYTES_MAX):
            return
        if number > 0:
            body = files.read_at(file, at + HEADER.size, size - HEADER.size)
            yield number, blake2b(bytes([kind & 0xFF]) + _common(body), digest_size=8).digest()
        at += -(-size // 8) * 8


def _common(body: bytes) -> bytes:
    """Return a write-set without the parts that each node writes into it itself.

    That is in its header: how many before it it depends on (two bytes), as far as this node still
    knew them, and the checksum of the header (its last eight).
    """
    size = body[2] if len(body) > HEAD_LEAST and body[:1] == b"G" else 0
    if not HEAD_LEAST <= size <= len(body):
        return body
    return body[:6] + body[8 : size - 8] + body[size:]


def history_in(digest: bytes) -> Mapping[int, bytes]:
    """Return number to hash; an entry that is cut off is left out."""
    whole = digest[: len(digest) - len(digest) % ENTRY.size]
    return dict(ENTRY.iter_unpack(whole))
