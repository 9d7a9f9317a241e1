"""Trees as JSON text and back; what another program would read otherwise is refused."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from joinproto.codec.malformed import Malformed, Said, shown

_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_ASCII = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def compact(tree: Any) -> bytes:
    """Return a tree without blanks; raises `TypeError` or `ValueError` for what is none."""
    return _COMPACT(tree).encode()


def ascii_line(tree: Any) -> bytes:
    """Return the same in ASCII; a text may hold half a surrogate pair."""
    return _ASCII(tree).encode()


def parsed(data: bytes, what: str = "") -> Any:
    """Return the tree; raises `Malformed`, about `what`.

    No key stands twice: Python would take the last one, and a person reads the first.
    """
    try:
        return _DECODE(data.decode())
    except UnicodeDecodeError as error:
        raise Malformed(what, Said(f"{error.reason} at byte {error.start}"), "UTF-8") from None
    except RecursionError:
        raise Malformed(what, Said("nested too deep to read"), "JSON") from None
    except Malformed as error:
        raise error.within(what) from None
    except ValueError as error:
        raise Malformed(what, Said(str(error)), "JSON") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) < len(pairs):
        keys = [key for key, _ in pairs]
        double = next(key for at, key in enumerate(keys) if key in keys[:at])
        raise Malformed("", Said(f"the key {shown(double)} twice"), "each key once")
    return tree


def _no_number(text: str) -> NoReturn:
    raise Malformed("", Said(text), "a finite number")


_DECODE = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_number).decode
