"""JSON to attrs values and back: nothing is guessed, what does not fit is named by its path."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import fastjsonschema
from cattrs import Converter

from joinproto.codec.json_form import schema_of
from joinproto.errors import UsageProblem

T = TypeVar("T")
DIGITS_MAX = 18
"""Of a whole number: what fits 64 bits."""
_CONVERTER = Converter()
EXPECTED = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class DoesNotFit(UsageProblem):
    """Input that is not what was asked for; `path`: of the field at fault, "" for the whole."""

    def __init__(self, path: str, message: str, *, next: str) -> None:
        super().__init__(message, next=next)
        self.path = path

    def of(self, file: str, *, below: str, question: str) -> DoesNotFit:
        """Return the error for a file that has the field `below` of a question's input."""
        place = f"{self.path.removeprefix(below).strip('.')}: " if self.path else ""
        next_ = self.next.replace("--schema", f"joinproto ask {question} --schema")
        return DoesNotFit(self.path, f"{file}: {place}{self.message}", next=next_)


def parse(text: str | bytes) -> Any:
    """Return the JSON value; raises `DoesNotFit` for text that is none."""
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        found = json.loads(
            text,
            object_pairs_hook=_once,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_not_huge,
        )
        json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair is no text
        return found
    except UnicodeEncodeError:
        raise DoesNotFit(
            "", "the input has half a surrogate pair", next="write characters whole"
        ) from None
    except UnicodeDecodeError as error:
        raise DoesNotFit("", f"the input is not UTF-8: {error}", next="save it as UTF-8") from None
    except (ValueError, RecursionError) as error:
        raise DoesNotFit(
            "",
            f"the input is not JSON that can be read: {error}",
            next="--schema prints an example",
        ) from None


class Reader(Generic[T]):
    """Reads JSON values as one type."""

    def __init__(self, kind: type[T]) -> None:
        self.kind = kind
        self._check: Callable[[Any], Any] = fastjsonschema.compile(
            schema_of(kind, read=True), use_default=False
        )

    def read(self, value: Any) -> T:
        """Return the value; raises `DoesNotFit` with the path of a field at fault."""
        try:
            self._check(value)
        except fastjsonschema.JsonSchemaValueException as error:
            raise _said(error) from None
        return _CONVERTER.structure(value, self.kind)


_READERS: dict[type[Any], Reader[Any]] = {}


def reader_of(kind: type[T]) -> Reader[T]:
    """Return the reader of one type, made once: it is compiled."""
    if kind not in _READERS:
        _READERS[kind] = Reader(kind)
    return _READERS[kind]


def _said(error: fastjsonschema.JsonSchemaValueException) -> DoesNotFit:
    path = _path(error.path[1:])
    schema = "--schema prints what fits"
    match error.rule:
        case "additionalProperties":
            unknown = sorted(set(error.value) - set(error.definition["properties"]))
            known = ", ".join(error.definition["properties"])
            first = f"{path}.{unknown[0]}" if path else unknown[0]
            return DoesNotFit(first, "there is no such field", next=f"fields: {known}")
        case "required":
            missing = next(one for one in error.rule_definition if one not in error.value)
            return DoesNotFit(path, f"{missing} is missing", next=schema)
        case "minimum":
            wanted = f"a number from {error.rule_definition} on"
        case "enum":
            wanted = "one of " + ", ".join(map(_shown, error.rule_definition))
        case _:
            kinds = error.definition.get("type", "")
            kinds = [kinds] if isinstance(kinds, str) else kinds
            wanted = " or ".join(EXPECTED.get(one, "something else") for one in kinds)
    return DoesNotFit(path, f"expected {wanted}, found {_shown(error.value)}", next=schema)


def _path(parts: list[str]) -> str:
    said = ""
    for part in parts:
        said += f"[{part}]" if part.isdigit() else f".{part}" if said else part
    return said


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{double!r} stands twice in one object")
    return found


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:20]} is too large")
    return value


def _not_huge(text: str) -> int:
    if len(text) > DIGITS_MAX:
        raise ValueError(f"{text[:DIGITS_MAX]}... is too large")
    return int(text)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")
