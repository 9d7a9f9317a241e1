"""The successors of rows, by table look-up: every step out of every state of a range.

No member code runs here.  A cell of the table that was never needed before is asked for,
its state is left out and listed to be redone, and the caller fills the cell by one call of
the real code.

The steps of a row are listed (`listing.py`, `receive_lists.py`, `deliveries.py`), and then written
(`writing.py`).  These kernels are functions of their own for numba, and LLVM puts them into the one
loop below (`forceinline`).  Only helpers of a few lines are inlined by numba (`inline="always"`):
it copies a callee once for each of its blocks and variables, so nesting large ones costs more than
all the rest.  Arguments are copied, too: so tables come in groups, and a helper takes a group.
Numbers are int64 from the start, or a kernel is compiled twice, for 0 and for int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.expansion.buffers import Loop
from joinproto.check.engine.expansion.deliveries import list_deliveries, note_slots, prefetch_slots
from joinproto.check.engine.expansion.listing import (
    list_choices,
    list_joint,
    list_messages,
    list_moves,
)
from joinproto.check.engine.expansion.own_steps import note_sleeping_prefixes
from joinproto.check.engine.expansion.receive_lists import list_takes
from joinproto.check.engine.expansion.writing import write_listed
from joinproto.check.engine.rows.bits import prefetch
from joinproto.check.engine.rows.layout import get
from joinproto.check.engine.tables.kernel import MOVE, horizons_of, take_back


@njit(cache=True, nogil=True, _nrt=False)
def expand(loop: Loop, cells: Any, bits: Any, queued: Any, sets: Any, begin: Any, end: Any) -> Any:
    """Write the successors of rows begin to end (of `given.picked`, where it is not empty).

    Returns (first state not done, successors, asked, to redo, loops).  A state whose
    successors do not fit any more is not begun; where not even one state fits, the first is
    `begin`, and the caller comes back with larger buffers.

    `cells`: as `Grids.sparse` gives them; None compiles a loop that knows blocks alone.
    `bits`: of a world whose messages have a bit each; `queued`: of one with queues or a bag;
    `sets`: of one whose contents are numbered.  None compiles a loop that knows no such messages.

    Two-dimensional indexing throughout: a view of a row costs more than a step.
    """
    s, given, listed, lacking = loop.s, loop.given, loop.listed, loop.lacking
    fields, outcomes, deliveries = loop.t.fields, loop.t.outcomes, loop.deliveries
    n = asked = redone = loops = np.int64(0)
    for p in range(begin, end):
        r = np.int64(p)
        if len(given.picked) > 0:
            r = given.picked[p]
        start = n
        met = 0
        full = False
        mark = np.int64(0)
        if len(given.marks) > 0:
            mark = np.int64(given.marks[r - given.base])
        env = get(given.rows, r, fields, s.env)
        for member in range(s.members):
            listed.here[member] = get(given.rows, r, fields, member)
        steps, n, n_loops, prefixes, asked, whole = list_choices(
            loop, cells, sets, r, env, mark, n, asked
        )
        vector = np.int64(0)
        if sets is not None:
            if p + 1 < end:
                following = np.int64(p + 1)
                if len(given.picked) > 0:
                    following = given.picked[p + 1]
                prefetch_slots(loop, following)
            if s.expires:
                horizon = loop.t.of_use.horizon
                vector = horizons_of(fields, horizon, sets.vector_shift, given.rows, r)
                prefetch(sets.vector, vector)
            steps, n_loops, met, asked, known, full = list_deliveries(
                loop, cells, sets, r, env, mark, steps, n_loops, asked
            )
            whole = whole and known
        if bits is not None:
            steps, n, n_loops, asked, known = list_messages(
                loop, cells, bits, r, env, n, steps, n_loops, asked
            )
            whole = whole and known
        if queued is not None:
            steps, asked, known = list_takes(loop, cells, queued, r, env, steps, asked)
            whole = whole and known
        steps, healed = list_moves(loop, env, mark, steps)
        if s.joint:
            steps, asked, known = list_joint(loop, cells, r, steps, asked)
            whole = whole and known
        full = full or steps > len(listed.todo)
        if whole and not full:
            n, asked, whole, full = write_listed(
                loop, cells, queued, sets, r, vector, n, steps, asked
            )
        if full or not whole:
            take_back(loop.t, cells, loop.written.info, start, n, listed.here)
            for i in range(n_loops):
                outcomes.taken[listed.looped[i]] -= 1
            n = start
            if whole:
                return p, n, asked, redone, loops
            # Its missing cells are asked for; the row is done again when they are filled.
            lacking.redo[redone] = r
            redone += 1
            if redone == len(lacking.redo) or asked * 2 > len(lacking.ask) - 1:
                return p + 1, n, asked, redone, loops
        else:
            loops += np.int64(n_loops + healed)
            loop.t.event_taken[MOVE] += healed
            if sets is not None:
                loops += note_sleeping_prefixes(deliveries, listed.idle, prefixes)
                loops += note_slots(deliveries, listed.heard, met)
    return end, n, asked, redone, loops
