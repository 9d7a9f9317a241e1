"""Conversion of words of a command line to the values that a world's function takes.

The parameter's annotation, or else the type of its default, decides: with `fair: bool`, the word
`false` becomes False.  A word that does not fit is refused.  For a parameter with neither, a Python
literal such as a number or a tuple becomes its value, and any other word stays a text.
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
from contextlib import suppress
from types import NoneType
from typing import Any

from joinproto.check.problems import ModelProblem

EACH = "each:"
"""Begins the text of an option that `joinproto check` gives several values, one search each."""
YES, NO = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


FLAGS = ("members", "wait_for", "crashes", "partitions", "lose", "register", "mutant")
"""Parameters that have their own command-line option; all others are given by `--set`."""


class TypedText(str):
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
    """Return the options for these parameters as they are typed, for a message."""
    return ", ".join(
        f"--{name.replace('_', '-')}" if name in FLAGS else f"--set {name}=..." for name in names
    )


class WrongKind(Exception):
    """The text is not a value of the wanted type; the message, if any, says which values are."""


def converted(
    options: Mapping[str, Any], made: Callable[..., Any], *, place: str = ""
) -> dict[str, Any]:
    """Return `options` with each `TypedText` converted to its value; raises `ModelProblem`."""
    return {
        name: convert(name, value, made, place=place) if isinstance(value, TypedText) else value
        for name, value in options.items()
    }


def convert(name: str, text: str, made: Callable[..., Any], *, place: str = "") -> Any:
    """Return `text` as the value of the parameter `name` of `made`; raises `ModelProblem`."""
    kind = _kind_of(name, made)
    try:
        return _value_of(kind, text.strip())
    except WrongKind as misfit:
        wanted = str(misfit) or _kind_words(kind)
        several = ".." in text or text.startswith(EACH)
        raise ModelProblem(
            f"--set {name}={text} does not fit: {name} must be {wanted}",
            next=f"--set {name}=...   with {wanted}"
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
    """Return a text that describes the values of the parameter `name` of `made`."""
    return _kind_words(_kind_of(name, made))


def _kind_words(kind: Any) -> str:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind in (Any, object):
        return "any value"
    if origin in _UNIONS:
        return " or ".join(map(_kind_words, parts))
    if origin is typing.Literal:
        return "one of " + ", ".join(map(str, parts))
    if _is_enum(kind):
        return "one of " + ", ".join(item.name.lower() for item in kind)
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
    name = getattr(kind, "__name__", kind)
    return "none" if kind is NoneType else words.get(kind) or f"a value of type {name}"


def _value_of(kind: Any, text: str) -> Any:
    """Return `text` as a value of the type `kind`; raises `WrongKind`."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if kind in (Any, object):
        return _literal(text)
    if origin in _UNIONS:
        # `str` comes last, because it accepts every text.
        for part in sorted(parts, key=lambda part: part is str):
            with suppress(WrongKind):
                return _value_of(part, text)
        raise WrongKind
    if kind is str:
        return text
    if kind in (int, float):
        return _as_number(kind, text)
    values = _values_of(kind)
    if values is not None:
        folded = text.lower() if kind in (bool, NoneType) else text
        if folded not in values:
            raise WrongKind
        return values[folded]
    found, wanted = _literal(text), origin or kind
    if wanted in (set, frozenset, tuple, list) and isinstance(found, (set, tuple, list)):
        return wanted(found)
    if isinstance(wanted, type) and not isinstance(found, wanted):
        raise WrongKind
    return found


_UNIONS = (typing.Union, types.UnionType)


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _values_of(kind: Any) -> dict[str, Any] | None:
    """Return text to value for a type with few values, such as bool or an enum, or else None."""
    if kind is bool:
        return dict.fromkeys(YES, True) | dict.fromkeys(NO, False)
    if kind is NoneType:
        return {"none": None}
    if typing.get_origin(kind) is typing.Literal:
        return {str(value): value for value in reversed(typing.get_args(kind))}
    if _is_enum(kind):
        texts = (
            (text, one)
            for one in reversed(kind)
            for text in (str(one.value), one.name.lower(), one.name)
        )
        return dict(texts)
    return None


def _as_number(kind: type[int | float], text: str) -> Any:
    try:
        number = kind(text)
    except ValueError:
        raise WrongKind from None
    if isinstance(number, float) and not math.isfinite(number):
        raise WrongKind  # JSON has no such number
    return number


def _literal(text: str) -> Any:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        found = text
    if not _is_finite(_NO_NUMBERS.get(text.lower().lstrip("+-"), found)):
        raise WrongKind("any value but nan and inf, which JSON cannot represent")
    return found


_NO_NUMBERS = dict.fromkeys(("nan", "inf", "infinity"), math.nan)


def _is_finite(value: Any) -> bool:
    """Return whether every number in a value is finite."""
    if isinstance(value, (tuple, list, set)):
        return all(map(_is_finite, value))
    if isinstance(value, dict):
        return all(map(_is_finite, [*value, *value.values()]))
    return not isinstance(value, (float, complex)) or cmath.isfinite(value)
