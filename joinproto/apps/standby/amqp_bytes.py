"""A message as it came over AMQP 1.0: the two facts of its header that a broker needs.

The bytes of a message are kept as they are; only the header of one that is delivered again is
written anew.

Source: AMQP 1.0, part 3, 3.2.1 (header), part 1, 1.6 (encodings).
"""

from __future__ import annotations

from proton import Message, ProtonException

HEADER_SHORT = b"\x00\x53\x70"
HEADER_LONG = b"\x00\x80\x00\x00\x00\x00\x00\x00\x00\x70"
LISTS = {0xC0: 3, 0xD0: 9}
"""Where the first item begins, behind constructor, size and count."""


def is_durable(body: bytes) -> bool:
    """Return whether the sender wants it on a disk; what says nothing, or is broken, is not."""
    for start in (HEADER_SHORT, HEADER_LONG):
        if body.startswith(start):
            rest = body[len(start) : len(start) + 12]
            first = rest[LISTS.get(rest[0], len(rest)) :] if rest else b""
            return first[:1] == b"\x41" or first[:2] == b"\x56\x01"
    return False


def redelivered(body: bytes) -> bytes:
    """Return the message, saying that a consumer may have had it before.

    What cannot be read as a message goes out as it came.
    """
    message = Message()
    try:
        message.decode(body)
        message.first_acquirer = False
        message.delivery_count = max(1, message.delivery_count)
        encoded: bytes = message.encode()
    except (ProtonException, ValueError):  # of these, too: text that is not UTF-8
        return body
    return encoded
