"""Short forms of stories for tests, and functions that play them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import joinproto
from joinproto.clusterer.reporting import StepTold
from joinproto.clusterer.run import StoryRun, play, play_orders
from joinproto.clusterer.story import Story
from joinproto.clusterer.story_reading import story_of
from joinproto.codec.strict import parse

SHIPPED = Path(joinproto.__file__).parent / "clusterer" / "stories"


def config(
    version: int, nodes: str, gospel: str | None, timeout: int | str = 30, ram: str = ""
) -> dict[str, Any]:
    """Return a config whose nodes are single letters; gospel None means reset."""
    return {
        "version": version,
        "nodes": {name: "ram" if name in ram else "disc" for name in nodes},
        "gospel": "reset" if gospel is None else {"node": gospel},
        "shutdown_timeout": timeout,
    }


def start(node: str, given: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"op": "start", "node": node} | ({} if given is None else {"config": given})


def apply(node: str, given: dict[str, Any]) -> dict[str, Any]:
    return {"op": "apply", "node": node, "config": given}


def action(op: str, node: str) -> dict[str, Any]:
    """Return an action that needs only a node."""
    return {"op": op, "node": node}


def story(*steps: Sequence[dict[str, Any]], nodes: str = "abcd", **more: Any) -> Story:
    """Return the story of these steps."""
    return story_of({"nodes": list(nodes), "steps": [{"do": list(one)} for one in steps], **more})


def shipped(name: str, **more: Any) -> Story:
    """Return a shipped story; `more` replaces its fields, such as `variant`."""
    return story_of({**parse((SHIPPED / f"{name}.json").read_bytes()), **more})


def steps_of(story: Story) -> tuple[StepTold, ...]:
    """Return the result of each step, in the plain order."""
    return play(story)


def orders_of(story: Story, seeds: int) -> StoryRun:
    """Return the run of a story in the plain order and in `seeds` random ones."""
    return play_orders(story, seeds, lambda seed: Random(seed).randrange)


def seen(step: StepTold) -> dict[str, str]:
    """Return, for each node that is not reset, its state, version and data as text."""
    return {
        name: f"{one.state} {one.version} {one.data or '-'}"
        for name, one in step.nodes.items()
        if one.state != "reset"
    }
