"""The strict reader of JSON that people write; an error names the path of the faulty field."""

from __future__ import annotations

import json
from datetime import date, datetime, time
from typing import Any, TypeVar

from joinproto.codec.codec import Codec
from joinproto.codec.json_text import parsed
from joinproto.codec.malformed import Malformed, MissingField, Refusal, UnknownField, Verbatim
from joinproto.errors import UsageProblem, nearest

T = TypeVar("T")
SCHEMA = "--schema prints the expected form"


class DoesNotFit(UsageProblem):
    """Input that does not fit.  `path`: the path of the faulty field, "" for the whole input."""

    def __init__(self, path: str, message: str, *, next: str) -> None:
        super().__init__(message, next=next)
        self.path = path

    @classmethod
    def of_fault(cls, fault: Malformed, *, next: str = SCHEMA) -> DoesNotFit:
        """Return the error for a fault; `next`: the advice if the fault has none."""
        path, _, about = fault.what.partition(", ")
        match fault:
            case MissingField():
                parent = path.removesuffix(fault.key).removesuffix(".")
                return cls(parent, f"{fault.key} is missing", next=next)
            case Refusal():
                return cls(path, fault.message, next=fault.next)
            case UnknownField():
                known = f"fields: {', '.join(fault.known)}"
                near = nearest(fault.key, fault.known, cutoff=0.7)
                said = f"did you mean {near}?  {known}" if near else known
                return cls(path, "there is no such field", next=said)
        place = f"{about}: " if about else ""
        found = _shown(fault.found)
        return cls(path, f"{place}expected {fault.expected}, found {found}", next=next)

    def of(self, file: str, *, below: str, question: str) -> DoesNotFit:
        """Return the error for a file whose content is the field `below` of a question's input."""
        place = f"{self.path.removeprefix(below).strip('.')}: " if self.path else ""
        next_ = self.next.replace("--schema", f"joinproto ask {question} --schema")
        return DoesNotFit(self.path, f"{file}: {place}{self.message}", next=next_)


def parse(text: str | bytes) -> Any:
    """Return the JSON value of a text; raises `DoesNotFit` if it is not JSON."""
    try:
        found = parsed(text, people=True)
        json.dumps(found, ensure_ascii=False).encode()  # fails for half a surrogate pair
        return found
    except UnicodeEncodeError:
        raise DoesNotFit(
            "", "the input has half a surrogate pair", next="write both halves, or neither"
        ) from None
    except RecursionError:
        fault = Malformed("", Verbatim("nested too deep to read"), "JSON")
    except Malformed as error:
        fault = error
    if fault.expected == "UTF-8":
        raise DoesNotFit("", f"the input is not UTF-8: {fault.found}", next="save it as UTF-8")
    said = f": {fault.found}" if fault.expected == "JSON" else str(fault)
    raise DoesNotFit(
        "", f"the input is not JSON that can be read{said}", next="--schema prints an example"
    )


def fitted(kind: type[T], value: Any) -> T:
    """Return JSON values as a `kind`; raises `DoesNotFit` with the path of the faulty field."""
    try:
        found: T = _ASKED.take(kind, value)
    except Malformed as fault:
        raise DoesNotFit.of_fault(fault) from None
    return found


def _take_whole_number(found: Any) -> int:
    # JSON Schema describes requests, and 3.0 is a whole number there.
    if type(found) is not int and not (type(found) is float and found.is_integer()):
        raise Malformed("", found, _ASKED.words[int])
    return int(found)


_ASKED = Codec(described=True, people=True)
_ASKED.give(int, take=_take_whole_number)


def _shown(value: Any) -> str:
    if isinstance(value, Verbatim):
        return value
    if isinstance(value, date | datetime | time):
        return f"a date, {value}"
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}..."
