"""One quick world of each kind, to compare two searches; the soak compares all other worlds.

Together the chosen worlds use every feature that any quick world uses; `test_chosen.py` checks it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from joinproto.check.world import World
from tests.census import QUICK, searched

CHOSEN: list[tuple[str, str | None]] = [
    ("two-phase-commit", "one-vote-short"),  # a set of messages, symmetry, violated
    ("token-ring-lossy", None),  # queues, a deadlock
    ("token-ring-doubled", None),  # bags, duplicates
    ("alternating-bit-overtaken", None),  # bags, a monitor
    ("ring-election", None),  # queues, holds
    ("durable-vote", None),  # a disk, crashes
    ("durable-vote-wiped", None),  # lost disks
    ("note-partition", None),  # partitions, joint steps with a monitor
    ("dining-left-handed", None),  # joint steps, liveness that holds
    ("note-hasty-abort", None),  # liveness that fails
    ("qpid-half-updated", None),
    ("termination", "stays-white"),  # weak fairness to some steps
    ("termination-unfair", None),  # no fairness
    ("two-writers", None),  # strong fairness
    ("bits-half-fair", None),  # strong fairness on lossy queues
    ("stabilising-ring", None),  # many beginnings, `eventually always` that holds
    ("stabilising-ring-too-small", None),
    ("register-of-note", None),  # a claim that one world implements another
    ("join-founders", None),  # messages that expire, the member that ships
    ("clusterer-rejoin", "ran-forgotten"),
    ("discovery-ours", "founds-again"),
    ("reconcile-beside", None),
    ("reconcile-one", "drops-first"),
    ("reconcile-learner", "list-decides"),  # `always possible` that fails
    ("standby-failover", "acknowledges-at-once"),
    ("incident-artemis-half-copy-ours", None),  # a `sometimes` about the monitor
]

REST = [case for case in QUICK if case not in CHOSEN]


def features(world: World, name: str, mutant: str | None) -> Iterator[str]:
    """Yield the features that a search must support for this world, `mutant` of `name`."""
    yield f"ends: {searched(name, mutant).result}"
    yield f"network: {type(world.network).__name__}"
    yield f"start: {world.start}"
    yield from (f"fault: {one}" for one in FAULTS if getattr(world.faults, one))
    yield from (f"part: {one}" for one in PARTS if getattr(world, one))
    if world.together is not None:
        yield f"joint steps: {'asked' if callable(world.together) else 'listed'}"
    yield from (f"claim: {one.kind}, {one.scope}" for one in world.properties)
    yield from (f"claim with a premise: {one.kind}" for one in world.properties if one.premise)
    for result in searched(name, mutant).properties:
        yield f"claim: {result.kind} {result.result}"
        if result.trace is not None and result.trace.loop_at is not None:
            yield "run: a cycle"
    yield from (f"fairness: {str(one).partition(':')[0]}" for one in world.fairness)
    yield f"system: {name.partition('-')[0]}" if name.startswith(SYSTEMS) else "system: none"


SYSTEMS = ("clusterer-", "discovery-", "join-", "note-", "qpid-", "reconcile-", "standby-")
FAULTS = ("crashes", "partitions", "losses", "duplicates", "wipes")
PARTS = (
    "beginnings",
    "monitor",
    "show",
    "show_disk",
    "show_links",
    "expiry",
    "interchangeable",
    "labels",
    "beside",
)


def parameters(cases: list[Any], *marks: pytest.MarkDecorator) -> list[Any]:
    """Return pairs of name and mutant as parameters with these marks."""
    return [pytest.param(*case, marks=marks) for case in cases]
