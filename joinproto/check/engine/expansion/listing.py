"""Lists the steps out of one row: members' own steps, receipts, joint steps, and the world's moves.

Steps of messages in queues and bags are listed in `receive_lists.py`, and steps of numbered
contents in `deliveries.py`.  A step that only changes a local state and sets bits of messages is
plain, and is written at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.expansion.buffers import Loop
from joinproto.check.engine.expansion.own_steps import find_sleeping_prefix, outcome_of
from joinproto.check.engine.expansion.sleeping import healing_sleeps, list_asleep, sleeps
from joinproto.check.engine.rows.bits import trailing_zeros
from joinproto.check.engine.tables.kernel import (
    CHOICE,
    MOVE,
    OUTCOMES_MAX,
    RECEIVE,
    REFUSED,
    SLEEPS,
    TOGETHER,
    Bits,
    ask_for,
    cell,
    expire,
    list_step,
    look_up,
    put,
)


@njit(forceinline=True, nogil=True, _nrt=False)
def take_plain(loop: Loop, r: Any, n: Any, n_loops: Any, member: Any, o: Any, info: Any) -> Any:
    """Write the successor of a plain step, or count a step that changes nothing.

    Returns (successors, loops).
    """
    fields, outcomes, s = loop.t.fields, loop.t.outcomes, loop.s
    listed, written = loop.listed, loop.written
    if loop.quiet and outcomes.adds[o] == 0 and outcomes.next[o] == listed.here[member]:
        listed.looped[n_loops] = o
        n_loops += 1
    else:
        for w in range(outcomes.added.shape[1]):
            written.rows[n, w] = loop.given.rows[r, w] | outcomes.added[o, w]
        put(written.rows, n, fields, member, outcomes.next[o])
        if s.expires:
            expire(fields, loop.t.of_use, s.members, written.rows, n)
        written.info[n] = (np.int64(o) << 32) | info
        written.source[n] = r
        n += 1
    outcomes.taken[o] += 1
    return n, n_loops


@njit(forceinline=True, nogil=True, _nrt=False)
def list_choices(
    loop: Loop, cells: Any, sets: Any, r: Any, env: Any, mark: Any, n: Any, asked: Any
) -> Any:
    """List members' own steps, with the crashes in them.

    Returns (steps, successors, loops, sleeping prefixes, asked, whether all is known).
    """
    t, listed, deliveries = loop.t, loop.listed, loop.deliveries
    fields, choices, blocks, outcomes = t.fields, t.choices, t.blocks, t.outcomes
    steps = n_loops = prefixes = np.int64(0)
    whole = True
    room = len(loop.written.rows)
    for member in range(loop.s.members):
        local, asleep = listed.here[member], sleeps(mark, member)
        at = fields.off[member] + local
        first = np.int64(choices.first[at])
        end = first + choices.counts[at]
        if sets is not None and asleep and first < end:
            prefix = deliveries.sleeping_prefix[first, 0]
            if prefix == 0:
                prefix = find_sleeping_prefix(
                    blocks,
                    cells,
                    choices.column,
                    sets.sleeps,
                    deliveries,
                    member,
                    local,
                    first,
                    end,
                )
            if prefix > 1:
                listed.idle[prefixes] = first
                prefixes += 1
                first += prefix - 1
        for k in range(first, end):
            column = choices.column[k]
            if sets is not None:
                o = outcome_of(blocks, cells, choices.column, deliveries.outcomes, member, local, k)
            else:
                o = np.int64(cell(blocks, cells, member, local, column))
            if o >= 0:
                if outcomes.plain[o] != 0 and n < room and n_loops < room:
                    n, n_loops = take_plain(loop, r, n, n_loops, member, o, np.int64(CHOICE))
                    continue
                may_sleep = sets is not None and asleep and sets.sleeps[o] & SLEEPS
                if may_sleep and n_loops + OUTCOMES_MAX <= room:
                    spend = t.environment.spend
                    n_loops = list_asleep(outcomes, spend, env, o, listed.looped, n_loops)
                    continue
                steps = list_step(listed.todo, steps, o, member, CHOICE)
            elif o != REFUSED:
                whole = False
                asked = ask_for(blocks, cells, loop.lacking.ask, asked, o, member, local, column)
    return steps, n, n_loops, prefixes, asked, whole


@njit(forceinline=True, nogil=True, _nrt=False)
def list_messages(
    loop: Loop,
    cells: Any,
    under_way: Bits,
    r: Any,
    env: Any,
    n: Any,
    steps: Any,
    n_loops: Any,
    asked: Any,
) -> Any:
    """List the deliveries of a set's messages, for a world in which each message has a bit.

    Returns (steps, successors, loops, asked, whether all is known).
    """
    blocks, outcomes, listed = loop.t.blocks, loop.t.outcomes, loop.listed
    whole = True
    room = len(loop.written.rows)
    for w in range(loop.t.words):
        bits = loop.given.rows[r, w] & under_way.mask[w]
        while bits != 0:
            bit = np.int64(trailing_zeros(bits))
            bits &= bits - np.uint64(1)
            m = np.int64(under_way.at[w * 64 + bit])
            first = under_way.first[m]
            for k in range(first, first + under_way.counts[m]):
                if loop.s.splits and loop.t.environment.link_up[env, under_way.link[k]] == 0:
                    continue
                member = np.int64(under_way.member[k])
                local, column = listed.here[member], under_way.column[k]
                o = cell(blocks, cells, member, local, column)
                info = (m << 4) | RECEIVE
                if o >= 0:
                    if outcomes.plain[o] != 0 and n < room and n_loops < room:
                        n, n_loops = take_plain(loop, r, n, n_loops, member, o, info)
                        continue
                    steps = list_step(listed.todo, steps, o, member, info)
                elif o != REFUSED:
                    whole = False
                    ask = loop.lacking.ask
                    asked = ask_for(blocks, cells, ask, asked, o, member, local, column)
    return steps, n, n_loops, asked, whole


@njit(inline="always")
def list_moves(loop: Loop, env: Any, mark: Any, steps: Any) -> Any:
    """List the world's splits and healing; return the number of steps, and of healings asleep."""
    environment = loop.t.environment
    first = environment.move_first[env]
    healed = np.int64(environment.is_split[env] != 0 and healing_sleeps(mark))
    for k in range(first + healed, first + environment.move_count[env]):
        info = (np.int64(k) << 4) | MOVE
        steps = list_step(loop.listed.todo, steps, environment.move_env[k], 0, info)
    return steps, healed


@njit(forceinline=True, nogil=True, _nrt=False)
def list_joint(loop: Loop, cells: Any, r: Any, steps: Any, asked: Any) -> Any:
    """List the joint steps in which each member can take its part.

    Returns (steps, asked, whether all is known).
    """
    joint, blocks, last, listed = loop.t.joint, loop.t.blocks, loop.t.outcomes.last, loop.listed
    shown = loop.given.joint[r - loop.given.base]
    whole = True
    first = joint.first[shown]
    for k in range(first, first + joint.counts[shown]):
        possible = True
        part = joint.part_first[k]
        for j in range(part, part + joint.part_count[k]):
            member = np.int64(joint.part_member[j])
            local, column = listed.here[member], joint.part_column[j]
            o, asked = look_up(blocks, cells, loop.lacking.ask, asked, member, local, column)
            if o < 0:
                possible = False
                if o != REFUSED:
                    whole = False
        if not possible:
            continue
        info = (np.int64(k) << 4) | TOGETHER
        steps = list_step(listed.todo, steps, -1, 0, info)
        # One of the members may crash within its part of the step.
        for j in range(part, part + joint.part_count[k]):
            member = np.int64(joint.part_member[j])
            o = cell(blocks, cells, member, listed.here[member], joint.part_column[j])
            while last[o] == 0:
                o += 1
                steps = list_step(listed.todo, steps, o, j, info)
    return steps, asked, whole
