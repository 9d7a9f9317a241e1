"""Writes the steps that are listed for one row; each outcome becomes a row, a successor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.expansion.buffers import Loop
from joinproto.check.engine.expansion.deliveries import left_by
from joinproto.check.engine.expansion.sleeping import SPLIT
from joinproto.check.engine.rows.layout import get
from joinproto.check.engine.tables.kernel import (
    ASK_ADD,
    ASK_TRIM,
    COST_CRASH,
    COST_NONE,
    LOCAL,
    LOSE,
    MARKS,
    MOVE,
    MOVES,
    RECEIVE,
    REFUSED,
    SENT,
    TAKE,
    TOGETHER,
    Queued,
    Sets,
    cell,
    expire,
    horizons_of,
    look_up,
    look_up_content,
    look_up_vector,
    put,
)

NOT_LOOKED_UP = -9
"""The number of a row's horizons was not looked up yet; differs from `UNKNOWN` and `ASKED`."""


@njit(forceinline=True, nogil=True, _nrt=False)
def write_lead(
    loop: Loop, sets: Sets, r: Any, n: Any, member: Any, to: Any, vector: Any, own: Any, asked: Any
) -> Any:
    """Write the successor of a member's plain step in row r, where contents are numbered.

    `to`: see `Sets.leads`; `vector`: the horizons of the row, packed; `own`: their number, or
    `NOT_LOOKED_UP`.  Returns (whether all is known, whether all that is sent was under way already,
    own, asked).
    """
    fields, horizon, s, ask = loop.t.fields, loop.t.of_use.horizon, loop.s, loop.lacking.ask
    rows, out = loop.given.rows, loop.written.rows
    whole = silent = True
    for w in range(rows.shape[1]):
        out[n, w] = rows[r, w]
    put(out, n, fields, member, to & LOCAL)
    moves = s.expires and to & MOVES != 0
    sent = ((to >> 32) & SENT) - 1
    if sent >= 0:
        content = get(rows, r, fields, s.queues + member)
        more, asked = look_up_content(sets.adds, ask, asked, ASK_ADD, member, content, sent)
        silent = more == content
        if more < 0:
            whole = False
        else:
            put(out, n, fields, s.queues + member, more)
    # If no horizon changes, only the sent messages may be useless.
    if whole and s.expires and (moves or not silent):
        number = own
        if moves:
            off = fields.off[member]
            further = horizon[off + (to & LOCAL)] - horizon[off + loop.listed.here[member]]
            after = vector + (np.int64(further) << sets.vector_shift[member])
            number, asked = look_up_vector(sets.vector, ask, asked, after)
        elif own == NOT_LOOKED_UP:
            number, asked = look_up_vector(sets.vector, ask, asked, vector)
            own = number
        whole = number >= 0
        for q in range(s.members):
            if whole and (moves or q == member):
                content = get(out, n, fields, s.queues + q)
                more, asked = look_up_content(sets.trims, ask, asked, ASK_TRIM, q, content, number)
                if more < 0:
                    whole = False
                else:
                    put(out, n, fields, s.queues + q, more)
    return whole, silent, own, asked


@njit(inline="always")
def part_of(loop: Loop, cells: Any, i: Any, j: Any) -> Any:
    """Return the member and the outcome of part j in the joint step that is listed at i."""
    joint, listed = loop.t.joint, loop.listed
    member = np.int64(joint.part_member[j])
    o = cell(loop.t.blocks, cells, member, listed.here[member], joint.part_column[j])
    if listed.todo[i, 0] >= 0 and listed.todo[i, 1] == j:
        o = listed.todo[i, 0]
    return member, o


@njit(forceinline=True, nogil=True, _nrt=False)
def send_queued(
    loop: Loop, queued: Queued, cost: Any, n: Any, member: Any, o: Any, asked: Any
) -> Any:
    """Put the messages of an outcome of this cost into queues.  Returns the same as `perform`."""
    fields, rows, s = loop.t.fields, loop.written.rows, loop.s
    if cost == COST_CRASH and s.fifo:
        for q in range(s.queue_count):
            if queued.member[q] == member:
                put(rows, n, fields, s.queues + q, 0)
    first = queued.send_first[o]
    for k in range(first, first + queued.send_count[o]):
        q, message = queued.send_queue[k], queued.send_message[k]
        content = get(rows, n, fields, s.queues + q)
        more, asked = look_up_content(
            queued.adds, loop.lacking.ask, asked, ASK_ADD, q, content, message
        )
        if more < 0:
            return False, more == REFUSED, asked
        put(rows, n, fields, s.queues + q, more)
    return True, True, asked


@njit(forceinline=True, nogil=True, _nrt=False)
def perform(
    loop: Loop, cells: Any, queued: Any, sets: Any, n: Any, member: Any, o: Any, asked: Any
) -> Any:
    """Change the row written at n by an outcome of a member.

    Returns (whether the outcome is possible, whether all is known, asked).
    """
    fields, outcomes, s = loop.t.fields, loop.t.outcomes, loop.s
    rows, ask = loop.written.rows, loop.lacking.ask
    cost = outcomes.cost[o]
    if cost != COST_NONE:
        after = loop.t.environment.spend[cost, get(rows, n, fields, s.env)]
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
            more, asked = look_up_content(sets.adds, ask, asked, ASK_ADD, member, content, sent)
            if more < 0:
                return False, False, asked
            put(rows, n, fields, s.queues + member, more)
    tells = outcomes.tells[o]
    if tells >= 0:
        local = get(rows, n, fields, s.monitor)
        told, asked = look_up(loop.t.blocks, cells, ask, asked, s.monitor, local, tells)
        if told < 0:
            return False, told == REFUSED, asked
        put(rows, n, fields, s.monitor, outcomes.next[told])
    if queued is not None:
        return send_queued(loop, queued, cost, n, member, o, asked)
    return True, True, asked


@njit(forceinline=True, nogil=True, _nrt=False)
def trim_numbered(loop: Loop, sets: Sets, r: Any, n: Any, vector: Any, asked: Any) -> Any:
    """Remove useless messages from the contents of the row written at n.

    `vector`: the horizons, packed, of row r, whose successor it is.  Returns (whether all is known,
    asked).
    """
    fields, s, rows, ask = loop.t.fields, loop.s, loop.written.rows, loop.lacking.ask
    after = horizons_of(fields, loop.t.of_use.horizon, sets.vector_shift, rows, n)
    number, asked = look_up_vector(sets.vector, ask, asked, after)
    if number < 0:
        return False, asked
    for q in range(s.members):
        content = get(rows, n, fields, s.queues + q)
        if after == vector and content == get(loop.given.rows, r, fields, s.queues + q):
            continue
        more, asked = look_up_content(sets.trims, ask, asked, ASK_TRIM, q, content, number)
        if more < 0:
            return False, asked
        put(rows, n, fields, s.queues + q, more)
    return True, asked


@njit(forceinline=True, nogil=True, _nrt=False)
def write_of_world(loop: Loop, r: Any, n: Any, i: Any) -> None:
    """Write a step of the world: a message is lost or doubled, or the network splits or heals."""
    fields, given, written, todo = loop.t.fields, loop.given, loop.written, loop.listed.todo
    kind, env = todo[i, 2] & 15, todo[i, 0]
    for w in range(given.rows.shape[1]):
        written.rows[n, w] = given.rows[r, w]
    put(written.rows, n, fields, loop.s.env, env)
    if kind != MOVE:
        put(written.rows, n, fields, todo[i, 3], todo[i, 4])
    written.info[n] = todo[i, 2]
    written.source[n] = r
    if len(given.marks) > 0:
        written.via[n] = SPLIT if kind == MOVE and loop.t.environment.is_split[env] else 0


@njit(forceinline=True, nogil=True, _nrt=False)
def write_listed(
    loop: Loop,
    cells: Any,
    queued: Any,
    sets: Any,
    r: Any,
    vector: Any,
    n: Any,
    steps: Any,
    asked: Any,
) -> Any:
    """Write the steps listed for row r; return (successors, asked, whether all is known, full).

    `vector`: the members' horizons in the row, packed.
    """
    t, s, given, written, todo = loop.t, loop.s, loop.given, loop.written, loop.listed.todo
    fields, outcomes, joint, out = t.fields, t.outcomes, t.joint, written.rows
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
                whole, silent, own, asked = write_lead(
                    loop, sets, r, n, member, to, vector, own, asked
                )
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
            write_of_world(loop, r, n, i)
            t.event_taken[kind] += 1
            n += 1
            continue
        part, parts = np.int64(0), np.int64(1)
        if kind == TOGETHER:
            k = (todo[i, 2] >> 4) & 0xFFFFFFF
            part = np.int64(joint.part_first[k])
            parts = np.int64(joint.part_count[k])
        # Write the step, and then the crashes within it.
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
                    member, o = part_of(loop, cells, i, j)
                possible, known, asked = perform(loop, cells, queued, sets, n, member, o, asked)
                whole = whole and known
                if not possible:
                    break
            if possible and s.expires:
                if sets is None:
                    expire(fields, t.of_use, s.members, out, n)
                else:
                    possible, asked = trim_numbered(loop, sets, r, n, vector, asked)
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
                        member, o = part_of(loop, cells, i, j)
                        outcomes.taken[o] += 1
                else:
                    written.info[n] = (o << 32) | todo[i, 2]
                    outcomes.taken[o] += 1
                n += 1
            if kind == TOGETHER or outcomes.last[o] != 0:
                break
            o += 1
    return n, asked, whole, full
