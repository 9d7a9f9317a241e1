"""Faults of a world, each with its budget for the whole run.

Write a new kind of fault as an `Injected` (`injected.py`) if possible: it is one step, and no
search changes.  A fault that the searches must know needs a budget here, a field in `Surroundings`
(`environment.py`), and its step: in `member_steps.py` for a member or its disk (an outcome with a
`cost`), in `reference.py` and `engine/expansion/receive_lists.py` for the network.  `soundness.py`
must refuse worlds in which the fault cannot happen, and `exercised.py` report if it never did.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from attrs import field, frozen

from joinproto.check.problems import must

UNLIMITED = 1_000_000
"""A budget that is never spent: the fault stays possible for ever."""

# Not a union type, so that code which has only groups need not check which of the two it has.
Split: TypeAlias = frozenset[Any]
"""A cut of the network: the members on one side, or the cut links, (from, to), one way each."""

_BUDGET = must(lambda value: isinstance(value, int) and value >= 0, "a whole number from 0 on")


@frozen(kw_only=True)
class Faults:
    """Budgets, counted over one run of the whole world.

    `crashes`: members that stop at any point, also between two effects of one step.  A crashed
    member keeps its durable attributes and may start again (`restarts`).  `partitions`: splits of
    the members into two groups, each followed by a heal or not.  `splits`: the only splits that may
    happen, each as the members of one side or, if some members still reach both sides, as the cut
    links (`links_cut`).  `losses`: messages of a bag or a queue.  `duplicates`: messages of a bag.
    A world with a `MessageSet` refuses both, because every message may be lost or doubled there.
    `wipes`: disks of stopped members.  `spared`: members that are assumed never to fail.
    """

    crashes: int = field(default=0, validator=_BUDGET)
    restarts: bool = True
    partitions: int = field(default=0, validator=_BUDGET)
    splits: tuple[Split, ...] | None = None
    losses: int = field(default=0, validator=_BUDGET)
    duplicates: int = field(default=0, validator=_BUDGET)
    wipes: int = field(default=0, validator=_BUDGET)
    spared: frozenset[str] = frozenset()


def links_cut(*pairs: tuple[str, str], both_ways: bool = True) -> Split:
    """Return a split of single links: messages from the first to the second are delayed.

    `both_ways`: also messages from the second to the first.  For `Faults.splits`: a partial
    partition, in which other members still reach both ends of a cut link.
    """
    back = [(to, sender) for sender, to in pairs] if both_ways else []
    return frozenset([*pairs, *back])


def reaches(split: Split | None, one: str | None, other: str) -> bool:
    """Return whether messages from `one` reach `other`."""
    if split is None:
        return True
    if is_of_links(split):
        return (one, other) not in split
    return (one in split) == (other in split)


def is_of_links(split: Split) -> bool:
    """Return whether a split cuts single links rather than the members into two groups."""
    return any(isinstance(item, tuple) for item in split)


def words_of_split(split: Split) -> str:
    """Return a split in words: "a b" on one side, or "a to b" for a link."""
    return " ".join(
        sorted(" to ".join(item) + "," if isinstance(item, tuple) else item for item in split)
    ).rstrip(",")
