"""The number of replicas: reconciliation, Q1."""

from __future__ import annotations

import pytest

from joinproto.reconcile.queue import Target, Variant
from joinproto.reconcile.target import ANY, wanted


@pytest.mark.parametrize(
    ("target", "seed", "real"),
    [
        (Target(argument=3, policy=5, configuration=7), 3, ANY),
        (Target(policy=3, operator_policy=5, configuration=7), 5, 7),
        (Target(configuration=7), 7, 7),
        (Target(argument=0, configuration=3), 0, 3),
        (Target(policy=3, configuration=0), 3, 0),
        (Target(), 0, 0),
    ],
)
def test_the_design_takes_the_most_specific_source_and_the_shipped_code_the_largest(
    target: Target, seed: int, real: int
) -> None:
    """Seed: the argument counts before the policy, and the policy before the configuration.

    Real: the maximum counts, and an argument counts as more than any number.  With a configured 0
    and no argument, RabbitMQ's own reconciliation fails.
    """
    assert seed == wanted(target, Variant.SEED).count == wanted(target, Variant.OURS).count
    assert real == wanted(target, Variant.REAL).count


def test_the_reason_names_the_sources_that_count_and_the_other_sources() -> None:
    """Operators ask why, so the answer names the sources that do not count."""
    target = Target(argument=3, policy=5)

    assert "the argument says 3; it comes before the policy 5" == wanted(target, Variant.OURS).why
    assert (
        "the argument says 3, and counts as more than any number: the queue grows to all nodes"
        == (wanted(target, Variant.REAL).why)
    )
    assert "the policy says 5, the largest of policy 5, configuration 4" == (
        wanted(Target(policy=5, configuration=4), Variant.REAL).why
    )
    assert "no target is set" == wanted(Target(), Variant.OURS).why
