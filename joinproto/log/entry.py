"""The contents of a frame of the log: the origin that submitted it, a number, and its data.

An origin is one run of one member.  An origin numbers its frames from 1 on.  So a frame that is
submitted twice is ordered once, and the member that submitted it recognizes it in the journal.
"""

from __future__ import annotations

from hashlib import sha256

from attrs import frozen


@frozen
class Entry:
    """One submitted frame; `number` is 0 in a frame that no log wrote."""

    origin: str
    number: int
    body: bytes

    @classmethod
    def of(cls, data: bytes) -> Entry:
        """Return the entry of a frame's data."""
        head, newline, body = data.partition(b"\n")
        origin, space, number = head.decode("utf-8", "replace").rpartition(" ")
        if newline and space and number.isascii() and number.isdigit() and len(number) < 20:
            return cls(origin, int(number), body)
        return cls("", 0, data)


def packed(origin: str, number: int, body: bytes) -> bytes:
    """Return the data of a frame with these contents."""
    return f"{origin} {number}\n".encode() + body


def digest_of(data: bytes) -> str:
    """Return the digest that an event log has instead of the data: 16 hexadecimal digits."""
    return sha256(data).hexdigest()[:16]
