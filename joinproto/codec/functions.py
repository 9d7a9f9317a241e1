"""The functions from which a codec builds its readers and writers of single values.

A `Put` turns a value into a tree, a `Take` a tree into a value.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

from joinproto.codec.malformed import Malformed, Verbatim

Put = Callable[[Any], Any]
Take = Callable[[Any], Any]

DEPTH_MAX = 32
"""The most levels of a value of type `Any`."""

CONSTRUCTOR_ERRORS = (LookupError, TypeError, ValueError)
"""The exceptions that a class raises if its parts do not fit together."""


def refused(error: Exception, kind: str) -> Malformed:
    """Return the exception as a `Malformed` about a whole value; `kind`: the value's class."""
    if not isinstance(error, Malformed):
        return Malformed("", Verbatim(str(error)), f"a {kind}")
    error.what = f", {error.what}"
    return error


def same(value: Any) -> Any:
    """Return the value itself: it is its own tree."""
    return value


def built(made: dict[Any, Put], kind: Any, build: Callable[[Any], Put]) -> Put:
    """Build the function of the type `kind`, and keep it in `made`; the type may contain itself."""

    def later(value: Any) -> Any:
        return made[kind](value)

    made[kind] = later
    try:
        made[kind] = build(kind)
    finally:
        if made[kind] is later:  # `build` failed
            del made[kind]
    return made[kind]


def converted(take: Take, make: Callable[[Any], Any]) -> Take:
    def made(found: Any) -> Any:
        tree = take(found)
        try:
            return make(tree)
        except CONSTRUCTOR_ERRORS as error:
            raise refused(error, "value") from error

    return made


def chained(first: Put, second: Put) -> Put:
    return lambda value: second(first(value))


def rounded(digits: int) -> Put:
    return lambda value: None if value is None else round(value, digits)


def conditional(take: Take, holds: Callable[[Any], Any], expected: str) -> Take:
    def checked(found: Any) -> Any:
        value = take(found)
        if value is not None and not holds(value):
            raise Malformed("", found, expected)
        return value

    return checked


def sized(take: Take, least: int, most: int) -> Take:
    def checked(found: Any) -> Any:
        if isinstance(found, list | dict) and not least <= len(found) <= most:
            raise Malformed("", Verbatim(f"{len(found)} items"), f"{least} to {most} items")
        return take(found)

    return checked


def take_plain(kind: type, word: str) -> Take:
    def take(found: Any) -> Any:
        if type(found) is not kind:
            raise Malformed("", found, word)
        return found

    return take


def take_int(word: str, least: int, most: int, expected: str) -> Take:
    def take(found: Any) -> Any:
        if type(found) is not int:
            raise Malformed("", found, word)
        if not least <= found <= most:
            raise Malformed("", found, expected)
        return found

    return take


def take_float(word: str) -> Take:
    def take(found: Any) -> float:
        if type(found) is not float and type(found) is not int:
            raise Malformed("", found, word)
        try:
            value = float(found)
        except OverflowError:
            raise Malformed("", Verbatim("a huge number"), "a smaller number") from None
        if not isfinite(value):
            raise Malformed("", found, "a finite number")
        return value

    return take


def take_any(found: Any, depth: int = 0) -> Any:
    if depth > DEPTH_MAX:
        raise Malformed("", Verbatim("more levels"), f"at most {DEPTH_MAX} levels of nesting")
    inner = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    for one in inner:
        take_any(one, depth + 1)
    if isinstance(found, float) and not isfinite(found):
        raise Malformed("", found, "a finite number")
    return found
