"""The form of what is printed and kept as JSON: values both ways, and their types as JSON Schema.

A class is printed and read by its annotations.  A field, or a property, that says what it is
belongs to the object, and nothing else does:

    trace_length: Annotated[int | None, AtLeast(0), "steps of the shortest run; null: none"]

So what is printed, read and documented cannot differ.  Keys are only ever added: a program
ignores those it does not know, and no schema of what is printed forbids any.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

Schema = dict[str, Any]
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "a boolean"}


@frozen
class Key:
    """The key, where it is not the name."""

    key: str


@frozen
class AtLeast:
    """The least that a number can be."""

    least: int


@frozen
class Digits:
    """So many digits behind the point are printed."""

    digits: int


@frozen
class Absent:
    """What is None is left out; what is left out is read as the default."""


@frozen
class Written:
    """Stands there as another type: `put` makes it of the value, `take` the value of it.

    `take` raises `ValueError` for what no `put` makes.
    """

    kind: Any
    put: Callable[[Any], Any]
    take: Callable[[Any], Any]


@frozen
class Merged:
    """The keys of the value stand beside the others; `optional`: they may all be absent."""

    optional: bool = False


Count = Annotated[int, AtLeast(0)]
Seconds = Annotated[float, AtLeast(0), Digits(3)]
"""Durations, and CPU time."""


@frozen
class Part:
    """A key of a printed object.  `name`: of the attribute; `kind`: the type that stands there."""

    name: str
    kind: Any
    marks: tuple[Any, ...]

    def mark(self, kind: type) -> Any:
        """Return the mark of that kind, or None."""
        return next((mark for mark in self.marks if isinstance(mark, kind)), None)

    @property
    def written(self) -> Written | None:
        found: Written | None = self.mark(Written)
        return found

    @property
    def key(self) -> str:
        renamed = self.mark(Key)
        return self.name if renamed is None else str(renamed.key)

    @property
    def about(self) -> str:
        return " ".join(self.mark(str).split())


@cache
def parts_of(cls: type) -> tuple[Part, ...]:
    """Return what is printed of a class, fields first."""
    hints = get_type_hints(cls, include_extras=True)
    names = [field.name for field in attrs.fields(cls)]
    told = [(name, hints[name]) for name in names] + [*_properties(cls)]
    parts = (_part(name, *_stripped(hint)) for name, hint in told)
    return tuple(part for part in parts if part.mark(str) is not None or part.mark(Merged))


def _part(name: str, kind: Any, marks: tuple[Any, ...]) -> Part:
    written = next((mark for mark in marks if isinstance(mark, Written)), None)
    return Part(name, kind if written is None else written.kind, marks)


def _properties(cls: type) -> Iterator[tuple[str, Any]]:
    for one in reversed(cls.__mro__):
        for name, value in vars(one).items():
            if isinstance(value, property):
                yield name, get_type_hints(value.fget, include_extras=True).get("return", Any)


def _stripped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    if get_origin(hint) is not Annotated:
        return hint, ()
    kind, *marks = get_args(hint)
    return kind, tuple(marks)


# -- values -------------------------------------------------------------------------------


def encoded(value: Any) -> Any:
    """Return a value as JSON values: dicts, lists, text, numbers, booleans and None."""
    return _converter().unstructure(value)


def printed(value: Any) -> str:
    """Return a value as the one line that a command prints."""
    return json.dumps(encoded(value))


def canonical_hash(tree: Any) -> str:
    """Return the SHA-256 of JSON values as text: sorted keys, ASCII, no blanks.

    Histories, plans and .info files are bound by it: it never changes.
    """
    from hashlib import sha256  # inside: it takes a while to load

    text = json.dumps(tree, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


@cache
def _converter() -> Any:
    import cattrs  # inside: the classes above are declared where nobody prints them

    converter = cattrs.Converter(unstruct_collection_overrides={tuple: list, frozenset: sorted})
    converter.register_unstructure_hook_factory(attrs.has, _hook)
    return converter


def _hook(cls: type) -> Callable[[Any], dict[str, Any]]:
    parts = parts_of(cls)

    def hook(value: Any) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for part in parts:
            found = getattr(value, part.name)
            if found is None and (part.mark(Absent) or part.mark(Merged)):
                continue
            if part.written is not None:
                found = part.written.put(found)
            digits = part.mark(Digits)
            if digits is not None and found is not None:
                found = round(found, digits.digits)
            tree |= encoded(found) if part.mark(Merged) else {part.key: encoded(found)}
        return tree

    return hook


# -- reading ------------------------------------------------------------------------------


def read(kind: Any, tree: Any) -> Any:
    """Return the value of which `encoded` made these JSON values; keys it does not know are left.

    Of classes without `Merged` parts; what is not printed has its default.
    Nothing is converted: "5" is not a number, and True is none.  Raises `KeyError`, `TypeError`
    or `ValueError` for what `encoded` makes of no such value.
    """
    return _reader().structure(tree, kind)


@cache
def _reader() -> Any:
    import cattrs  # inside, as above

    reader = cattrs.Converter(detailed_validation=False)
    for kind in _WORDS:
        reader.register_structure_hook(kind, _same)
    reader.register_structure_hook_func(_is_a(tuple), _read_tuple)
    reader.register_structure_hook_func(_is_a(Mapping), _read_mapping)
    reader.register_structure_hook_factory(attrs.has, _read_hook)
    return reader


def _is_a(origin: Any) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is origin


def _same(value: Any, kind: type) -> Any:
    is_kind = type(value) is kind or (kind is float and type(value) is int)
    if not is_kind:
        raise TypeError(f"{value!r} is not {_WORDS[kind]}")
    return kind(value) if kind is float else value


def _read_tuple(value: Any, kind: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    parts = get_args(kind)
    kinds = parts[:1] * len(value) if Ellipsis in parts else parts
    return tuple(read(part, one) for one, part in zip(value, kinds, strict=True))


def _read_mapping(value: Any, kind: Any) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    key, item = get_args(kind)
    return {read(key, name): read(item, one) for name, one in value.items()}


def _read_hook(cls: type) -> Callable[[Any, type], Any]:
    parts = {part.name: part for part in parts_of(cls)}
    parts = {field.name: parts[field.name] for field in attrs.fields(cls) if field.name in parts}

    def hook(tree: Any, _: type) -> Any:
        if not isinstance(tree, dict):
            raise TypeError(f"{tree!r} is not an object")
        given: dict[str, Any] = {}
        for name, part in parts.items():
            if part.key in tree or not part.mark(Absent):
                found = read(part.kind, tree[part.key])
                given[name] = found if part.written is None else part.written.take(found)
        return cls(**given)

    return hook


# -- types --------------------------------------------------------------------------------


def schema_of(cls: type, about: str = "", *, read: bool = False) -> Schema:
    """Return the JSON Schema (draft 2020-12) of what is printed of a class.

    `read`: of what is read as one: what has a default may be left out, and no key is unknown.
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
    kind, inner_marks = _stripped(kind)
    marks = (*marks, *inner_marks)
    kinds = _without_none(kind)
    or_null = len(kinds) < len(get_args(kind)) and get_origin(kind) in (Union, UnionType)
    schemas = [_one(part, about, read=read) for part in kinds]
    schema: Schema = schemas[0]
    if len(schemas) > 1:
        schema = {"type": [one["type"] for one in schemas], "description": about}
    for part in kinds:
        marks = (*marks, *_stripped(part)[1])
    for mark in marks:
        if isinstance(mark, AtLeast):
            schema["minimum"] = mark.least
    if or_null and not any(isinstance(mark, Absent) for mark in marks):
        said = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        schema["type"] = [*said, "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], None]
    return schema


def _one(kind: Any, about: str, *, read: bool) -> Schema:
    kind, _ = _stripped(kind)
    origin, parts = get_origin(kind), get_args(kind)
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
    """Return what one of a list is: what it says of itself, or its class does."""
    kind, marks = _stripped(kind)
    said = next((mark for mark in marks if isinstance(mark, str)), "")
    return said or ("" if attrs.has(kind) else "one of them")
