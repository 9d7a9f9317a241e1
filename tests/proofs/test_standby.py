"""Hot standby, proved for any number of brokers, queues and messages."""

from __future__ import annotations

import pytest

from proofs.claims import wanted
from proofs.obligations import Kind, discharge, obligations
from proofs.standby import LAYER

CLAIMS = {
    "one_primary_for_each_generation",
    "confirmed_is_in_every_backup_that_is_up_to_date",
    "promoting_loses_nothing",
}


@pytest.mark.slow
def test_every_obligation_of_hot_standby_is_proved() -> None:
    """H2 to H4, with the manager that is built in."""
    assert CLAIMS == {one.name for one in LAYER.claims}
    assert ((LAYER, LAYER.claims),) == wanted("standby")
    assert [] == [one.words for one in obligations(LAYER) if not discharge(one).is_proved]


@pytest.mark.slow
@pytest.mark.parametrize(
    "guard", ["it is in the last view", "no younger generation is in the chain"]
)
def test_what_a_manager_outside_must_keep_is_needed(guard: str) -> None:
    """Without either one, something that was confirmed can be lost."""
    layer = LAYER.dropping("promote", guard)
    about = [
        one
        for one in obligations(layer)
        if one.step is not None and one.step.name == "promote" and one.kind is not Kind.POSSIBLE
    ]

    assert any("fails" == discharge(one, small=False).result for one in about)
