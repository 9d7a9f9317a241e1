"""Of two reasons for a phase, the first one counts."""

from __future__ import annotations

import pytest

from joinproto.join.phases import Facts, Phase, standing


@pytest.mark.parametrize(
    ("facts", "phase", "name"),
    [
        (Facts(is_aborted=True, is_done=True), Phase.ABORTED, "a verdict"),
        (Facts(), Phase.INITIALIZING, "nothing is founded"),
    ],
)
def test_the_first_case_counts(facts: Facts, phase: Phase, name: str) -> None:
    """I2: what was found is said, also by a member that ends anyway."""
    case = standing().choose((facts,), 0)

    assert (phase, name) == (case.outcome, case.name)
