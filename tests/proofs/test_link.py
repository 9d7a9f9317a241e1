"""The steps of the shipped code are steps of the proved relations."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.errors import UsageProblem
from joinproto.prove.layer import Claim
from joinproto.prove.link.lookup import Fact, as_formula, look_up, occurs
from joinproto.prove.link.run import Found, Linked, link
from joinproto.prove.logic import every
from joinproto.prove.obligations import Kind, Obligation, discharge
from joinproto_claims import chain
from joinproto_claims import chain_steps as said
from joinproto_claims.linked import WORLDS, worlds

BY_NAME = {linked.world: linked for linked in WORLDS}
LAYERS = frozenset({"register", "chain", "serving"})


def _few(world: str, near: int, far: int = 0) -> Linked:
    return evolve(BY_NAME[world], near=near, far=far)


@pytest.fixture(scope="module")
def explored() -> list[Found]:
    """Return the states that a short search of the join world finds."""
    return link(_few("join-two", 1_500, 400))


def test_the_first_steps_of_the_join_world_are_accepted(explored: list[Found]) -> None:
    """Each step of the code is a sequence of steps of the relation, whose guards hold."""
    assert ["chain", "serving"] == [found.layer.name for found in explored]
    for found in explored:
        assert found.rejected is None
        assert found.steps > 1_500
        assert {"found", "learn", "answer", "become ready"} <= set(found.used)


def test_the_first_steps_of_the_votes_are_accepted() -> None:
    """The steps are those of ballots, promises and votes."""
    (found,) = link(_few("chain-register", 3_000))

    assert found.rejected is None
    assert {"begin", "promise", "propose its own view", "vote", "leave"} <= set(found.used)


@pytest.mark.parametrize(
    ("mutant", "layer"),
    [("status-does-not-freeze", "chain"), ("n-forgotten", "serving")],
)
def test_a_mutant_is_rejected_with_the_step(mutant: str, layer: str) -> None:
    """The mutant leaves a rule out of the code, and the relation has no such step."""
    found = link(_few("join-two", 6_000, 6_000), mutant=mutant, layers=frozenset({layer}))

    (rejected,) = [one.rejected for one in found]
    assert rejected is not None
    assert any("is chosen" in change for change in rejected.changes)
    assert rejected.level == len(rejected.run)
    assert rejected.run[-1] == f"{rejected.member}: receive {rejected.message}"


def test_a_promise_that_is_not_durable_is_rejected() -> None:
    """The voter forgets its promise in a crash, and then accepts a lower ballot."""
    (found,) = link(_few("chain-register", 3_000), mutant="promise-not-persisted")

    assert found.rejected is not None


@pytest.mark.soak("proofs")
def test_the_older_of_two_acceptances_is_not_proposed_again() -> None:
    """If a ballot hears two acceptances, the relation proposes only the later one."""
    (found,) = link(BY_NAME["chain-register-tie"])
    assert found.rejected is None
    assert "propose what was accepted" in found.used

    (other,) = link(BY_NAME["chain-register-tie"], mutant="round-alone-binds")
    assert other.rejected is not None


NOT_WALKED = {"follow a source", "begin an update", "answer, unfinished"}
"""Steps that no walk takes.  Hosts that follow frame by frame are in `join-source-lost`, which
begins with a scene; a crash during an update that overwrites is too rare for these walks."""


@pytest.mark.soak("proofs")
def test_a_hundred_thousand_steps_are_accepted() -> None:
    """In the worlds of the join protocol each step of each relation is taken, but `NOT_WALKED`."""
    found = [one for linked in worlds(LAYERS, None) for one in link(linked)]

    assert [] == [one.rejected for one in found if one.rejected is not None]
    assert 100_000 <= sum({one.world: one.steps for one in found}.values())
    for name in LAYERS:
        here = [one for one in found if one.layer.name == name]
        taken = {step for one in here for step in one.used}
        assert {step.name for step in here[0].layer.steps} - NOT_WALKED == taken


def test_a_mutant_that_no_world_has_is_a_usage_error() -> None:
    """The error names the existing mutants."""
    with pytest.raises(UsageProblem) as raised:
        worlds(LAYERS, "no-such-thing")

    assert "status-does-not-freeze" in raised.value.next


def test_a_state_that_occurs_is_reported_as_reachable(explored: list[Found]) -> None:
    """A claim that is false in a state that occurs is a bug of the code or of the claim."""
    s, v = said.s, said.v
    nobody = Claim("nobody_is_ready", "", every((s, v), ~said.reached(s, v)))
    layer = evolve(chain.LAYER, claims=(nobody,))
    obligation = Obligation(layer, Kind.FOLLOWS, None, nobody)
    outcome = discharge(obligation)
    assert outcome.against is not None

    looked = look_up(obligation, outcome.against, explored)

    assert looked.reached is not None
    world, level = looked.reached
    assert "join-two" == world
    assert 0 < level < 20


def test_a_state_that_never_occurs_is_excluded_by_a_lemma(explored: list[Found]) -> None:
    """Without a lemma the obligation has a counterexample; with the lemma it is proved."""
    layer = chain.LAYER.without("ready_is_known")
    step = next(one for one in layer.steps if one.name == "keep a frame")
    subject = next(one for one in layer.conjuncts if one.name == "data_is_known")
    obligation = Obligation(layer, Kind.KEEPS, step, subject)
    outcome = discharge(obligation)
    assert outcome.against is not None

    looked = look_up(obligation, outcome.against, explored)

    assert looked.reached is None
    assert any(lemma.settles for lemma in looked.lemmas)
    (structure, _), *_ = explored[0].structures()
    for lemma in looked.lemmas:
        assert structure.holds(as_formula(lemma.never, layer))


def test_two_seats_of_a_counterexample_are_two_seats_of_an_explored_state(
    explored: list[Found],
) -> None:
    one = Fact(said.knows, ("s1", "v"), True)
    other = Fact(said.knows, ("s2", "v"), True)
    both = [
        structure for structure, _ in explored[0].structures() if occurs([one, other], structure)
    ]

    assert both
    assert all(2 <= len({row[0] for row in state.rows[said.knows]}) for state in both)
