"""Reading a story from a JSON value, and its errors.

Source: the format of stories, docs/clusterer.md.
"""

from __future__ import annotations

from typing import Any

from joinproto.clusterer.reading import ALL_KEYS as CONFIG_KEYS
from joinproto.clusterer.story import Action, Op, Story
from joinproto.codec.strict import DoesNotFit, fitted

NAMES_A_NODE = (
    *(Op.CREATE, Op.DELETE, Op.START, Op.STOP, Op.CRASH, Op.RESET, Op.APPLY),
    *(Op.PAUSE, Op.RESUME),
)
SECONDS_MAX = 1e12


def story_of(value: Any) -> Story:
    """Return the story of a JSON value; raises `DoesNotFit` with the path of the error."""
    story = fitted(Story, value)
    if len(set(story.nodes)) < len(story.nodes):
        raise DoesNotFit("nodes", "a machine is named twice", next="name each machine once")
    known = set(story.nodes)
    for at, step in enumerate(story.steps):
        known |= {action.node for action in step.do if action.op is Op.CREATE and action.node}
        for number, action in enumerate(step.do):
            _check(f"steps[{at}].do[{number}]", action, known)
    return story


ACTIONS_OF_FIELD = {
    "node": NAMES_A_NODE,
    "config": (Op.START, Op.APPLY),
    "between": (Op.CUT, Op.HEAL),
    "seconds": (Op.WAIT,),
}
"""The kinds of action that may have each field."""


def _check_fields(place: str, action: Action) -> None:
    for name, ops in ACTIONS_OF_FIELD.items():
        if getattr(action, name) and action.op not in ops:
            said = ", ".join(one.value for one in ops)
            raise DoesNotFit(
                f"{place}.{name}",
                f"{action.op.value} has no field {name}",
                next=f"remove {name}, which is for {said}",
            )
    for key in action.config or {}:
        if key not in CONFIG_KEYS:
            raise DoesNotFit(
                f"{place}.config.{key}",
                f"a config has no key {key!r}",
                next=f"use one of {', '.join(CONFIG_KEYS[:4])}",
            )


def _check(place: str, action: Action, known: set[str]) -> None:
    _check_fields(place, action)
    if action.op in NAMES_A_NODE:
        if action.node is None:
            needs = f"{action.op.value} needs a node"
            raise DoesNotFit(f"{place}.node", needs, next="name a machine")
        _check_known(f"{place}.node", action.node, known)
    if action.op is Op.APPLY and action.config is None:
        raise DoesNotFit(f"{place}.config", "apply needs a config", next="add the field config")
    if action.op is Op.CUT and action.between is None:
        raise DoesNotFit(
            f"{place}.between",
            "cut needs two lists of nodes",
            next="write the nodes of the two sides",
        )
    if action.between is not None and len(action.between) != 2:
        raise DoesNotFit(
            f"{place}.between",
            f"expected two lists of nodes, found {len(action.between)}",
            next="write the nodes of the two sides",
        )
    for side, names in enumerate(action.between or ()):
        for name in names:
            _check_known(f"{place}.between[{side}]", name, known)
    if action.seconds > SECONDS_MAX:
        raise DoesNotFit(
            f"{place}.seconds",
            f"{action.seconds:g} s is too long a time",
            next=f"write at most {SECONDS_MAX:g}",
        )


def _check_known(place: str, name: str, known: set[str]) -> None:
    if name not in known:
        raise DoesNotFit(
            place,
            f"there is no machine {name!r}",
            next="list it under nodes, or create it in an earlier or the same step",
        )
