"""Erlang terms in the external format: they are cut into parts, and never decoded as a whole.

A term is given as its bytes, without the first byte (131).  A function raises `NotAsWritten` for
bytes that are not the term it expects.  The cost is proportional to the bytes, however deep the
term is.

Source: OTP, "External Term Format".
"""

from __future__ import annotations

from joinproto.recovery.foreign.text import NotAsWritten

FIRST = 131


def number(data: bytes, at: int, size: int) -> int:
    if at + size > len(data):
        raise NotAsWritten("a term ends too early")
    return int.from_bytes(data[at : at + size], "big")


def is_tuple(term: bytes) -> bool:
    return term[:1] in (b"h", b"i")


def parts_of(term: bytes, least: int = 1) -> list[bytes]:
    """Return the elements of a tuple with at least `least` elements, each as its bytes."""
    if term[:1] == b"h":
        count, at = number(term, 1, 1), 2
    elif term[:1] == b"i":
        count, at = number(term, 1, 4), 5
    else:
        raise NotAsWritten("expected a tuple")
    if count < least:
        raise NotAsWritten(f"a tuple has {count} elements, expected {least}")
    return _elements(term, count, at)


def items_of(term: bytes) -> list[bytes]:
    """Return the elements of a list."""
    if term[:1] == b"j":
        return []
    if term[:1] != b"l":
        raise NotAsWritten("expected a list")
    return _elements(term, number(term, 1, 4), 5)


def _elements(term: bytes, count: int, at: int) -> list[bytes]:
    found = []
    for _ in range(count):
        end = end_of(term, at)
        found.append(term[at:end])
        at = end
    return found


def atom(term: bytes) -> bytes:
    """Return the name of an atom, b"" for other terms."""
    tag = term[:1]
    if tag in (b"d", b"v"):
        return term[3:]
    return term[2:] if tag in (b"s", b"w") else b""


# tag -> (bytes of a count, bytes for each counted item, further bytes): terms without parts.
_PLAIN = {
    97: (0, 0, 1),  # small integer
    98: (0, 0, 4),  # integer
    99: (0, 0, 31),  # float as text
    70: (0, 0, 8),  # float
    100: (2, 1, 0),  # atom
    118: (2, 1, 0),
    115: (1, 1, 0),
    119: (1, 1, 0),
    106: (0, 0, 0),  # []
    107: (2, 1, 0),  # list of bytes
    109: (4, 1, 0),  # binary
    77: (4, 1, 1),  # bits
    110: (1, 1, 1),  # large integer
    111: (4, 1, 1),
}
# tag -> (bytes of a count, terms for each counted item, further terms): terms with parts.
_NESTED = {
    104: (1, 1, 0),  # tuple
    105: (4, 1, 0),
    108: (4, 1, 1),  # list, with its tail
    116: (4, 2, 0),  # map
    113: (0, 0, 3),  # exported function
}
# tag -> bytes after the node's name, for processes and ports, and for references.
_NAMED = {103: 9, 88: 12, 102: 5, 89: 8, 120: 12}
_REFERENCES = {114: 1, 90: 4}


def end_of(term: bytes, at: int) -> int:
    """Return the place after the term that begins at `at`; raises `NotAsWritten`."""
    left = 1
    while left:
        tag = number(term, at, 1)
        at += 1
        left -= 1
        if tag in _PLAIN:
            counted, each, more = _PLAIN[tag]
            at += counted + more + each * (number(term, at, counted) if counted else 0)
        elif tag in _NESTED:
            counted, each, more = _NESTED[tag]
            left += more + each * (number(term, at, counted) if counted else 0)
            at += counted
        elif tag in _NAMED:
            at = _end_of_node(term, at) + _NAMED[tag]
        elif tag in _REFERENCES:
            words = number(term, at, 2)
            at = _end_of_node(term, at + 2) + _REFERENCES[tag] + 4 * words
        elif tag == 112:  # function
            at += number(term, at, 4)
        else:
            raise NotAsWritten(f"a term with the tag {tag}, which is not known")
        if at > len(term):
            raise NotAsWritten("a term ends too early")
    return at


def _end_of_node(term: bytes, at: int) -> int:
    if term[at : at + 1] not in (b"d", b"s", b"v", b"w"):
        raise NotAsWritten("a process or a reference has no node")
    return end_of(term, at)


def pairs_of(term: bytes) -> list[tuple[bytes, bytes]]:
    """Return the keys and values of a map."""
    if term[:1] != b"t":
        raise NotAsWritten("expected a map")
    found = _elements(term, 2 * number(term, 1, 4), 5)
    return list(zip(found[::2], found[1::2], strict=True))


def integer(term: bytes) -> int:
    """Return the value of an integer that is not negative."""
    match term[:1]:
        case b"a":
            return number(term, 1, 1)
        case b"b" if number(term, 1, 4) < 1 << 31:
            return number(term, 1, 4)
        case b"n" if number(term, 2, 1) == 0:
            return int.from_bytes(term[3 : 3 + number(term, 1, 1)], "little")
    raise NotAsWritten("expected a number that is not negative")


def binary(term: bytes) -> bytes:
    """Return the bytes of a binary."""
    if term[:1] != b"m":
        raise NotAsWritten("expected a binary")
    return term[5:]
