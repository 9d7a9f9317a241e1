"""Searches of the proved relations find runs that break a claim if a guard is left out."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.prove.bounded import Guards, Run, World, shortest, shortest_without
from joinproto_claims import register
from joinproto_claims.bounded_worlds import WORLDS

BY_NAME = {world.name: world for world in WORLDS}


def _assert_run(world: World, run: Run | None) -> None:
    assert run is not None
    assert world.steps == len(run.steps)
    for at, (taken, values) in enumerate(run.steps):
        before, after = run.states[at], run.states[at + 1]
        step = world.layer.step(taken.name)
        assert before.allows(step, dict(values)), step.name
        for relation in world.layer.changing:
            assert after.rows[relation] == before.after(step, dict(values)).rows[relation]
    (claim,) = [one for one in world.layer.claims if one.name == world.claim]
    assert not run.states[-1].holds(claim.formula)
    assert all(state.holds(claim.formula) for state in run.states[:-1])


def test_a_view_splits_if_wait_for_is_below_a_majority() -> None:
    """Section 2 refuses such an N without a register: each of two members could choose alone."""
    world = BY_NAME["wait-for below a majority"]
    _assert_run(world, shortest(world))


@pytest.mark.soak("proofs")
def test_a_view_splits_if_a_voter_forgets() -> None:
    """3.6: a voter whose disk is lost votes again."""
    world = BY_NAME["the forgetful voter"]
    _assert_run(world, shortest(world))


GONE = register.NOT_GONE
DROPPED = {
    ("vote", "the view is proposed"): 4,
    ("propose its own view", "the attempt is in memory, with no proposal yet"): 8,
    ("propose its own view", register.ASKED): 8,
    ("begin", "the ballot is new to its owner's disk"): 9,
    ("begin", GONE): 10,
    ("promise", register.NOT_BEYOND): 10,
    ("propose its own view", "they have accepted no view"): 10,
    ("propose what was accepted", "an answer says that the view was accepted"): 10,
    ("vote", register.NOT_BEYOND): 10,
    ("promise", GONE): 11,
    ("vote", GONE): 11,
}
"""Guards of the register, with the length of the shortest run that splits a view without each."""


@pytest.fixture(scope="module")
def runs() -> dict[Guards, Run | None]:
    """Return the shortest run without each guard, and with all guards."""
    cuts = [frozenset[tuple[str, str]](), *(frozenset({one}) for one in DROPPED)]
    return shortest_without(BY_NAME["as it ships"], cuts)


def _without(step: str, guard: str, steps: int) -> World:
    world = BY_NAME["as it ships"]
    return evolve(world, layer=world.layer.dropping(step, guard), steps=steps)


def test_a_view_splits_if_a_vote_is_for_a_view_that_no_member_proposed() -> None:
    """This is the quickest case of the soak test below."""
    world = _without("vote", "the view is proposed", 4)

    _assert_run(world, shortest(world))


@pytest.mark.soak("proofs")
def test_no_view_splits_if_every_guard_is_present(runs: dict[Guards, Run | None]) -> None:
    """The bound and the elements are those of the searches without a guard."""
    assert runs[frozenset()] is None


@pytest.mark.soak("proofs")
@pytest.mark.parametrize(("step", "guard"), DROPPED)
def test_a_view_splits_if_a_guard_is_dropped(
    step: str, guard: str, runs: dict[Guards, Run | None]
) -> None:
    """Not only an obligation fails: a run from the initial state chooses two views."""
    world = _without(step, guard, DROPPED[step, guard])

    _assert_run(world, runs[frozenset({(step, guard)})])


def test_a_stranger_votes_if_the_guard_is_dropped() -> None:
    """3.6: the stranger is a seat that is not an elector."""
    world = _without("vote", "the seat is an elector", 4)
    more = {**world.sizes, register.SEAT: 4}

    stranger = evolve(world, sizes=more, claim="stranger_never_votes")
    _assert_run(stranger, shortest(stranger))
