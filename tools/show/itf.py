"""A run in the Informal Trace Format, which other checkers and their viewers read.

Source: Apalache's ADR-015, "Informal Trace Format in JSON".  Every member is a variable, a
record of its attributes; `action` is the step that led to the state.  What the format has
no place for (messages, rules) stands in each state's `#meta`.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection, Mapping
from typing import Any

from models.report import Step, Trace, step_to_json
from tools.show.story import Moment, Story, tell
from tools.show.words import headline

INTEGER_MAX = 2**53 - 1
"""Integers beyond this are not exact in every reader of JSON; they stay text."""

ACTION = "action"

Value = str | int


def itf(trace: Trace, *, source: str = "") -> dict[str, Any]:
    """Return `trace` as JSON values; `source`: the name of the world."""
    story = tell(trace)
    variables = _variables(story)
    numeric = _numeric(story)
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
        "states": [_state(moment, variables, numeric) for moment in story.moments],
    }
    if trace.loop_at is not None:
        # The last state is the one at `loop_at` once more; from there the run goes on with
        # the state after it.  So every step keeps its state, and the loop has no seam.
        out["loop"] = min(trace.loop_at + 1, len(trace.steps))
    return out


def _state(
    moment: Moment, variables: Mapping[str, str], numeric: Collection[tuple[str, str]]
) -> dict[str, Any]:
    state: dict[str, Any] = {"#meta": {"index": moment.number, **_meta(moment.step)}}
    for member, variable in variables.items():
        state[variable] = _record(member, moment.states.get(member, {}), numeric)
    state[ACTION] = _action(moment.step)
    return state


def _record(
    member: str, values: Mapping[str, str], numeric: Collection[tuple[str, str]]
) -> dict[str, Value]:
    record: dict[str, Value] = {"status": values.get("", "up")}
    for key, text in values.items():
        if key:
            name = _unused(_field(key), record)
            record[name] = int(text) if (member, key) in numeric else text
    return record


def _field(key: str) -> str:
    """Return the attribute as an identifier, which readers want though the format does not."""
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
    """Return what the step was, without the states, which have their own place."""
    if step is None:
        return {}
    return {key: value for key, value in step_to_json(step).items() if key != "states"}


def _variables(story: Story) -> dict[str, str]:
    """Return the variable of each member: its name, unless the format gives that a meaning."""
    out: dict[str, str] = {}
    for name in story.members:
        free = f"_{name}" if name.startswith("#") else name
        out[name] = _unused(free, {ACTION, *out.values()})
    return out


def _unused(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _numeric(story: Story) -> frozenset[tuple[str, str]]:
    """Return the attributes (member, name) that are integers in every state of the run.

    Where one state says "-", all say text: readers give a variable one type.
    """
    seen: dict[tuple[str, str], bool] = {}
    for moment in story.moments:
        for member, values in moment.states.items():
            for key, text in values.items():
                at = (member, key)
                seen[at] = seen.get(at, True) and _is_integer(text)
    return frozenset(at for at, whole in seen.items() if whole)


def _is_integer(text: str) -> bool:
    # Short first: Python refuses to read numbers of many thousand digits.
    if len(text) > 17 or not text.removeprefix("-").isdecimal() or not text.isascii():
        return False
    return str(int(text)) == text and abs(int(text)) <= INTEGER_MAX
