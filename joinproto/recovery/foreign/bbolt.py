"""bbolt, the file in which etcd keeps its keys: only a few buckets of it are read.

The file begins with two pages of metadata.  Of those with the right checksum, the page with the
higher transaction counts; it names the root of a tree of pages.  Other pages have no checksum, so
damage in them is only noticed by chance.

Source: go.etcd.io/bbolt (`page.go`, `db.go`, `bucket.go`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from attrs import frozen

from joinproto.recovery.foreign.text import NotAsWritten
from joinproto.recovery.foreign.tree import Tree

MAGIC, VERSION = 0xED0CDAED, 2
META = struct.Struct("<IIIIQQQQQQ")
META_BYTES = 16
PAGE = struct.Struct("<QHHI")
BRANCH = struct.Struct("<IIQ")
LEAF = struct.Struct("<IIII")
BUCKET = struct.Struct("<QQ")
IS_BRANCH, IS_LEAF = 1, 2
DEPTH_MAX = 32
PAGE_BYTES_MAX = 64 << 10
VALUE_BYTES_MAX = 64 << 20
ITEMS_MAX = 100_000


@frozen
class Database:
    """An open file.  `page`: bytes of a page; `root`: page of the root bucket; `pages`: used."""

    tree: Tree
    name: str
    page: int
    root: int
    pages: int

    @classmethod
    def open(cls, tree: Tree, name: str) -> Database:
        """Return the database; raises `NotAsWritten`."""
        head = tree.read(name, 0, PAGE_BYTES_MAX + 4096)
        found = [one for size in (4096, 8192, 16384, 32768, 65536, 0) if (one := _meta(head, size))]
        if not found:
            raise NotAsWritten(f"{name}: neither of its two pages of metadata is whole")
        _, page, root, pages = max(found)
        size = tree.size(name) or 0
        if pages * page > size:
            raise NotAsWritten(f"{name}: is cut off: it has {size} bytes, expected {pages * page}")
        return cls(tree, name, page, root, pages)

    def bucket(self, name: bytes) -> bytes | int | None:
        """Return the page of a bucket, the bytes of a small bucket, or None if there is none."""
        for key, value, is_bucket in self._items(self.root, first=name):
            if key == name and is_bucket:
                root, _ = BUCKET.unpack_from(value)
                return root or value[BUCKET.size :]
        return None

    def items(self, bucket: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and values of a bucket; raises `NotAsWritten` after `ITEMS_MAX` keys."""
        place = self.bucket(bucket)
        for at, (key, value, _) in enumerate(() if place is None else self._items(place)):
            if at == ITEMS_MAX:
                raise NotAsWritten(f"{self.name}: {bucket!r} has more than {ITEMS_MAX} keys")
            yield key, value

    def last(self, bucket: bytes) -> bytes | None:
        """Return the last key of a bucket, None if it has no key."""
        place = self.bucket(bucket)
        depth = 0
        while place is not None:
            data, flags, count = self._page(place)
            if not count:
                return None
            if flags == IS_LEAF:
                return list(_leaves(data, count, self.name))[-1][0]
            place = list(_branches(data, count, self.name))[-1][1]
            depth += 1
            if depth > DEPTH_MAX:
                raise NotAsWritten(f"{self.name}: pages below pages, without an end")
        return None

    def _items(
        self, place: bytes | int, first: bytes = b"", depth: int = 0
    ) -> Iterator[tuple[bytes, bytes, bool]]:
        if depth > DEPTH_MAX:
            raise NotAsWritten(f"{self.name}: pages below pages, without an end")
        data, flags, count = self._page(place)
        if flags == IS_LEAF:
            yield from _leaves(data, count, self.name)
            return
        below = list(_branches(data, count, self.name))
        for at, (_, page) in enumerate(below):
            if at + 1 < len(below) and first and below[at + 1][0] <= first:
                continue
            yield from self._items(page, first, depth + 1)

    def _page(self, place: bytes | int) -> tuple[bytes, int, int]:
        if isinstance(place, bytes):
            data, number = place, 0
        else:
            if not 2 <= place < self.pages:
                raise NotAsWritten(f"{self.name}: page {place} of {self.pages}")
            data, number = self.tree.read(self.name, place * self.page, self.page), place
        if len(data) < PAGE.size:
            raise NotAsWritten(f"{self.name}: a page is cut off")
        said, flags, count, more = PAGE.unpack_from(data)
        if said != number or flags not in (IS_BRANCH, IS_LEAF):
            raise NotAsWritten(f"{self.name}: page {number} is damaged")
        if more and isinstance(place, int):
            size = (more + 1) * self.page
            if size > VALUE_BYTES_MAX or place + more >= self.pages:
                raise NotAsWritten(f"{self.name}: page {number} has {size} bytes")
            data = self.tree.read(self.name, place * self.page, size)
        return data, flags, count


def _meta(head: bytes, size: int) -> tuple[int, int, int, int] | None:
    """Return transaction, page size, root page and used pages from the metadata at `size`.

    Return None if this page of metadata is not valid.
    """
    data = head[size + META_BYTES : size + META_BYTES + META.size]
    if len(data) < META.size:
        return None
    magic, version, page, _, root, _, _, pages, transaction, checksum = META.unpack(data)
    if (magic, version) != (MAGIC, VERSION) or checksum != fnv64a(data[:-8]):
        return None
    is_fitting = 512 <= page <= PAGE_BYTES_MAX and page & (page - 1) == 0 and size in (0, page)
    return (transaction, page, root, pages) if is_fitting else None


def fnv64a(data: bytes) -> int:
    """Return the checksum of a page of metadata (FNV-1a, 64 bits)."""
    found = 0xCBF29CE484222325
    for byte in data:
        found = ((found ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return found


def _cells(data: bytes, count: int, form: struct.Struct, name: str) -> Iterator[tuple[int, Any]]:
    """Yield the place and the numbers of each cell of a page."""
    for place in range(PAGE.size, PAGE.size + count * form.size, form.size):
        if place + form.size > len(data):
            raise NotAsWritten(f"{name}: a page is cut off")
        yield place, form.unpack_from(data, place)


def _branches(data: bytes, count: int, name: str) -> Iterator[tuple[bytes, int]]:
    for place, (offset, length, page) in _cells(data, count, BRANCH, name):
        yield _piece(data, place + offset, length, name), page


def _leaves(data: bytes, count: int, name: str) -> Iterator[tuple[bytes, bytes, bool]]:
    for place, (flags, offset, key, value) in _cells(data, count, LEAF, name):
        found = _piece(data, place + offset, key + value, name)
        if flags & 1 and value < BUCKET.size:
            raise NotAsWritten(f"{name}: a bucket is cut off")
        yield found[:key], found[key:], bool(flags & 1)


def _piece(data: bytes, at: int, count: int, name: str) -> bytes:
    if at + count > len(data):
        raise NotAsWritten(f"{name}: a key is cut off")
    return data[at : at + count]
