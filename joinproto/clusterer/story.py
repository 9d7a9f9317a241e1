"""Stories: actions on a set of machines, step by step, as JSON.

Source: the format of stories, docs/clusterer.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Annotated, Any

from attrs import frozen

from joinproto.clusterer.reading import Release
from joinproto.clusterer.variants import Variant
from joinproto.codec.json_form import AtLeast


class Op(Enum):
    """The kind of an action."""

    CREATE = "create"
    DELETE = "delete"
    START = "start"
    STOP = "stop"
    CRASH = "crash"
    RESET = "reset"
    APPLY = "apply"
    CUT = "cut"
    HEAL = "heal"
    PAUSE = "pause"  # another program stops the broker of a ready node
    RESUME = "resume"
    WAIT = "wait"


@frozen(kw_only=True)
class Action:
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
    """Actions that happen at the same time, in any order."""

    do: Annotated[tuple[Action, ...], "actions; those of one node keep their order"]


@frozen(kw_only=True)
class Story:
    """A story.  After each step the system runs until nothing changes any more."""

    steps: Annotated[tuple[StoryStep, ...], "one after the other"]
    nodes: Annotated[tuple[str, ...], "machines that are there from the beginning"] = ()
    release: Annotated[Release, "seed: with shutdown_timeout; head: without it"] = Release.SEED
    variant: Annotated[Variant, "which rules"] = Variant.OURS
    name: Annotated[str, "of the story"] = ""
    about: Annotated[str, "what it shows"] = ""
