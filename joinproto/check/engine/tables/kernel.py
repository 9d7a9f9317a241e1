"""The numbered world as compiled loops read it: the tables, and how a loop reads and asks them.

How a step is named (`info`, int64): kind in the low 4 bits, `a` in the next 28, the outcome
in the high 32.  A joint step has there 0, or 1 + the outcome of the member that crashes in it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from joinproto.check.engine.rows.layout import get
from joinproto.check.engine.shapes import (
    Block,
    Ints,
    Keys,
    Masks,
    Questions,
    Rows,
    SmallFlags,
    SmallInts,
    Table,
)
from joinproto.check.engine.tables.grids import find, mark

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


def parts_of(info: Any) -> tuple[Any, Any, Any]:
    """Return the kind, `a` and the outcome of steps."""
    return info & 15, (info >> 4) & 0xFFFFFFF, info >> 32


class Fields(NamedTuple):
    """The place of each field in a row: members, the monitor if there is one, `env`, then
    queues.
    """

    word: Ints  # (field,): which word of the row
    shift: Keys  # (field,): how far left in it
    mask: Keys  # (field,): its bits, once they are shifted back
    off: Ints  # (field + 1,): where the field's values begin in arrays of shape (value,)


class Choices(NamedTuple):
    """Members' own choices."""

    first: SmallInts  # (value,): of a local state, its first choice
    counts: SmallInts  # (value,)
    column: SmallInts  # (choice,): the number of the event


class Blocks(NamedTuple):
    """The table (member, local state, column) -> first outcome, a block for each member."""

    content: SmallInts  # (place,): an outcome, `UNKNOWN`, `REFUSED` or `ASKED`
    off: Ints  # (field,): where the field's block begins
    stride: Ints  # (field,): how wide it is


class Outcomes(NamedTuple):
    """The outcomes of members' steps."""

    next: SmallInts  # (outcome,): local state
    cost: SmallFlags  # (outcome,): which fault it spends
    last: SmallFlags  # (outcome,): whether it is the last one of its step
    adds: SmallFlags  # (outcome,): whether it puts messages into the set
    plain: SmallFlags  # (outcome,): one outcome; only a local state and messages of a set change
    tells: SmallInts  # (outcome,): monitor's column or -1
    taken: Ints  # (outcome,): how often it was taken
    added: Masks  # (outcome, word): messages it puts into the set


class OfUse(NamedTuple):
    """Messages of a set that expire, see `World.expiry`."""

    horizon: SmallInts  # (value,): of each local state
    needed: Masks  # (member * horizons + horizon, word): the useful messages, and all others
    horizons: int


class TakeTables(NamedTuple):
    """Contents of queues and of sets, each with its deliveries."""

    first: SmallInts  # (value,)
    counts: SmallInts  # (value,)
    heard_by: Ints  # (value,): of a set, its receivers (see `is_hearer`)


class EnvironmentTables(NamedTuple):
    """The environment of a world: its states (faults left, split), by number (`env`); its moves."""

    spend: Block  # (cost, env) -> env or -1
    link_up: Any  # int8 (env, link)
    is_split: SmallFlags  # (env,)
    move_first: SmallInts  # (env,)
    move_count: SmallInts  # (env,)
    move_env: SmallInts  # (move,)


class Joint(NamedTuple):
    """Joint steps of each combination of observations, and their parts."""

    first: SmallInts  # (combination,)
    counts: SmallInts  # (combination,)
    part_first: SmallInts  # (joint step,)
    part_count: SmallInts  # (joint step,)
    part_member: SmallInts  # (part,)
    part_column: SmallInts  # (part,)


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
    event_taken: Ints  # (kind,): how often messages were taken, the world moved, joint steps were


class Bits(NamedTuple):
    """The messages of a set with one bit each, and their possible receivers."""

    mask: Keys  # (word,): which bits of a row's words are messages
    at: SmallInts  # (64 * word + bit,) -> message or -1
    first: SmallInts  # (message,): its first delivery
    counts: SmallInts  # (message,)
    member: SmallInts  # (delivery,)
    column: SmallInts  # (delivery,): as which event
    link: SmallInts  # (delivery,)


class Queued(NamedTuple):
    """The contents of queues and bags, as the loops read them; grids as in `Grids.arrays`.

    A content's takes are its messages, one after the other; a queue has one, its first.
    """

    message: SmallInts  # (take,): of equal messages of a bag the first one alone is a take
    column: Block  # (queue, message) -> the event of the member that receives it
    rests: tuple[Any, ...]  # (queue, content, place of a take in it) -> content
    adds: tuple[Any, ...]  # (queue, content, message) -> content
    member: SmallInts  # (queue,): the member that receives from it
    link: SmallInts  # (queue,)
    send_first: SmallInts  # (outcome,): the first message that it sends to a queue
    send_count: SmallInts  # (outcome,)
    send_queue: SmallInts  # (message sent,)
    send_message: SmallInts  # (message sent,)


class Sets(NamedTuple):
    """The messages of a set whose contents are numbered; grids as in `Grids.arrays`."""

    member: SmallInts  # (delivery,): the receiver
    message: SmallInts  # (delivery,)
    column: SmallInts  # (delivery,): as which event
    sends: SmallInts  # (outcome,): the number of the set that it sends, or -1
    leads: Ints  # (outcome,): see `Contents._number_outcomes`
    sleeps: SmallFlags  # (outcome,): `SLEEPS`, `MARKS` (see `expansion/sleeping.py`)
    until: SmallInts  # (message * members + member,): the last horizon at which it is of use to it
    adds: tuple[Any, ...]  # (sender, content, set sent) -> content
    trims: tuple[Any, ...]  # (sender, content, horizons) -> content
    vector: (
        SmallInts  # (horizons of all members, packed,) -> 1 + their number; 0 unknown, -1 asked for
    )
    vector_shift: Ints  # (member,): where its horizon lies in them


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
def _ask(ask: Questions, asked: Any, kind: Any, x: Any, y: Any, z: Any) -> Any:
    """Put a question, for which there is room; return how many there are then."""
    ask[asked, 0] = kind
    ask[asked, 1] = x
    ask[asked, 2] = y
    ask[asked, 3] = z
    return asked + 1


@njit(inline="always")
def look_up(
    blocks: Blocks, cells: Any, ask: Questions, asked: Any, member: Any, local: Any, column: Any
) -> Any:
    """Return what `cell` does, and how many questions there are then.

    A cell that is unknown is asked for once, if there is room.
    """
    found = cell(blocks, cells, member, local, column)
    if found == UNKNOWN and asked < len(ask) - 1:
        asked = _ask(ask, asked, ASK_CELL, member, local, column)
        if cells is None:
            blocks.content[blocks.off[member] + local * blocks.stride[member] + column] = ASKED
        else:
            mark(cells, member, local, column, ASKED)
    return found, asked


@njit(inline="always")
def look_up_content(
    grids: Any, ask: Questions, asked: Any, kind: Any, field: Any, content: Any, by: Any
) -> Any:
    """Return the successor of a content of a queue or of a set, as `look_up` does a cell."""
    found = find(grids, field, content, by)
    if found == UNKNOWN and asked < len(ask) - 1:
        asked = _ask(ask, asked, kind, field, content, by)
        mark(grids, field, content, by, ASKED)
    return found, asked


@njit(inline="always")
def look_up_vector(vector: SmallInts, ask: Questions, asked: Any, packed: Any) -> Any:
    """Return the number of all members' horizons, as `look_up` does a cell."""
    found = np.int64(vector[packed]) - 1
    if found == UNKNOWN and asked < len(ask) - 1:
        asked = _ask(ask, asked, ASK_VECTOR, packed, 0, 0)
        vector[packed] = -1
    return found, asked


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
