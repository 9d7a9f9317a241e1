"""The numbered world as compiled loops read it: the tables, and how a loop reads and asks them.

How a step is named (`info`, int64): kind in the low 4 bits, `a` in the next 28, the outcome
in the high 32.  A joint step has there 0, or 1 + the outcome of the member that crashes in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from joinproto.check.engine.shapes import Ints, Questions, Rows, SmallInts, Table
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
"""The most contents, local states and outcomes; a world with more gets a bit for each message.
"""

DELIVERIES_MAX = (1 << 15) - 1
"""The most deliveries of one content, and links between members."""

LOCAL = (1 << 32) - 1
SENT = (1 << 30) - 1
MOVES = 1 << 62
"""The result of an outcome, packed: the local state; from bit 32 on 1 + the number of the set that
it sends; whether the member's horizon changes.
"""

SLEEPS, MARKS, SPENDS = 1, 2, 4
"""Of an outcome: its event may sleep where others came before; others may where it came before;
its event has other outcomes, or some that spend a fault."""

OUTCOMES_MAX = 16
"""An event with more outcomes does not sleep."""


class Fields(NamedTuple):
    """The place of each field in a row: members, the monitor if there is one, `env`, then
    queues.
    """

    word: I64  # (field,): which word of the row
    shift: U64  # (field,): how far left in it
    mask: U64  # (field,): its bits, once they are shifted back
    off: I64  # (field + 1,): where the field's values begin in arrays of shape (value,)


class Choices(NamedTuple):
    """Members' own choices."""

    first: I32  # (value,): of a local state, its first choice
    counts: I32  # (value,)
    column: I32  # (choice,): the number of the event


class Blocks(NamedTuple):
    """The table (member, local state, column) -> first outcome, a block for each member."""

    content: I32  # (place,): an outcome, `UNKNOWN`, `REFUSED` or `ASKED`
    off: I64  # (field,): where the field's block begins
    stride: I64  # (field,): how wide it is


class Outcomes(NamedTuple):
    """The outcomes of members' steps."""

    next: I32  # (outcome,): local state
    cost: I8  # (outcome,): which fault it spends
    last: I8  # (outcome,): whether it is the last one of its step
    adds: I8  # (outcome,): whether it puts messages into the set
    plain: I8  # (outcome,): one outcome, and nothing but a local state and messages of a set change
    tells: I32  # (outcome,): monitor's column or -1
    taken: I64  # (outcome,): how often it was taken
    added: U64  # (outcome, word): messages it puts into the set


class OfUse(NamedTuple):
    """Messages of a set that expire, see `World.expiry`."""

    horizon: I32  # (value,): of each local state
    needed: U64  # (member * horizons + horizon, word): the useful messages, and all others
    horizons: int


class TakeTables(NamedTuple):
    """Contents of queues and of sets, each with its deliveries."""

    first: I32  # (value,)
    counts: I32  # (value,)
    heard_by: I64  # (value,): of a set, its receivers (see `is_hearer`)


class EnvironmentTables(NamedTuple):
    """The environment of a world: its states (faults left, split), by number (`env`); its moves."""

    spend: I32  # (cost, env) -> env or -1
    link_up: I8  # (env, link)
    is_split: I8  # (env,)
    move_first: I32  # (env,)
    move_count: I32  # (env,)
    move_env: I32  # (move,)


class Joint(NamedTuple):
    """Joint steps of each combination of observations, and their parts."""

    first: I32  # (combination,)
    counts: I32  # (combination,)
    part_first: I32  # (joint step,)
    part_count: I32  # (joint step,)
    part_member: I32  # (part,)
    part_column: I32  # (part,)


class Lookup(NamedTuple):
    """All tables as arrays; `joinproto.check.engine.tables.tables` grows them.

    In groups, because a compiled function copies its arguments: see `expansion/expansion.py`.
    """

    words: int  # of a row
    fields: Fields
    choices: Choices
    blocks: Blocks
    outcomes: Outcomes
    of_use: OfUse
    takes: TakeTables
    environment: EnvironmentTables
    joint: Joint
    event_taken: I64  # (kind,): how often messages were taken, the world moved, joint steps were


class Bits(NamedTuple):
    """The messages of a set with one bit each, and their possible receivers."""

    mask: U64  # (word,): which bits of a row's words are messages
    at: I32  # (64 * word + bit,) -> message or -1
    first: I32  # (message,): its first delivery
    counts: I32  # (message,)
    member: I32  # (delivery,)
    column: I32  # (delivery,): as which event
    link: I32  # (delivery,)


class Queued(NamedTuple):
    """The contents of queues and bags, as the loops read them; grids as in `Grids.arrays`.

    A content's takes are its messages, one after the other; a queue has one, its first.
    """

    message: I32  # (take,): of equal messages of a bag the first one alone is a take
    column: I32  # (queue, message) -> the event of the member that receives it
    rests: tuple[npt.NDArray[np.int64], ...]  # (queue, content, place of a take in it) -> content
    adds: tuple[npt.NDArray[np.int64], ...]  # (queue, content, message) -> content
    member: I32  # (queue,): the member that receives from it
    link: I32  # (queue,)
    send_first: I32  # (outcome,): the first message that it sends to a queue
    send_count: I32  # (outcome,)
    send_queue: I32  # (message sent,)
    send_message: I32  # (message sent,)


class Sets(NamedTuple):
    """The messages of a set whose contents are numbered; grids as in `Grids.arrays`."""

    member: I32  # (delivery,): the receiver
    message: I32  # (delivery,)
    column: I32  # (delivery,): as which event
    sends: I32  # (outcome,): the number of the set that it sends, or -1
    leads: I64  # (outcome,): see `Contents._number_outcomes`
    sleeps: I8  # (outcome,): `SLEEPS`, `MARKS` (see `expansion/sleeping.py`)
    until: I32  # (message * members + member,): the last horizon at which it is of use to it
    adds: tuple[npt.NDArray[np.int64], ...]  # (sender, content, set sent) -> content
    trims: tuple[npt.NDArray[np.int64], ...]  # (sender, content, horizons) -> content
    vector: I32  # (horizons of all members, packed,) -> 1 + their number; 0 unknown, -1 asked for
    vector_shift: I64  # (member,): where its horizon lies in them


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
def is_hearer(heard_by: Ints, place: Any, member: Any) -> Any:
    """Return whether a content, by its place in per-value arrays, may hold messages for a
    member.
    """
    return heard_by[place] >> min(np.int64(member), np.int64(HEARERS)) & 1 != 0


@njit(inline="always")
def get(rows: Rows, r: Any, fields: Fields, field: Any) -> Any:
    """Return the number in a field of row r, int64.  `rows`: uint64 (row, word)."""
    return np.int64((rows[r, fields.word[field]] >> fields.shift[field]) & fields.mask[field])


@njit(inline="always")
def put(rows: Rows, r: Any, fields: Fields, field: Any, value: Any) -> None:
    """Write a number into a field of row r.  `rows`: uint64 (row, word)."""
    w = fields.word[field]
    shift = fields.shift[field]
    rows[r, w] = (rows[r, w] & ~(fields.mask[field] << shift)) | (np.uint64(value) << shift)


@njit(inline="always")
def expire(fields: Fields, of_use: OfUse, members: Any, rows: Rows, r: Any) -> None:
    """Take the messages out of row r that are of no use to any member any more."""
    for w in range(rows.shape[1]):
        keep = np.uint64(0)
        for member in range(members):
            at = fields.off[member] + get(rows, r, fields, member)
            keep |= of_use.needed[member * of_use.horizons + of_use.horizon[at], w]
        rows[r, w] &= keep


@njit(inline="always")
def _ask(ask: Questions, asked: Any, kind: Any, x: Any, y: Any, z: Any) -> Any:
    ask[asked, 0] = kind
    ask[asked, 1] = x
    ask[asked, 2] = y
    ask[asked, 3] = z


@njit(inline="always")
def cell(blocks: Blocks, cells: Any, member: Any, local: Any, column: Any) -> Any:
    """Return the first outcome, or the code in its place.

    `cells`: the table where some of it is hashed, see `Grids.sparse`; else None.
    """
    if cells is None:
        return blocks.content[blocks.off[member] + local * blocks.stride[member] + column]
    return find(cells, member, local, column)


@njit(inline="always")
def horizons_of(fields: Fields, horizon: SmallInts, vector_shift: Ints, rows: Rows, r: Any) -> Any:
    """Return the horizons of all members in row r, packed, int64."""
    packed = np.int64(0)
    for member in range(len(vector_shift)):
        here = horizon[fields.off[member] + get(rows, r, fields, member)]
        packed |= np.int64(here) << vector_shift[member]
    return packed


@njit(inline="always")
def want_cell(
    blocks: Blocks,
    cells: Any,
    ask: Questions,
    asked: Any,
    found: Any,
    member: Any,
    local: Any,
    column: Any,
) -> Any:
    """Ask for a cell, unless that was done or there is no room; return how many asks there are."""
    if found == UNKNOWN and asked < len(ask) - 1:
        _ask(ask, asked, ASK_CELL, member, local, column)
        asked += 1
        if cells is None:
            blocks.content[blocks.off[member] + local * blocks.stride[member] + column] = ASKED
        else:
            mark(cells, member, local, column, ASKED)
    return asked


@njit(inline="always")
def want_content(
    grids: Any, ask: Questions, asked: Any, kind: Any, found: Any, field: Any, content: Any, by: Any
) -> Any:
    """Ask for the successor of the content of a queue or of a set, as `want_cell` does."""
    if found == UNKNOWN and asked < len(ask) - 1:
        _ask(ask, asked, kind, field, content, by)
        asked += 1
        mark(grids, field, content, by, ASKED)
    return asked


@njit(inline="always")
def want_vector(vector: SmallInts, ask: Questions, asked: Any, found: Any, packed: Any) -> Any:
    """Ask for the number of all members' horizons, as `want_cell` does."""
    if found == UNKNOWN and asked < len(ask) - 1:
        _ask(ask, asked, ASK_VECTOR, packed, 0, 0)
        asked += 1
        vector[packed] = -1
    return asked


@njit(inline="always")
def list_step(todo: Table, steps: Any, o: Any, member: Any, info: Ints) -> Any:
    """List a step to be written, if there is room for it; return how many there are then."""
    if steps < len(todo):
        todo[steps, 0] = o
        todo[steps, 1] = member
        todo[steps, 2] = info
    return steps + 1


@njit(inline="always")
def list_at_queue(
    todo: Table, steps: Any, o: Any, member: Any, info: Ints, queue: Any, rest: Any
) -> Any:
    """List a step that leaves `rest` in the field of a queue, as `list_step` does."""
    if steps < len(todo):
        todo[steps, 3] = queue
        todo[steps, 4] = rest
    return list_step(todo, steps, o, member, info)


@njit(inline="always")
def take_back(t: Lookup, cells: Any, info: Ints, start: Any, n: Any, here: Ints) -> None:
    """Take back the count of a row's steps from `start` to `n`."""
    for i in range(start, n):
        kind = info[i] & 15
        if kind <= TAKE:
            t.outcomes.taken[info[i] >> 32] -= 1
        else:
            t.event_taken[kind] -= 1
            if kind == TOGETHER:
                k = (info[i] >> 4) & 0xFFFFFFF
                part = np.int64(t.joint.part_first[k])
                for j in range(part, part + t.joint.part_count[k]):
                    member = np.int64(t.joint.part_member[j])
                    o = cell(t.blocks, cells, member, here[member], t.joint.part_column[j])
                    # The crash is one of this cell's outcomes, if it is in reach.
                    crashed = (info[i] >> 32) - 1
                    upto = o
                    while t.outcomes.last[upto] == 0 and upto < crashed:
                        upto += 1
                    if upto == crashed:
                        o = crashed
                    t.outcomes.taken[o] -= 1
