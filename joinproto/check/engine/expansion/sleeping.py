"""Steps that need not be written, because two steps lead to the same state in either order.

Let a step of one member lead from state p to u, and let a step of another member be possible at u.
If the second step is possible at p, too, and the two steps commute, both orders lead to the same
state v.  Of all the steps that lead to v from the level before, only the one whose member ranks
highest is written.  The others *sleep*: they are counted and not written.  So the same states are
found, on the same levels, and as many steps are counted.  The search saves the writing and the
look-up of known states (Godefroid's sleep sets, kept for one level).

No state is lost.  Take all steps that lead to v from the level before v's, and among them one of
the highest rank, at a state u.  Suppose that it sleeps at u.  Then a member of higher rank led to u
from some p.  The sleeping step leads from p to a state w, and that member's step leads from w to v.
w cannot be on an earlier level than u, or v would be on an earlier level, too.  So a step of higher
rank leads to v from the level before, against the choice.

When do two steps commute?  Members are influenced by messages only, and contents of a set only
grow, except for messages that are of no use any more.  So a step a of member i and a later step b
of member j commute if

* a records no event for the monitor;
* neither a nor any outcome of b's event takes its member back to an earlier horizon: then the same
  messages are of use after both, in either order;
* b does not receive a message of i, or a sent nothing new: then b's message was there before a;
* the message that a received, if any, is of use as long as i stays in its state (otherwise b could
  have made it useless first).

Faults are spent in either order, so crashes sleep, too, if the remaining faults allow them.

Of the world's own steps, a healing ranks below all members, and a split above them.  So a healing
sleeps after a member's step.  A member's step sleeps after a split: if it is possible there, it
needs no link that the split has cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.shapes import Block, Ints
from joinproto.check.engine.tables.kernel import COST_NONE, Outcomes

_LAST = 6
"""Members from this one on have the same rank."""

SPLIT = 1 << (_LAST + 1)
"""The mark of a row that a split led to; it ranks above all members."""

_LED = 2 * SPLIT - 1
"""The bits for the steps that led to a row; higher bits are for steps that sent nothing new."""


@njit(inline="always")
def mark_of(member: Any) -> Any:
    return np.int64(1) << min(np.int64(member), np.int64(_LAST))


@njit(inline="always")
def led_by(member: Any, is_silent: Any) -> Any:
    """Return the mark of a row that a member led to; `is_silent`: its step sent nothing new."""
    mark = mark_of(member)
    return mark | (mark << (_LAST + 2)) if is_silent else mark


@njit(inline="always")
def sleeps(mark: Any, member: Any) -> Any:
    """Return whether a member's own steps sleep in a row with this mark."""
    return np.int64(mark) & _LED >= 2 * mark_of(member)


@njit(inline="always")
def delivery_sleeps(mark: Any, sender: Any, member: Any) -> Any:
    """Return whether a member's receipts of messages of `sender` sleep in a row with this mark."""
    silent = np.int64(mark) >> (_LAST + 2) & mark_of(sender)
    return sleeps(np.int64(mark) & ~mark_of(sender) | silent, member)


@njit(inline="always")
def list_asleep(
    outcomes: Outcomes, spend: Block, env: Any, o: Any, looped: Ints, n_loops: Any
) -> Any:
    """List the outcomes of a sleeping event, from `o` on, that the remaining faults allow.

    Returns how many outcomes `looped` has then; it must have room for `OUTCOMES_MAX` more.
    `spend`: int32 (cost, env); `looped`: int64 (step,).
    """
    while True:
        cost = outcomes.cost[o]
        if cost == COST_NONE or spend[cost, env] >= 0:
            looped[n_loops] = o
            n_loops += 1
            outcomes.taken[o] += 1
        if outcomes.last[o] != 0:
            return n_loops
        o += 1


@njit(inline="always")
def healing_sleeps(mark: Any) -> Any:
    """Return whether a healing sleeps in a row with this mark: a member's step led to the row."""
    return mark & (SPLIT - 1) != 0
