"""The compiled loop over rows: finds every step out of every row by table look-up.

No member's code runs here.  If a row needs a cell that was never filled, the loop asks for the
cell, leaves the row out, and lists it to be expanded again.  The caller then fills the cell by one
call of the member's code.

The steps of a row are listed (`listing.py`, `receive_lists.py`, `deliveries.py`), and then written
(`writing.py`).  numba compiles these kernels as separate functions, and LLVM puts them into the
loop below (`forceinline`).  numba itself inlines only helpers of a few lines (`inline="always"`).
It copies a callee once for each of the callee's blocks and variables, so nesting large functions
would take most of the compile time.  It copies arguments, too, so tables come in groups, and a
helper takes a group.  Numbers are int64 from the start; otherwise a kernel is compiled twice, for a
literal 0 and for int64.
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
    """Write the successors of rows begin to end (places in `given.picked`, if it is not empty).

    Returns the place of the first row not done, and the numbers of successors, of questions, of
    rows to expand again, and of steps only counted.  The loop stops at a row whose successors do
    not fit.  If that is row `begin`, the caller must enlarge the buffers.

    `cells`: as `Grids.sparse` gives them; None compiles a loop that reads only blocks.
    `bits`: for a world whose messages have a bit each; `queued`: for a world with queues or a bag;
    `sets`: for a world whose contents are numbered.  None compiles a loop without such messages.

    Arrays are indexed in two dimensions, because a view of a row costs more than a step.
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
            # The row's missing cells are asked for; it is expanded again when they are filled.
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
