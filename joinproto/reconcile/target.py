"""Q1: how many replicas a queue is to have, and who says so.

Source: reconciliation, Q1.
"""

from __future__ import annotations

from attrs import frozen

from joinproto.reconcile.queue import Target, Variant

RULE = "Q1"


@frozen
class Wanted:
    """So many replicas, and who asks for them; 0: nobody asks, nothing is added."""

    count: int
    said_by: str | None
    why: str


def wanted(target: Target, variant: Variant) -> Wanted:
    """Return how many replicas this variant keeps.

    The seed and ours: who speaks of the fewest queues decides (argument, then policy, then
    configuration; of two policies the larger).  Real: the largest of all.
    """
    policies = {"policy": target.policy, "operator policy": target.operator_policy}
    levels = (
        {"argument": target.argument},
        policies,
        {"configuration": target.configuration},
    )
    if variant is Variant.REAL:
        return _largest({name: count for level in levels for name, count in level.items()})
    for level in levels:
        if any(count is not None for count in level.values()):
            found = _largest(level)
            others = [f"the {n} {c}" for one in levels if one is not level for n, c in _told(one)]
            if not others:
                return found
            over = " and ".join(others)
            return Wanted(found.count, found.said_by, f"{found.why}; it comes before {over}")
    return _largest({})


def _largest(counts: dict[str, int | None]) -> Wanted:
    told = _told(counts)
    if not told:
        return Wanted(0, None, "nobody says how many replicas there are to be")
    name, count = max(told, key=lambda one: one[1])
    why = f"the {name} says {count}"
    if len(told) > 1:
        why += ", the largest of " + ", ".join(f"{other} {value}" for other, value in told)
    return Wanted(count, name, why)


def _told(counts: dict[str, int | None]) -> list[tuple[str, int]]:
    return [(name, count) for name, count in counts.items() if count is not None]
