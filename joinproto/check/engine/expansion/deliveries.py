"""The deliveries of a sender's content to a receiver's state, computed once.

Where contents are numbered, the same content meets the same receiver's state in very many rows:
in `join` there are 136,155 such pairs, each in 850 rows.  So the receiver's table is read once for
each delivery of a pair, and the results are listed: first deliveries that change a state, then
other deliveries, which a search only counts.

A pair has a slot in a hash table, with its key, its list, and two counts.  A list is packed into
one number: its first item (32 bits), the number of steps in it (15), whether all of them may sleep
and spend no fault (1), and the number of deliveries that change nothing (15).  An item of a list is
packed, too: the outcome (24 bits), the message (20), whether it is of use as long as its receiver
stays in its state (1), and its place among the content's deliveries (15).  Each worker has its own
tables, which are small at first, so that they stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from joinproto.check.engine.expansion.buffers import Loop
from joinproto.check.engine.expansion.own_steps import count_sleeping_prefixes
from joinproto.check.engine.expansion.sleeping import delivery_sleeps, led_by, list_asleep
from joinproto.check.engine.rows.bits import prefetch
from joinproto.check.engine.rows.layout import get
from joinproto.check.engine.shapes import Ints, Table
from joinproto.check.engine.tables.grids import find, move, place_of
from joinproto.check.engine.tables.kernel import (
    CHOICE,
    NUMBER_BITS,
    OUTCOMES_MAX,
    RECEIVE,
    REFUSED,
    SENT,
    SLEEPS,
    SPENDS,
    UNKNOWN,
    Sets,
    cell,
    is_hearer,
    look_up,
)

LOW = (1 << 32) - 1
COUNT = (1 << 15) - 1
STAYS, PLACE_AT = 44, 48
ALL_SLEEP = 1 << 47
OUTCOME = (1 << 24) - 1
MESSAGE = (1 << 20) - 1
NOT_KNOWN, TABLE_FULL = -1, -2

COUNTS_COLUMN = 2
"""The first column of a slot's counts."""

# The initial sizes of the tables.
SLOTS = 1 << 10
ITEMS = 1 << 12
CHOICES = 1 << 10


class DeliveryTables(NamedTuple):
    """The tables as the compiled loops read and write them."""

    slots: (
        Ints  # (slot, 4): key; list; how often its idle deliveries were counted, and how often all
    )
    items: Ints
    used: Ints  # (3,): slots used; items used; 1 if a table was full
    outcomes: Ints  # (choice,): its outcome, once it was looked up
    sleeping_prefix: Ints  # (first choice of a local state, 2): see `own_steps.py`


@njit(inline="always")
def key_of(link: Any, content: Any, local: Any) -> Any:
    return (((link << NUMBER_BITS) + content) << NUMBER_BITS) + local + 1


@njit(cache=True, _nrt=False)
def slot_of(slots: Table, link: Any, content: Any, local: Any) -> Any:
    """Return the slot of a content and a receiver's state, or the empty slot for it."""
    key = key_of(link, content, local)
    last = np.uint64(len(slots) - 1)
    slot = np.uint64(place_of(key)) & last
    while True:
        there = slots[slot, 0]
        if there == key or there == 0:
            return np.int64(slot)
        slot = (slot + np.uint64(1)) & last


@njit(inline="always")
def prefetch_slots(loop: Loop, r: Any) -> None:
    """Prefetch the slots of row r, the next row, as if all links were up."""
    fields, s, rows, coming = loop.t.fields, loop.s, loop.given.rows, loop.listed.coming
    slots = loop.deliveries.slots
    for member in range(s.members):
        coming[member] = get(rows, r, fields, member)
    last = np.int64(len(slots) - 1)
    for q in range(s.members):
        content = get(rows, r, fields, s.queues + q)
        place = fields.off[s.queues + q] + content
        for member in range(s.members):
            if not is_hearer(loop.t.takes.heard_by, place, member):
                continue
            key = key_of(q * s.members + member, content, coming[member])
            prefetch(slots, place_of(key) & last)


@njit(cache=True, nogil=True, _nrt=False)
def fill_slot(
    loop: Loop,
    cells: Any,
    sets: Sets,
    slot: Any,
    link: Any,
    content: Any,
    member: Any,
    local: Any,
    asked: Any,
) -> Any:
    """Fill an empty slot: list the deliveries of a sender's content to a receiver's state.

    Returns (0, `NOT_KNOWN` or `TABLE_FULL`; asked).
    """
    fields, takes, blocks, deliveries = loop.t.fields, loop.t.takes, loop.t.blocks, loop.deliveries
    horizon, ask = loop.t.of_use.horizon, loop.lacking.ask
    place = fields.off[loop.s.queues + link // loop.s.members] + content
    slots, items, used = deliveries.slots, deliveries.items, deliveries.used
    first, count = np.int64(takes.first[place]), np.int64(takes.counts[place])
    # Room for all deliveries of the content, as if each were to this receiver.
    if 2 * (used[0] + 1) > len(slots) or used[1] + count > len(items):
        used[2] = 1
        return TABLE_FULL, asked
    known = True
    for k in range(first, first + count):
        if sets.member[k] == member:
            o, asked = look_up(blocks, cells, ask, asked, member, local, sets.column[k])
            if o < 0 and o != REFUSED:
                known = False
    if not known:
        return NOT_KNOWN, asked
    end = begin = used[1]
    moving = np.int64(0)
    sleep = np.int64(ALL_SLEEP)
    members, come_to = len(sets.vector_shift), horizon[fields.off[member] + local]
    for idle in (False, True):
        for k in range(first, first + count):
            if sets.member[k] == member:
                o = cell(blocks, cells, member, local, sets.column[k])
                if o < 0:
                    continue
                if (sets.leads[o] == local) == idle:
                    if sets.sleeps[o] & (SLEEPS | SPENDS) != SLEEPS:
                        sleep = np.int64(0)
                    message = np.int64(sets.message[k])
                    stays = np.int64(sets.until[message * members + member] >= come_to)
                    items[end] = ((k - first) << PLACE_AT) | (stays << STAYS) | (message << 24) | o
                    end += 1
        if not idle:
            moving = end - begin
    slots[slot, 0] = key_of(link, content, local)
    slots[slot, 1] = begin | (moving << 32) | sleep | ((end - begin - moving) << 48)
    used[0] += 1
    used[1] = end
    return 0, asked


@njit(cache=True, _nrt=False)
def list_delivery(todo: Table, first: Any, steps: Any, member: Any, item: Any) -> Any:
    """List the step of an item, as `list_step` does, in order among the steps from `first` on."""
    if steps < len(todo):
        at = steps
        while at > first and todo[at - 1, 3] > item:
            for part in range(4):
                todo[at, part] = todo[at - 1, part]
            at -= 1
        todo[at, 0] = item & OUTCOME
        todo[at, 1] = member
        todo[at, 2] = (((item >> 24) & MESSAGE) << 4) | RECEIVE
        todo[at, 3] = item
    return steps + 1


@njit(inline="always")
def left_by(kind: Any, member: Any, item: Any, is_silent: Any) -> Any:
    """Return the mark of the row that a member's step led to; `item`: the item of a receipt."""
    if kind == CHOICE or (kind == RECEIVE and (item >> STAYS) & 1):
        return led_by(member, is_silent)
    return np.int64(0)


@njit(forceinline=True, nogil=True, _nrt=False)
def list_deliveries(
    loop: Loop,
    cells: Any,
    sets: Sets,
    r: Any,
    env: Any,
    mark: Any,
    steps: Any,
    n_loops: Any,
    asked: Any,
) -> Any:
    """List all deliveries in a row; if `quiet`, deliveries that change nothing are only counted.

    `mark`: the mark of the row (see `sleeping.py`); deliveries that sleep are only counted, too.

    Returns (steps, loops, the number of slots in `heard`, asked, whether all is known, whether a
    table was full).
    """
    t, s, rows, room = loop.t, loop.s, loop.given.rows, len(loop.written.rows)
    here, heard, looped = loop.listed.here, loop.listed.heard, loop.listed.looped
    fields, outcomes, deliveries, quiet = t.fields, t.outcomes, loop.deliveries, loop.quiet
    met = 0
    whole = True
    full = False
    for q in range(s.members):
        content = get(rows, r, fields, s.queues + q)
        place = fields.off[s.queues + q] + content
        if t.takes.counts[place] == 0:
            continue
        before = steps
        for member in range(s.members):
            if not is_hearer(t.takes.heard_by, place, member):
                continue
            link, local = q * s.members + member, here[member]
            if s.splits and t.environment.link_up[env, link] == 0:
                continue
            slot = slot_of(deliveries.slots, link, content, local)
            if deliveries.slots[slot, 0] == 0:
                status, asked = fill_slot(
                    loop, cells, sets, slot, link, content, member, local, asked
                )
                if status == TABLE_FULL:
                    full = True
                    continue
                if status == NOT_KNOWN:
                    whole = False
                    continue
            packed = deliveries.slots[slot, 1]
            first = packed & LOW
            upto = first + ((packed >> 32) & COUNT)
            asleep = delivery_sleeps(mark, q, member)
            if not quiet:
                upto += packed >> 48
            elif asleep and packed & ALL_SLEEP:
                heard[met] = slot << 1 | 1
                met += 1
                continue
            elif packed >> 48:
                heard[met] = slot << 1
                met += 1
            for j in range(first, upto):
                o = deliveries.items[j] & OUTCOME
                to = sets.leads[o]
                if asleep and sets.sleeps[o] & SLEEPS and n_loops + OUTCOMES_MAX <= room:
                    n_loops = list_asleep(outcomes, t.environment.spend, env, o, looped, n_loops)
                    continue
                if quiet and n_loops < room and to > LOW and to & LOW == local:
                    mine = get(rows, r, fields, s.queues + member)
                    if find(sets.adds, member, mine, ((to >> 32) & SENT) - 1) == mine:
                        looped[n_loops] = o
                        n_loops += 1
                        outcomes.taken[o] += 1
                        continue
                steps = list_delivery(loop.listed.todo, before, steps, member, deliveries.items[j])
    return steps, n_loops, met, asked, whole, full


@njit(inline="always")
def note_slots(deliveries: Any, heard: Ints, met: Any) -> Any:
    """Count the deliveries in the slots of `heard` that are not written; return their number."""
    steps = np.int64(0)
    for i in range(met):
        slot, asleep = heard[i] >> 1, heard[i] & 1
        deliveries.slots[slot, COUNTS_COLUMN + asleep] += 1
        packed = deliveries.slots[slot, 1]
        steps += (packed >> 48) + asleep * ((packed >> 32) & COUNT)
    return steps


@njit(cache=True, _nrt=False)
def _count(deliveries: Any, taken: Ints) -> None:
    slots, items = deliveries.slots, deliveries.items
    count_sleeping_prefixes(deliveries, taken)
    for slot in range(len(slots)):
        idle, whole = slots[slot, COUNTS_COLUMN], slots[slot, COUNTS_COLUMN + 1]
        if idle + whole > 0:
            packed = slots[slot, 1]
            first = packed & LOW
            steps = (packed >> 32) & COUNT
            for j in range(first, first + steps):
                taken[items[j] & OUTCOME] += whole
            for j in range(first + steps, first + steps + (packed >> 48)):
                taken[items[j] & OUTCOME] += idle + whole
            slots[slot, COUNTS_COLUMN] = slots[slot, COUNTS_COLUMN + 1] = 0


class Deliveries:
    """The delivery tables of one worker; `claim(bytes)` is called before memory is allocated."""

    def __init__(self, claim: Callable[[int], None]) -> None:
        self._claim = claim
        self._choices = CHOICES
        self.forget()

    def forget(self) -> None:
        """Empty the tables, because answers have changed.  The room for choices stays."""
        self.arrays = DeliveryTables(
            np.zeros((SLOTS, 4), np.int64),
            np.empty(ITEMS, np.int64),
            np.zeros(3, np.int64),
            np.full(self._choices, UNKNOWN, np.int64),
            np.zeros((self._choices, 2), np.int64),
        )

    def fit(self, choices: int) -> None:
        """Make room for the outcomes of `choices` choices."""
        outcomes, prefixes = self.arrays.outcomes, self.arrays.sleeping_prefix
        if choices > len(outcomes):
            room = max(choices, 2 * len(outcomes))
            self._claim(3 * 8 * room)
            self._choices, more = room, room - len(outcomes)
            self.arrays = self.arrays._replace(
                outcomes=np.concatenate([outcomes, np.full(more, UNKNOWN, np.int64)]),
                sleeping_prefix=np.concatenate([prefixes, np.zeros((more, 2), np.int64)]),
            )

    def grow_if_full(self) -> bool:
        """Double the tables if one of them was full; return whether it was."""
        slots, items, used = self.arrays[:3]
        if not used[2]:
            return False
        self._claim(2 * (slots.nbytes + items.nbytes))
        more = np.zeros((2 * len(slots), 4), np.int64)
        move(slots, more)
        used[2] = 0
        grown = np.concatenate([items, np.empty_like(items)])
        self.arrays = self.arrays._replace(slots=more, items=grown)
        return True

    def count_into(self, taken: Ints) -> None:
        """Add the counts of this worker to `taken`, and set them to 0."""
        _count(self.arrays, taken)
