"""Stories: what is done to a set of machines, step by step, as JSON.

Source: the format of stories, docs/clusterer.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any

from attrs import frozen

from joinproto.ask.strict import DoesNotFit, reader_of
from joinproto.clusterer.reading import MEANT as CONFIG_KEYS
from joinproto.clusterer.reading import Release
from joinproto.clusterer.variants import Variant
from joinproto.json_form import AtLeast


class Op(Enum):
    """What is done."""

    CREATE = "create"
    DELETE = "delete"
    START = "start"
    STOP = "stop"
    CRASH = "crash"
    RESET = "reset"
    APPLY = "apply"
    CUT = "cut"
    HEAL = "heal"
    PAUSE = "pause"  # something else stops the broker of a node that is ready
    RESUME = "resume"
    WAIT = "wait"


@frozen(kw_only=True)
class Deed:
    """One thing that is done."""

    op: Annotated[Op, "what is done"]
    node: Annotated[str | None, "to which machine; cut, heal and wait have none"] = None
    config: Annotated[Mapping[str, Any] | None, "of a start, or of apply"] = None
    between: Annotated[
        tuple[tuple[str, ...], ...] | None, "two lists of nodes: cut and heal; heal without: all"
    ] = None
    seconds: Annotated[float, AtLeast(0), "of story time, to wait"] = 0


@frozen(kw_only=True)
class StoryStep:
    """What happens at once, in any order."""

    do: Annotated[tuple[Deed, ...], "deeds; those of one node keep their order"]


@frozen(kw_only=True)
class Story:
    """A story.  After each step the system runs until nothing changes any more."""

    steps: Annotated[tuple[StoryStep, ...], "one after the other"]
    nodes: Annotated[tuple[str, ...], "machines that are there from the beginning"] = ()
    release: Annotated[Release, "seed: with shutdown_timeout; head: without it"] = Release.SEED
    variant: Annotated[Variant, "whose rules"] = Variant.OURS
    name: Annotated[str, "of the story"] = ""
    about: Annotated[str, "what it shows"] = ""


NAMES_A_NODE = (
    *(Op.CREATE, Op.DELETE, Op.START, Op.STOP, Op.CRASH, Op.RESET, Op.APPLY),
    *(Op.PAUSE, Op.RESUME),
)
SECONDS_MAX = 1e12


def story_of(value: Any) -> Story:
    """Return the story of a JSON value; raises `DoesNotFit` with the path of what is wrong."""
    story = reader_of(Story).read(value)
    if len(set(story.nodes)) < len(story.nodes):
        raise DoesNotFit("nodes", "a machine is there twice", next="name each once")
    known = set(story.nodes)
    for at, step in enumerate(story.steps):
        known |= {deed.node for deed in step.do if deed.op is Op.CREATE and deed.node}
        for number, deed in enumerate(step.do):
            _check(f"steps[{at}].do[{number}]", deed, known)
    return story


MEANT = {
    "node": NAMES_A_NODE,
    "config": (Op.START, Op.APPLY),
    "between": (Op.CUT, Op.HEAL),
    "seconds": (Op.WAIT,),
}
"""To which deeds a field says something."""


def _check_meant(place: str, deed: Deed) -> None:
    for name, ops in MEANT.items():
        if getattr(deed, name) and deed.op not in ops:
            said = ", ".join(one.value for one in ops)
            raise DoesNotFit(
                f"{place}.{name}", f"{deed.op.value} has no {name}", next=f"{name} is for {said}"
            )
    for key in deed.config or {}:
        if key not in CONFIG_KEYS:
            raise DoesNotFit(
                f"{place}.config.{key}",
                "there is no such key",
                next=f"keys of a config: {', '.join(CONFIG_KEYS[:4])}",
            )


def _check(place: str, deed: Deed, known: set[str]) -> None:
    _check_meant(place, deed)
    if deed.op in NAMES_A_NODE and deed.node is None:
        raise DoesNotFit(f"{place}.node", f"{deed.op.value} needs a node", next="name a machine")
    if deed.op in NAMES_A_NODE and deed.node not in known:
        raise DoesNotFit(
            f"{place}.node",
            f"there is no machine {deed.node!r}",
            next="list it under nodes, or create it before",
        )
    if deed.op is Op.APPLY and deed.config is None:
        raise DoesNotFit(f"{place}.config", "apply needs a config", next="give one")
    if deed.op is Op.CUT and deed.between is None:
        raise DoesNotFit(f"{place}.between", "cut needs two lists", next="name the two sides")
    if deed.between is not None and len(deed.between) != 2:
        raise DoesNotFit(
            f"{place}.between",
            f"expected two lists of nodes, found {len(deed.between)}",
            next="name the two sides",
        )
    for side, names in enumerate(deed.between or ()):
        for name in names:
            if name not in known:
                raise DoesNotFit(
                    f"{place}.between[{side}]",
                    f"there is no machine {name!r}",
                    next="list it under nodes, or create it before",
                )
    if deed.seconds > SECONDS_MAX:
        raise DoesNotFit(f"{place}.seconds", "too long to tell", next="fewer seconds")
