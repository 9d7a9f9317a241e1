"""The successors of rows, by table look-up: every step out of every state of a range.

No member code runs here.  A cell of the table that was never needed before is asked for,
its state is left out and listed to be redone, and the caller fills the cell by one call of
the real code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.expansion.calm import find_calm, note_calm, outcome_of
from joinproto.check.engine.expansion.deliveries import (
    await_meetings,
    left_by,
    list_deliveries,
    note_met,
)
from joinproto.check.engine.expansion.leads import NOT_LOOKED_UP, write_lead
from joinproto.check.engine.expansion.sleeping import SPLIT, healing_sleeps, list_asleep, sleeps
from joinproto.check.engine.expansion.takes import list_takes
from joinproto.check.engine.rows.bits import prefetch, trailing_zeros
from joinproto.check.engine.tables.grids import find
from joinproto.check.engine.tables.kernel import (
    ASK_ADD,
    ASK_TRIM,
    CHOICE,
    COST_CRASH,
    COST_NONE,
    LOSE,
    MARKS,
    MOVE,
    OUTCOMES_MAX,
    RECEIVE,
    REFUSED,
    SLEEPS,
    TAKE,
    TOGETHER,
    cell,
    expire,
    get,
    horizons_of,
    list_step,
    put,
    take_back,
    want_cell,
    want_content,
    want_vector,
    write_plain,
)


@njit(cache=True, nogil=True, _nrt=False)
def expand(
    t: Any,
    cells: Any,
    queued: Any,
    sets: Any,
    meetings: Any,
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
    scratch: Any,
    quiet: Any,
    marks: Any,
    via: Any,
) -> Any:
    """Write the successors of rows begin to end (of `picked`, where it is not empty).

    Returns (first state not done, successors, asked, to redo, loops).  A state whose
    successors do not fit any more is not begun; where not even one state fits, the first is
    `begin`, and the caller comes back with larger buffers.  `quiet`: plain steps that lead
    back to where they began are counted (loops), not written.

    `cells`: as `Grids.sparse` gives them; None compiles a loop that knows blocks alone.
    `queued`: of a world with queues or a bag; None compiles a loop that knows none.
    `scratch`: four lines with a place for each pair of members and one to spare.
    `marks`: of the rows of this level, from `joint_base` on, or empty: nothing sleeps (see
    `sleeping.py`).  `via`: what each successor is marked with, then.
    `sets`, `meetings`: where contents are numbered (see `Sets`, `Meetings`); None compiles one in
    which a message is a bit.

    Plain steps are written at once; the others are listed in `todo` (outcome, member, info,
    queue, its rest) and written by the one loop below.  Two-dimensional indexing throughout:
    a view of a row costs more than a step.
    """
    member: Any
    part: Any
    parts: Any
    words = t.words[0]
    room = len(out)
    n = 0
    asked = 0
    redone = 0
    loops = np.int64(0)
    here, heard, coming, idle = scratch[0], scratch[1], scratch[2], scratch[3]
    met = 0
    for p in range(begin, end):
        r = np.int64(p)
        if len(picked) > 0:
            r = picked[p]
        start = n
        steps = 0
        n_loops = 0
        calms = 0
        whole = True
        full = False
        mark = np.int64(0)
        if len(marks) > 0:
            mark = np.int64(marks[r - joint_base])
        env = get(rows, r, t, s.env)
        for member in range(s.members):
            here[member] = get(rows, r, t, member)
        # What members do by themselves, crashes among it.
        for member in range(s.members):
            local, asleep = here[member], sleeps(mark, member)
            at = t.off[member] + local
            first = np.int64(t.choice_first[at])
            end_k = first + t.choice_count[at]
            if sets is not None and asleep and first < end_k:
                calm = meetings.calm[first, 0]
                if calm == 0:
                    calm = find_calm(t, cells, sets, meetings, member, local, first, end_k)
                if calm > 1:
                    idle[calms] = first
                    calms += 1
                    first += calm - 1
            for k in range(first, end_k):
                column = t.choice_column[k]
                if sets is not None:
                    o = outcome_of(t, cells, meetings, member, local, k)
                else:
                    o = cell(t, cells, member, local, column)
                if o >= 0:
                    if t.plain[o] != 0 and n < room and n_loops < room:
                        if quiet and t.adds[o] == 0 and t.next[o] == local:
                            looped[n_loops] = o
                            n_loops += 1
                            t.taken[o] += 1
                            continue
                        write_plain(t, s, rows, r, out, n, member, o, words)
                        info[n] = np.int64(o) << 32
                        source[n] = r
                        t.taken[o] += 1
                        n += 1
                        continue
                    may_sleep = sets is not None and asleep and sets.sleeps[o] & SLEEPS
                    if may_sleep and n_loops + OUTCOMES_MAX <= room:
                        n_loops = list_asleep(t, env, o, looped, n_loops)
                        continue
                    steps = list_step(todo, steps, o, member, CHOICE)
                elif o != REFUSED:
                    whole = False
                    asked = want_cell(t, cells, ask, asked, o, member, local, column)
        # Messages of a set, where its contents are numbered.
        vector = np.int64(0)
        if sets is not None:
            if p + 1 < end:
                following = np.int64(p + 1)
                if len(picked) > 0:
                    following = picked[p + 1]
                await_meetings(t, s, meetings, rows, following, coming)
            if s.expires:
                vector = horizons_of(t, s, sets, rows, r)
                prefetch(sets.vector, vector)
            # fmt: off
            steps, n_loops, met, asked, known, full = list_deliveries(
                t, cells, s, sets, meetings, rows, r, env, here, todo, steps, looped, n_loops,
                room, heard, ask, asked, quiet, mark,
            )
            # fmt: on
            whole = whole and known
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
                    o = cell(t, cells, member, here[member], column)
                    if o >= 0:
                        if t.plain[o] != 0 and n < room and n_loops < room:
                            if quiet and t.adds[o] == 0 and t.next[o] == here[member]:
                                looped[n_loops] = o
                                n_loops += 1
                                t.taken[o] += 1
                                continue
                            write_plain(t, s, rows, r, out, n, member, o, words)
                            info[n] = (np.int64(o) << 32) | (m << 4) | RECEIVE
                            source[n] = r
                            t.taken[o] += 1
                            n += 1
                            continue
                        steps = list_step(todo, steps, o, member, (m << 4) | RECEIVE)
                    elif o != REFUSED:
                        whole = False
                        asked = want_cell(t, cells, ask, asked, o, member, here[member], column)
        # Messages of queues and bags: received, lost, doubled.
        if queued is not None:
            steps, asked, known = list_takes(
                t, cells, queued, s, rows, r, env, here, todo, steps, ask, asked
            )
            whole = whole and known
        # The world splits or heals.
        first = t.move_first[env]
        healed = np.int64(t.is_split[env] != 0 and healing_sleeps(mark))
        for k in range(first + healed, first + t.move_count[env]):
            steps = list_step(todo, steps, t.move_env[k], 0, (np.int64(k) << 4) | MOVE)
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
                    o = cell(t, cells, member, here[member], column)
                    if o < 0:
                        possible = False
                        if o != REFUSED:
                            whole = False
                            asked = want_cell(t, cells, ask, asked, o, member, here[member], column)
                if not possible:
                    continue
                steps = list_step(todo, steps, -1, 0, (np.int64(k) << 4) | TOGETHER)
                # One of them may crash in the middle of it.
                for j in range(part, part + t.part_count[k]):
                    member = np.int64(t.part_member[j])
                    o = cell(t, cells, member, here[member], t.part_column[j])
                    while t.last[o] == 0:
                        o += 1
                        steps = list_step(todo, steps, o, j, (np.int64(k) << 4) | TOGETHER)
        if steps > len(todo):
            full = True
        # Write them.
        own = np.int64(NOT_LOOKED_UP)
        for i in range(steps):
            if not whole or full:
                break
            kind = todo[i, 2] & 15
            o = todo[i, 0]
            if sets is not None and kind <= RECEIVE and n < room:
                to = sets.leads[o]
                if to >= 0:
                    member = todo[i, 1]
                    # fmt: off
                    whole, silent, own, asked = write_lead(
                        t, s, sets, rows, r, out, n, member, here[member], to, vector, own, ask,
                        asked,
                    )
                    # fmt: on
                    if not whole:
                        break
                    info[n] = (o << 32) | todo[i, 2]
                    source[n] = r
                    if len(marks) > 0:
                        marked = sets.sleeps[o] & MARKS
                        via[n] = left_by(kind, member, todo[i, 3], silent) if marked else 0
                    t.taken[o] += 1
                    n += 1
                    continue
            if LOSE <= kind <= MOVE:
                if n >= room:
                    full = True
                    break
                for w in range(words):
                    out[n, w] = rows[r, w]
                put(out, n, t, s.env, o)
                if kind != MOVE:
                    put(out, n, t, todo[i, 3], todo[i, 4])
                info[n] = todo[i, 2]
                source[n] = r
                if len(marks) > 0:
                    via[n] = SPLIT if kind == MOVE and t.is_split[o] else 0
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
                    put(out, n, t, todo[i, 3], todo[i, 4])
                possible = True
                for j in range(parts):
                    if kind == TOGETHER:
                        member = np.int64(t.part_member[part + j])
                        o = cell(t, cells, member, here[member], t.part_column[part + j])
                        if todo[i, 0] >= 0 and todo[i, 1] == part + j:
                            o = todo[i, 0]
                    cost = t.cost[o]
                    if cost != COST_NONE:
                        after = t.spend[cost, get(out, n, t, s.env)]
                        if after < 0:
                            possible = False
                            break
                        put(out, n, t, s.env, after)
                    put(out, n, t, member, t.next[o])
                    if t.adds[o] != 0:
                        if sets is None:
                            for w in range(words):
                                out[n, w] |= t.added[o, w]
                        else:
                            content = get(out, n, t, s.queues + member)
                            sent = np.int64(sets.sends[o])
                            more = find(sets.adds, member, content, sent)
                            if more < 0:
                                possible = False
                                whole = False
                                asked = want_content(
                                    sets.adds, ask, asked, ASK_ADD, more, member, content, sent
                                )
                                break
                            put(out, n, t, s.queues + member, more)
                    if t.tells[o] >= 0:
                        local = get(out, n, t, s.monitor)
                        told = cell(t, cells, s.monitor, local, t.tells[o])
                        if told < 0:
                            possible = False
                            if told == REFUSED:
                                break
                            whole = False
                            asked = want_cell(
                                t, cells, ask, asked, told, s.monitor, local, t.tells[o]
                            )
                            break
                        put(out, n, t, s.monitor, t.next[told])
                    if queued is not None:
                        if cost == COST_CRASH and s.fifo:
                            for q in range(s.queue_count):
                                if t.queue_member[q] == member:
                                    put(out, n, t, s.queues + q, 0)
                        first = t.send_first[o]
                        for k in range(first, first + t.send_count[o]):
                            q = t.send_queue[k]
                            content = get(out, n, t, s.queues + q)
                            more = find(queued.adds, q, content, t.send_message[k])
                            if more < 0:
                                possible = False
                                if more == REFUSED:
                                    break
                                whole = False
                                # fmt: off
                                asked = want_content(
                                    queued.adds, ask, asked, ASK_ADD, more, q, content,
                                    t.send_message[k],
                                )
                                # fmt: on
                                break
                            put(out, n, t, s.queues + q, more)
                        if not possible:
                            break
                if possible and s.expires:
                    if sets is None:
                        expire(t, s, out, n, words)
                    else:
                        after = horizons_of(t, s, sets, out, n)
                        number = np.int64(sets.vector[after]) - 1
                        if number < 0:
                            possible = False
                            whole = False
                            asked = want_vector(sets, ask, asked, number, after)
                        for q in range(s.members):
                            if not possible:
                                break
                            content = get(out, n, t, s.queues + q)
                            if after == vector and content == get(rows, r, t, s.queues + q):
                                continue
                            more = find(sets.trims, q, content, number)
                            if more < 0:
                                possible = False
                                whole = False
                                asked = want_content(
                                    sets.trims, ask, asked, ASK_TRIM, more, q, content, number
                                )
                            else:
                                put(out, n, t, s.queues + q, more)
                if possible:
                    source[n] = r
                    if len(marks) > 0:
                        via[n] = 0
                        if sets is not None and sets.sleeps[o] & MARKS:
                            via[n] = left_by(kind, member, todo[i, 3], t.adds[o] == 0)
                    if kind == TOGETHER:
                        info[n] = ((todo[i, 0] + 1) << 32) | todo[i, 2]
                        t.event_taken[TOGETHER] += 1
                        for j in range(parts):
                            member = np.int64(t.part_member[part + j])
                            o = cell(t, cells, member, here[member], t.part_column[part + j])
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
            take_back(t, cells, info, start, n, here)
            for i in range(n_loops):
                t.taken[looped[i]] -= 1
            n = start
            if whole:
                return p, n, asked, redone, loops
            # What it lacks is asked for; it is done again when the answers are there.
            redo[redone] = r
            redone += 1
            if redone == len(redo) or asked * 2 > len(ask) - 1:
                return p + 1, n, asked, redone, loops
        else:
            loops += np.int64(n_loops + healed)
            t.event_taken[MOVE] += healed
            if sets is not None:
                loops += note_calm(meetings, idle, calms) + note_met(meetings, heard, met)
    return end, n, asked, redone, loops
