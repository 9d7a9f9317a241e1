"""The phases: the first case of the table that holds decides."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.join.phases import Facts, Phase, standing

READY = Facts(has_tip=True, is_open=True, is_member=True, has_data=True, is_ready=True)


@pytest.mark.parametrize(
    ("facts", "phase", "name"),
    [
        (Facts(is_aborted=True, is_done=True), Phase.ABORTED, "a verdict"),
        (Facts(), Phase.INITIALIZING, "nothing is founded"),
        (READY, Phase.READY, "others are not ready"),
        (
            evolve(READY, all_ready=True, hears_majority=False),
            Phase.READY,
            "fewer than N",
        ),
        (
            evolve(READY, was_ready=True, has_options=False),
            Phase.INITIALIZING,
            "goes on only through a new view",
        ),
        (
            evolve(READY, has_options=False, has_data=False),
            Phase.INITIALIZING,
            "its options are not those of the view",
        ),
    ],
)
def test_the_first_case_that_holds_decides(facts: Facts, phase: Phase, name: str) -> None:
    """I2: a verdict is reported even by a member that ends anyway."""
    case = standing().choose((facts,), 0)

    assert (phase, name) == (case.outcome, case.name)


def test_a_member_of_a_view_with_fewer_than_n_members_is_ready_and_does_not_serve() -> None:
    """W1: until N members were active once, a member that waits for them serves no client."""
    few = evolve(READY, has_options=True, all_ready=True, hears_majority=True)

    assert Phase.READY is standing().choose((few,), 0).outcome
    assert Phase.ACTIVE is standing().choose((evolve(few, has_n=True),), 0).outcome
