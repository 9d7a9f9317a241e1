"""The numbered world as compiled loops read it: the tables, and how a loop reads and asks them.

How a step is named (`info`, int64): kind in the low 4 bits, `a` in the next 28, the outcome
in the high 32.  A joint step has there 0, or 1 + the outcome of the member that crashes in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from joinproto.check.engine.tables.grids import find, mark

I8 = npt.NDArray[np.int8]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

CHOICE, RECEIVE, TAKE, LOSE, DOUBLE, MOVE, TOGETHER = range(7)
"""Kinds of steps: a member's own; a message of a set (a: message); of a queue or bag (a: take);
a message lost or doubled (a: take); the world splits or heals (a: move); a joint step."""

UNKNOWN, REFUSED, ASKED = -1, -2, -3
"""Cells: never asked for; no such step; asked for in this pass."""

ASK_CELL, ASK_ADD, ASK_TRIM, ASK_VECTOR, ASK_REST = range(5)

COST_NONE, COST_CRASH, COST_WIPE, COST_LOSE, COST_DOUBLE = range(5)


NUMBER_BITS = 24
VALUES_MAX = 1 << NUMBER_BITS
"""So many contents, local states and outcomes fit; who has more gets a bit for each message."""

DELIVERIES_MAX = (1 << 15) - 1
"""So many deliveries of one content fit, and links between members."""

LOCAL = (1 << 32) - 1
SENT = (1 << 30) - 1
MOVES = 1 << 62
"""Where an outcome leads, packed: the local state; above 32 bits 1 + the number of the set that it
sends; whether the member's horizon is another one then."""

SLEEPS, MARKS, SPENDS = 1, 2, 4
"""Of an outcome: its event may sleep where others came before; others may where it came before;
its event has other outcomes, or ones that spend of what faults there may be."""

OUTCOMES_MAX = 16
"""An event with more outcomes does not sleep."""


class Around(NamedTuple):
    """The world around the members, which never changes; its states are numbered (`env`)."""

    spend: I32  # (cost, env) -> env or -1
    link_up: I8  # (env, link)
    is_split: I8  # (env,)
    move_first: I32  # (env,)
    move_count: I32  # (env,)
    move_env: I32  # (move,)


class Lookup(NamedTuple):
    """All tables as arrays; `joinproto.check.engine.tables.tables` grows them.

    Fields are numbered: members, then the monitor if there is one, then the world's own
    (`env`), then queues.  `off[f]` is where field f's values begin in per-value arrays.
    """

    words: I64  # (1,): words of a row
    # Where a field lies in a row: (field,)
    word: I64
    shift: U64
    mask: U64
    # Messages of a set that have a bit: which bits of each word (word,), the message of each bit
    # (64 * word + bit,), or -1, and the bit of each message (message,)
    slot_mask: U64
    slot_at: I32
    slot_word: I64
    slot_bit: U64
    off: I64  # (field + 1,): where the field's values begin in arrays of shape (value,)
    # Choices of each local state: (value,), but for the column of each: (choice,)
    choice_first: I32
    choice_count: I32
    choice_column: I32
    # The table (member, local state, column) -> first outcome, flat; offset and width: (member,)
    cell: I32
    cell_off: I64
    cell_stride: I64
    # Outcomes: (outcome,)
    next: I32
    cost: I8
    last: I8
    adds: I8
    plain: I8  # one outcome, and nothing but a local state and messages of a set change
    added: U64  # (outcome, word): messages it puts into the set
    send_first: I32
    send_count: I32
    send_queue: I32  # (message sent to a queue,)
    send_message: I32
    tells: I32  # monitor's column or -1
    taken: I64  # how often each outcome was taken
    # Who may receive each message of a set: (message,), but for the last three: (delivery,)
    to_first: I32
    to_count: I32
    to_member: I32
    to_column: I32
    to_link: I32
    # Messages of a set that expire, see World.expiry
    horizon: I32  # (value,): of each local state
    needed: U64  # (member * horizons + horizon, word): what is of use to it, and all else
    horizons: I64  # (1,)
    # Queues: (queue,)
    queue_member: I32  # who receives from it
    queue_link: I32
    # Contents of queues and of sets: (value,)
    take_first: I32  # its deliveries are this one and the next ones
    take_count: I32
    heard_by: I64  # of a set: its receivers (see `is_hearer`)
    # The world: see `Around`
    spend: I32
    link_up: I8
    is_split: I8
    move_first: I32
    move_count: I32
    move_env: I32
    # Joint steps of each combination shown: (combination,); their parts: (joint step,); (part,)
    joint_first: I32
    joint_count: I32
    part_first: I32
    part_count: I32
    part_member: I32
    part_column: I32
    event_taken: I64  # (kind,): how often messages were taken, the world moved, joint steps were


class Queued(NamedTuple):
    """What is under way in queues and bags, as the loops read it; grids as in `Grids.arrays`.

    A content's takes are its messages, one after the other; a queue has one, its first.
    """

    message: I32  # (take,): of equal messages of a bag the first one alone is a take
    column: I32  # (queue, message) -> the event of who receives it
    rests: tuple[npt.NDArray[np.int64], ...]  # (queue, content, place of a take in it) -> content
    adds: tuple[npt.NDArray[np.int64], ...]  # (queue, content, message) -> content


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


HEARERS = 62
"""Members from this one on share a bit."""


@njit(inline="always")
def is_hearer(t: Any, place: Any, member: Any) -> Any:
    """Return whether a content, by its place in per-value arrays, may hold what a member hears."""
    return t.heard_by[place] >> min(np.int64(member), np.int64(HEARERS)) & 1 != 0


@njit(inline="always")
def get(rows: Any, r: Any, t: Any, field: Any) -> Any:
    return np.int64((rows[r, t.word[field]] >> t.shift[field]) & t.mask[field])


@njit(inline="always")
def put(rows: Any, r: Any, t: Any, field: Any, value: Any) -> None:
    w = t.word[field]
    shift = t.shift[field]
    rows[r, w] = (rows[r, w] & ~(t.mask[field] << shift)) | (np.uint64(value) << shift)


@njit(inline="always")
def expire(t: Any, s: Any, out: Any, n: Any, words: Any) -> None:
    """Take out the messages that are of no use to anybody any more."""
    for w in range(words):
        keep = np.uint64(0)
        for member in range(s.members):
            at = t.off[member] + get(out, n, t, member)
            keep |= t.needed[member * t.horizons[0] + t.horizon[at], w]
        out[n, w] &= keep


@njit(inline="always")
def write_plain(
    t: Any, s: Any, rows: Any, r: Any, out: Any, n: Any, member: Any, o: Any, words: Any
) -> None:
    for w in range(words):
        out[n, w] = rows[r, w] | t.added[o, w]
    put(out, n, t, member, t.next[o])
    if s.expires:
        expire(t, s, out, n, words)


@njit(inline="always")
def _ask(ask: Any, asked: Any, kind: Any, x: Any, y: Any, z: Any) -> Any:
    ask[asked, 0] = kind
    ask[asked, 1] = x
    ask[asked, 2] = y
    ask[asked, 3] = z


@njit(inline="always")
def cell(t: Any, cells: Any, member: Any, local: Any, column: Any) -> Any:
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
def horizons_of(t: Any, s: Any, sets: Any, rows: Any, r: Any) -> Any:
    """Return the horizons of all members in a row, packed."""
    packed = np.int64(0)
    for member in range(s.members):
        horizon = t.horizon[t.off[member] + get(rows, r, t, member)]
        packed |= np.int64(horizon) << sets.vector_shift[member]
    return packed


@njit(inline="always")
def want_cell(
    t: Any, cells: Any, ask: Any, asked: Any, found: Any, member: Any, local: Any, column: Any
) -> Any:
    """Ask for a cell, unless somebody did or there is no room; return how many asks there are."""
    if found == UNKNOWN and asked < len(ask) - 1:
        _ask(ask, asked, ASK_CELL, member, local, column)
        asked += 1
        _await_cell(t, cells, member, local, column)
    return asked


@njit(inline="always")
def want_content(
    grids: Any, ask: Any, asked: Any, kind: Any, found: Any, field: Any, content: Any, by: Any
) -> Any:
    """Ask for what becomes of the content of a queue or of a set, as `want_cell` does."""
    if found == UNKNOWN and asked < len(ask) - 1:
        _ask(ask, asked, kind, field, content, by)
        asked += 1
        mark(grids, field, content, by, ASKED)
    return asked


@njit(inline="always")
def want_vector(sets: Any, ask: Any, asked: Any, found: Any, packed: Any) -> Any:
    """Ask for the number of all members' horizons, as `want_cell` does."""
    if found == UNKNOWN and asked < len(ask) - 1:
        _ask(ask, asked, ASK_VECTOR, packed, 0, 0)
        asked += 1
        sets.vector[packed] = -1
    return asked


@njit(inline="always")
def list_step(todo: Any, steps: Any, o: Any, member: Any, info: Any) -> Any:
    """List a step to be written, if there is room for it; return how many there are then."""
    if steps < len(todo):
        todo[steps, 0] = o
        todo[steps, 1] = member
        todo[steps, 2] = info
    return steps + 1


@njit(inline="always")
def list_at_queue(
    todo: Any, steps: Any, o: Any, member: Any, info: Any, queue: Any, rest: Any
) -> Any:
    """List a step that leaves `rest` in the field of a queue, as `list_step` does."""
    if steps < len(todo):
        todo[steps, 3] = queue
        todo[steps, 4] = rest
    return list_step(todo, steps, o, member, info)


@njit(inline="always")
def take_back(t: Any, cells: Any, info: Any, start: Any, n: Any, here: Any) -> None:
    """Let the steps from `start` to `n` of a row not have been taken."""
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
                    o = cell(t, cells, member, here[member], t.part_column[j])
                    # The crash is one of this cell's outcomes, if it is in reach.
                    crashed = (info[i] >> 32) - 1
                    upto = o
                    while t.last[upto] == 0 and upto < crashed:
                        upto += 1
                    if upto == crashed:
                        o = crashed
                    t.taken[o] -= 1
