"""Input that no correct member makes: how it is detected and reported.

`Malformed` does not say whose fault it is, because the deciding code does not know where a value
came from.  The caller that let the value in knows it, and raises the error for the person who must
act: `PeerError` for a message, `StoreError` for a disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Self

INT_MAX = 2**63 - 1
"""The largest number in a view.  Python has no limit, so a peer could send any number."""

SHOWN_MAX = 80
"""The most characters of a found value that a message repeats."""

# Control characters, line separators and lone surrogates: the first two would let a peer
# write on an operator's terminal, the last have no form in UTF-8.  These classes never change.
# "Printable" changes with each version of Unicode, so two versions of Python would judge the
# same view differently.
FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


class Malformed(ValueError):
    """Input that no correct member makes: the field, the found value, the expected value.

    `what`: the path to the field, as far as it is known (`within`).  `others`: more faults of the
    same tree.
    """

    def __init__(self, what: str, found: object, expected: str) -> None:
        super().__init__(what, found, expected)
        self.what = what
        self.found = found
        self.expected = expected
        self.others: tuple[Malformed, ...] = ()

    def __str__(self) -> str:
        return f"{self.what}: found {shown(self.found)}, expected {self.expected}"

    def within(self, place: str) -> Self:
        """Put `place`, a key or `[3]`, before the paths of all faults; return this error."""
        faults: tuple[Malformed, ...] = (self, *self.others)
        for one in faults:
            dot = "." if one.what and one.what[0] not in "[," else ""
            one.what = f"{place}{dot}{one.what}"
        return self

    def with_others(self, others: Iterable[Malformed]) -> Self:
        """Add other faults of the same tree; return this error."""
        self.others += tuple(flat for one in others for flat in (one, *one.others))
        return self


class MissingField(Malformed):
    """A required field is missing.  Its key is the last part of the path."""

    def __init__(self) -> None:
        super().__init__("", Verbatim("no value"), "a value, because this field is required")

    @property
    def key(self) -> str:
        return self.what.rpartition(".")[2]


class UnknownField(Malformed):
    """A field that the format does not have.  `known`: the keys that the object may have."""

    def __init__(self, key: str, known: Sequence[str]) -> None:
        super().__init__(key, Verbatim("an unknown field"), f"one of {', '.join(known)}")
        self.key, self.known = key, known


class Refusal(Malformed):
    """A value that fits its type, but is refused with a message and advice of its own."""

    def __init__(self, message: str, *, next: str) -> None:
        super().__init__("", Verbatim(message), next)
        self.message, self.next = message, next


def shown(value: object) -> str:
    """Return `value` for a message: escaped, and cut after `SHOWN_MAX` characters.

    A `Verbatim` is not escaped.
    """
    try:
        text = value if isinstance(value, Verbatim) else repr(value)
    except ValueError:
        return "a number too long to print"
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}.."


class Verbatim(str):
    """Words of joinproto in place of a found value; they are shown without quotes."""

    __slots__ = ()


def require(what: str, holds: bool, found: object, expected: str) -> None:
    """Raise `Malformed` unless `holds`."""
    if not holds:
        raise Malformed(what, found, expected)


def require_type(what: str, value: object, kind: type, *, or_none: bool = False) -> None:
    """Raise `Malformed` unless `value` is a `kind`; a bool is not an int here."""
    # Called for every field of every value, so texts are made for bad values only.
    if isinstance(value, kind) and (kind is not int or type(value) is int):
        return
    if value is not None or not or_none:
        raise Malformed(what, value, f"{kind.__name__} or None" if or_none else kind.__name__)


def require_text(what: str, value: object) -> None:
    """Raise `Malformed` unless `value` is a text with a character, and with no `FORBIDDEN` one."""
    require_type(what, value, str)
    text = str(value)
    if not text:
        raise Malformed(what, value, "a text that is not empty")
    if FORBIDDEN.search(text) is not None:
        raise Malformed(what, value, "no control character, line separator or surrogate")


def require_int(what: str, value: object, *, at_least: int) -> None:
    """Raise `Malformed` unless `value` is an int from `at_least` to `INT_MAX`."""
    require_type(what, value, int)
    if not (isinstance(value, int) and at_least <= value <= INT_MAX):
        raise Malformed(what, value, f"at least {at_least}, at most 2**63 - 1")
