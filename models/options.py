"""Words of a command line as the values that a world's function takes.

By the parameter's annotation, else by its default: `fair: bool` makes `false` false.  What does
not fit is refused; a parameter with neither takes a number, a tuple and the like as such, and
anything else as text.
"""

from __future__ import annotations

import ast
import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from models.problems import ModelProblem

YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


FLAGS = ("members", "wait_for", "crashes", "partitions", "lose", "register", "mutant")
"""Parameters that are options of the command line; any other is given by `--set`."""


class Words(str):
    """What was typed for a parameter, not yet a value."""

    __slots__ = ()


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Return options as words of a command line."""
    return [word for name, value in options.items() for word in typed(name, value)]


def typed(name: str, value: Any) -> list[str]:
    """Return one option as it is typed."""
    flag = name.replace("_", "-")
    if name not in FLAGS:
        return ["--set", f"{name}={value}"]
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    return [f"--{flag}", str(value)]


def listed(names: Iterable[str]) -> str:
    """Return how options of these names are given."""
    return ", ".join(
        f"--{name.replace('_', '-')}" if name in FLAGS else f"--set {name}=..." for name in names
    )


class Misfit(Exception):
    """The text is no value of that kind; said: what would be."""


def converted(
    options: Mapping[str, Any], made: Callable[..., Any], *, place: str = ""
) -> dict[str, Any]:
    """Return `options` with values for words; raises `ModelProblem`."""
    return {
        name: convert(name, value, made, place=place) if isinstance(value, Words) else value
        for name, value in options.items()
    }


def convert(name: str, text: str, made: Callable[..., Any], *, place: str = "") -> Any:
    """Return `text` as the value of the parameter `name` of `made`; raises `ModelProblem`."""
    kind = _kind_of(name, made)
    try:
        return _as(kind, text.strip())
    except Misfit as misfit:
        raise ModelProblem(
            f"--set {name}={text} does not fit: {name} is {misfit}",
            next=f"--set {name}=...   with {misfit}",
            place=place,
        ) from None


def _kind_of(name: str, made: Callable[..., Any]) -> Any:
    """Return what the parameter wants: its annotation, the type of its default, or Any."""
    parameter = inspect.signature(made).parameters.get(name)
    if parameter is None:
        return Any
    try:
        hints = typing.get_type_hints(made)
    except Exception:  # noqa: BLE001  an annotation may name what is not there
        hints = {}
    kind = hints.get(name, Any)
    if kind is Any and parameter.default not in (parameter.empty, None):
        return type(parameter.default)
    return kind


def _as(kind: Any, text: str) -> Any:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or kind is object:
        return _literal(text)
    if origin in (typing.Union, types.UnionType):
        return _as_one_of(parts, text)
    if origin is typing.Literal:
        return _as_literal(parts, text)
    if kind is type(None):
        if text.lower() == "none":
            return None
        raise Misfit("none")
    if kind is bool:
        if text.lower() in YES:
            return True
        if text.lower() in NO:
            return False
        raise Misfit("true or false")
    if kind is str:
        return text
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            raise Misfit("a whole number" if kind is int else "a number") from None
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _as_enum(kind, text)
    found = _literal(text)
    wanted = origin or kind
    if not isinstance(wanted, type):
        return found
    if wanted in (set, frozenset, tuple, list) and isinstance(found, (set, tuple, list)):
        return wanted(found)
    if not isinstance(found, wanted):
        raise Misfit(f"a value of type {getattr(kind, '__name__', kind)}")
    return found


def _as_one_of(kinds: tuple[Any, ...], text: str) -> Any:
    said = []
    # Text last: it takes everything.
    for kind in sorted(kinds, key=lambda kind: kind is str):
        try:
            return _as(kind, text)
        except Misfit as misfit:
            said.append(str(misfit))
    raise Misfit(" or ".join(said))


def _as_literal(values: tuple[Any, ...], text: str) -> Any:
    for value in values:
        if str(value) == text:
            return value
    raise Misfit("one of " + ", ".join(map(str, values)))


def _as_enum(kind: type[enum.Enum], text: str) -> enum.Enum:
    for item in kind:
        if text in (item.name, item.name.lower(), str(item.value)):
            return item
    raise Misfit("one of " + ", ".join(item.name.lower() for item in kind))


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
