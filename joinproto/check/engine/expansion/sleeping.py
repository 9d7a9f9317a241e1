"""Steps that need not be written, because the same two steps in another order lead there too.

A step of one member that led from p to u, and a step at u of another member that was possible at p
and commutes with it: both orders lead to the same state v.  Of all the steps that lead to v from
the level before, only the one whose member ranks highest is written; the others *sleep* at u and
are counted.  So the same states are found, on the same levels, and as many steps are counted; the
saving is the write and the look-up of a known state (Godefroid's sleep sets, kept of one level).

Nothing is lost.  Take the states that lead to v from the level before v's, each by a step, and
among those steps one of the highest rank.  Where it sleeps at u, a member of higher rank led to u
from some p; then the sleeping step leads from p to a state w, and that member's step from w to v.
w cannot be found sooner than u, or v would be sooner, too: so a step of higher rank leads to v
from the level before, against the choice.

When do two commute?  Members only hear messages, and contents of a set only grow, but for those
that are of no use any more.  So a step a of member i and a step b of member j do, where

* a tells the monitor nothing;
* no outcome of b's event, and not a, takes its member back to an earlier horizon: then what is of
  use is the same at the end;
* b is no message of i's, or a sent nothing that was not under way: b was there before;
* what a heard is of use as long as i stays where it is (else b could have made it useless first).

Budgets are spent in either order, so crashes sleep, too, within the remaining budget.

The world's own steps rank below and above all members: that a split heals sleeps where a member's
step came before, and no step of a member needs a link that a split has just cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.shapes import Block, Ints
from joinproto.check.engine.tables.kernel import COST_NONE, Outcomes

_LAST = 6
"""Members from this one on are of one rank."""

SPLIT = 1 << (_LAST + 1)
"""The mark of a row that a split led to: above all members."""

_LED = 2 * SPLIT - 1
"""The bits that say which member led to a row; those above say the same of steps that sent nothing.
"""


@njit(inline="always")
def mark_of(member: Any) -> Any:
    return np.int64(1) << min(np.int64(member), np.int64(_LAST))


@njit(inline="always")
def led_by(member: Any, is_silent: Any) -> Any:
    """Return the mark of a row that a member led to; `is_silent`: and sent nothing new."""
    mark = mark_of(member)
    return mark | (mark << (_LAST + 2)) if is_silent else mark


@njit(inline="always")
def sleeps(mark: Any, member: Any) -> Any:
    """Return whether steps of a member's own sleep in a row with this mark."""
    return np.int64(mark) & _LED >= 2 * mark_of(member)


@njit(inline="always")
def delivery_sleeps(mark: Any, sender: Any, member: Any) -> Any:
    """Return whether a member's receipts from another sleep."""
    silent = np.int64(mark) >> (_LAST + 2) & mark_of(sender)
    return sleeps(np.int64(mark) & ~mark_of(sender) | silent, member)


@njit(inline="always")
def list_asleep(
    outcomes: Outcomes, spend: Block, env: Any, o: Any, looped: Ints, n_loops: Any
) -> Any:
    """List the outcomes of a sleeping event, from `o` on, that can be; return how many there are.

    There must be room for `OUTCOMES_MAX`.  `spend`: int32 (cost, env); `looped`: int64 (step,).
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
    return mark & (SPLIT - 1) != 0
