"""Reads at a member that the others have left, and that has not noticed, see all acknowledged data.

The others take it for lost while its own connections stay open and silent, as behind a firewall
that drops packets (3.8).  Each kind of member is played for some rounds, in virtual time.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from joinproto.swarm.run import run
from joinproto.swarm.scenario import Action, ActionKind, Scenario
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation

FEW, MANY = 6, 50
LEFT = "c"
KINDS: dict[str, Callable[[float], list[Action]]] = {
    "a member": lambda at: [],
    "a member that is leaving": lambda at: [
        Action(at + 1.5, ActionKind.LEAVE, LEFT),
        Action(at + 8.0, ActionKind.START, LEFT),
    ],
    "a newcomer": lambda at: [
        Action(at - 3.0, ActionKind.CRASH, LEFT),
        Action(at - 3.0, ActionKind.WIPE, LEFT),
        Action(at - 3.0, ActionKind.START, LEFT),
    ],
    "a member that was suspended": lambda at: [
        Action(at - 2.0, ActionKind.SPLIT, LEFT),
        Action(at - 1.4, ActionKind.HEAL),
    ],
}
"""Further events of the member, in a round in which the others take it for lost at `at`."""


def scenario(kind: str, rounds: int) -> Scenario:
    actions = [Action(0.0, ActionKind.START, name) for name in "abc"]
    for number in range(rounds):
        at = 6.0 + 15.0 * number
        actions.append(Action(at, ActionKind.GIVEN_UP, LEFT, amount=5.0))
        actions += KINDS[kind](at)
        actions += [Action(at + 0.25 * n, ActionKind.WRITE, "ab"[n % 2]) for n in range(16)]
    return Scenario(
        seed=1,
        members="abc",
        electors="abc",
        wait_for=2,
        patience=0.5,
        heartbeat=0.25,
        slow=0.0,
        notice=0.1,
        actions=tuple(sorted(actions, key=lambda action: action.at)),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rounds", [FEW, pytest.param(MANY, marks=pytest.mark.soak("swarm-rules"))])
def test_no_confirmed_read_is_stale_and_some_unconfirmed_reads_are(kind: str, rounds: int) -> None:
    """As a check of the test: unconfirmed reads miss frames that the others acknowledged."""
    played = scenario(kind, rounds)

    told = run(played)
    with applied(mutation("reads-unconfirmed")):
        unconfirmed = run(played)

    assert "" == told.claim, told.what
    assert told.acked > 10 * rounds
    assert "reads_see_acked" == unconfirmed.claim
    assert "c in " in unconfirmed.what
