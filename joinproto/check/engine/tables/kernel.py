"""The tables of the numbered world, and how compiled loops look cells up and ask for them.

A step is named by one int64, `info`: its kind in the low 4 bits, `a` in the next 28, the outcome in
the high 32.  A joint step has no outcome: the high bits are 0, or 1 + the outcome of the member
that crashes in it.
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
"""Kinds of steps, with the meaning of `a`: a member's own step; receipt of a message of a set (a:
message), or of a queue or bag (a: take); a message lost or doubled (a: take); the world splits or
heals (a: move); a joint step (a: joint step)."""

UNKNOWN, REFUSED, ASKED = -1, -2, -3
"""Codes of a cell without an outcome: not asked for; no such step; asked for, no answer yet."""

ASK_CELL, ASK_ADD, ASK_TRIM, ASK_VECTOR, ASK_REST = range(5)
"""Kinds of questions: the outcome of a cell; a content after a send, or without useless messages;
the number of horizons; a content without one message."""

COST_NONE, COST_CRASH, COST_WIPE, COST_LOSE, COST_DOUBLE = range(5)
"""The fault that an outcome or a step of the network spends."""

NUMBER_BITS = 24
VALUES_MAX = 1 << NUMBER_BITS
"""The most contents, local states and outcomes.  A world with more gets a bit for each message.
"""

DELIVERIES_MAX = (1 << 15) - 1
"""The most deliveries of one content, and links between members."""

LOCAL = (1 << 32) - 1
SENT = (1 << 30) - 1
MOVES = 1 << 62
"""The parts of `Sets.leads`: the next local state; from bit 32 on, 1 + the number of the set of
messages that the outcome sends; whether the member's horizon changes.
"""

SLEEPS, MARKS, SPENDS = 1, 2, 4
"""Flags of an outcome: its event may sleep after another member's step; other members' steps may
sleep after it; its event has several outcomes, or one that spends a fault."""

OUTCOMES_MAX = 16
"""An event with more outcomes does not sleep."""


def parts_of(info: Any) -> tuple[Any, Any, Any]:
    """Return the kind, `a` and the outcome of steps."""
    return info & 15, (info >> 4) & 0xFFFFFFF, info >> 32


class Fields(NamedTuple):
    """The place of each field in a row.

    Fields are the members, the monitor if there is one, `env`, then queues or senders' contents.
    """

    word: Ints  # (field,): which word of the row
    shift: Keys  # (field,): how far left in it
    mask: Keys  # (field,): its bits, once they are shifted back
    off: Ints  # (field + 1,): where the field's values begin in arrays of shape (value,)


class Choices(NamedTuple):
    """Members' own choices."""

    first: SmallInts  # (value,): the first choice of a local state
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
    plain: SmallFlags  # (outcome,): the only one; changes only a local state, messages of a set
    tells: SmallInts  # (outcome,): the monitor's column, or -1
    taken: Ints  # (outcome,): how often it was taken
    added: Masks  # (outcome, word): messages it puts into the set


class OfUse(NamedTuple):
    """Messages of a set that expire, see `World.expiry`."""

    horizon: SmallInts  # (value,): of each local state
    needed: Masks  # (member * horizons + horizon, word): bits of useful messages; all other bits
    horizons: int


class TakeTables(NamedTuple):
    """Contents of queues and of sets, each with its takes or its deliveries."""

    first: SmallInts  # (value,)
    counts: SmallInts  # (value,)
    heard_by: Ints  # (value,): the receivers of a set's content (see `is_hearer`)


class EnvironmentTables(NamedTuple):
    """The numbered states of a world's environment (faults left, split), called `env`; its moves.

    `spend`: the environment after a fault, or -1 where none is left.
    """

    spend: Block  # (cost, env) -> env or -1
    link_up: Any  # int8 (env, link)
    is_split: SmallFlags  # (env,)
    move_first: SmallInts  # (env,)
    move_count: SmallInts  # (env,)
    move_env: SmallInts  # (move,)


class Joint(NamedTuple):
    """The joint steps of each combination of observations, and their parts."""

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
    event_taken: Ints  # (kind,): counts of messages lost or doubled, of moves, of joint steps


class Bits(NamedTuple):
    """The messages of a set with one bit each, and their possible receivers."""

    mask: Keys  # (word,): which bits of a row's words are messages
    at: SmallInts  # (64 * word + bit,) -> message or -1
    first: SmallInts  # (message,): its first delivery
    counts: SmallInts  # (message,)
    member: SmallInts  # (delivery,)
    column: SmallInts  # (delivery,): the receiver's event
    link: SmallInts  # (delivery,)


class Queued(NamedTuple):
    """The contents of queues and bags; `rests` and `adds` are `Grids.arrays`.

    A content's takes are the messages that may be received from it.  The takes of a bag are all its
    messages, one after another; the take of a queue is its first message.
    """

    message: SmallInts  # (take,): of several equal messages of a bag, only the first is received
    column: Block  # (queue, message) -> the event of the member that receives it
    rests: tuple[Any, ...]  # (queue, content, place of a take in it) -> content
    adds: tuple[Any, ...]  # (queue, content, message) -> content
    member: SmallInts  # (queue,): the member that receives from it
    link: SmallInts  # (queue,)
    send_first: SmallInts  # (outcome,): where the messages begin that it sends to queues
    send_count: SmallInts  # (outcome,)
    send_queue: SmallInts  # (message sent,)
    send_message: SmallInts  # (message sent,)


class Sets(NamedTuple):
    """The messages of a set whose contents are numbered; `adds` and `trims` are `Grids.arrays`."""

    member: SmallInts  # (delivery,): the receiver
    message: SmallInts  # (delivery,)
    column: SmallInts  # (delivery,): the receiver's event
    sends: SmallInts  # (outcome,): the number of the set that it sends, or -1
    leads: Ints  # (outcome,): see `Contents._number_outcomes`
    sleeps: SmallFlags  # (outcome,): `SLEEPS`, `MARKS`, `SPENDS` (see `expansion/sleeping.py`)
    until: SmallInts  # (message * members + member,): see `Expiry.of_use_until`
    adds: tuple[Any, ...]  # (sender, content, set sent) -> content
    trims: tuple[Any, ...]  # (sender, content, horizons) -> content
    vector: (
        SmallInts  # (horizons of all members, packed,) -> 1 + their number; 0 unknown, -1 asked for
    )
    vector_shift: Ints  # (member,): where its horizon lies in the packed horizons


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


HEARER_BITS = 62
"""Members from this one on share a bit."""


@njit(inline="always")
def is_hearer(heard_by: Ints, place: Any, member: Any) -> Any:
    """Return whether the content at a place of per-value arrays may have messages for a member."""
    return heard_by[place] >> min(np.int64(member), np.int64(HEARER_BITS)) & 1 != 0


@njit(inline="always")
def put(rows: Rows, r: Any, fields: Fields, field: Any, value: Any) -> None:
    """Write a number into a field of row r.  `rows`: uint64 (row, word)."""
    w = fields.word[field]
    shift = fields.shift[field]
    rows[r, w] = (rows[r, w] & ~(fields.mask[field] << shift)) | (np.uint64(value) << shift)


@njit(inline="always")
def expire(fields: Fields, of_use: OfUse, members: Any, rows: Rows, r: Any) -> None:
    """Remove the messages from row r that are of no use to any member any more."""
    for w in range(rows.shape[1]):
        keep = np.uint64(0)
        for member in range(members):
            at = fields.off[member] + get(rows, r, fields, member)
            keep |= of_use.needed[member * of_use.horizons + of_use.horizon[at], w]
        rows[r, w] &= keep


@njit(inline="always")
def cell(blocks: Blocks, cells: Any, member: Any, local: Any, column: Any) -> Any:
    """Return the first outcome of a cell, or `UNKNOWN`, `REFUSED` or `ASKED`.

    `cells`: as `Grids.sparse` gives it: the table if some of it is hashed, otherwise None.
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
    """Add a question, for which there must be room; return the number of questions."""
    ask[asked, 0] = kind
    ask[asked, 1] = x
    ask[asked, 2] = y
    ask[asked, 3] = z
    return asked + 1


@njit(inline="always")
def ask_for(
    blocks: Blocks,
    cells: Any,
    ask: Questions,
    asked: Any,
    found: Any,
    member: Any,
    local: Any,
    column: Any,
) -> Any:
    """Ask for a cell, in which a loop found the code `found`; return the number of questions.

    Call it only where no outcome was found: a test in each step takes a sixth of the time that the
    loop spends on two-phase commit.
    """
    if found == UNKNOWN and asked < len(ask) - 1:
        asked = _ask(ask, asked, ASK_CELL, member, local, column)
        if cells is None:
            blocks.content[blocks.off[member] + local * blocks.stride[member] + column] = ASKED
        else:
            mark(cells, member, local, column, ASKED)
    return asked


@njit(inline="always")
def look_up(
    blocks: Blocks, cells: Any, ask: Questions, asked: Any, member: Any, local: Any, column: Any
) -> Any:
    """Return the result of `cell`, and the number of questions.

    An unknown cell is asked for once, if there is room for a question.
    """
    found = cell(blocks, cells, member, local, column)
    return found, ask_for(blocks, cells, ask, asked, found, member, local, column)


@njit(inline="always")
def look_up_content(
    grids: Any, ask: Questions, asked: Any, kind: Any, field: Any, content: Any, by: Any
) -> Any:
    """Look up the content that follows from another one as `look_up` does a cell."""
    found = find(grids, field, content, by)
    if found == UNKNOWN and asked < len(ask) - 1:
        asked = _ask(ask, asked, kind, field, content, by)
        mark(grids, field, content, by, ASKED)
    return found, asked


@njit(inline="always")
def look_up_vector(vector: SmallInts, ask: Questions, asked: Any, packed: Any) -> Any:
    """Look up the number of the packed horizons of all members as `look_up` does a cell."""
    found = np.int64(vector[packed]) - 1
    if found == UNKNOWN and asked < len(ask) - 1:
        asked = _ask(ask, asked, ASK_VECTOR, packed, 0, 0)
        vector[packed] = -1
    return found, asked


@njit(inline="always")
def list_step(todo: Table, steps: Any, o: Any, member: Any, info: Ints) -> Any:
    """List a step to be written, if there is room for it; return the number of steps, with it."""
    if steps < len(todo):
        todo[steps, 0] = o
        todo[steps, 1] = member
        todo[steps, 2] = info
    return steps + 1


@njit(inline="always")
def list_at_queue(
    todo: Table, steps: Any, o: Any, member: Any, info: Ints, queue: Any, rest: Any
) -> Any:
    """List a step that leaves the content `rest` in the field of a queue, as `list_step` does."""
    if steps < len(todo):
        todo[steps, 3] = queue
        todo[steps, 4] = rest
    return list_step(todo, steps, o, member, info)


@njit(inline="always")
def take_back(t: Lookup, cells: Any, info: Ints, start: Any, n: Any, here: Ints) -> None:
    """Subtract the steps from `start` to `n` of `info`, which are one row's, from the counts."""
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
                    # This member crashed if the crash is one of the outcomes of its cell.
                    crashed = (info[i] >> 32) - 1
                    upto = o
                    while t.outcomes.last[upto] == 0 and upto < crashed:
                        upto += 1
                    if upto == crashed:
                        o = crashed
                    t.outcomes.taken[o] -= 1
