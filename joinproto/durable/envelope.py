"""The file format around the payload: its kind, format version, generation and checksum.

    joinproto store            the kind of file; never changes
    format 1                   how to read the rest; checked before the checksum
    generation 7               counts the writes of this store, from 1
    length 1306                bytes of the payload
    {                          the payload: JSON, for `cat`
      "member": "broker-1",
      ...
    }
    sha256 2c26b46b68ffc68f..  over every byte before this line

Each line has exactly one spelling (no leading zero, no second blank).  So every byte is either
hashed or fixed, and each flipped bit is noticed.
"""

from __future__ import annotations

import re
from enum import Enum
from hashlib import sha256

from attrs import frozen

from joinproto.codec.malformed import INT_MAX, shown

MAGIC = b"joinproto store\n"
PLAIN = 1
FORMAT = 2
"""The highest format that is read.  `PLAIN` is written unless a store needs a higher one.

Format 2: the journal may begin with a base that stands for dropped frames (`joinproto/log`).

A new field that may be ignored needs no new format, because unknown fields are kept.  Every other
change needs a new format: an older version must not continue with half of a store's promises.
"""

FILE_BYTES_MAX = 64 << 20
"""A larger file is not read; for comparison, 1,000 views of 100 members are 10 MB."""

_FORMAT_LINE = re.compile(rb"format ([1-9][0-9]{0,8})\n")
_COUNTS = re.compile(rb"generation ([1-9][0-9]{0,18})\nlength (0|[1-9][0-9]{0,8})\n")
_CHECKSUM = re.compile(rb"sha256 ([0-9a-f]{64})\n")
_CHECKSUM_BYTES = len("sha256 ") + 64 + len("\n")


class Validity(Enum):
    """The validity of one file of a store."""

    VALID = "valid"
    ABSENT = "absent"
    CORRUPT = "corrupt"  # begins like a joinproto store or with zeros, but is not as written
    NEWER = "written by a newer version"  # it may be damaged as well
    FOREIGN = "not a joinproto store"
    UNREADABLE = "unreadable"  # the system returned an error instead of the content


@frozen
class Envelope:
    """The generation, the payload and the format of a file that is as it was written."""

    generation: int
    payload: bytes
    format: int = PLAIN


@frozen
class Fault:
    """Why a file is refused.  `generation`: the number in the file, which no checksum proves."""

    validity: Validity
    problem: str
    generation: int | None = None


def seal(envelope: Envelope) -> bytes:
    """Return the bytes of a file with this envelope."""
    head = b"%bformat %d\ngeneration %d\nlength %d\n" % (
        MAGIC,
        envelope.format,
        envelope.generation,
        len(envelope.payload),
    )
    text = head + envelope.payload
    return text + b"sha256 %b\n" % sha256(text).hexdigest().encode()


def unseal(data: bytes) -> Envelope | Fault:
    """Return the envelope in a file's bytes, or the reason why they are refused."""
    if len(data) < len(MAGIC) and MAGIC.startswith(data):
        return Fault(Validity.CORRUPT, f"ends after {len(data)} bytes, within its first line")
    if data.startswith(bytes(len(MAGIC))):
        return Fault(
            Validity.CORRUPT, "begins with zeros: its content was never written to the disk"
        )
    if not data.startswith(MAGIC):
        expected = MAGIC.decode().strip()
        found = f"begins with {shown(data[: len(MAGIC)])}"
        return Fault(Validity.FOREIGN, f"{found}, expected {expected!r}")
    version = _FORMAT_LINE.match(data, len(MAGIC))
    if version is None:
        found = shown(data[len(MAGIC) :].partition(b"\n")[0])
        expected = " or ".join(f"'format {number}'" for number in range(PLAIN, FORMAT + 1))
        return Fault(Validity.CORRUPT, f"second line: found {found}, expected {expected}")
    counts = _COUNTS.match(data, version.end())
    generation = 0 if counts is None else int(counts[1])
    # Checked before the checksum, because a newer format may have another checksum.  "Corrupt"
    # would make the operator look for a fault of the disk that does not exist.
    if int(version[1]) > FORMAT:
        problem = f"has format {int(version[1])}; this version reads formats up to {FORMAT}"
        return Fault(Validity.NEWER, problem, generation or None)
    if counts is None or generation > INT_MAX:
        found = shown(data[version.end() : version.end() + 60])
        problem = f"after the format: found {found}, expected the lines 'generation' and 'length'"
        return Fault(Validity.CORRUPT, problem)

    end = counts.end() + int(counts[2])
    size = end + _CHECKSUM_BYTES
    if len(data) != size:
        what = "is cut off" if len(data) < size else "has bytes after its end"
        problem = f"{what}: {len(data)} bytes, expected {size}"
        return Fault(Validity.CORRUPT, problem, generation)
    checksum = _CHECKSUM.fullmatch(data, end)
    if checksum is None:
        problem = f"last line: found {shown(data[end:])}, expected 'sha256' and 64 digits"
        return Fault(Validity.CORRUPT, problem, generation)
    computed = sha256(data[:end]).hexdigest()
    if computed != checksum[1].decode():
        problem = f"checksum: found {checksum[1].decode()[:8]}.., expected {computed[:8]}.."
        return Fault(Validity.CORRUPT, problem, generation)
    return Envelope(generation, data[counts.end() : end], int(version[1]))
