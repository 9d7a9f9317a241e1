"""What messages of queues and bags may do: be received, be lost, be doubled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.kernel import (
    ASKED,
    COST_DOUBLE,
    COST_LOSE,
    DOUBLE,
    LOSE,
    REFUSED,
    TAKE,
    add,
    cell,
    get,
    list_at_queue,
    want_add,
    want_cell,
    want_rest,
)


@njit(inline="always")
def list_takes(
    t: Any,
    cells: Any,
    adds: Any,
    s: Any,
    rows: Any,
    r: Any,
    env: Any,
    here: Any,
    todo: Any,
    steps: Any,
    ask: Any,
    asked: Any,
) -> Any:
    """List what may happen to messages of a row; return (steps, asked, whether all is known)."""
    whole = True
    for q in range(s.queue_count):
        field = s.queues + q
        content = get(rows, r, t, field)
        if content == 0:
            continue
        member = np.int64(t.queue_member[q])
        up = not s.splits or t.link_up[env, t.queue_link[q]] != 0
        at = t.off[field] + content
        first = t.take_first[at]
        for k in range(first, first + t.take_count[at]):
            take, message, rest = np.int64(k) << 4, t.take_message[k], t.take_rest[k]
            if up:
                column = t.take_column[k]
                o = cell(t, cells, member, here[member], column)
                if o >= 0 and rest < 0:
                    # What is left is numbered where it is needed: a bag has as many contents as
                    # it has parts, and few of them are reached.
                    whole = False
                    asked = want_rest(t, ask, asked, rest, k)
                    rest = np.int32(ASKED)
                elif o >= 0:
                    steps = list_at_queue(todo, steps, o, member, take | TAKE, field, rest)
                elif o != REFUSED:
                    whole = False
                    asked = want_cell(t, cells, ask, asked, o, member, here[member], column)
            after = t.spend[COST_LOSE, env]
            if after >= 0 and rest < 0:
                whole = False
                asked = want_rest(t, ask, asked, rest, k)
            elif after >= 0:
                steps = list_at_queue(todo, steps, after, 0, take | LOSE, field, rest)
            after = t.spend[COST_DOUBLE, env]
            if after >= 0:
                more = add(t, adds, q, content, message)
                if more >= 0:
                    steps = list_at_queue(todo, steps, after, 0, take | DOUBLE, field, more)
                elif more != REFUSED:
                    whole = False
                    asked = want_add(t, adds, ask, asked, more, q, content, message)
    return steps, asked, whole
