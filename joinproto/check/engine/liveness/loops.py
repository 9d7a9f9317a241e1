"""Compiled loops over the states and steps of a finished search.

Steps are ordered by the states that they lead out of: the steps out of state s have the numbers
first[s] to first[s + 1] - 1, and step e leads to target[e].  `into` has the steps ordered by the
states that they lead to: the steps into s are at first_into[s] to first_into[s + 1] - 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from joinproto.check.engine.shapes import Flags, Ints, Keys, SmallInts


@njit(cache=True)
def incoming(target: Ints, first_into: Ints, into: Ints) -> None:
    """Write the steps, ordered by the states that they lead to, into `into`, (step,).

    `first_into`: (state + 1,), all 0; receives where the steps into each state begin in `into`.
    """
    for e in range(len(target)):
        first_into[target[e] + 1] += 1
    for s in range(len(first_into) - 1):
        first_into[s + 1] += first_into[s]
    place = first_into[:-1].copy()
    for e in range(len(target)):
        into[place[target[e]]] = e
        place[target[e]] += 1


@njit(cache=True)
def go_back(
    first_into: Ints,
    into: Ints,
    source: Ints,
    allowed: Flags,
    goals: Ints,
    begins: Ints,
    far: Ints,
) -> None:
    """Write into `far`, which must be all -1, the fewest steps from each state to a goal.

    `allowed`: which steps may be taken; empty means all.  `goals`: states.  `begins`: the number
    to begin with at each goal, in rising order.
    """
    queue = np.empty(len(far), np.int64)
    head, tail, goal = 0, 0, 0
    step = np.int64(0)
    while head < tail or goal < len(goals):
        if head == tail:
            step = max(step, begins[goal])
        while goal < len(goals) and begins[goal] == step:
            if far[goals[goal]] < 0:
                far[goals[goal]] = step
                queue[tail] = goals[goal]
                tail += 1
            goal += 1
        end = tail
        step += 1
        while head < end:
            state = queue[head]
            head += 1
            for i in range(first_into[state], first_into[state + 1]):
                edge = into[i]
                before = source[edge]
                if far[before] < 0 and (len(allowed) == 0 or allowed[edge]):
                    far[before] = step
                    queue[tail] = before
                    tail += 1


@njit(cache=True)
def components(first: Ints, target: Ints, alive: Flags, part: Ints, begin: Any) -> Any:
    """Number the strongly connected components of the states alive from `begin` on (Tarjan).

    Only steps between states alive count.  `part`: -1 for all these states; receives the number of
    each state's component.  Return the number after the last.
    """
    count = len(alive)
    order = np.zeros(count, np.int64)  # when each state was met, from 1 on; 0: not yet
    low = np.empty(count, np.int64)  # the least order known in the state's part
    at = np.empty(count, np.int64)  # the next step out of each state to look at
    calls = np.empty(count, np.int64)
    stack = np.empty(count, np.int64)
    number = np.int64(begin)
    met, open_, depth = 0, 0, 0
    for root in range(count):
        if not alive[root] or order[root] > 0:
            continue
        enters = np.int64(root)
        while True:
            if enters >= 0:
                met += 1
                order[enters] = low[enters] = met
                at[enters] = first[enters]
                stack[open_] = enters
                open_ += 1
                calls[depth] = enters
                depth += 1
                enters = np.int64(-1)
            state = calls[depth - 1]
            while at[state] < first[state + 1]:
                to = target[at[state]]
                at[state] += 1
                if not alive[to]:
                    continue
                if order[to] == 0:
                    enters = to
                    break
                if part[to] < 0:
                    low[state] = min(low[state], order[to])
            if enters >= 0:
                continue
            depth -= 1
            if low[state] == order[state]:
                while True:
                    open_ -= 1
                    part[stack[open_]] = number
                    if stack[open_] == state:
                        break
                number += 1
            if depth == 0:
                break
            before = calls[depth - 1]
            low[before] = min(low[before], low[state])
    return number


@njit(cache=True)
def judge_parts(
    first: Ints,
    target: Ints,
    kind: SmallInts,
    masks: Keys,
    weak: Any,
    strong: Any,
    alive: Flags,
    part: Ints,
    begin: Any,
    bad: Flags,
    cut: Flags,
) -> None:
    """Mark the parts that break a weak duty, and the states to leave out for a strong duty.

    Duties are bits, at most 64 at once.  `masks`: (kind,), the duties that a step of each kind
    fulfils.  `weak`, `strong`: which duties are weak, and which strong.  `part`: numbers from
    `begin` on.  `bad`: (part,), `cut`: (state,); marks are added to both.
    """
    taken = np.zeros(len(bad), np.uint64)
    always = np.full(len(bad), ~np.uint64(0), np.uint64)
    possible = np.zeros(len(alive), np.uint64)
    for s in range(len(alive)):
        if not alive[s]:
            continue
        here, fulfilled = np.uint64(0), np.uint64(0)
        for e in range(first[s], first[s + 1]):
            mask = masks[kind[e]]
            if mask != 0:
                here |= mask
                if part[target[e]] == part[s] and alive[target[e]]:
                    fulfilled |= mask
        possible[s] = here
        taken[part[s] - begin] |= fulfilled
        always[part[s] - begin] &= here
    for p in range(len(bad)):
        if always[p] & weak & ~taken[p] != 0:
            bad[p] = True
    if strong == 0:
        return
    for s in range(len(alive)):
        if alive[s] and possible[s] & strong & ~taken[part[s] - begin] != 0:
            cut[s] = True


@njit(cache=True)
def leave_out(alive: Flags, part: Ints, begin: Any, bad: Flags, cut: Flags) -> Any:
    """Take out bad parts and cut states; return how many states are left in parts with a cut.

    A part without a cut is final: its states are no longer alive, and keep the part's number.
    """
    smaller = np.zeros(len(bad), np.bool_)
    for s in range(len(alive)):
        if alive[s] and cut[s] and not bad[part[s] - begin]:
            smaller[part[s] - begin] = True
    left = 0
    for s in range(len(alive)):
        if not alive[s]:
            continue
        number = part[s] - begin
        if bad[number] or cut[s]:
            alive[s], part[s] = False, -1
        elif smaller[number]:
            part[s] = -1
            left += 1
        else:
            alive[s] = False
    return left
