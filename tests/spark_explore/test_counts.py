"""The counts of many owners, added up before they are sent to the driver."""

from __future__ import annotations

import numpy as np

from spark_explore.step import COUNTS, PROBLEM, Counts, add_up
from spark_explore.storage import Share

RANDOM = np.random.default_rng(9)


def random_counts(level: int, owner: int) -> Counts:
    """Return possible counts for an owner; bad rows of odd owners have two words, others one."""
    rows = RANDOM.integers(0, 9, (owner, 1 + owner % 2), dtype=np.uint64)
    which = np.unique(RANDOM.integers(0, 20, 6))
    return Counts(
        level,
        owner,
        new=owner,
        bad=rows if owner % 3 else None,
        seen=[[owner], [7]] if owner else [],
        flags_any=1 << owner,
        generated=10 * owner,
        taken=(which, np.full(len(which), owner + 1)),
        events=np.arange(8) * owner,
        sent=100,
        written=10,
        expanded=owner != 3,
        shares=(Share(level, owner, owner, (), ()),),
    )


def test_the_counts_of_owners_are_added_up_without_a_loss() -> None:
    parts = [random_counts(level, owner) for level in (4, 5) for owner in range(5)]
    items = [(COUNTS, one) for one in parts]

    problem, *found = add_up([*items[:3], (PROBLEM, "full", "no space"), *items[3:]])

    assert (PROBLEM, "full", "no space") == problem
    assert [(COUNTS, 4), (COUNTS, 5)] == [(kind, one.level) for kind, one in found]
    for (_, one), mine in zip(found, (parts[:5], parts[5:]), strict=True):
        assert (10, 31, 100, 500, 50) == (
            one.new,
            one.flags_any,
            one.generated,
            one.sent,
            one.written,
        )
        assert ([[0, 1, 2, 3, 4], [7]], False) == ([[0, *one.seen[0]], one.seen[1]], one.expanded)
        assert [0, 1, 2, 3, 4] == sorted(share.owner for share in one.shares)
        assert (np.arange(8) * 10 == one.events).all()
        assert one.bad is not None
        assert sum(len(it.bad) for it in mine if it.bad is not None) == len(one.bad)
        assert one.taken is not None
        times = np.zeros(20, np.int64)
        for it in mine:
            assert it.taken is not None
            times[it.taken[0]] += it.taken[1]
        assert dict(zip(*(part.tolist() for part in one.taken), strict=True)) == {
            at: count for at, count in enumerate(times.tolist()) if count
        }
