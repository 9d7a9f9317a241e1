"""Which steps are faults: what no claim about runs may count on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from joinproto.check.engine import kernel
from joinproto.check.engine.tables import Tables

Ints = npt.NDArray[np.int64]


@frozen
class Faults:
    """Which steps are faults: by outcome, by move of the world, by joint step."""

    outcome: npt.NDArray[np.bool_]
    move: npt.NDArray[np.bool_]
    joint: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, tables: Tables) -> Faults:
        moves = [action != "heal" for action, _ in tables.moves]
        joint = [step.fault for step in tables.joint_steps]
        outcomes = tables.outcomes.are_faults if len(tables.outcomes) else np.zeros(1, np.bool_)
        return cls(outcomes, *(np.array(items or [False]) for items in (moves, joint)))

    def of_steps(self, info: Ints) -> npt.NDArray[np.bool_]:
        kind, a, o = info & 15, (info >> 4) & 0xFFFFFFF, info >> 32
        fault: npt.NDArray[np.bool_] = (kind == kernel.LOSE) | (kind == kernel.DOUBLE)
        own, moved, together = kind <= kernel.TAKE, kind == kernel.MOVE, kind == kernel.TOGETHER
        fault[own] = self.outcome[o[own]]
        fault[moved] = self.move[a[moved]]
        # A joint step in which somebody crashes is one as well.
        fault[together] = self.joint[a[together]] | (o[together] > 0)
        return fault
