"""Runs from the beginning, found on the same relations: rules left out break what is claimed."""

from __future__ import annotations

import pytest
from attrs import evolve

from proofs import register
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


GONE = register.NOT_GONE
DROPPED = {
    ("vote", "it is proposed"): 4,
    ("propose its own view", "the attempt is in memory, with no proposal yet"): 8,
    ("propose its own view", register.ASKED): 8,
    ("begin", "the ballot is new to its owner's disk"): 9,
    ("begin", GONE): 10,
    ("promise", register.NOT_BEYOND): 10,
    ("propose its own view", "they have accepted nothing"): 10,
    ("propose what was accepted", "the view was accepted, says an answer"): 10,
    ("vote", register.NOT_BEYOND): 10,
    ("promise", GONE): 11,
    ("vote", GONE): 11,
}
"""Guards of the register, and the shortest run that splits a view once it is dropped."""


def _without(step: str, guard: str, steps: int) -> World:
    world = BY_NAME["as it ships"]
    return evolve(world, layer=world.layer.dropping(step, guard), steps=steps)


def test_a_vote_for_what_nobody_proposed_splits() -> None:
    """The quick one of the next test."""
    _is_a_run(_without("vote", "it is proposed", 4))


@pytest.mark.slow
@pytest.mark.parametrize(("step", "guard"), DROPPED)
def test_a_guard_dropped_splits_a_view(step: str, guard: str) -> None:
    """Not only an obligation fails: from the beginning, a run leads to two chosen views."""
    _is_a_run(_without(step, guard, DROPPED[step, guard]))


def test_a_stranger_that_may_vote_does() -> None:
    """3.6: a seat that is no elector."""
    world = _without("vote", "by seat: it is an elector", 4)
    more = {**world.sizes, register.SEAT: 4}

    _is_a_run(evolve(world, sizes=more, claim="stranger_never_votes"))
