"""The steps that are listed of one row, written: each becomes a row of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.expansion.buffers import Listed, MissingAnswers, SourceRows, Written
from joinproto.check.engine.expansion.deliveries import left_by
from joinproto.check.engine.expansion.plain_steps import NOT_LOOKED_UP, write_lead
from joinproto.check.engine.expansion.sleeping import SPLIT
from joinproto.check.engine.shapes import Block, Questions, Rows, SmallFlags, SmallInts
from joinproto.check.engine.tables.grids import find
from joinproto.check.engine.tables.kernel import (
    ASK_ADD,
    ASK_TRIM,
    COST_CRASH,
    COST_NONE,
    LOSE,
    MARKS,
    MOVE,
    RECEIVE,
    REFUSED,
    TAKE,
    TOGETHER,
    Blocks,
    Fields,
    Joint,
    Lookup,
    Outcomes,
    Queued,
    Sets,
    Shape,
    cell,
    expire,
    get,
    horizons_of,
    put,
    want_cell,
    want_content,
    want_vector,
)


@njit(inline="always")
def part_of(joint: Joint, blocks: Blocks, cells: Any, listed: Listed, i: Any, j: Any) -> Any:
    """Return the member and the outcome of part j of the joint step that is listed at i."""
    member = np.int64(joint.part_member[j])
    o = cell(blocks, cells, member, listed.here[member], joint.part_column[j])
    if listed.todo[i, 0] >= 0 and listed.todo[i, 1] == j:
        o = listed.todo[i, 0]
    return member, o


@njit(forceinline=True, nogil=True, _nrt=False)
def send_queued(
    fields: Fields,
    cost: Any,
    s: Shape,
    queued: Queued,
    rows: Rows,
    n: Any,
    member: Any,
    o: Any,
    ask: Questions,
    asked: Any,
) -> Any:
    """Put the messages of an outcome of this cost into queues; returns as `perform` does."""
    if cost == COST_CRASH and s.fifo:
        for q in range(s.queue_count):
            if queued.member[q] == member:
                put(rows, n, fields, s.queues + q, 0)
    first = queued.send_first[o]
    for k in range(first, first + queued.send_count[o]):
        q, message = queued.send_queue[k], queued.send_message[k]
        content = get(rows, n, fields, s.queues + q)
        more = find(queued.adds, q, content, message)
        if more < 0:
            asked = want_content(queued.adds, ask, asked, ASK_ADD, more, q, content, message)
            return False, more == REFUSED, asked
        put(rows, n, fields, s.queues + q, more)
    return True, True, asked


@njit(forceinline=True, nogil=True, _nrt=False)
def perform(
    fields: Fields,
    blocks: Blocks,
    outcomes: Outcomes,
    spend: Block,
    cells: Any,
    queued: Any,
    sets: Any,
    s: Shape,
    rows: Rows,
    n: Any,
    member: Any,
    o: Any,
    ask: Questions,
    asked: Any,
) -> Any:
    """Write the successor of row n by an outcome of a member.

    `spend`: int32 (cost, env); `rows`: uint64 (row, word); `ask`: int64 (question, 4).  Returns
    (whether that is possible, whether all is known, asked).
    """
    cost = outcomes.cost[o]
    if cost != COST_NONE:
        after = spend[cost, get(rows, n, fields, s.env)]
        if after < 0:
            return False, True, asked
        put(rows, n, fields, s.env, after)
    put(rows, n, fields, member, outcomes.next[o])
    if outcomes.adds[o] != 0:
        if sets is None:
            for w in range(rows.shape[1]):
                rows[n, w] |= outcomes.added[o, w]
        else:
            content = get(rows, n, fields, s.queues + member)
            sent = np.int64(sets.sends[o])
            more = find(sets.adds, member, content, sent)
            if more < 0:
                asked = want_content(sets.adds, ask, asked, ASK_ADD, more, member, content, sent)
                return False, False, asked
            put(rows, n, fields, s.queues + member, more)
    tells = outcomes.tells[o]
    if tells >= 0:
        local = get(rows, n, fields, s.monitor)
        told = cell(blocks, cells, s.monitor, local, tells)
        if told < 0:
            if told != REFUSED:
                asked = want_cell(
                    blocks, cells, ask, asked, told, s.monitor, local, outcomes.tells[o]
                )
            return False, told == REFUSED, asked
        put(rows, n, fields, s.monitor, outcomes.next[told])
    if queued is not None:
        return send_queued(fields, cost, s, queued, rows, n, member, o, ask, asked)
    return True, True, asked


@njit(forceinline=True, nogil=True, _nrt=False)
def trim_numbered(
    fields: Fields,
    horizon: SmallInts,
    s: Shape,
    sets: Sets,
    given: SourceRows,
    r: Any,
    rows: Rows,
    n: Any,
    vector: SmallInts,
    ask: Questions,
    asked: Any,
) -> Any:
    """Remove useless messages from row n's contents; return (whether known, asked).

    `horizon`: int32 (value,), of each local state; `vector`: the horizons of row r, which it
    follows, packed.
    """
    after = horizons_of(fields, horizon, sets.vector_shift, rows, n)
    number = np.int64(sets.vector[after]) - 1
    if number < 0:
        return False, want_vector(sets.vector, ask, asked, number, after)
    for q in range(s.members):
        content = get(rows, n, fields, s.queues + q)
        if after == vector and content == get(given.rows, r, fields, s.queues + q):
            continue
        more = find(sets.trims, q, content, number)
        if more < 0:
            return False, want_content(sets.trims, ask, asked, ASK_TRIM, more, q, content, number)
        put(rows, n, fields, s.queues + q, more)
    return True, asked


@njit(forceinline=True, nogil=True, _nrt=False)
def write_of_world(
    fields: Fields,
    is_split: SmallFlags,
    s: Shape,
    given: SourceRows,
    r: Any,
    written: Written,
    n: Any,
    listed: Listed,
    i: Any,
) -> None:
    """Write a step of the world: a message is lost or doubled, the network splits or heals.

    `is_split`: int8 (env,).
    """
    kind, env = listed.todo[i, 2] & 15, listed.todo[i, 0]
    for w in range(given.rows.shape[1]):
        written.rows[n, w] = given.rows[r, w]
    put(written.rows, n, fields, s.env, env)
    if kind != MOVE:
        put(written.rows, n, fields, listed.todo[i, 3], listed.todo[i, 4])
    written.info[n] = listed.todo[i, 2]
    written.source[n] = r
    if len(given.marks) > 0:
        written.via[n] = SPLIT if kind == MOVE and is_split[env] else 0


@njit(forceinline=True, nogil=True, _nrt=False)
def write_listed(
    t: Lookup,
    cells: Any,
    queued: Any,
    sets: Any,
    s: Shape,
    given: SourceRows,
    r: Any,
    vector: SmallInts,
    written: Written,
    n: Any,
    listed: Listed,
    steps: Any,
    lacking: MissingAnswers,
    asked: Any,
) -> Any:
    """Write the steps listed of row r; returns (successors, asked, whether all is known, full)."""
    out, todo, ask = written.rows, listed.todo, lacking.ask
    fields, blocks, outcomes, joint = t.fields, t.blocks, t.outcomes, t.joint
    spend, is_split, of_use = t.environment.spend, t.environment.is_split, t.of_use
    room = len(out)
    own = np.int64(NOT_LOOKED_UP)
    whole = True
    full = False
    for i in range(steps):
        if not whole or full:
            break
        kind = todo[i, 2] & 15
        o = todo[i, 0]
        member = todo[i, 1]
        if n >= room:
            full = True
            break
        if sets is not None and kind <= RECEIVE:
            to = sets.leads[o]
            if to >= 0:
                # fmt: off
                whole, silent, own, asked = write_lead(
                    fields, of_use.horizon, s, sets, given.rows, r, out, n, member,
                    listed.here[member], to, vector, own, ask, asked,
                )
                # fmt: on
                if not whole:
                    break
                written.info[n] = (o << 32) | todo[i, 2]
                written.source[n] = r
                if len(given.marks) > 0:
                    marked = sets.sleeps[o] & MARKS
                    written.via[n] = left_by(kind, member, todo[i, 3], silent) if marked else 0
                outcomes.taken[o] += 1
                n += 1
                continue
        if LOSE <= kind <= MOVE:
            write_of_world(fields, is_split, s, given, r, written, n, listed, i)
            t.event_taken[kind] += 1
            n += 1
            continue
        part, parts = np.int64(0), np.int64(1)
        if kind == TOGETHER:
            k = (todo[i, 2] >> 4) & 0xFFFFFFF
            part = np.int64(joint.part_first[k])
            parts = np.int64(joint.part_count[k])
        # The step, and then the crashes within it.
        while True:
            if n >= room:
                full = True
                break
            for w in range(out.shape[1]):
                out[n, w] = given.rows[r, w]
            if kind == TAKE:
                put(out, n, fields, todo[i, 3], todo[i, 4])
            possible = True
            for j in range(part, part + parts):
                if kind == TOGETHER:
                    member, o = part_of(joint, blocks, cells, listed, i, j)
                # fmt: off
                possible, known, asked = perform(
                    fields, blocks, outcomes, spend, cells, queued, sets, s, out, n, member, o,
                    ask, asked,
                )
                # fmt: on
                whole = whole and known
                if not possible:
                    break
            if possible and s.expires:
                if sets is None:
                    expire(fields, of_use, s.members, out, n)
                else:
                    possible, asked = trim_numbered(
                        fields, of_use.horizon, s, sets, given, r, out, n, vector, ask, asked
                    )
                    whole = whole and possible
            if possible:
                written.source[n] = r
                if len(given.marks) > 0:
                    written.via[n] = 0
                    if sets is not None and sets.sleeps[o] & MARKS:
                        written.via[n] = left_by(kind, member, todo[i, 3], outcomes.adds[o] == 0)
                if kind == TOGETHER:
                    written.info[n] = ((todo[i, 0] + 1) << 32) | todo[i, 2]
                    t.event_taken[TOGETHER] += 1
                    for j in range(part, part + parts):
                        member, o = part_of(joint, blocks, cells, listed, i, j)
                        outcomes.taken[o] += 1
                else:
                    written.info[n] = (o << 32) | todo[i, 2]
                    outcomes.taken[o] += 1
                n += 1
            if kind == TOGETHER or outcomes.last[o] != 0:
                break
            o += 1
    return n, asked, whole, full
