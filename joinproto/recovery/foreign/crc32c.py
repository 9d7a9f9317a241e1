"""CRC-32C (Castagnoli), the checksum of etcd, PostgreSQL and Kafka; `zlib` does not have it.

Source: RFC 3720, appendix B.4.
"""

from __future__ import annotations

import sys
from array import array
from functools import cache

POLYNOMIAL = 0x82F63B78
SHORT_BYTES = 256
"""For fewer bytes the large tables are not worth computing."""


@cache
def _byte_table() -> array[int]:
    table = array("I")
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
        table.append(crc)
    return table


@cache
def _word_tables() -> tuple[array[int], array[int]]:
    """Return two tables for a word of four bytes: for its first two bytes, and for its last two."""
    short = _byte_table()

    def next_crc(value: int) -> int:
        return short[value & 255] ^ (value >> 8)

    near = array("I", (next_crc(next_crc(value)) for value in range(65_536)))
    return array("I", (next_crc(next_crc(value)) for value in near)), near


def crc32c(data: bytes | memoryview, crc: int = 0) -> int:
    """Return the checksum of `data`; `crc`: the checksum of the bytes before them."""
    crc ^= 0xFFFFFFFF
    rest = memoryview(data)
    if len(rest) >= SHORT_BYTES and sys.byteorder == "little":
        far, near = _word_tables()
        end = len(rest) & ~3
        for word in rest[:end].cast("I"):
            crc ^= word
            crc = far[crc & 0xFFFF] ^ near[crc >> 16]
        rest = rest[end:]
    table = _byte_table()
    for byte in rest:
        crc = table[(crc ^ byte) & 255] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF
