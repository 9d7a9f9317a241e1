"""One level's work: every step out of every state, by table look-up.

No member code runs here.  A cell of the table that was never needed before is asked for,
its state is left out and listed to be redone, and the caller fills the cell by one call of
the real code.

How a step is named (`info`, int64): kind in the low 4 bits, `a` in the next 28, the outcome
in the high 32.  A joint step has there 0, or 1 + the outcome of the member that crashes in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from models.engine.bits import trailing_zeros
from models.engine.grids import find, mark

I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

CHOICE, RECEIVE, TAKE, LOSE, DOUBLE, MOVE, TOGETHER = range(7)
"""Kinds of steps: a member's own; a message of a set (a: message); of a queue or bag (a: take);
a message lost or doubled (a: take); the world splits or heals (a: move); a joint step."""

UNKNOWN, REFUSED, ASKED = -1, -2, -3
"""Cells: never asked for; no such step; asked for in this pass."""

ASK_CELL, ASK_ADD, ASK_TRIM, ASK_VECTOR = range(4)

COST_NONE, COST_CRASH, COST_WIPE, COST_LOSE, COST_DOUBLE = range(5)


class Lookup(NamedTuple):
    """All tables as arrays; `models.engine.tables` grows them.

    Fields are numbered: members, then the monitor if there is one, then the world's own
    (`env`), then queues.  `off[f]` is where field f's values begin in per-value arrays.
    """

    words: I64  # (1,): words of a row
    word: I64
    shift: U64
    mask: U64
    slot_mask: U64
    slot_at: I32
    slot_word: I64
    slot_bit: U64
    off: I64
    # choices of each local state
    choice_first: I32
    choice_count: I32
    choice_column: I32
    # the table: (member, local state, column) -> first outcome
    cell: I32
    cell_off: I64
    cell_stride: I64
    # outcomes
    next: I32
    cost: I8
    last: I8
    adds: I8
    plain: I8  # one outcome, and nothing but a local state and messages of a set change
    added: U64  # (outcome, word): messages it puts into the set
    send_first: I32
    send_count: I32
    send_queue: I32
    send_message: I32
    tells: I32  # monitor's column or -1
    taken: I64  # how often each outcome was taken
    # messages of a set: who may receive each
    to_first: I32
    to_count: I32
    to_member: I32
    to_column: I32
    to_link: I32
    # messages of a set that expire: see World.expiry
    horizon: I32  # of each local state
    needed: U64  # (member * horizons + horizon, word): what is of use to it, and all else
    horizons: I64  # (1,)
    # queues
    queue_member: I32  # who receives from it
    queue_link: I32
    take_first: I32
    take_count: I32
    take_column: I32
    take_message: I32
    take_rest: I32
    add: I32
    add_off: I64
    add_stride: I64
    # the world
    spend: I32  # (cost, env) -> env or -1
    link_up: I8  # (env, link)
    move_first: I32
    move_count: I32
    move_env: I32
    # joint steps, by number of the combination shown
    joint_first: I32
    joint_count: I32
    part_first: I32
    part_count: I32
    part_member: I32
    part_column: I32
    event_taken: I64  # how often each take, move and joint step: (kind, a)


class Shape(NamedTuple):
    """Numbers that do not change during a search."""

    members: int
    monitor: int  # its field or -1
    env: int
    queues: int  # first queue's field
    queue_count: int
    splits: bool
    fifo: bool
    joint: bool
    expires: bool


@njit(inline="always")
def _get(rows: Any, r: Any, t: Any, field: Any) -> Any:
    return np.int64((rows[r, t.word[field]] >> t.shift[field]) & t.mask[field])


@njit(inline="always")
def _put(rows: Any, r: Any, t: Any, field: Any, value: Any) -> None:
    w = t.word[field]
    shift = t.shift[field]
    rows[r, w] = (rows[r, w] & ~(t.mask[field] << shift)) | (np.uint64(value) << shift)


@njit(inline="always")
def _write_plain(
    t: Any, rows: Any, r: Any, out: Any, n: Any, member: Any, o: Any, words: Any
) -> None:
    for w in range(words):
        out[n, w] = rows[r, w] | t.added[o, w]
    _put(out, n, t, member, t.next[o])


@njit(inline="always")
def _expire(t: Any, s: Any, out: Any, n: Any, words: Any) -> None:
    """Take out the messages that are of no use to anybody any more."""
    for w in range(words):
        keep = np.uint64(0)
        for member in range(s.members):
            at = t.off[member] + _get(out, n, t, member)
            keep |= t.needed[member * t.horizons[0] + t.horizon[at], w]
        out[n, w] &= keep


@njit(inline="always")
def _ask(ask: Any, asked: Any, kind: Any, x: Any, y: Any, z: Any) -> Any:
    ask[asked, 0] = kind
    ask[asked, 1] = x
    ask[asked, 2] = y
    ask[asked, 3] = z


@njit(inline="always")
def _cell(t: Any, cells: Any, member: Any, local: Any, column: Any) -> Any:
    """Return the first outcome, or what stands there instead."""
    if cells is None:
        return t.cell[t.cell_off[member] + local * t.cell_stride[member] + column]
    return find(cells, member, local, column)


@njit(inline="always")
def _await_cell(t: Any, cells: Any, member: Any, local: Any, column: Any) -> None:
    if cells is None:
        t.cell[t.cell_off[member] + local * t.cell_stride[member] + column] = ASKED
    else:
        mark(cells, member, local, column, ASKED)


@njit(inline="always")
def _vector(t: Any, s: Any, sets: Any, rows: Any, r: Any) -> Any:
    """Return the horizons of all members in a row, packed."""
    packed = np.int64(0)
    for member in range(s.members):
        horizon = t.horizon[t.off[member] + _get(rows, r, t, member)]
        packed |= np.int64(horizon) << sets.vector_shift[member]
    return packed


@njit(inline="always")
def _stays(t: Any, s: Any, sets: Any, rows: Any, r: Any, member: Any, o: Any) -> Any:
    """Return whether outcome `o` of a member that is where it was changes no content either."""
    if sets.sends[o] < 0:
        return True
    content = _get(rows, r, t, s.queues + member)
    return find(sets.adds, member, content, sets.sends[o]) == content


@njit(inline="always")
def _add(t: Any, adds: Any, queue: Any, content: Any, message: Any) -> Any:
    """Return what the queue holds with one message more, or what stands there instead."""
    if adds is None:
        return t.add[t.add_off[queue] + content * t.add_stride[queue] + message]
    return find(adds, queue, content, message)


@njit(inline="always")
def _await_add(t: Any, adds: Any, queue: Any, content: Any, message: Any) -> None:
    if adds is None:
        t.add[t.add_off[queue] + content * t.add_stride[queue] + message] = ASKED
    else:
        mark(adds, queue, content, message, ASKED)


@njit(cache=True, nogil=True)
def expand(
    t: Any,
    cells: Any,
    adds: Any,
    sets: Any,
    s: Any,
    rows: Any,
    picked: Any,
    begin: Any,
    end: Any,
    joint: Any,
    joint_base: Any,
    out: Any,
    info: Any,
    source: Any,
    ask: Any,
    redo: Any,
    todo: Any,
    looped: Any,
    quiet: Any,
) -> Any:
    """Write the successors of rows begin to end (of `picked`, where it is not empty).

    Returns (first state not done, successors, asked, to redo, loops).  A state whose
    successors do not fit any more is not begun; where not even one state fits, the first is
    `begin`, and the caller comes back with larger buffers.  `quiet`: plain steps that lead
    back to where they began are counted (loops), not written.

    `cells`, `adds`: as `Grids.sparse` gives them; None compiles a loop that knows blocks alone.
    `sets`: where contents are numbered (see `Sets`); None compiles one in which a message is a bit.

    Plain steps are written at once; the others are listed in `todo` (outcome, member, info,
    queue, its rest) and written by the one loop below.  Two-dimensional indexing throughout:
    a view of a row costs more than a step.
    """
    member: Any
    part: Any
    parts: Any
    words = t.words[0]
    room = len(out)
    room_ask = len(ask) - 1
    n = 0
    asked = 0
    redone = 0
    loops = 0
    here = np.zeros(s.members + 1, np.int64)
    for p in range(begin, end):
        r = np.int64(p)
        if len(picked) > 0:
            r = picked[p]
        start = n
        steps = 0
        n_loops = 0
        whole = True
        env = _get(rows, r, t, s.env)
        for member in range(s.members):
            here[member] = _get(rows, r, t, member)
        # What members do by themselves, crashes among it.
        for member in range(s.members):
            local = here[member]
            at = t.off[member] + local
            first = t.choice_first[at]
            for k in range(first, first + t.choice_count[at]):
                column = t.choice_column[k]
                o = _cell(t, cells, member, local, column)
                if o >= 0:
                    if t.plain[o] != 0 and n < room and n_loops < room:
                        if quiet and t.adds[o] == 0 and t.next[o] == local:
                            looped[n_loops] = o
                            n_loops += 1
                            t.taken[o] += 1
                            continue
                        _write_plain(t, rows, r, out, n, member, o, words)
                        if s.expires:
                            _expire(t, s, out, n, words)
                        info[n] = np.int64(o) << 32
                        source[n] = r
                        t.taken[o] += 1
                        n += 1
                        continue
                    if steps < len(todo):
                        todo[steps, 0] = o
                        todo[steps, 1] = member
                        todo[steps, 2] = CHOICE
                    steps += 1
                elif o != REFUSED:
                    whole = False
                    if o == UNKNOWN and asked < room_ask:
                        _ask(ask, asked, ASK_CELL, member, local, column)
                        asked += 1
                        _await_cell(t, cells, member, local, column)
        # Messages of a set, where its contents are numbered.
        vector = np.int64(0)
        if sets is not None:
            if s.expires:
                vector = _vector(t, s, sets, rows, r)
            for q in range(s.members):
                at = t.off[s.queues + q] + _get(rows, r, t, s.queues + q)
                first = t.take_first[at]
                for k in range(first, first + t.take_count[at]):
                    member = np.int64(sets.member[k])
                    if s.splits and t.link_up[env, q * s.members + member] == 0:
                        continue
                    column = sets.column[k]
                    o = _cell(t, cells, member, here[member], column)
                    if o >= 0:
                        if (
                            quiet
                            and n_loops < room
                            and sets.plain[o] != 0
                            and t.next[o] == here[member]
                            and _stays(t, s, sets, rows, r, member, o)
                        ):
                            looped[n_loops] = o
                            n_loops += 1
                            t.taken[o] += 1
                            continue
                        if steps < len(todo):
                            todo[steps, 0] = o
                            todo[steps, 1] = member
                            todo[steps, 2] = (np.int64(sets.message[k]) << 4) | RECEIVE
                        steps += 1
                    elif o != REFUSED:
                        whole = False
                        if o == UNKNOWN and asked < room_ask:
                            _ask(ask, asked, ASK_CELL, member, here[member], column)
                            asked += 1
                            _await_cell(t, cells, member, here[member], column)
        # Messages of a set, a bit each.
        for w in range(words):
            bits = rows[r, w] & t.slot_mask[w]
            while bits != 0:
                bit = np.int64(trailing_zeros(bits))
                bits &= bits - np.uint64(1)
                m = np.int64(t.slot_at[w * 64 + bit])
                first = t.to_first[m]
                for k in range(first, first + t.to_count[m]):
                    if s.splits and t.link_up[env, t.to_link[k]] == 0:
                        continue
                    member = np.int64(t.to_member[k])
                    column = t.to_column[k]
                    o = _cell(t, cells, member, here[member], column)
                    if o >= 0:
                        if t.plain[o] != 0 and n < room and n_loops < room:
                            if quiet and t.adds[o] == 0 and t.next[o] == here[member]:
                                looped[n_loops] = o
                                n_loops += 1
                                t.taken[o] += 1
                                continue
                            _write_plain(t, rows, r, out, n, member, o, words)
                            if s.expires:
                                _expire(t, s, out, n, words)
                            info[n] = (np.int64(o) << 32) | (m << 4) | RECEIVE
                            source[n] = r
                            t.taken[o] += 1
                            n += 1
                            continue
                        if steps < len(todo):
                            todo[steps, 0] = o
                            todo[steps, 1] = member
                            todo[steps, 2] = (m << 4) | RECEIVE
                        steps += 1
                    elif o != REFUSED:
                        whole = False
                        if o == UNKNOWN and asked < room_ask:
                            _ask(ask, asked, ASK_CELL, member, here[member], column)
                            asked += 1
                            _await_cell(t, cells, member, here[member], column)
        # Messages of queues and bags: received, lost, doubled.
        for q in range(s.queue_count):
            field = s.queues + q
            content = _get(rows, r, t, field)
            if content == 0:
                continue
            member = np.int64(t.queue_member[q])
            up = not s.splits or t.link_up[env, t.queue_link[q]] != 0
            at = t.off[field] + content
            first = t.take_first[at]
            for k in range(first, first + t.take_count[at]):
                if up:
                    column = t.take_column[k]
                    o = _cell(t, cells, member, here[member], column)
                    if o >= 0:
                        if steps < len(todo):
                            todo[steps, 0] = o
                            todo[steps, 1] = member
                            todo[steps, 2] = (np.int64(k) << 4) | TAKE
                            todo[steps, 3] = field
                            todo[steps, 4] = t.take_rest[k]
                        steps += 1
                    elif o != REFUSED:
                        whole = False
                        if o == UNKNOWN and asked < room_ask:
                            _ask(ask, asked, ASK_CELL, member, here[member], column)
                            asked += 1
                            _await_cell(t, cells, member, here[member], column)
                after = t.spend[COST_LOSE, env]
                if after >= 0:
                    if steps < len(todo):
                        todo[steps, 0] = after
                        todo[steps, 2] = (np.int64(k) << 4) | LOSE
                        todo[steps, 3] = field
                        todo[steps, 4] = t.take_rest[k]
                    steps += 1
                after = t.spend[COST_DOUBLE, env]
                if after >= 0:
                    more = _add(t, adds, q, content, t.take_message[k])
                    if more >= 0:
                        if steps < len(todo):
                            todo[steps, 0] = after
                            todo[steps, 2] = (np.int64(k) << 4) | DOUBLE
                            todo[steps, 3] = field
                            todo[steps, 4] = more
                        steps += 1
                    elif more != REFUSED:
                        whole = False
                        if more == UNKNOWN and asked < room_ask:
                            _ask(ask, asked, ASK_ADD, q, content, t.take_message[k])
                            asked += 1
                            _await_add(t, adds, q, content, t.take_message[k])
        # The world splits or heals.
        first = t.move_first[env]
        for k in range(first, first + t.move_count[env]):
            if steps < len(todo):
                todo[steps, 0] = t.move_env[k]
                todo[steps, 2] = (np.int64(k) << 4) | MOVE
            steps += 1
        # Several members at once: only if each of them can.
        if s.joint:
            shown = joint[r - joint_base]
            first = t.joint_first[shown]
            for k in range(first, first + t.joint_count[shown]):
                possible = True
                part = t.part_first[k]
                for j in range(part, part + t.part_count[k]):
                    member = np.int64(t.part_member[j])
                    column = t.part_column[j]
                    o = _cell(t, cells, member, here[member], column)
                    if o < 0:
                        possible = False
                        if o != REFUSED:
                            whole = False
                            if o == UNKNOWN and asked < room_ask:
                                _ask(ask, asked, ASK_CELL, member, here[member], column)
                                asked += 1
                                _await_cell(t, cells, member, here[member], column)
                if not possible:
                    continue
                if steps < len(todo):
                    todo[steps, 0] = -1
                    todo[steps, 2] = (np.int64(k) << 4) | TOGETHER
                steps += 1
                # One of them may crash in the middle of it.
                for j in range(part, part + t.part_count[k]):
                    member = np.int64(t.part_member[j])
                    o = _cell(t, cells, member, here[member], t.part_column[j])
                    while t.last[o] == 0:
                        o += 1
                        if steps < len(todo):
                            todo[steps, 0] = o
                            todo[steps, 1] = j
                            todo[steps, 2] = (np.int64(k) << 4) | TOGETHER
                        steps += 1
        if steps > len(todo):
            full = True
            steps = 0
        else:
            full = False
        # Write them.
        for i in range(steps):
            if not whole or full:
                break
            kind = todo[i, 2] & 15
            o = todo[i, 0]
            if LOSE <= kind <= MOVE:
                if n >= room:
                    full = True
                    break
                for w in range(words):
                    out[n, w] = rows[r, w]
                _put(out, n, t, s.env, o)
                if kind != MOVE:
                    _put(out, n, t, todo[i, 3], todo[i, 4])
                info[n] = todo[i, 2]
                source[n] = r
                t.event_taken[kind] += 1
                n += 1
                continue
            member = todo[i, 1]
            parts = 1
            part = 0
            if kind == TOGETHER:
                k = (todo[i, 2] >> 4) & 0xFFFFFFF
                part = np.int64(t.part_first[k])
                parts = np.int64(t.part_count[k])
            while True:
                if n >= room:
                    full = True
                    break
                for w in range(words):
                    out[n, w] = rows[r, w]
                if kind == TAKE:
                    _put(out, n, t, todo[i, 3], todo[i, 4])
                possible = True
                for j in range(parts):
                    if kind == TOGETHER:
                        member = np.int64(t.part_member[part + j])
                        o = _cell(t, cells, member, here[member], t.part_column[part + j])
                        if todo[i, 0] >= 0 and todo[i, 1] == part + j:
                            o = todo[i, 0]
                    cost = t.cost[o]
                    if cost != COST_NONE:
                        after = t.spend[cost, _get(out, n, t, s.env)]
                        if after < 0:
                            possible = False
                            break
                        _put(out, n, t, s.env, after)
                    _put(out, n, t, member, t.next[o])
                    if t.adds[o] != 0:
                        if sets is None:
                            for w in range(words):
                                out[n, w] |= t.added[o, w]
                        else:
                            content = _get(out, n, t, s.queues + member)
                            sent = np.int64(sets.sends[o])
                            more = find(sets.adds, member, content, sent)
                            if more < 0:
                                possible = False
                                whole = False
                                if more == UNKNOWN and asked < room_ask:
                                    _ask(ask, asked, ASK_ADD, member, content, sent)
                                    asked += 1
                                    mark(sets.adds, member, content, sent, ASKED)
                                break
                            _put(out, n, t, s.queues + member, more)
                    if t.tells[o] >= 0:
                        local = _get(out, n, t, s.monitor)
                        told = _cell(t, cells, s.monitor, local, t.tells[o])
                        if told < 0:
                            possible = False
                            whole = False
                            if told == UNKNOWN and asked < room_ask:
                                _ask(ask, asked, ASK_CELL, s.monitor, local, t.tells[o])
                                asked += 1
                                _await_cell(t, cells, s.monitor, local, t.tells[o])
                            break
                        _put(out, n, t, s.monitor, t.next[told])
                    if s.queue_count > 0:
                        if cost == COST_CRASH and s.fifo:
                            for q in range(s.queue_count):
                                if t.queue_member[q] == member:
                                    _put(out, n, t, s.queues + q, 0)
                        first = t.send_first[o]
                        for k in range(first, first + t.send_count[o]):
                            q = t.send_queue[k]
                            content = _get(out, n, t, s.queues + q)
                            more = _add(t, adds, q, content, t.send_message[k])
                            if more < 0:
                                possible = False
                                if more == REFUSED:
                                    break
                                whole = False
                                if more == UNKNOWN and asked < room_ask:
                                    _ask(ask, asked, ASK_ADD, q, content, t.send_message[k])
                                    asked += 1
                                    _await_add(t, adds, q, content, t.send_message[k])
                                break
                            _put(out, n, t, s.queues + q, more)
                        if not possible:
                            break
                if possible and s.expires:
                    if sets is None:
                        _expire(t, s, out, n, words)
                    else:
                        after = _vector(t, s, sets, out, n)
                        number = np.int64(sets.vector[after]) - 1
                        if number < 0:
                            possible = False
                            whole = False
                            if number == -1 and asked < room_ask:
                                _ask(ask, asked, ASK_VECTOR, after, 0, 0)
                                asked += 1
                                sets.vector[after] = -1
                        for q in range(s.members):
                            if not possible:
                                break
                            content = _get(out, n, t, s.queues + q)
                            if after == vector and content == _get(rows, r, t, s.queues + q):
                                continue
                            more = find(sets.trims, q, content, number)
                            if more < 0:
                                possible = False
                                whole = False
                                if more == UNKNOWN and asked < room_ask:
                                    _ask(ask, asked, ASK_TRIM, q, content, number)
                                    asked += 1
                                    mark(sets.trims, q, content, number, ASKED)
                            else:
                                _put(out, n, t, s.queues + q, more)
                if possible:
                    source[n] = r
                    if kind == TOGETHER:
                        info[n] = ((todo[i, 0] + 1) << 32) | todo[i, 2]
                        t.event_taken[TOGETHER] += 1
                        for j in range(parts):
                            member = np.int64(t.part_member[part + j])
                            o = _cell(t, cells, member, here[member], t.part_column[part + j])
                            if todo[i, 0] >= 0 and todo[i, 1] == part + j:
                                o = todo[i, 0]
                            t.taken[o] += 1
                    else:
                        info[n] = (o << 32) | todo[i, 2]
                        t.taken[o] += 1
                    n += 1
                if kind == TOGETHER or t.last[o] != 0:
                    break
                o += 1
        if full or not whole:
            for i in range(start, n):
                kind = info[i] & 15
                if kind <= TAKE:
                    t.taken[info[i] >> 32] -= 1
                else:
                    t.event_taken[kind] -= 1
                    if kind == TOGETHER:
                        k = (info[i] >> 4) & 0xFFFFFFF
                        part = np.int64(t.part_first[k])
                        for j in range(part, part + t.part_count[k]):
                            member = np.int64(t.part_member[j])
                            o = _cell(t, cells, member, here[member], t.part_column[j])
                            # The crash is one of this cell's outcomes, if it is in reach.
                            crashed = (info[i] >> 32) - 1
                            upto = o
                            while t.last[upto] == 0 and upto < crashed:
                                upto += 1
                            if upto == crashed:
                                o = crashed
                            t.taken[o] -= 1
            for i in range(n_loops):
                t.taken[looped[i]] -= 1
            n = start
            if whole:
                return p, n, asked, redone, loops
            # What it lacks is asked for; it is done again when the answers are there.
            redo[redone] = r
            redone += 1
            if redone == len(redo) or asked * 2 > room_ask:
                return p + 1, n, asked, redone, loops
        else:
            loops += n_loops
    return end, n, asked, redone, loops
