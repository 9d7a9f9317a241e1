"""Helpers of the foreign readers: turn bytes into texts, terms and facts, and show bad bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from joinproto.codec.erlang_terms import NotTerms, Term, read_terms
from joinproto.codec.json_form import encoded
from joinproto.codec.json_form import read as read_as
from joinproto.codec.json_text import ascii_line, parsed
from joinproto.codec.malformed import Malformed

if TYPE_CHECKING:
    from joinproto.recovery.found import RawFile

Facts = TypeVar("Facts")

TEXT_BYTES_MAX = 1 << 20
"""The most bytes of a broker's text file, which has a few hundred with a few nodes, and fewer than
this limit even with thousands of nodes."""

SHOWN_MAX = 60
"""The most characters of a wrong value that are shown."""

ESCAPES = re.compile(r"(?:[^\\]|\\['\\])*")
"""A text in which only a quote or a backslash is escaped, as in names of nodes."""

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NULL_UUID = "00000000-0000-0000-0000-000000000000"


class NotAsWritten(Exception):
    """A file does not have the form that its broker writes, or the system could not read it.

    The message is for the operator.
    """

    @property
    def errno(self) -> int | None:
        """Return the system's error number, None if the system could read the file."""
        return getattr(self.__cause__, "errno", None)


def text_of(file: RawFile) -> str:
    """Return the content of a file that exists; raises `NotAsWritten`.

    All of these formats are plain ASCII, so any other byte is damage.
    """
    data = file.data or b""
    if not data:
        raise NotAsWritten(f"{file.name}: is empty")
    if len(data) > TEXT_BYTES_MAX:
        raise NotAsWritten(
            f"{file.name}: has {len(data)} bytes; a file of this kind has at most {TEXT_BYTES_MAX}"
        )
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as error:
        raise NotAsWritten(
            f"{file.name}: byte {error.start} is {data[error.start]:#04x}, which is not ASCII text"
        ) from None
    for at, char in enumerate(text):
        if char not in "\t\n\r" and not " " <= char <= "~":
            raise NotAsWritten(f"{file.name}: byte {at} is {ord(char):#04x}, which is not text")
    return text


def shown(value: str) -> str:
    """Return a value from a file in quotes, with control characters escaped, cut if long."""
    cut = value if len(value) <= SHOWN_MAX else value[:SHOWN_MAX] + "..."
    return ascii(cut)


def matched(pattern: re.Pattern[str], file: RawFile, text: str, what: str) -> str:
    """Return a text of a file if it matches `pattern`; else raise `NotAsWritten`.

    `what`: the expected form, for the message.
    """
    if pattern.fullmatch(text) is None:
        raise NotAsWritten(f"{file.name}: {shown(text)} is not {what}")
    return text


def term_of(file: RawFile) -> Term:
    """Return the one Erlang term of a file; raises `NotAsWritten`."""
    text = text_of(file)
    if ESCAPES.fullmatch(text) is None:
        raise NotAsWritten(f"{file.name}: has an escape that is in no node's name")
    try:
        found = read_terms(text)
    except NotTerms as error:
        cut = ": cut off" if error.is_cut else ""
        said = f"line {error.line}: {shown(error.found)}, expected {error.write}{cut}"
        raise NotAsWritten(f"{file.name}: {said}") from None
    if len(found.all) != 1 or not found.ended:
        said = "more text after the end of the term" if found.all[1:] else "no full stop: cut off"
        raise NotAsWritten(f"{file.name}: {said}")
    return found.all[0]


def packed(facts: Any) -> bytes:
    """Return facts as the bytes that are carried in place of large files."""
    return ascii_line(encoded(facts))


def unpacked(kind: type[Facts], data: bytes) -> Facts:
    """Return the facts in the bytes of `packed`; raises `NotAsWritten`."""
    try:
        found: Facts = read_as(kind, parsed(data))
    except Malformed as error:
        raise NotAsWritten(f"the collected facts cannot be read: {error}") from None
    return found
