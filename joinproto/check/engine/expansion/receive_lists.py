"""Steps of messages in queues and bags: receipt, loss, duplication."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.expansion.buffers import Listed, MissingAnswers, SourceRows
from joinproto.check.engine.tables.grids import find
from joinproto.check.engine.tables.kernel import (
    ASK_ADD,
    ASK_REST,
    COST_DOUBLE,
    COST_LOSE,
    DOUBLE,
    LOSE,
    REFUSED,
    TAKE,
    Lookup,
    Queued,
    Shape,
    cell,
    get,
    list_at_queue,
    want_cell,
    want_content,
)


@njit(forceinline=True, nogil=True, _nrt=False)
def list_takes(
    t: Lookup,
    cells: Any,
    queued: Queued,
    s: Shape,
    given: SourceRows,
    r: Any,
    env: Any,
    listed: Listed,
    steps: Any,
    lacking: MissingAnswers,
    asked: Any,
) -> Any:
    """List the possible steps of a row's messages; return (steps, asked, whether all is known)."""
    whole = True
    fields, takes, blocks = t.fields, t.takes, t.blocks
    spend, link_up = t.environment.spend, t.environment.link_up
    here, todo, ask = listed.here, listed.todo, lacking.ask
    may_lose, may_double = spend[COST_LOSE, env], spend[COST_DOUBLE, env]
    for q in range(s.queue_count):
        field = s.queues + q
        content = get(given.rows, r, fields, field)
        if content == 0:
            continue
        member = np.int64(queued.member[q])
        up = not s.splits or link_up[env, queued.link[q]] != 0
        at = fields.off[field] + content
        first = np.int64(takes.first[at])
        for k in range(first, first + takes.counts[at]):
            message = queued.message[k]
            # Equal messages of a bag stand next to each other: to take either is the same.
            if k > first and message == queued.message[k - 1]:
                continue
            o = np.int64(REFUSED)
            if up:
                column = queued.column[q, message]
                o = cell(blocks, cells, member, here[member], column)
                if o < 0 and o != REFUSED:
                    whole = False
                    asked = want_cell(blocks, cells, ask, asked, o, member, here[member], column)
            if o >= 0 or may_lose >= 0:
                # The remaining contents are numbered on demand: a bag has as many contents as it
                # has parts, and few of them are reached.
                rest = find(queued.rests, q, content, k - first)
                if rest < 0:
                    whole = False
                    asked = want_content(
                        queued.rests, ask, asked, ASK_REST, rest, q, content, k - first
                    )
                    continue
                if o >= 0:
                    steps = list_at_queue(todo, steps, o, member, (k << 4) | TAKE, field, rest)
                if may_lose >= 0:
                    steps = list_at_queue(todo, steps, may_lose, 0, (k << 4) | LOSE, field, rest)
            if may_double >= 0:
                more = find(queued.adds, q, content, message)
                if more >= 0:
                    steps = list_at_queue(
                        todo, steps, may_double, 0, (k << 4) | DOUBLE, field, more
                    )
                elif more != REFUSED:
                    whole = False
                    asked = want_content(
                        queued.adds, ask, asked, ASK_ADD, more, q, content, message
                    )
    return steps, asked, whole
