"""A file of settings: a TOML file, read into a type; no field of another type, none unknown."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import cattrs
from cattrs import transform_error
from cattrs.errors import ClassValidationError

from joinproto.errors import UsageProblem

T = TypeVar("T")


def read_toml(path: Path) -> dict[str, Any]:
    """Return what is in a file; raises `UsageProblem`."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageProblem(
            f"{path}: cannot be read: {error.strerror or error}", next="check the path"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"{path}: is not a TOML file: {error}", next="mend the file") from error


def structured(tree: Mapping[str, Any], kind: type[T], *, next: str) -> T:
    """Return the content as a `kind`; raises `UsageProblem` with `next` and all that is wrong."""
    converter = cattrs.Converter(forbid_extra_keys=True)
    for simple in _WORDS:
        converter.register_structure_hook(simple, _exactly)
    try:
        return converter.structure(tree, kind)
    except ClassValidationError as error:
        found = [line.replace("@ $.", "at ").replace("@ $", "") for line in transform_error(error)]
        raise UsageProblem("; ".join(line.strip() for line in found), next=next) from error


def _exactly(value: Any, kind: type) -> Any:
    # "2" is not a number, and true is none either: a file says what it means.
    fits = type(value) is kind or (kind is float and type(value) is int)
    if not fits:
        raise TypeError(f"{value!r} is not {_WORDS[kind]}")
    return kind(value)


_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
