"""Erlang terms as text: the small part of them that RabbitMQ's cluster files use.

    {[rabbit@one,'rabbit@my-host'],[rabbit@one]}.

Atoms, quoted or not, lists and tuples of them, white space, comments (`%` to the end of the
line) and the full stop.  Everything else of the language (numbers, strings, binaries, maps)
is refused: where it stands, the file is not what it should be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from attrs import frozen

from joinproto.recovery.foreign.text import NotAsWritten, shown

DEPTH_MAX = 8
"""RabbitMQ's files nest twice."""


@frozen
class Atom:
    """A name."""

    name: str


@frozen
class TupleOf:
    """`{...}`."""

    items: tuple[Term, ...]


@frozen
class ListOf:
    """`[...]`."""

    items: tuple[Term, ...]


Term: TypeAlias = Atom | TupleOf | ListOf

_TOKEN = re.compile(
    r"""(?P<space>(?:[ \t\r\n]|%[^\n]*)+)
      | (?P<atom>[a-z][A-Za-z0-9_@]*)
      | '(?P<quoted>(?:[^'\\\n]|\\.)*)'
      | (?P<sign>[\[\]{},.])""",
    re.VERBOSE,
)

# What `~w` puts behind a backslash inside of quotes, beside the octal and the hexadecimal
# codes, which no node's name needs.
_ESCAPES = {"'": "'", "\\": "\\"}


@frozen
class _Token:
    """`kind`: "atom", "sign" or "end".  `at`: the byte where it begins."""

    kind: str
    text: str
    at: int


def parse(text: str) -> Term:
    """Return the one term in `text`, which ends with a full stop; raises `NotAsWritten`."""
    tokens = _tokens(text)
    term = _term(tokens, next(tokens), 0)
    _expect(next(tokens), ".")
    end = next(tokens)
    if end.kind != "end":
        raise NotAsWritten(f"byte {end.at}: more text after the end of the term")
    return term


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise NotAsWritten(f"byte {at}: {shown(text[at : at + 10])} is not expected here")
        if found.lastgroup == "quoted":
            yield _Token("atom", _unquoted(found["quoted"], at), at)
        elif found.lastgroup != "space":
            yield _Token(found.lastgroup or "", found.group(), at)
        at = found.end()
    while True:
        yield _Token("end", "", len(text))


def _unquoted(text: str, at: int) -> str:
    def one(escape: re.Match[str]) -> str:
        if escape[1] not in _ESCAPES:
            raise NotAsWritten(f"byte {at}: the escape {shown(escape[0])} is in no node's name")
        return _ESCAPES[escape[1]]

    return re.sub(r"\\(.)", one, text)


def _term(tokens: Iterator[_Token], token: _Token, depth: int) -> Term:
    if depth > DEPTH_MAX:
        raise NotAsWritten(f"byte {token.at}: nested more than {DEPTH_MAX} times")
    if token.kind == "atom":
        return Atom(token.text)
    if token.text == "[":
        return ListOf(_items(tokens, "]", depth))
    if token.text == "{":
        return TupleOf(_items(tokens, "}", depth))
    raise _unexpected(token, "a name, a list or a tuple")


def _items(tokens: Iterator[_Token], close: str, depth: int) -> tuple[Term, ...]:
    token = next(tokens)
    if token.text == close and token.kind == "sign":
        return ()
    items = []
    while True:
        items.append(_term(tokens, token, depth + 1))
        token = next(tokens)
        if token.kind == "sign" and token.text == close:
            return tuple(items)
        _expect(token, ",", f'"," or "{close}"')
        token = next(tokens)


def _expect(token: _Token, sign: str, wanted: str = "") -> None:
    if token.kind != "sign" or token.text != sign:
        raise _unexpected(token, wanted or f'"{sign}"')


def _unexpected(token: _Token, wanted: str) -> NotAsWritten:
    if token.kind == "end":
        return NotAsWritten(f"ends at byte {token.at}, where {wanted} is expected: cut off")
    return NotAsWritten(f"byte {token.at}: {shown(token.text)}, expected {wanted}")
