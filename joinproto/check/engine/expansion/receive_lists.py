"""Lists the steps of messages in queues and bags: receipt, loss, duplication."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.expansion.buffers import Loop
from joinproto.check.engine.rows.layout import get
from joinproto.check.engine.tables.kernel import (
    ASK_ADD,
    ASK_REST,
    COST_DOUBLE,
    COST_LOSE,
    DOUBLE,
    LOSE,
    REFUSED,
    TAKE,
    Queued,
    list_at_queue,
    look_up,
    look_up_content,
)


@njit(forceinline=True, nogil=True, _nrt=False)
def list_takes(
    loop: Loop, cells: Any, queued: Queued, r: Any, env: Any, steps: Any, asked: Any
) -> Any:
    """List the possible steps of a row's messages; return (steps, asked, whether all is known)."""
    whole = True
    fields, takes, blocks, s = loop.t.fields, loop.t.takes, loop.t.blocks, loop.s
    spend, link_up = loop.t.environment.spend, loop.t.environment.link_up
    here, todo, ask = loop.listed.here, loop.listed.todo, loop.lacking.ask
    may_lose, may_double = spend[COST_LOSE, env], spend[COST_DOUBLE, env]
    for q in range(s.queue_count):
        field = s.queues + q
        content = get(loop.given.rows, r, fields, field)
        if content == 0:
            continue
        member = np.int64(queued.member[q])
        up = not s.splits or link_up[env, queued.link[q]] != 0
        at = fields.off[field] + content
        first = np.int64(takes.first[at])
        for k in range(first, first + takes.counts[at]):
            message = queued.message[k]
            # Equal messages of a bag stand next to each other, and taking any of them is the same.
            if k > first and message == queued.message[k - 1]:
                continue
            o = np.int64(REFUSED)
            if up:
                column = queued.column[q, message]
                o, asked = look_up(blocks, cells, ask, asked, member, here[member], column)
                if o < 0 and o != REFUSED:
                    whole = False
            if o >= 0 or may_lose >= 0:
                # The rest of a content is numbered on demand: a bag has as many contents as it has
                # subsets, and few of them are reached.
                rest, asked = look_up_content(
                    queued.rests, ask, asked, ASK_REST, q, content, k - first
                )
                if rest < 0:
                    whole = False
                    continue
                if o >= 0:
                    steps = list_at_queue(todo, steps, o, member, (k << 4) | TAKE, field, rest)
                if may_lose >= 0:
                    steps = list_at_queue(todo, steps, may_lose, 0, (k << 4) | LOSE, field, rest)
            if may_double >= 0:
                more, asked = look_up_content(queued.adds, ask, asked, ASK_ADD, q, content, message)
                if more >= 0:
                    steps = list_at_queue(
                        todo, steps, may_double, 0, (k << 4) | DOUBLE, field, more
                    )
                elif more != REFUSED:
                    whole = False
    return steps, asked, whole
