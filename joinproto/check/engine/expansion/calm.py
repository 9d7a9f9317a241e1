"""What members do by themselves, worked out once for each local state, where contents are numbered.

A choice belongs to one local state, so its outcome is looked up once.  And where a member sleeps
(`sleeping.py`), those of its first choices that have one outcome and spend nothing are calm: all of
them are counted by one number.  `calm[first]`, by the number of the state's first choice: 1 + how
many there are, or 0 where that is not known; and how often they were counted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.tables.kernel import REFUSED, SLEEPS, SPENDS, UNKNOWN, cell


@njit(inline="always")
def outcome_of(t: Any, cells: Any, meetings: Any, member: Any, local: Any, k: Any) -> Any:
    """Return the outcome of a member's choice k, or what stands there instead."""
    o = np.int64(meetings.outcomes[k])
    if o == UNKNOWN:
        o = cell(t, cells, member, local, t.choice_column[k])
        if o >= 0 or o == REFUSED:
            meetings.outcomes[k] = o
    return o


@njit(cache=True, nogil=True, _nrt=False)
def find_calm(
    t: Any, cells: Any, sets: Any, meetings: Any, member: Any, local: Any, first: Any, end: Any
) -> Any:
    """Return 1 + how many of the choices from `first` on are calm; 1 where it is not known yet."""
    calm = np.int64(1)
    for k in range(first, end):
        o = outcome_of(t, cells, meetings, member, local, np.int64(k))
        if o < 0 and o != REFUSED:
            return np.int64(1)
        if o < 0 or sets.sleeps[o] & (SLEEPS | SPENDS) != SLEEPS:
            break
        calm += 1
    meetings.calm[first, 0] = calm
    return calm


@njit(inline="always")
def note_calm(meetings: Any, idle: Any, calms: Any) -> Any:
    """Count the calm choices whose firsts are the first `calms` of `idle`; return how many."""
    steps = np.int64(0)
    for i in range(calms):
        meetings.calm[idle[i], 1] += 1
        steps += meetings.calm[idle[i], 0] - 1
    return steps


@njit(cache=True, _nrt=False)
def count_calm(meetings: Any, taken: Any) -> None:
    """Add to `taken` how often calm choices were counted, and count anew."""
    calm = meetings.calm
    for first in range(len(calm)):
        times = calm[first, 1]
        if times > 0:
            for k in range(first, first + calm[first, 0] - 1):
                taken[meetings.outcomes[k]] += times
            calm[first, 1] = 0
