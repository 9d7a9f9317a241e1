"""Reconciliation, proved for any number of nodes, and compared with the shipped code."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from joinproto.prove.link.run import Linked, link
from joinproto_claims.claims import wanted
from joinproto_claims.linked import WORLDS
from joinproto_claims.mappings.reconcile import ReconcileMapping
from joinproto_claims.reconcile import LAYER

LINKED = [one for one in WORLDS if one.layers == {"reconcile"}]
OF_NODES = {"one_change_at_a_time", "no_rivals", "memberships_share_a_majority"}
OF_OURS = {"never_below_by_itself", "it_ends", "a_majority_still_runs"}


def test_reconciliation_has_all_its_claims() -> None:
    """No action of ours goes below the minimum; one change at a time; changes end.

    `test_obligations.py` proves them.
    """
    assert OF_NODES | OF_OURS == {one.name for one in LAYER.claims}
    assert ((LAYER, LAYER.claims),) == wanted("reconcile")


def test_every_step_of_the_worlds_is_a_step_of_the_relation() -> None:
    """No world takes the steps `declare` and `run`."""
    found = [one for linked in LINKED for one in link(linked)]

    assert [] == [one.rejected for one in found if one.rejected is not None]
    assert sum(one.steps for one in found) > 6_900
    taken = {step for one in found for step in one.used}
    assert {step.name for step in LAYER.steps} - taken == {"declare", "run"}


@pytest.mark.parametrize(
    ("world", "mutant", "action"),
    [
        ("reconcile-by-hand", "two-changes", "adds by hand"),
        ("reconcile-below", None, "evaluates"),
    ],
)
def test_code_without_a_rule_is_rejected_with_the_step(
    world: str, mutant: str | None, action: str
) -> None:
    """The code begins two changes at once, or drops a replica before another is there."""
    linked = Linked(world, (ReconcileMapping,), frozenset({"reconcile"}), near=3_000, far=0)

    (found,) = link(linked, mutant=mutant)

    assert found.rejected is not None
    assert found.rejected.action.startswith(action)


def test_the_axioms_about_majorities_hold_for_up_to_five_of_six_nodes() -> None:
    nodes = range(6)
    sets = [frozenset(one) for size in range(1, 6) for one in combinations(nodes, size)]
    most = {
        one: [frozenset(m) for m in combinations(sorted(one), len(one) // 2 + 1)] for one in sets
    }
    for members, node in product(sets, nodes):
        more = members | {node}
        for majority in most[members]:
            assert any(r <= majority | {node} for r in most.get(more, [majority | {node}]))
            less = members - {node}
            if less and node not in majority:
                assert 2 * len(majority) > len(less)
            for other in most.get(more, ()):
                assert majority & other
