"""A run in the Informal Trace Format, which other checkers and their viewers read.

Source: Apalache's ADR-015, "Informal Trace Format in JSON".  Every member is a variable whose value
is a record of the member's attributes.  The variable `action` is the step that led to the state.
Data without a place in the format (messages, rules) are in each state's `#meta`.
"""

from __future__ import annotations

import enum
import keyword
import re
from collections import deque
from collections.abc import Collection, Mapping
from typing import Any

from joinproto.check.events import ValueText, plain
from joinproto.check.report import Step, Trace
from joinproto.cli.show.story import Moment, Story, story_of
from joinproto.cli.show.words import headline
from joinproto.codec.json_form import encoded

INTEGER_MAX = 2**53 - 1
"""Larger integers are not exact in every reader of JSON, so they are written as text."""

ACTION = "action"

Value = Any
"""A value of the format: a text, integer, boolean or list, or an object with one of the keys #set,
#tup and #map."""


def itf(trace: Trace, *, source: str = "") -> dict[str, Any]:
    """Return `trace` as JSON values; `source`: the name of the world."""
    story = story_of(trace)
    variables = _variables(story)
    typed = _typed(story)
    meta = {
        "format": "ITF",
        "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
        "description": headline(trace, world=source),
        "source": source,
        "property": trace.property,
        "kind": trace.kind,
    }
    if trace.fairness:
        meta["fairness"] = trace.fairness
    out: dict[str, Any] = {
        "#meta": meta,
        "vars": [*variables.values(), ACTION],
        "states": [_state(moment, variables, typed) for moment in story.moments],
    }
    if trace.loop_at is not None:
        # The last state repeats the state at `loop_at`, so the run continues with the state after
        # that one.  So every step keeps its state, and no state comes twice in a row.
        out["loop"] = min(trace.loop_at + 1, len(trace.steps))
    return out


def _state(
    moment: Moment, variables: Mapping[str, str], typed: Collection[tuple[str, str]]
) -> dict[str, Any]:
    state: dict[str, Any] = {"#meta": {"index": moment.number, **_meta(moment.step)}}
    for member, variable in variables.items():
        state[variable] = _record(member, moment.states.get(member, {}), typed)
    state[ACTION] = _action(moment.step)
    return state


def _record(
    member: str, values: Mapping[str, str], typed: Collection[tuple[str, str]]
) -> dict[str, Value]:
    record: dict[str, Value] = {"status": values.get("", "up")}
    for key, text in values.items():
        if key:
            name = _unused(_field(key), record)
            record[name] = _encoded(_value_of(text)) if (member, key) in typed else text
    return record


def _field(key: str) -> str:
    """Return the attribute as an identifier: readers need one, the format does not."""
    durable = key.endswith("*")
    name = re.sub(r"\W", "_", key.removesuffix("*"), flags=re.ASCII).lstrip("_")
    if not name or not name[0].isalpha() or keyword.iskeyword(name):
        name = f"x_{name}"
    return f"{name}_durable" if durable else name


def _action(step: Step | None) -> str:
    if step is None:
        return "init"
    return step.label if step.member is None else f"{step.member}: {step.label}"


def _meta(step: Step | None) -> dict[str, Any]:
    """Return the step as JSON values, without its states, which are in the variables."""
    if step is None:
        return {}
    return {key: value for key, value in encoded(step).items() if key != "states"}


def _variables(story: Story) -> dict[str, str]:
    """Return each member's variable: its name, changed if the format uses that name."""
    out: dict[str, str] = {}
    for name in story.members:
        free = f"_{name}" if name.startswith("#") else name
        out[name] = _unused(free, {ACTION, *out.values()})
    return out


def _unused(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _typed(story: Story) -> frozenset[tuple[str, str]]:
    """Return the attributes (member, name) that have one type in every state of the run.

    Readers give a variable one type.  So if one state has the text "-", all states have texts.
    """
    seen: dict[tuple[str, str], list[Any]] = {}
    for moment in story.moments:
        for member, values in moment.states.items():
            for key, text in values.items():
                seen.setdefault((member, key), []).append(_value_of(text))
    return frozenset(at for at, values in seen.items() if _type_of_all(values) is not None)


def _value_of(text: str) -> Any:
    """Return the value that a text stands for; a text without a value may be an integer."""
    if isinstance(text, ValueText):
        return text.value
    # Check the length first: Python refuses to read numbers of many thousand digits.
    if len(text) > 17 or not text.removeprefix("-").isdecimal() or not text.isascii():
        return text
    return int(text) if str(int(text)) == text else text


ANY = "any"
"""The element type of an empty set, list or map."""


def _type_of(value: Any) -> Any:
    """Return the value's type in the format, or None if it has no type there."""
    match value:
        case enum.Enum():
            return "text"
        case bool():
            return "bool"
        case int():
            return "int" if abs(value) <= INTEGER_MAX else None
        case str():
            return "text"
        case set() | frozenset() | list() | deque():
            inner = _type_of_all(list(value))
            kind = "set" if isinstance(value, (set, frozenset)) else "list"
            return None if inner is None else (kind, inner)
        case dict():
            key, item = _type_of_all(list(value)), _type_of_all(list(value.values()))
            return None if key is None or item is None else ("map", key, item)
        case tuple():
            parts = tuple(map(_type_of, value))
            return None if None in parts else ("tup", *parts)
    return None


def _type_of_all(values: list[Any]) -> Any:
    """Return the type that all values have, or None."""
    found: Any = ANY
    for value in values:
        found = _joined(found, _type_of(value))
        if found is None:
            return None
    return found


def _joined(one: Any, other: Any) -> Any:
    """Return the type that covers both types, or None."""
    if one == other or other == ANY:
        return one
    if one == ANY:
        return other
    if not isinstance(one, tuple) or not isinstance(other, tuple) or len(one) != len(other):
        return None
    if one[0] != other[0]:
        return None
    parts = [_joined(a, b) for a, b in zip(one[1:], other[1:], strict=True)]
    return None if None in parts else (one[0], *parts)


def _encoded(value: Any) -> Value:
    """Return a value that has a type in the format, as the format writes it."""
    match value:
        case enum.Enum():
            return plain(value)
        case set() | frozenset():
            return {"#set": [_encoded(item) for item in sorted(value, key=plain)]}
        case list() | deque():
            return [_encoded(item) for item in value]
        case dict():
            return {"#map": [[_encoded(key), _encoded(item)] for key, item in value.items()]}
        case tuple():
            return {"#tup": [_encoded(item) for item in value]}
        case str():
            return str(value)
    return value
