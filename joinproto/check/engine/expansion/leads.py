"""Plain steps where contents are numbered: a member's state, what it sends, what is of no use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.tables.grids import find
from joinproto.check.engine.tables.kernel import (
    ASK_ADD,
    ASK_TRIM,
    LOCAL,
    MOVES,
    SENT,
    get,
    put,
    want_content,
    want_vector,
)

NOT_LOOKED_UP = -9
"""Neither the number of a row's horizons nor what stands in its place."""


@njit(inline="always")
def write_lead(
    t: Any,
    s: Any,
    sets: Any,
    rows: Any,
    r: Any,
    out: Any,
    n: Any,
    member: Any,
    here: Any,
    to: Any,
    vector: Any,
    own: Any,
    ask: Any,
    asked: Any,
) -> Any:
    """Write what a member's step leads to, from its local state `here` in row r.

    `vector`: the horizons of the row, packed; `own`: their number, or `NOT_LOOKED_UP`.  Returns
    (whether all is known, whether nothing is sent that was not under way, own, asked).
    """
    whole = silent = True
    for w in range(t.words[0]):
        out[n, w] = rows[r, w]
    put(out, n, t, member, to & LOCAL)
    moves = s.expires and to & MOVES != 0
    sent = ((to >> 32) & SENT) - 1
    if sent >= 0:
        content = get(rows, r, t, s.queues + member)
        more = find(sets.adds, member, content, sent)
        silent = more == content
        if more < 0:
            whole = False
            asked = want_content(sets.adds, ask, asked, ASK_ADD, more, member, content, sent)
        else:
            put(out, n, t, s.queues + member, more)
    # While no horizon moves, only what is sent may be of no use.
    if whole and s.expires and (moves or not silent):
        after, number = vector, own
        if moves:
            off = t.off[member]
            further = t.horizon[off + (to & LOCAL)] - t.horizon[off + here]
            after += np.int64(further) << sets.vector_shift[member]
            number = np.int64(sets.vector[after]) - 1
        elif own == NOT_LOOKED_UP:
            number = own = np.int64(sets.vector[vector]) - 1
        if number < 0:
            whole = False
            asked = want_vector(sets, ask, asked, number, after)
        for q in range(s.members):
            if whole and (moves or q == member):
                content = get(out, n, t, s.queues + q)
                more = find(sets.trims, q, content, number)
                if more < 0:
                    whole = False
                    asked = want_content(sets.trims, ask, asked, ASK_TRIM, more, q, content, number)
                else:
                    put(out, n, t, s.queues + q, more)
    return whole, silent, own, asked
