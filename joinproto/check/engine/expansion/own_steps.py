"""Members' own steps, computed once for each local state, where contents are numbered.

A choice belongs to one local state, so its outcome is looked up once.  Where a member's steps sleep
(`sleeping.py`), the first choices of its state that may sleep, have one outcome and spend no fault
are counted together.  They are the sleeping prefix of the state's choices.  `sleeping_prefix` has a
line at the number of the state's first choice: 1 + the length of the prefix, or 0 if it is not
known; and how often the prefix was counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.shapes import Ints, SmallFlags, SmallInts
from joinproto.check.engine.tables.kernel import REFUSED, SLEEPS, SPENDS, UNKNOWN, Blocks, cell


@njit(inline="always")
def outcome_of(
    blocks: Blocks, cells: Any, column: SmallInts, known: Ints, member: Any, local: Any, k: Any
) -> Any:
    """Return the outcome of a member's choice k, or `UNKNOWN`, `REFUSED` or `ASKED`.

    `column`: the event of each choice; `known`: `DeliveryTables.outcomes`.
    """
    o = np.int64(known[k])
    if o == UNKNOWN:
        o = cell(blocks, cells, member, local, column[k])
        if o >= 0 or o == REFUSED:
            known[k] = o
    return o


@njit(cache=True, nogil=True, _nrt=False)
def find_sleeping_prefix(
    blocks: Blocks,
    cells: Any,
    column: SmallInts,
    sleeps: SmallFlags,
    deliveries: Any,
    member: Any,
    local: Any,
    first: Any,
    end: Any,
) -> Any:
    """Return 1 + the length of the sleeping prefix from `first` on; 1 if an answer is missing.

    `sleeps`: `Sets.sleeps`; `deliveries`: `DeliveryTables`; the rest as for `outcome_of`.
    """
    found = np.int64(1)
    for k in range(first, end):
        o = outcome_of(blocks, cells, column, deliveries.outcomes, member, local, np.int64(k))
        if o < 0 and o != REFUSED:
            return np.int64(1)
        if o < 0 or sleeps[o] & (SLEEPS | SPENDS) != SLEEPS:
            break
        found += 1
    deliveries.sleeping_prefix[first, 0] = found
    return found


@njit(inline="always")
def note_sleeping_prefixes(deliveries: Any, idle: Ints, prefixes: Any) -> Any:
    """Count the first `prefixes` sleeping prefixes of `idle` once more; return their choices."""
    steps = np.int64(0)
    for i in range(prefixes):
        deliveries.sleeping_prefix[idle[i], 1] += 1
        steps += deliveries.sleeping_prefix[idle[i], 0] - 1
    return steps


@njit(cache=True, _nrt=False)
def count_sleeping_prefixes(deliveries: Any, taken: Ints) -> None:
    """Add the counts of sleeping prefixes to `taken`, and set them to 0."""
    prefixes = deliveries.sleeping_prefix
    for first in range(len(prefixes)):
        times = prefixes[first, 1]
        if times > 0:
            for k in range(first, first + prefixes[first, 0] - 1):
                taken[deliveries.outcomes[k]] += times
            prefixes[first, 1] = 0
