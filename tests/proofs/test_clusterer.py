"""The Clusterer, proved for any number of nodes."""

from __future__ import annotations

from proofs.claims import wanted
from proofs.clusterer import LAYER
from proofs.obligations import discharge, obligations

CLAIMS = {
    "versions_never_decrease",
    "the_gospels_data_survive",
    "one_set_of_data",
    "other_content_is_never_merged",
    "one_goes_first",
    "no_two_first",
}
GUARDS = {
    "take": ("it is younger", "versions_never_decrease"),
    "adopt": ("its data are those that the config means", "ready_has_what_is_meant"),
    "join": ("these are his data", "ready_has_what_is_meant"),
    "go first": ("each node of the config has given its lock, or is off", "one_goes_first"),
    "found": ("each node of the config waits for it", "one_goes_first"),
    "come back": ("somebody is ready with the same config", "other_content_is_never_merged"),
}
"""Of each step a guard, and what is not so without it."""


def test_every_obligation_of_the_clusterer_is_proved() -> None:
    """U1, U3, U4 and U5, by any number of nodes."""
    assert CLAIMS == {one.name for one in LAYER.claims}
    assert ((LAYER, LAYER.claims),) == wanted("clusterer")
    assert [] == [one.words for one in obligations(LAYER) if not discharge(one).is_proved]


def test_a_rule_that_is_left_out_fails_where_it_matters() -> None:
    """Each guard without which a claim or a conjunct does not hold."""
    for step, (guard, lacking) in GUARDS.items():
        left = LAYER.dropping(step, guard)
        failed = [one.words for one in obligations(left) if not discharge(one).is_proved]
        assert any(lacking in words for words in failed), (step, guard, failed)
