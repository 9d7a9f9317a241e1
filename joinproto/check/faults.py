"""What may go wrong in a world, each with its budget for the whole run."""

from __future__ import annotations

from attrs import field, frozen

from joinproto.check.problems import must

UNLIMITED = 1_000_000
"""A budget that is never spent: the fault stays possible for ever."""

_BUDGET = must(lambda value: isinstance(value, int) and value >= 0, "a whole number from 0 on")


@frozen(kw_only=True)
class Faults:
    """Budgets, counted over one run of the whole world.

    `crashes`: members that stop at any point, also between two effects of one step.  A
    crashed member keeps its durable attributes and may start again (`restarts`).
    `partitions`: splits of the members into two groups, each followed by a heal or not;
    `splits` limits them to these (each one side of the split).
    `losses`: messages of a bag or a queue.  `duplicates`: messages of a bag.  A world refuses
    them with a `MessageSet`, which loses and doubles for free.  `wipes`: disks of stopped
    members.  `spared`: what takes part as a member and is assumed never to fail.
    """

    crashes: int = field(default=0, validator=_BUDGET)
    restarts: bool = True
    partitions: int = field(default=0, validator=_BUDGET)
    splits: tuple[frozenset[str], ...] | None = None
    losses: int = field(default=0, validator=_BUDGET)
    duplicates: int = field(default=0, validator=_BUDGET)
    wipes: int = field(default=0, validator=_BUDGET)
    spared: frozenset[str] = frozenset()
