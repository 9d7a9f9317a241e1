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

from joinproto.check.engine.expansion.buffers import Listed, MissingAnswers, SourceRows, Written
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
from joinproto.check.engine.tables.kernel import (
    MOVE,
    Lookup,
    Shape,
    get,
    horizons_of,
    take_back,
)


@njit(cache=True, nogil=True, _nrt=False)
def expand(
    t: Lookup,
    cells: Any,
    bits: Any,
    queued: Any,
    sets: Any,
    deliveries: Any,
    s: Shape,
    given: SourceRows,
    begin: Any,
    end: Any,
    written: Written,
    lacking: MissingAnswers,
    listed: Listed,
    quiet: Any,
) -> Any:
    """Write the successors of rows begin to end (of `given.picked`, where it is not empty).

    Returns (first state not done, successors, asked, to redo, loops).  A state whose
    successors do not fit any more is not begun; where not even one state fits, the first is
    `begin`, and the caller comes back with larger buffers.  `quiet`: plain steps that lead
    back to where they began are counted (loops), not written.

    `cells`: as `Grids.sparse` gives them; None compiles a loop that knows blocks alone.
    `bits`: of a world whose messages have a bit each; `queued`: of one with queues or a bag;
    `sets`, `deliveries`: of one whose contents are numbered (see `Sets`, `DeliveryTables`).  None
    compiles a loop that knows no such messages.

    Two-dimensional indexing throughout: a view of a row costs more than a step.
    """
    fields, blocks, outcomes, environment = t.fields, t.blocks, t.outcomes, t.environment
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
        # fmt: off
        steps, n, n_loops, prefixes, asked, whole = list_choices(
            t, cells, s, sets, deliveries, given, r, env, mark, written, n, listed, lacking,
            asked, quiet,
        )
        # fmt: on
        vector = np.int64(0)
        if sets is not None:
            if p + 1 < end:
                following = np.int64(p + 1)
                if len(given.picked) > 0:
                    following = given.picked[p + 1]
                # fmt: off
                prefetch_slots(
                    fields, t.takes.heard_by, s, deliveries.slots, given.rows, following,
                    listed.coming,
                )
                # fmt: on
            if s.expires:
                vector = horizons_of(fields, t.of_use.horizon, sets.vector_shift, given.rows, r)
                prefetch(sets.vector, vector)
            # fmt: off
            steps, n_loops, met, asked, known, full = list_deliveries(
                t, cells, s, sets, deliveries, given, r, env, mark, listed, steps, n_loops,
                len(written.rows), lacking, asked, quiet,
            )
            # fmt: on
            whole = whole and known
        if bits is not None:
            # fmt: off
            steps, n, n_loops, asked, known = list_messages(
                t, cells, bits, s, given, r, env, written, n, listed, steps, n_loops, lacking,
                asked, quiet,
            )
            # fmt: on
            whole = whole and known
        if queued is not None:
            steps, asked, known = list_takes(
                t, cells, queued, s, given, r, env, listed, steps, lacking, asked
            )
            whole = whole and known
        steps, healed = list_moves(environment, env, mark, listed, steps)
        if s.joint:
            shown = given.joint[r - given.base]
            # fmt: off
            steps, asked, known = list_joint(
                t.joint, blocks, outcomes.last, cells, shown, listed, steps, lacking, asked
            )
            # fmt: on
            whole = whole and known
        full = full or steps > len(listed.todo)
        if whole and not full:
            # fmt: off
            n, asked, whole, full = write_listed(
                t, cells, queued, sets, s, given, r, vector, written, n, listed, steps, lacking,
                asked,
            )
            # fmt: on
        if full or not whole:
            take_back(t, cells, written.info, start, n, listed.here)
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
            t.event_taken[MOVE] += healed
            if sets is not None:
                loops += note_sleeping_prefixes(deliveries, listed.idle, prefixes)
                loops += note_slots(deliveries, listed.heard, met)
    return end, n, asked, redone, loops
