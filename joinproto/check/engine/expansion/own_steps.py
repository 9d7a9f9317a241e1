"""Members' own steps, computed once for each local state, where contents are numbered.

A choice belongs to one local state, so its outcome is looked up once.  And where a member sleeps
(`sleeping.py`), those of its first choices that have one outcome and spend nothing are calm: all of
them are counted by one number.  `calm[first]`, by the number of the state's first choice: 1 + how
many there are, or 0 where that is not known; and how often they were counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.shapes import Ints, SmallFlags, SmallInts, Table
from joinproto.check.engine.tables.kernel import REFUSED, SLEEPS, SPENDS, UNKNOWN, Blocks, cell


@njit(inline="always")
def outcome_of(
    blocks: Blocks, cells: Any, column: SmallInts, known: Ints, member: Any, local: Any, k: Any
) -> Any:
    """Return the outcome of a member's choice k, or what stands there instead.

    `column`: the event of each choice; `known`: `DeliveryTables.outcomes`.
    """
    o = np.int64(known[k])
    if o == UNKNOWN:
        o = cell(blocks, cells, member, local, column[k])
        if o >= 0 or o == REFUSED:
            known[k] = o
    return o


@njit(cache=True, nogil=True, _nrt=False)
def find_calm(
    blocks: Blocks,
    cells: Any,
    column: SmallInts,
    sleeps: SmallFlags,
    known: Ints,
    calm: Table,
    member: Any,
    local: Any,
    first: Any,
    end: Any,
) -> Any:
    """Return 1 + how many of the choices from `first` on are calm; 1 where it is not known yet.

    `sleeps`: `Sets.sleeps`; `calm`: `DeliveryTables.calm`; the rest as `outcome_of` takes it.
    """
    found = np.int64(1)
    for k in range(first, end):
        o = outcome_of(blocks, cells, column, known, member, local, np.int64(k))
        if o < 0 and o != REFUSED:
            return np.int64(1)
        if o < 0 or sleeps[o] & (SLEEPS | SPENDS) != SLEEPS:
            break
        found += 1
    calm[first, 0] = found
    return found


@njit(inline="always")
def note_calm(meetings: Any, idle: Ints, calms: Any) -> Any:
    """Count the calm choices whose firsts are the first `calms` of `idle`; return how many."""
    steps = np.int64(0)
    for i in range(calms):
        meetings.calm[idle[i], 1] += 1
        steps += meetings.calm[idle[i], 0] - 1
    return steps


@njit(cache=True, _nrt=False)
def count_calm(meetings: Any, taken: Ints) -> None:
    """Add to `taken` how often calm choices were counted, and count anew."""
    calm = meetings.calm
    for first in range(len(calm)):
        times = calm[first, 1]
        if times > 0:
            for k in range(first, first + calm[first, 0] - 1):
                taken[meetings.outcomes[k]] += times
            calm[first, 1] = 0
