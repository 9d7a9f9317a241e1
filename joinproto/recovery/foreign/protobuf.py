"""Protocol Buffers, as far as etcd uses them: numbers and bytes; a field's last value counts.

Source: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.recovery.foreign.text import NotAsWritten

VARINT_BYTES_MAX = 10
Value = int | bytes


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the number at `at`, and the place after it; raises `NotAsWritten`."""
    number = 0
    for shift, byte in enumerate(data[at : at + VARINT_BYTES_MAX]):
        number |= (byte & 127) << (7 * shift)
        if byte < 128:
            return number & 0xFFFFFFFFFFFFFFFF, at + shift + 1
    raise NotAsWritten("a number is cut off")


def fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """Yield the number and the value of each field; raises `NotAsWritten`."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        match key & 7:
            case 0:
                number, at = varint(data, at)
                yield key >> 3, number
            case 2:
                size, at = varint(data, at)
                if size > len(data) - at:
                    raise NotAsWritten("a field is cut off")
                yield key >> 3, data[at : at + size]
                at += size
            case kind:
                raise NotAsWritten(f"a field of kind {kind}")


class Message(dict[int, Value]):
    """Values of fields by field number.  Fields of another kind and unknown fields are refused."""

    @classmethod
    def read(cls, data: bytes, numbers: str, texts: str = "") -> Message:
        """Return a message; raises `NotAsWritten`.

        `numbers`, `texts`: the fields that may have numbers, or bytes, such as "1 2 3".
        """
        found = cls()
        for field, value in fields(data):
            known = numbers if isinstance(value, int) else texts
            if str(field) not in known.split():
                raise NotAsWritten(f"this message has no field {field}")
            found[field] = value
        return found

    def number(self, field: int) -> int:
        value = self.get(field, 0)
        return value if isinstance(value, int) else 0

    def text(self, field: int) -> bytes:
        value = self.get(field, b"")
        return value if isinstance(value, bytes) else b""
