"""One run: a scenario, played from its first action to its end.

After all actions the faults stop, and the cluster must serve.
"""

from __future__ import annotations

from collections.abc import Callable

from attrs import field, frozen

from joinproto.join.member import Member
from joinproto.swarm.actions import do
from joinproto.swarm.fair_phase import calm
from joinproto.swarm.oracle import STUCK, Violation
from joinproto.swarm.scenario import Scenario
from joinproto.swarm.simulation import Simulation


@frozen(kw_only=True)
class Outcome:
    """The outcome of a run.  `claim`: the broken claim, "" if all held; `what`: the evidence.

    `at`: the last second of the run.  `opened`: how often a member began to serve.  `acked`: the
    number of frames that were acknowledged.  `story`: the events in words, if asked for.
    """

    scenario: Scenario
    events: int
    claim: str = ""
    what: str = ""
    at: float = 0.0
    opened: int = 0
    acked: int = 0
    story: tuple[str, ...] = field(default=(), repr=False)

    @property
    def is_stuck(self) -> bool:
        return self.claim in STUCK

    @property
    def failed(self) -> bool:
        return self.claim != ""


def run(
    scenario: Scenario, *, start: Callable[..., Member] = Member.start, tells: bool = False
) -> Outcome:
    """Play the scenario and return its outcome, which depends only on the arguments.

    `start`: makes the members, as `Member.start` does.  `tells`: the outcome has the story.
    """
    it = Simulation(scenario, start, tells=tells)
    claim = what = ""
    try:
        _play(it)
    except Violation as found:
        claim, what = found.claim, found.what
    return Outcome(
        scenario=scenario,
        events=it.events,
        claim=claim,
        what=what,
        at=it.now,
        opened=it.oracle.served,
        acked=it.oracle.acked,
        story=tuple(it.story),
    )


def _play(it: Simulation) -> None:
    for action in it.scenario.actions:
        it.advance(action.at)
        it.tell(str(action))
        do(it, action)
    it.advance(it.now + it.scenario.patience)
    calm(it)
