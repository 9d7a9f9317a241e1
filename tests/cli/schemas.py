"""A small validator of JSON values, for the part of JSON Schema that `tools.json_schema` uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
KNOWN = {
    "type",
    "description",
    "properties",
    "required",
    "items",
    "additionalProperties",
    "enum",
    "minimum",
}


def faults(value: Any, schema: Mapping[str, Any], at: str = "$") -> Iterator[str]:
    """Yield the places where `value` is not as `schema` says, with the reason."""
    unknown = schema.keys() - KNOWN
    assert not unknown, f"this validator does not know {unknown}"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(_is_a(value, kind) for kind in kinds):
        yield f"{at}: {value!r} is not of type {' or '.join(kinds)}"
        return
    if value is None:
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is not one of {schema['enum']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{at}: {value!r} is less than {schema['minimum']}"
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        yield from (
            f"{at}: {name!r} is missing" for name in schema.get("required", ()) if name not in value
        )
        for name, inner in value.items():
            if name in properties:
                yield from faults(inner, properties[name], f"{at}.{name}")
            elif "additionalProperties" in schema:
                yield from faults(inner, schema["additionalProperties"], f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            yield from faults(item, schema["items"], f"{at}[{number}]")


def unexplained(value: Any, schema: Mapping[str, Any], at: str = "$") -> Iterator[str]:
    """Yield keys of `value` that the schema does not name: they are not documented."""
    if isinstance(value, dict) and "properties" in schema:
        for name, inner in value.items():
            if name not in schema["properties"]:
                yield f"{at}.{name}"
            else:
                yield from unexplained(inner, schema["properties"][name], f"{at}.{name}")
    if isinstance(value, list) and "items" in schema:
        for item in value:
            yield from unexplained(item, schema["items"], f"{at}[]")


def _is_a(value: Any, kind: str) -> bool:
    # In JSON, true is not a number; in Python it is one.
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])
