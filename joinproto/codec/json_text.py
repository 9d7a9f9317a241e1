"""Trees as JSON text and back; text that two programs may read differently is refused."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NoReturn

from joinproto.codec.malformed import Malformed, Verbatim, shown

DIGITS_MAX = 18
"""The most characters of a whole number that a person writes, so that it fits 64 bits."""

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_ASCII = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def compact(tree: Any) -> bytes:
    """Return a tree as UTF-8, without blanks; raises `TypeError` or `ValueError` for others."""
    return _COMPACT(tree).encode()


def ascii_line(tree: Any) -> bytes:
    """Return a tree in ASCII without blanks; a text may have half a surrogate pair."""
    return _ASCII(tree).encode()


def parsed(data: bytes | str, what: str = "", *, people: bool = False) -> Any:
    """Return the tree of a text; raises `Malformed`, about `what`.

    No key may stand twice: Python would take the last one, and a person reads the first.  `people`:
    people write the text.  Then numbers have a largest size, and a mark of UTF-8 may come first.
    """
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig" if people else "utf-8")
        return (_DECODE_OF_PEOPLE if people else _DECODE)(text)
    except UnicodeDecodeError as error:
        raise Malformed(what, Verbatim(f"{error.reason} at byte {error.start}"), "UTF-8") from None
    except RecursionError:
        raise Malformed(what, Verbatim("nested too deep to read"), "JSON") from None
    except Malformed as error:
        raise error.within(what) from None
    except ValueError as error:
        raise Malformed(what, Verbatim(str(error)), "JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise Malformed("", Verbatim(f"the key {shown(double)} twice"), "each key once")
    return tree


def _no_number(text: str) -> NoReturn:
    raise Malformed("", Verbatim(text), "a finite number")


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise Malformed("", Verbatim(text[:20]), "a smaller number")
    return value


def _not_huge(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise Malformed("", Verbatim(f"{text[:DIGITS_MAX]}..."), "a smaller number")
    return int(text)


_DECODE = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number).decode
_DECODE_OF_PEOPLE = json.JSONDecoder(
    object_pairs_hook=_once,
    parse_constant=_no_number,
    parse_float=_finite,
    parse_int=_not_huge,
).decode
