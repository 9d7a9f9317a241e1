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
    """One action on a machine or on the network."""

    op: Annotated[Op, "the kind of the action"]
    node: Annotated[str | None, "the machine; cut, heal and wait have none"] = None
    config: Annotated[Mapping[str, Any] | None, "the config of a start or an apply"] = None
    between: Annotated[
        tuple[tuple[str, ...], ...] | None,
        "the two lists of nodes between which cut or heal acts; null: heal everything",
    ] = None
    seconds: Annotated[float, AtLeast(0), "how long to wait, in story time"] = 0


@frozen(kw_only=True)
class StoryStep:
    """Actions that happen at the same time, in any order."""

    do: Annotated[tuple[Action, ...], "the actions; a node's actions keep their order"]


@frozen(kw_only=True)
class Story:
    """A story: steps, after each of which the system runs until no more events can happen."""

    steps: Annotated[tuple[StoryStep, ...], "the steps, in their order"]
    nodes: Annotated[tuple[str, ...], "the machines that exist from the beginning"] = ()
    release: Annotated[Release, "seed: with shutdown_timeout; head: without it"] = Release.SEED
    variant: Annotated[Variant, "the variant of the rules"] = Variant.OURS
    name: Annotated[str, "the name of the story"] = ""
    about: Annotated[str, "a sentence about what the story shows"] = ""
