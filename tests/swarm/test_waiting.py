"""Liveness: if no member may serve, some member says which ones it waits for (`says_why`)."""

from __future__ import annotations

import pytest

from joinproto.swarm.draw import draw
from joinproto.swarm.run import run
from joinproto.swarm.scenario import Action, ActionKind, Scenario

TWO = Scenario(
    seed=16,
    members="ab",
    electors="ab",
    wait_for=2,
    patience=0.5,
    heartbeat=0.25,
    actions=(
        Action(0.0, ActionKind.START, "a"),
        Action(0.0, ActionKind.START, "b"),
        Action(5.0, ActionKind.LEAVE, "a"),
        Action(8.0, ActionKind.CRASH, "b"),
        Action(8.0, ActionKind.WIPE, "b"),
    ),
)
"""The only member of the view has lost its disk, so both are strangers in it."""

GONE = Scenario(
    seed=3001,
    members="bc",
    electors="bc",
    wait_for=2,
    actions=(Action(1.0, ActionKind.GONE, "c"),),
)
"""No cluster is founded, and one elector never comes."""


@pytest.mark.parametrize(
    ("scenario", "said"),
    [
        (TWO, "waits (J1: nobody of the view is here; not here: b with store"),
        (GONE, "waits (I1: founders are not here; no connection to c)"),
    ],
)
def test_a_member_that_may_not_serve_reports_which_members_it_waits_for(
    scenario: Scenario, said: str
) -> None:
    """Seeds 16 and 3001 of the swarm, shrunk."""
    outcome = run(scenario, tells=True)

    assert "" == outcome.claim
    assert any(said in line for line in outcome.story)


@pytest.mark.parametrize("seed", [1061, 220004])
def test_newcomers_do_not_end_view_after_view(seed: int) -> None:
    """Otherwise a left-out member says hello to all, and their ballots leave others out."""
    outcome = run(draw(seed))

    assert "" == outcome.claim
    assert outcome.events < 20_000  # if they did, it would take 86,407 and 50,130 events
