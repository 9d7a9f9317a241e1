"""Events that reach a member, and the effects that it answers with.

A member is any Python object with `receive(event) -> effects`.  Effects are performed in the order
given; if the world has crashes, a crash can come between any two effects.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any, Final, Protocol, TypeAlias

from attrs import frozen

from joinproto.check.attributes import fields


class _NotEnabled:
    """The answer of a member that cannot receive this event now."""

    def __repr__(self) -> str:
        return "NOT_ENABLED"


NOT_ENABLED: Final = _NotEnabled()
"""Returned by `receive` if there is no such step now.  A step without a change returns None."""


@frozen
class Message:
    """Event: `content` arrives from the member `sender`, or None if messages name no sender."""

    # The type does not mention None, so models need not check for it.  Models for a network
    # without senders know that the sender is None.
    sender: str | Any
    content: Any

    def __str__(self) -> str:
        whose = "" if self.sender is None else f" from {self.sender}"
        return f"{quoted(plain(self.content))}{whose}"


@frozen
class Maybe:
    """A choice that fairness never forces: a client's or an operator's whim.

    Yielded by `choices`; the member receives `event` itself.
    """

    event: Any


@frozen
class Send:
    """Effect: `content` goes into the network, addressed to the member named `to`."""

    to: str
    content: Any


@frozen
class Broadcast:
    """Effect: `content` goes to every other member."""

    content: Any


@frozen
class Persist:
    """Effect: the member's `persistent` attributes, as they are now, become durable."""


@frozen
class Record:
    """Effect: the world's monitor receives `event` within the same step."""

    event: Any


@frozen
class Rule:
    """Effect that changes no state: coverage counts that the step took this case of a table."""

    label: str


Effect: TypeAlias = Send | Broadcast | Persist | Record | Rule
EFFECTS = (Send, Broadcast, Persist, Record, Rule)
Effects: TypeAlias = Iterable[Effect] | _NotEnabled | None
"""The results of `receive` and `start`; a generator may yield them."""


class WorldMember(Protocol):
    """The interface of a world's member: any class with this method is one.

    Optional: `start()`, called when the process starts; `choices()`, which yields
    the events that the member may make happen by itself; `shows()`, the observation for claims; the
    attribute `persistent`, names of attributes that survive a crash; `horizon()`.
    """

    def receive(self, event: Any, /) -> Effects:
        """Change the member; return the effects, in the order in which they are performed."""


class ValueText(str):
    """A value as text; `value`: the value itself."""

    __slots__ = ("value",)
    value: Any

    @classmethod
    def of(cls, value: Any) -> ValueText:
        text = cls(plain(value))
        text.value = value
        return text


def plain(value: object) -> str:
    """Return `value` as a text for people: without quotes, and without the class of enums."""
    if isinstance(value, str):
        return value
    if isinstance(value, enum.Enum):
        return str(value.value) if isinstance(value.value, str) else value.name.lower()
    if isinstance(value, (frozenset, set)):
        return "{" + ", ".join(sorted(plain(item) for item in value)) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(plain(item) for item in value) + ")"
    if isinstance(value, (list, deque)):
        return "[" + ", ".join(plain(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{plain(k)}: {plain(v)}" for k, v in value.items()) + "}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    if isinstance(value, FunctionType):
        # The usual text of a function has an address, which differs between processes.
        return value.__qualname__
    held = fields_of(value)
    if held is None:
        return str(value)
    texts = [f"{name} {text}" for name, text in field_texts(held)]
    return f"{type(value).__name__}({', '.join(texts)})"


def quoted(text: str) -> str:
    """Return a text for use in a sentence: in quotes if it has a space and ends in no bracket."""
    return f"“{text}”" if " " in text and text[-1] not in ")]}" else text


def fields_of(value: object) -> dict[str, Any] | None:
    """Return the fields of an attrs or dataclass object without its own `__str__`, or else None."""
    kind: Any = type(value)
    if kind.__str__ is not object.__str__:
        return None
    names = fields(kind)
    return None if names is None else {name: getattr(value, name) for name in names}


def field_texts(held: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return each field as (name, text), without fields that are empty, None or False."""
    texts = [(name, plain(item)) for name, item in held.items()]
    return [(name, text) for name, text in texts if text not in _EMPTY and text[-2:] != "()"]


_EMPTY = frozenset({"", "-", "no", "()", "[]", "{}"})
