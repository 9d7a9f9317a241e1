"""Rules that are left out of the members of a swarm, and the claims that break then."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from attrs import evolve, frozen

from joinproto.swarm.run import Outcome, run
from joinproto.swarm.scenario import Scenario, What
from models.mutations.catalogue import mutation
from models.mutations.mutation import applied


def plain(scenario: Scenario, *, options: bool = False) -> Scenario:
    """Return it with the electors' votes alone, all with stores, and none that leaves or closes.

    What is left is what holds whatever is still to be mended elsewhere.  `options`: some are
    configured with others.
    """
    least = len(scenario.electors) // 2 + 1
    away = {What.LEAVE, What.SHUTDOWN, What.RESTORE} | (set() if options else {What.OPTIONS})
    return evolve(
        scenario,
        found_with=None,
        outside=False,
        transients="",
        wait_for=max(scenario.wait_for, least),
        automatic=True,
        ends=False,
        apart=(),
        deeds=tuple(deed for deed in scenario.deeds if deed.what not in away),
    )


@frozen
class Broken:
    """A rule that is left out: the claims of which one breaks, in so many events at most."""

    name: str
    rule: str
    claims: frozenset[str]
    events_most: int = 200_000
    first_seed: int = 5_000
    scenario: Callable[[Scenario], Scenario] = plain

    def play(self, scenario: Scenario) -> Outcome:
        with applied(mutation(self.rule)):
            return run(scenario)


BREAKS = (
    Broken("a majority", "minority", frozenset({"one_successor"})),
    Broken(
        "all are ready", "active-before-all-are-ready", frozenset({"waits_for_n", "no_split_brain"})
    ),
    Broken("what was accepted", "accepted-not-honoured", frozenset({"one_successor"})),
    Broken("what it was ready in", "held-not-persisted", frozenset({"waits_for_n"})),
    Broken(
        "the same options",
        "options-not-compared",
        frozenset({"options_agree"}),
        scenario=partial(plain, options=True),
    ),
    Broken("the tip on the disk", "dirty-not-written", frozenset({"waits_for_n"})),
)
