"""Erlang terms as text: the terms in brokers' files, each with its line.

`read_terms` reads numbers, atoms (also quoted ones), texts, binaries, tuples and lists, with
comments between them.  A full stop ends a term.  If the last full stop is missing, `Terms.ended` is
False.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import field, frozen

DEPTH_MAX = 50


@frozen
class Term:
    """A term of the text.  `line`: the line where it begins, from 1; equality ignores the line."""

    line: int = field(eq=False, kw_only=True, default=1)


@frozen
class Atom(Term):
    """A name."""

    name: str

    def __str__(self) -> str:
        plain = re.fullmatch(r"[a-z][\w@]*", self.name, re.ASCII) and self.name not in RESERVED
        return self.name if plain else "'" + _escaped(self.name, "'") + "'"


@frozen
class Text(Term):
    """A string."""

    text: str

    def __str__(self) -> str:
        return '"' + _escaped(self.text, '"') + '"'


@frozen
class Binary(Term):
    """A binary.  `text`: its bytes as characters of Latin-1."""

    text: str

    def __str__(self) -> str:
        return '<<"' + _escaped(self.text, '"') + '">>'


@frozen
class Number(Term):
    """An integer or a float."""

    value: int | float

    def __str__(self) -> str:
        return str(self.value)


@frozen
class Tuple(Term):
    """Terms in braces."""

    items: tuple[Term, ...]

    def __str__(self) -> str:
        return "{" + ", ".join(map(str, self.items)) + "}"


@frozen
class List(Term):
    """Terms in brackets."""

    items: tuple[Term, ...]

    def __str__(self) -> str:
        return "[" + ", ".join(map(str, self.items)) + "]"


@frozen
class Terms:
    """All terms of a text.

    `ended`: whether the last term has its full stop.  `line`: the number of the last line that is
    not blank.
    """

    all: tuple[Term, ...]
    ended: bool
    line: int


class NotTerms(Exception):
    """The text does not consist of Erlang terms.

    `line`: the line of the fault.  `found`: the fault, in words.  `write`: the text to write
    instead, in words.  `is_cut`: the text ends in the middle of a term.
    """

    def __init__(self, line: int, found: str, write: str, *, is_cut: bool = False) -> None:
        super().__init__(found)
        self.line, self.found, self.write, self.is_cut = line, found, write, is_cut


RESERVED = frozenset(
    """after and andalso band begin bnot bor bsl bsr bxor case catch cond div else end fun if let
    maybe not of or orelse receive rem try when xor""".split()  # noqa: SIM905
)
TOKEN = re.compile(
    r"""(?P<blank>\s+|%[^\n]*)
      | (?P<number>[+-]?\d+(?:\.\d+(?:[eE][+-]?\d+)?|\#[0-9a-zA-Z]+)?)
      | (?P<char>\$(?:\\.|.))
      | (?P<atom>[a-z][\w@]*)
      | (?P<quoted>'(?:\\.|[^'\\])*')
      | (?P<text>"(?:\\.|[^"\\])*")
      | (?P<binary><<\s*(?:"(?:\\.|[^"\\])*"|(?:\d+\s*,\s*)*\d+)?\s*>>)
      | (?P<mark>[\[\]{},|])
      | (?P<stop>\.(?=\s|%|$))""",
    re.VERBOSE | re.DOTALL,
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "s": " ", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v",
           "d": "\x7f", "0": "\0"}  # fmt: skip
CLOSES = {"[": "]", "{": "}"}
NAME_SHOWN = 100


@frozen
class _Token:
    kind: str
    text: str
    line: int


def read_terms(text: str) -> Terms:
    """Return the terms of a text; raises `NotTerms` at the first fault."""
    tokens = list(_tokens(text))
    last = text.rstrip().count("\n") + 1
    found: list[Term] = []
    at, ended = 0, True
    while at < len(tokens):
        term, at = _term(tokens, at, last, 0)
        found.append(term)
        ended = at < len(tokens)
        if not ended:
            break
        if tokens[at].kind != "stop":
            raise NotTerms(
                tokens[at].line,
                f"{tokens[at].text} after the end of a term",
                "a full stop directly after the term",
            )
        at += 1
    return Terms(tuple(found), ended, last)


def _tokens(text: str) -> Iterator[_Token]:
    at, line = 0, 1
    while at < len(text):
        found = TOKEN.match(text, at)
        if found is None:
            raise _unknown(text, at, line)
        if found.lastgroup != "blank":
            yield _Token(str(found.lastgroup), found.group(), line)
        line += found.group().count("\n")
        at = found.end()


def _unknown(text: str, at: int, line: int) -> NotTerms:
    rest = text[at:]
    first = rest[:1]
    begun = re.search(r"[a-z][\w@]*\Z", text[max(0, at - NAME_SHOWN) : at], re.ASCII)
    if begun and (whole := re.match(r"[.-][\w@.-]*\w", rest)):
        name = begun[0] + whole[0]
        return NotTerms(line, f"{name}, a name with {first}", f"'{name}' in quotes")
    if first in "\"'":
        return NotTerms(line, f"{first} that is not closed", f"a second {first} at its end")
    word = (re.match(r"\w+", rest) or [first])[0]
    if word[:1].isupper() or word[:1] == "_":
        return NotTerms(line, f"{word}, a variable", f"'{word}' in quotes, if it is a name")
    return NotTerms(line, f"{first!r}, which begins no term", "a name, a number, a list or a tuple")


def _term(tokens: list[_Token], at: int, last: int, depth: int) -> tuple[Term, int]:
    if at >= len(tokens):
        raise NotTerms(last, "the end of the text", "the rest of the term", is_cut=True)
    token = tokens[at]
    line = token.line
    match token.kind:
        case "number":
            return Number(_number(token), line=line), at + 1
        case "char":
            return Number(ord(_unescaped(token.text[1:])), line=line), at + 1
        case "atom":
            return Atom(token.text, line=line), at + 1
        case "quoted":
            return Atom(_unescaped(token.text[1:-1]), line=line), at + 1
        case "binary":
            return Binary(_binary_text(token), line=line), at + 1
        case "text":
            said = ""
            while at < len(tokens) and tokens[at].kind == "text":  # adjacent texts are one
                said += _unescaped(tokens[at].text[1:-1])
                at += 1
            return Text(said, line=line), at
        case "mark" if token.text in CLOSES:
            if depth == DEPTH_MAX:
                raise NotTerms(
                    line, f"more than {DEPTH_MAX} brackets in brackets", f"at most {DEPTH_MAX}"
                )
            items, at = _items(tokens, at + 1, token, last, depth)
            return (List if token.text == "[" else Tuple)(tuple(items), line=line), at
    raise NotTerms(line, f"{token.text} where a term begins", "a name, a number, a list or a tuple")


def _items(
    tokens: list[_Token], at: int, opened: _Token, last: int, depth: int
) -> tuple[list[Term], int]:
    closes, items = CLOSES[opened.text], list[Term]()
    if at < len(tokens) and tokens[at].text == closes:
        return items, at + 1
    while True:
        item, at = _term(tokens, at, last, depth + 1)
        items.append(item)
        if at >= len(tokens):
            found = f"no {closes} for the {opened.text} of line {opened.line}"
            raise NotTerms(last, found, f"{closes}", is_cut=True)
        after, at = tokens[at], at + 1
        if after.text == closes and after.kind == "mark":
            return items, at
        if after.text != "," or after.kind != "mark":
            raise NotTerms(after.line, f"{after.text} after {items[-1]}", f", or {closes}")


def _number(token: _Token) -> int | float:
    base, marked, digits = token.text.partition("#")
    try:
        if marked:
            return int(digits, int(base))
        return float(base) if "." in base else int(base)
    except ValueError:
        raise NotTerms(token.line, f"{token.text[:40]}, not a number", "an integer") from None


def _binary_text(token: _Token) -> str:
    inside = token.text[2:-2].strip()
    if inside.startswith('"'):
        return _unescaped(inside[1:-1])
    codes = [int(one) for one in inside.split(",") if one.strip()]
    if any(code > 255 for code in codes):
        raise NotTerms(token.line, f"{max(codes)} in a binary", "bytes from 0 to 255")
    return "".join(map(chr, codes))


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        code = found.group(1) or found.group(2)
        if code:
            return chr(int(code, 16)) if int(code, 16) < 0x110000 else "\ufffd"
        if found.group(3):
            return chr(int(found.group(3), 8))
        return ESCAPES.get(found.group(4), found.group(4))

    pattern = r"\\(?:x\{([0-9a-fA-F]{1,8})\}|x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))"
    return re.sub(pattern, one, text, flags=re.DOTALL)


def _escaped(text: str, quote: str) -> str:
    def one(char: str) -> str:
        if char in ("\\", quote):
            return "\\" + char
        return char if char.isprintable() else f"\\x{{{ord(char):x}}}"

    return "".join(map(one, text))
