"""An outside register, which keeps for each parent the first view written as its successor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

from joinproto.join.ids import ViewId
from joinproto.join.inputs import RegisterFree, RegisterSays
from joinproto.join.view import View
from joinproto.swarm.host import Process

if TYPE_CHECKING:
    from joinproto.swarm.simulation import Simulation


@define(eq=False)
class Register:
    """The outside register.  `out_of_reach`: by member, the time until which it is cut off."""

    simulation: Simulation
    views: dict[ViewId | None, View] = field(factory=dict)
    out_of_reach: dict[str, float] = field(factory=dict)

    def asked(
        self,
        process: Process,
        parent: ViewId | None,
        view: View | None,
        asked: float,
        question: int,
    ) -> None:
        """Bring a question to the register, and its answer back; both take time.

        `view`: set it as the successor of `parent`; None: only read.
        """
        it = self.simulation
        name = process.name

        def delay() -> float:
            return it.scenario.delay * (0.2 + it.chance.expovariate(1.0))

        def asks() -> None:
            if self.out_of_reach.get(name, -1.0) > it.now:
                return
            if view is not None and parent not in self.views:
                self.views[parent] = view
                it.oracle.chosen(view)
            there = self.views.get(parent)
            it.later(delay(), lambda: answers(there))

        def answers(there: View | None) -> None:
            if it.processes.get(name) is not process:
                return
            if there is not None:
                it.step(name, lambda one: one.tell(RegisterSays(there)))
            elif parent is not None and view is None:
                free = parent, asked, question
                process.stood.add(parent)
                it.step(name, lambda one: one.tell(RegisterFree(*free)))

        it.later(delay(), asks)
