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
    """Return a tree as JSON in UTF-8, without blanks.

    Raises `TypeError` or `ValueError` for a value that is no tree, and for lone surrogates.
    """
    return _COMPACT(tree).encode()


def ascii_line(tree: Any) -> bytes:
    """Return a tree as JSON in ASCII, without blanks; a text may have a lone surrogate."""
    return _ASCII(tree).encode()


def parsed(data: bytes | str, what: str = "", *, people: bool = False) -> Any:
    """Return the tree of a JSON text; raises `Malformed`, with the path `what`.

    An object must not have a key twice: Python would take the last one, and a person reads the
    first.  `people`: people write the text.  Then the size of numbers is limited, and a byte order
    mark may come first.
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


def _require_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise Malformed("", Verbatim(f"the key {shown(double)} twice"), "each key once")
    return tree


def _refuse_constant(text: str) -> NoReturn:
    raise Malformed("", Verbatim(text), "a finite number")


def _read_float(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise Malformed("", Verbatim(text[:20]), "a smaller number")
    return value


def _read_int(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise Malformed("", Verbatim(f"{text[:DIGITS_MAX]}..."), "a smaller number")
    return int(text)


_DECODE = json.JSONDecoder(
    object_pairs_hook=_require_unique_keys, parse_constant=_refuse_constant
).decode
_DECODE_OF_PEOPLE = json.JSONDecoder(
    object_pairs_hook=_require_unique_keys,
    parse_constant=_refuse_constant,
    parse_float=_read_float,
    parse_int=_read_int,
).decode
