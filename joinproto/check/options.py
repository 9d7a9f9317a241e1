"""Words of a command line as the values that a world's function takes.

By the parameter's annotation, else by its default: `fair: bool` makes `false` false.  A value that
does not fit is refused; a parameter with neither takes a number, a tuple and the like as such, and
anything else as text.
"""

from __future__ import annotations

import ast
import cmath
import enum
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from joinproto.check.problems import ModelProblem

EACH = "each:"
YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


FLAGS = ("members", "wait_for", "crashes", "partitions", "lose", "register", "mutant")
"""Parameters that are options of the command line; any other is given by `--set`."""


class Words(str):
    """The text that was typed for a parameter, not yet a value."""

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


class WrongKind(Exception):
    """The text is no value of that kind; the message names a valid one."""


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
    except WrongKind as misfit:
        several = ".." in text or text.startswith(EACH)
        raise ModelProblem(
            f"--set {name}={text} does not fit: {name} is {misfit}",
            next=f"--set {name}=...   with {misfit}"
            + ("; only joinproto check takes several values" if several else ""),
            place=place,
        ) from None


def _kind_of(name: str, made: Callable[..., Any]) -> Any:
    """Return the type of a parameter: its annotation, the type of its default, or Any."""
    parameter = inspect.signature(made).parameters.get(name)
    if parameter is None:
        return Any
    try:
        hints = typing.get_type_hints(made)
    except Exception:  # noqa: BLE001  an annotation may name an undefined type
        hints = {}
    kind = hints.get(name, Any)
    if kind is Any and parameter.default not in (parameter.empty, None):
        return type(parameter.default)
    return kind


def is_text(name: str, made: Callable[..., Any]) -> bool:
    """Return whether the parameter `name` of `made` takes a text."""
    kind = _kind_of(name, made)
    return kind is str or str in typing.get_args(kind)


def said_kind(name: str, made: Callable[..., Any]) -> str:
    """Return a text about the values of the parameter `name` of `made`."""
    return _said(_kind_of(name, made))


def _said(kind: Any) -> str:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or kind is object:
        return "any value"
    if origin in (typing.Union, types.UnionType):
        return " or ".join(map(_said, parts))
    if origin is typing.Literal:
        return "one of " + ", ".join(map(str, parts))
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return "one of " + ", ".join(item.name.lower() for item in kind)
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    return "none" if kind is type(None) else words.get(kind, getattr(kind, "__name__", str(kind)))


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
        raise WrongKind("none")
    if kind is bool:
        if text.lower() in YES:
            return True
        if text.lower() in NO:
            return False
        raise WrongKind("true or false")
    if kind is str:
        return text
    if kind in (int, float):
        try:
            number = kind(text)
            if number in (math.inf, -math.inf) or number != number:
                raise ValueError  # JSON has no such number
        except ValueError:
            raise WrongKind("a whole number" if kind is int else "a number") from None
        return number
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _as_enum(kind, text)
    found = _literal(text)
    wanted = origin or kind
    if not isinstance(wanted, type):
        return found
    if wanted in (set, frozenset, tuple, list) and isinstance(found, (set, tuple, list)):
        return wanted(found)
    if not isinstance(found, wanted):
        raise WrongKind(f"a value of type {getattr(kind, '__name__', kind)}")
    return found


def _as_one_of(kinds: tuple[Any, ...], text: str) -> Any:
    said = []
    # Text last: it takes everything.
    for kind in sorted(kinds, key=lambda kind: kind is str):
        try:
            return _as(kind, text)
        except WrongKind as misfit:
            said.append(str(misfit))
    raise WrongKind(" or ".join(said))


def _as_literal(values: tuple[Any, ...], text: str) -> Any:
    for value in values:
        if str(value) == text:
            return value
    raise WrongKind("one of " + ", ".join(map(str, values)))


def _as_enum(kind: type[enum.Enum], text: str) -> enum.Enum:
    for item in kind:
        if text in (item.name, item.name.lower(), str(item.value)):
            return item
    raise WrongKind("one of " + ", ".join(item.name.lower() for item in kind))


def _literal(text: str) -> Any:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = text
    if not _is_sayable(_NO_NUMBERS.get(text.lower().lstrip("+-"), found)):
        raise WrongKind("any value but nan and inf, which JSON cannot say")
    return found


_NO_NUMBERS = dict.fromkeys(("nan", "inf", "infinity"), math.nan)


def _is_sayable(value: Any) -> bool:
    """Return whether every number in a value is finite."""
    if isinstance(value, (tuple, list, set)):
        return all(map(_is_sayable, value))
    if isinstance(value, dict):
        return all(map(_is_sayable, [*value, *value.values()]))
    return not isinstance(value, (float, complex)) or cmath.isfinite(value)
