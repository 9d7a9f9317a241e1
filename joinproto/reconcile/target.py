"""How many replicas a queue must have, and the source of that number.

Source: reconciliation, Q1.
"""

from __future__ import annotations

from typing import Annotated

from attrs import frozen

from joinproto.ask.question import Rule, Why
from joinproto.codec.json_form import Key
from joinproto.reconcile.queue import Target, Variant

RULE = "Q1"
ANY = 1_000_000
"""The number as which the shipped broker counts every argument of a queue except 0.

The broker compares the argument as a pair with its type, and in the order of terms of its language
any pair is larger than any number.  Seen in 3.13.7, 4.2.9 and 4.3.5 (rabbitmq-server 17307, 17310).
"""


@frozen
class Wanted:
    """The number of replicas that a queue must have, and its source.

    The count `ANY` is larger than the number of nodes of any cluster.
    """

    count: Annotated[int, Key("target"), "the number of replicas; 0: no target, none is added"]
    said_by: Annotated[str | None, "the source that decided; null: no source"]
    why: Why
    rule: Rule = RULE


def wanted(target: Target, variant: Variant) -> Wanted:
    """Return how many replicas a queue must have in this variant.

    In the seed and ours the most specific source decides: the argument, then the policies, of which
    the larger counts, then the configuration.  In the real variant the largest number decides, and
    an argument other than 0 counts as the largest.
    """
    policies = {"policy": target.policy, "operator policy": target.operator_policy}
    levels = (
        {"argument": target.argument},
        policies,
        {"configuration": target.configuration},
    )
    if variant is Variant.REAL and target.argument:
        why = f"the argument says {target.argument}, and counts as more than any number"
        return Wanted(ANY, "argument", f"{why}: the queue grows to all nodes")
    if variant is Variant.REAL and target.configuration == 0:
        return Wanted(0, None, "the configuration says 0, with which the shipped broker crashes")
    if variant is Variant.REAL:
        return _largest({name: count for level in levels for name, count in level.items()})
    for level in levels:
        if any(count is not None for count in level.values()):
            found = _largest(level)
            others = [f"the {n} {c}" for one in levels if one is not level for n, c in _given(one)]
            if not others:
                return found
            over = " and ".join(others)
            return Wanted(found.count, found.said_by, f"{found.why}; it comes before {over}")
    return _largest({})


def _largest(counts: dict[str, int | None]) -> Wanted:
    given = _given(counts)
    if not given:
        return Wanted(0, None, "no target is set")
    name, count = max(given, key=lambda one: one[1])
    why = f"the {name} says {count}"
    if len(given) > 1:
        why += ", the largest of " + ", ".join(f"{other} {value}" for other, value in given)
    return Wanted(count, name, why)


def _given(counts: dict[str, int | None]) -> list[tuple[str, int]]:
    return [(name, count) for name, count in counts.items() if count is not None]
