"""Runs from the beginning, found on the same relations: rules left out break what is claimed."""

from __future__ import annotations

import pytest

from proofs.bounded import WORLDS, World, shortest

BY_NAME = {world.name: world for world in WORLDS}


def _is_a_run(world: World) -> None:
    run = shortest(world)

    assert run is not None
    assert world.steps == len(run.steps)
    for at, (step, values) in enumerate(run.steps):
        before, after = run.states[at], run.states[at + 1]
        assert before.allows(step, dict(values)), step.name
        for relation in world.layer.changing:
            assert after.rows[relation] == before.after(step, dict(values)).rows[relation]
    (claim,) = [one for one in world.layer.claims if one.name == world.claim]
    assert not run.states[-1].holds(claim.formula)
    assert all(state.holds(claim.formula) for state in run.states[:-1])


def test_wait_for_below_a_majority_splits() -> None:
    """Section 2: refused unless a register decides; each of two members chooses for itself."""
    _is_a_run(BY_NAME["wait-for below a majority"])


@pytest.mark.slow
def test_a_voter_that_forgets_splits() -> None:
    """3.6: a lost disk that votes again; every step is judged by the other reader."""
    _is_a_run(BY_NAME["the forgetful voter"])


@pytest.mark.slow
def test_nothing_left_out_breaks_nothing() -> None:
    """The same bound, the same things, every guard in its place."""
    assert shortest(BY_NAME["as it ships"]) is None
