"""Plain steps where contents are numbered: a member's state, its messages, and useless ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.shapes import Ints, Questions, Rows, SmallInts
from joinproto.check.engine.tables.grids import find
from joinproto.check.engine.tables.kernel import (
    ASK_ADD,
    ASK_TRIM,
    LOCAL,
    MOVES,
    SENT,
    Fields,
    Sets,
    Shape,
    get,
    put,
    want_content,
    want_vector,
)

NOT_LOOKED_UP = -9
"""Neither the number of a row's horizons nor a code in its place."""


@njit(forceinline=True, nogil=True, _nrt=False)
def write_lead(
    fields: Fields,
    horizon: SmallInts,
    s: Shape,
    sets: Sets,
    rows: Rows,
    r: Any,
    out: Rows,
    n: Any,
    member: Any,
    here: Ints,
    to: Any,
    vector: SmallInts,
    own: Any,
    ask: Questions,
    asked: Any,
) -> Any:
    """Write the successor of a member's step from its local state `here` in row r.

    `horizon`: int32 (value,), of each local state; `rows`, `out`: uint64 (row, word); `to`: see
    `Sets.leads`; `vector`: the horizons of the row, packed; `own`: their number, or
    `NOT_LOOKED_UP`.  Returns (whether all is known, whether nothing is sent that was not under way,
    own, asked).
    """
    whole = silent = True
    for w in range(rows.shape[1]):
        out[n, w] = rows[r, w]
    put(out, n, fields, member, to & LOCAL)
    moves = s.expires and to & MOVES != 0
    sent = ((to >> 32) & SENT) - 1
    if sent >= 0:
        content = get(rows, r, fields, s.queues + member)
        more = find(sets.adds, member, content, sent)
        silent = more == content
        if more < 0:
            whole = False
            asked = want_content(sets.adds, ask, asked, ASK_ADD, more, member, content, sent)
        else:
            put(out, n, fields, s.queues + member, more)
    # While no horizon moves, only sent messages may be useless.
    if whole and s.expires and (moves or not silent):
        after, number = vector, own
        if moves:
            off = fields.off[member]
            further = horizon[off + (to & LOCAL)] - horizon[off + here]
            after += np.int64(further) << sets.vector_shift[member]
            number = np.int64(sets.vector[after]) - 1
        elif own == NOT_LOOKED_UP:
            number = own = np.int64(sets.vector[vector]) - 1
        if number < 0:
            whole = False
            asked = want_vector(sets.vector, ask, asked, number, after)
        for q in range(s.members):
            if whole and (moves or q == member):
                content = get(out, n, fields, s.queues + q)
                more = find(sets.trims, q, content, number)
                if more < 0:
                    whole = False
                    asked = want_content(sets.trims, ask, asked, ASK_TRIM, more, q, content, number)
                else:
                    put(out, n, fields, s.queues + q, more)
    return whole, silent, own, asked
