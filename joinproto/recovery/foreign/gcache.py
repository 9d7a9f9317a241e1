"""The reader of Galera's cache of write-sets: the transaction under each number on a node.

    galera.cache    a ring of the last write-sets, each with its number and its bytes, which are the
                    same on every node except for a few bytes in the header

A number alone does not distinguish two histories: a node that was forced to continue counts on from
its own number, and so do the others.  If two nodes have the same write-set under one number, their
histories are the same up to there.  If they have different write-sets, the histories are different.

The file is as large as its ring (128 MiB), so only a digest of it is kept: for each number, eight
bytes of a hash.  Buffers are read from the beginning of the ring on, up to the first bytes that are
no buffer.  If the node was stopped in order, the file names the oldest buffer, and buffers are read
from there, too.  If it was killed after the ring was full, only the newest write-sets are found,
because the rest of the older lap begins in the middle of a buffer.  Two digests without a common
number are no evidence.

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
"""The file that a `Raw` has in place of the cache: entries of `ENTRY`, sorted by number."""

BEGIN = 1_280  # after the text and the ring's header
TEXT_BYTES = 1_024
HEADER = struct.Struct("<qQIHbb")  # number, context, size with this header, flags, store, type
ENTRY = struct.Struct("<q8s")
OFFSET = re.compile(rb"^offset: (\d+)$", re.MULTILINE)
ENTRIES_MAX = 500_000
BUFFER_BYTES_MAX = 1 << 30
HEAD_LEAST = 64


def digest_of(files: JournalFileSystem, file: int) -> bytes:
    """Return the digest of an open cache, b"" if it has another form; raises `OSError`."""
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
            yield number, blake2b(bytes([kind & 0xFF]) + _common_part(body), digest_size=8).digest()
        at += -(-size // 8) * 8


def _common_part(body: bytes) -> bytes:
    """Return a write-set without the parts of its header that differ from node to node.

    These are two bytes that say on which former write-sets it depends, as far as the node still
    knew them, and the checksum of the header (its last eight bytes).
    """
    size = body[2] if len(body) > HEAD_LEAST and body[:1] == b"G" else 0
    if not HEAD_LEAST <= size <= len(body):
        return body
    return body[:6] + body[8 : size - 8] + body[size:]


def history_in(digest: bytes) -> Mapping[int, bytes]:
    """Return the hash for each number in a digest; an entry that is cut off is left out."""
    whole = digest[: len(digest) - len(digest) % ENTRY.size]
    return dict(ENTRY.iter_unpack(whole))
