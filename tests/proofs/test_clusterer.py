"""The Clusterer, proved for any number of nodes, and compared with the shipped code."""

from __future__ import annotations

import pytest

from joinproto.prove.link.run import Linked, link
from joinproto.prove.obligations import discharge, obligations
from joinproto_claims.claims import wanted
from joinproto_claims.clusterer import LAYER
from joinproto_claims.linked import WORLDS
from joinproto_claims.mappings.clusterer import ClustererMapping, load_whole

LARGE = {"clusterer-hole-5", "clusterer-hole-8"}
LINKED = [one for one in WORLDS if one.layers == {"clusterer"}]

CLAIMS = {
    "versions_never_decrease",
    "the_gospels_data_survive",
    "meant_are_the_gospels",
    "data_come_from_who_runs",
    "the_word_is_true",
    "nobody_rests",
    "a_lock_has_one_holder",
    "one_set_of_data",
    "other_content_is_never_merged",
    "one_goes_first",
    "no_two_first",
}
GUARDS = {
    "take": ("the config is younger than any that it holds", "versions_never_decrease"),
    "adopt": ("any data that it has are those that the config means", "ready_has_what_is_meant"),
    "join": (
        "a node has said that it is ready with the same config",
        "the_gospels_data_survive",
    ),
    "say": ("it has the data that the config means", "said_of_what_is_meant"),
    "boot with others": ("the config means these data", "ready_has_what_is_meant"),
    "settle": (
        "the config's gospel has these data, if it heads for the config",
        "meant_are_the_gospels",
    ),
    "go first": (
        "each node of the config has given its lock, or is off, or heads for a younger config",
        "one_goes_first",
    ),
    "found": ("each node of the config waits for it", "one_goes_first"),
    "come back": (
        "a node has said that it is ready with the same config",
        "other_content_is_never_merged",
    ),
}
"""Guards of steps, with the obligations that fail without them."""


def test_the_clusterer_has_all_its_claims() -> None:
    """The claims are U1 and U3 to U6; `test_obligations.py` proves them."""
    assert CLAIMS == {one.name for one in LAYER.claims}
    assert ((LAYER, LAYER.claims),) == wanted("clusterer")


def test_an_obligation_fails_without_each_guard() -> None:
    """The obligation belongs to a claim or a conjunct that needs the guard."""
    for step, (guard, lacking) in GUARDS.items():
        about = [
            one
            for one in obligations(LAYER.dropping(step, guard))
            if one.step is not None and one.step.name == step and lacking in one.words
        ]
        assert about
        assert not all(discharge(one, small=False).is_proved for one in about), (step, guard)


def _rejected_step(world: str, mutant: str | None = None) -> str | None:
    """Return the rejected step of the code; None if all steps of the world are accepted."""
    layers = frozenset({"clusterer"})
    linked = Linked(world, (ClustererMapping,), layers, near=50_000, far=0, load=load_whole)
    (found,) = link(linked, mutant=mutant)
    return None if found.rejected is None else found.rejected.action


def test_every_step_of_the_small_worlds_is_a_step_of_the_relation() -> None:
    """The worlds begin before any machine starts.  Each step of the relation is taken."""
    found = [one for linked in LINKED if linked.world not in LARGE for one in link(linked)]

    assert [] == [(one.world, one.rejected) for one in found if one.rejected is not None]
    assert sum(one.steps for one in found) > 2_900
    assert {step.name for step in LAYER.steps} == {step for one in found for step in one.used}


@pytest.mark.soak("proofs")
@pytest.mark.parametrize("world", sorted(LARGE))
def test_every_step_of_the_large_worlds_is_a_step_of_the_relation(world: str) -> None:
    """The worlds have three nodes, one of them reset, cut off or new."""
    assert _rejected_step(world) is None


@pytest.mark.parametrize(
    ("world", "mutant", "action"),
    [
        ("order", "older-wins", "poll a"),
        ("gospel", "gospel-by-name", "a to b"),
        ("form", "everybody-leads", "poll b"),
        ("join", "ready-not-joined", "poll a"),
        ("locks", "locks-always-granted", "b to a"),
    ],
)
def test_a_step_of_the_code_without_a_rule_is_rejected(
    world: str, mutant: str, action: str
) -> None:
    """The relation has no such step."""
    assert action == _rejected_step(f"clusterer-{world}", mutant)


@pytest.mark.soak("proofs")
@pytest.mark.parametrize(
    ("world", "mutant"),
    [("rejoin", "ran-forgotten"), ("leave", "contacts-kept"), ("spread", "waits-uninterrupted")],
)
def test_a_mutant_within_the_relation_is_accepted(world: str, mutant: str) -> None:
    """Only worlds check the last writer, the informed nodes, and progress."""
    assert _rejected_step(f"clusterer-{world}", mutant) is None


@pytest.mark.parametrize("hole", [1, 2, 3, 5, 8])
def test_the_shipped_rules_are_rejected(hole: int) -> None:
    """With these holes one config can stand for two sets of data."""
    assert _rejected_step(f"clusterer-real-hole-{hole}") is not None
