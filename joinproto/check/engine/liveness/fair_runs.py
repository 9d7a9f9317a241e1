"""The parts of a graph in which a fair run can stay for ever.

A part is a set of states that lead to one another.  A fair run can stay in a part for ever if each
weak duty is fulfilled by a step in the part or impossible in one of its states, and each strong
duty is fulfilled by a step in the part or impossible in all its states.  In a part that breaks a
weak duty, and in all smaller parts of it, no fair run can stay.  From a part that breaks a strong
duty, the states in which that duty is possible are taken out, and the rest falls into smaller parts
(Emerson and Lei; Streett).  A single state is a part as well: a run may end where no duty is open.

The duties that a step fulfils depend on its kind, of which there are few.  So duties are bits of a
mask for each kind, and one pass over the steps judges 64 duties of all parts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import frozen

from joinproto.check.engine.liveness.duties import Duties
from joinproto.check.engine.liveness.loops import components, judge_parts, leave_out
from joinproto.check.engine.shapes import Flags, Ints, Keys, SmallInts

BITS_MAX = 64


@frozen
class DutyBits:
    """Some duties as bits.  `weak`, `strong`: which of them are weak, and which strong.

    `masks`: uint64 (kind,): the duties that a step of each kind fulfils.
    """

    weak: int
    strong: int
    masks: Keys

    @classmethod
    def of(cls, duties: Sequence[Duties], kinds: int, most: int = BITS_MAX) -> list[DutyBits]:
        """Return all duties as bits, `most` at a time; `label` of `duties` must be by kind."""
        every = np.arange(kinds)
        each = [
            (group.strong, group.label == label)
            for group in duties
            for label in group.fulfilled_in(every)
        ]
        found = []
        for begin in range(0, len(each), most):
            weak = strong = 0
            masks = np.zeros(kinds, np.uint64)
            for at, (is_strong, fulfils) in enumerate(each[begin : begin + most]):
                masks[fulfils] |= np.uint64(1 << at)
                weak, strong = weak | (not is_strong) << at, strong | is_strong << at
            found.append(cls(weak, strong, masks))
        return found


def fair_parts(
    first: Ints,
    target: Ints,
    kind: SmallInts,
    duties: Sequence[DutyBits],
    region: Flags,
    wanted: Flags | None = None,
) -> Ints:
    """Return the part of each state of `region` in which a fair run can stay, -1 elsewhere.

    `first`: int64 (state + 1,), where the steps out of each state begin.  `target`, `kind`: of
    each step; steps that leave the region count as possible.  `wanted`: if given, only parts
    with one of these states are returned.
    """
    alive = region.copy()
    part: Ints = np.full(len(region), -1, np.int64)
    begin = 0
    while True:
        end = int(components(first, target, alive, part, begin))
        bad, cut = np.zeros(end - begin, np.bool_), np.zeros(len(region), np.bool_)
        if wanted is not None:
            bad[:] = True
            bad[part[alive & wanted] - begin] = False
        for some in duties:
            bits = np.uint64(some.weak), np.uint64(some.strong)
            judge_parts(first, target, kind, some.masks, *bits, alive, part, begin, bad, cut)
        if not leave_out(alive, part, begin, bad, cut):
            return part
        begin = end
