"""The JSON form of printed and stored values: values both ways, and their types as JSON Schema.

A class is printed and read by its annotations.  Only the fields and properties with a description
belong to the object:

    trace_length: Annotated[int | None, AtLeast(0), "steps of the shortest run; null: none"]

So output, input and documentation cannot differ.  Keys are only added, never removed: a program
ignores keys that it does not know, and no schema of output forbids unknown keys.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import attrs

from joinproto.codec.codec import Codec
from joinproto.codec.marks import (
    Absent,
    AtLeast,
    Count,
    Digits,
    Key,
    Last,
    Merged,
    MoreThan,
    Seconds,
    Written,
    parts_of,
    stripped,
)

__all__ = [
    "Absent",
    "AtLeast",
    "Count",
    "Digits",
    "Key",
    "Last",
    "Merged",
    "Schema",
    "Seconds",
    "Written",
    "canonical_hash",
    "encoded",
    "filled",
    "printed",
    "read",
    "schema_of",
]

Schema = dict[str, Any]
T = TypeVar("T")
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_FORM = Codec(described=True)


def encoded(value: Any) -> Any:
    """Return a value as JSON values: dicts, lists, text, numbers, booleans and None."""
    return _FORM.put(value)


def printed(value: Any) -> str:
    """Return a value as the one line that a command prints."""
    return json.dumps(encoded(value))


def filled(cls: type[T], *sources: object, **given: Any) -> T:
    """Return a value of an attrs class: fields as given, others from the first source that has one.

    A source has a field if it has an attribute of that name.  Raises `TypeError` for a field that
    is not given, not in a source, and without a default.
    """
    kind: Any = cls
    for name in (one.name for one in attrs.fields(kind)):
        source = next((one for one in sources if hasattr(one, name)), None)
        if source is not None and name not in given:
            given[name] = getattr(source, name)
    return cls(**given)


def read(kind: Any, tree: Any) -> Any:
    """Return the value from which `encoded` makes these JSON values; ignore unknown keys.

    The class must have no `Merged` parts; fields that are not printed get their defaults.  Raises
    `Malformed` for a tree that does not fit.
    """
    return _FORM.take(kind, tree)


def canonical_hash(tree: Any) -> str:
    """Return the SHA-256 of JSON values as text: sorted keys, ASCII, no blanks.

    Histories, plans and .info files contain it, so it must never change.
    """
    from hashlib import sha256  # here, because its import takes time

    text = json.dumps(tree, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


# -- types --------------------------------------------------------------------------------


def schema_of(cls: type, about: str = "", *, read: bool = False) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a class's output.

    `about`: its description, "" for the class's first paragraph.  `read`: return the schema of the
    class's input, in which fields with a default may be left out, and unknown keys are errors.
    """
    properties: Schema = {}
    required: list[str] = []
    for part in parts_of(cls):
        merged = part.mark(Merged)
        if merged:
            inner = schema_of(_without_none(part.kind)[0])
            properties |= inner["properties"]
            required += [] if merged.optional else inner["required"]
            continue
        properties[part.key] = _schema(part.kind, part.about, part.marks, read=read)
        default = _default(cls, part.name) if read else attrs.NOTHING
        if default is not attrs.NOTHING:
            properties[part.key]["default"] = encoded(default)
        elif not part.mark(Absent):
            required.append(part.key)
    said = about or (cls.__doc__ or "").partition("\n\n")[0]
    return {
        "type": "object",
        "description": said,
        "properties": properties,
        "required": required,
    } | ({"additionalProperties": False} if read else {})


def _default(cls: type, name: str) -> Any:
    default: Any = attrs.fields_dict(cls)[name].default
    return default.factory() if hasattr(default, "factory") else default


def _without_none(kind: Any) -> list[Any]:
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    return [part for part in parts if part is not NoneType]


def _schema(kind: Any, about: str, marks: tuple[Any, ...] = (), *, read: bool = False) -> Schema:
    kind, inner_marks = stripped(kind)
    marks = (*marks, *inner_marks)
    kinds = _without_none(kind)
    or_null = len(kinds) < len(get_args(kind)) and get_origin(kind) in (Union, UnionType)
    schemas = [_type_schema(part, about, read=read) for part in kinds]
    schema: Schema = schemas[0]
    if len(schemas) > 1:
        schema = {"type": [one["type"] for one in schemas], "description": about}
    for part in kinds:
        marks = (*marks, *stripped(part)[1])
    for mark in marks:
        if isinstance(mark, AtLeast):
            schema["minimum"] = mark.least
        if isinstance(mark, MoreThan):
            schema["exclusiveMinimum"] = mark.bound
    if or_null and not any(isinstance(mark, Absent) for mark in marks):
        said = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = [*said, "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    return schema


def _type_schema(kind: Any, about: str, *, read: bool) -> Schema:
    kind, _ = stripped(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Any:
        return {"type": ["array", "object", *_PLAIN.values()], "description": about}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind], "description": about}
    if origin is Literal:
        return {"type": "string", "description": about, "enum": list(parts)}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"type": "string", "description": about, "enum": [one.value for one in kind]}
    if isinstance(kind, type) and attrs.has(kind):
        return schema_of(kind, about, read=read)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        tree: Schema = {"type": "object", "description": about}
        if parts[1] is not Any:
            tree["additionalProperties"] = _schema(parts[1], "a value", read=read)
        return tree
    if isinstance(origin, type):  # a tuple, a list
        items = _schema(parts[0], _item(parts[0]), read=read)
        return {"type": "array", "description": about, "items": items}
    raise TypeError(f"{kind} has no place in a JSON object: give it a class, or a plain type")


def _item(kind: Any) -> str:
    """Return the description of a list's items, "" if their class has it."""
    kind, marks = stripped(kind)
    said = next((mark for mark in marks if isinstance(mark, str)), "")
    return said or ("" if attrs.has(kind) else "one of them")
