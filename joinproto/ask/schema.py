"""JSON Schema (draft 2020-12) of an attrs type, from its annotations and its fields' metadata.

`about` becomes the description, `least` the minimum.  Defaults stand in the schema; no object
allows a field that it does not name.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
from cattrs import Converter

Schema = dict[str, Any]
SIMPLE: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}
_PLAIN = Converter()


def schema_of(kind: Any) -> Schema:
    """Return the schema of everything that reads as a `kind`."""
    if kind is Any:
        return {}
    if kind in SIMPLE:
        return {"type": SIMPLE[kind]}
    if kind is type(None):
        return {"type": "null"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"enum": [one.value for one in kind]}
    if attrs.has(kind):
        return _object(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union) and type(None) in inner:
        (other,) = (one for one in inner if one is not type(None))
        return _or_null(schema_of(other))
    if origin in (tuple, list, Sequence):
        return {"type": "array", "items": schema_of(inner[0])}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inner[1])}
    raise TypeError(f"no JSON Schema for {kind!r}")


def _object(kind: Any) -> Schema:
    hints = get_type_hints(kind)
    properties: Schema = {}
    required = []
    for one in attrs.fields(kind):
        found = schema_of(hints[one.name])
        if "about" in one.metadata:
            found["description"] = one.metadata["about"]
        if "least" in one.metadata:
            found["minimum"] = one.metadata["least"]
        if one.default is attrs.NOTHING:
            required.append(one.name)
        elif not isinstance(one.default, attrs.Factory):  # type: ignore[arg-type]
            found["default"] = _PLAIN.unstructure(one.default)
        properties[one.name] = found
    about = (kind.__doc__ or "").split("\n")[0]
    return {
        "type": "object",
        "description": about,
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _or_null(schema: Schema) -> Schema:
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    return {**schema, "type": [schema["type"], "null"]}
