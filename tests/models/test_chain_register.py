"""The worlds that choose one successor: their sizes, and how they fail without each rule."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto_worlds.entries import ENTRIES
from joinproto_worlds.mutations.catalogue import OF_THE_CHOICE
from joinproto_worlds.register.binding import CANDIDATES, FORMER, LATTER
from joinproto_worlds.register.chain import KINDS, TOO_FEW, build, by_nonce
from tests.census import ended, replayed, searched
from tests.join.pictures import views

REGISTER = [item for item in ENTRIES if item.build == "joinproto_worlds.register.chain:build"]

COUNTS = {
    "chain-register": (88_271, 1_229_078, 24),
    "chain-register-older": (5_193_270, 128_726_276, 34),
    "chain-register-tie": (5_307_416, 130_265_373, 34),
    "chain-register-observer": (787, 6_892, 19),
    "chain-register-wiped": (182_090, 2_781_048, 27),
    "chain-register-founding": (32_141, 298_293, 23),
    "chain-register-found-with": (800_499, 20_314_962, 35),
}
"""Distinct states, steps and depth."""

FAILS = {
    ("chain-register", "promise-not-persisted"): ("one_successor", 10),
    ("chain-register", "accepted-not-honoured"): ("one_successor", 8),
    ("chain-register", "minority"): ("learned_is_chosen", 1),
    ("chain-register-older", "last-acceptance-binds"): ("one_successor", 11),
    ("chain-register-tie", "round-alone-binds"): ("one_successor", 11),
    ("chain-register-observer", "ballots-not-persisted"): ("learned_is_chosen", 15),
    ("chain-register-wiped", "stranger-votes"): ("learned_is_chosen", 8),
    ("chain-register-founding", "accepted-not-honoured"): ("one_successor", 8),
    ("chain-register-found-with", "found-with-too-few"): ("one_successor", 8),
}
"""The claim that breaks without each rule, and the number of steps."""

NOTICED = {
    ("chain-register", "promise-not-persisted"): 12,
    ("chain-register", "accepted-not-honoured"): 10,
    ("chain-register", "minority"): 2,
    ("chain-register-wiped", "stranger-votes"): 13,
}
"""The steps until two members have learned different views, which a user would notice."""

SIZES = [
    pytest.param(name, marks=pytest.mark.soak("join-worlds")) if states > 10**6 else name
    for name, (states, *_) in COUNTS.items()
]


@pytest.mark.parametrize("name", SIZES)
def test_one_successor_is_chosen(name: str) -> None:
    """3.3: every view has at most one successor, through a crash at any point."""
    assert ("holds", COUNTS[name]) == ended(name)


def test_two_electors_choose_one_successor() -> None:
    """Both electors must answer; a second round is needed to go on with another member's view."""
    found = check(load_world("chain-register", members=2))

    assert ("holds", 32_141) == (found.result, found.distinct)


@pytest.mark.parametrize(("name", "mutant"), FAILS)
def test_a_world_fails_without_its_rule(name: str, mutant: str) -> None:
    trace = searched(name, mutant).trace

    assert trace is not None
    assert FAILS[name, mutant] == (trace.property, len(trace.steps))


@pytest.mark.parametrize(("name", "mutant"), NOTICED)
def test_members_learn_two_views_without_the_rule(name: str, mutant: str) -> None:
    """Members show the error, and not only the ledger does."""
    world = load_world(name, mutant=mutant)
    only = [item for item in world.properties if item.name == "members learn one view"]

    trace = check(evolve(world, properties=only)).trace

    assert trace is not None
    assert NOTICED[name, mutant] == len(trace.steps)


@pytest.mark.parametrize(("name", "mutant"), FAILS)
def test_a_failing_run_replays_in_the_member_code(name: str, mutant: str) -> None:
    trace, run = replayed(name, mutant)

    assert run.violates(trace.property)


def test_every_world_and_every_mutant_has_a_pinned_result() -> None:
    assert set(COUNTS) == {item.name for item in REGISTER}
    assert set(FAILS) == {(item.name, mutant) for item in REGISTER for mutant in item.mutants}
    # The join worlds fail without the other rules of the choice.
    assert {mutant for _, mutant in FAILS} - {TOO_FEW} <= set(OF_THE_CHOICE)


@pytest.mark.parametrize("name", SIZES)
def test_every_kind_of_message_is_received(name: str) -> None:
    """An observer alone, in one round, is never refused."""
    lone = {"Nack"} if name == "chain-register-observer" else set()

    taken = {kind for kind, times in searched(name).coverage.rules.items() if times}

    assert set(KINDS) - lone == taken - set(CANDIDATES)


@pytest.mark.soak("join-worlds")
def test_ballots_hear_two_acceptances_in_both_orders() -> None:
    """Only worlds in which a ballot hears two acceptances exercise the choice between them."""
    taken = {name: searched(name).coverage.rules for name in COUNTS}

    assert "chain-register-older" in {name for name, times in taken.items() if times[FORMER]}
    assert "chain-register-tie" in {name for name, times in taken.items() if times[LATTER]}
    assert not taken["chain-register"][FORMER] + taken["chain-register"][LATTER]


def test_three_founders_of_five_are_too_few() -> None:
    """Two clusters are founded without any crash, so the configuration refuses 3 of 5."""
    trace = check(load_world("chain-register-found-with", members=5, mutant=TOO_FEW)).trace

    assert trace is not None
    assert ("one_successor", 12) == (trace.property, len(trace.steps))


def test_a_choice_is_completed_without_its_proposer() -> None:
    """An accepted view is honoured: the others choose it after its proposer's crash."""
    found = check(load_world("chain-register"), witnesses=True)
    (trace,) = [
        item.trace for item in found.properties if item.name == "completed without its proposer"
    ]
    assert trace is not None

    labels = [f"{step.member} {step.label}" for step in trace.steps]

    assert any(label.startswith("a crash") for label in labels[:-1])
    assert "c receive accept a in 1.b1 from b" == labels[-1]


def test_an_elector_needs_no_durable_ballot_besides_its_durable_vote() -> None:
    """An elector's vote is durable before its first `Accept` leaves; others need the rule."""
    found = check(build(mutant="ballots-not-persisted"))

    assert ("holds", 90_970) == (found.result, found.distinct)


def test_each_view_of_the_world_has_its_own_id() -> None:
    """`by_nonce` can stand for a digest here only because each proposer has its own nonce."""
    drawn = views("F C1 C2", by_nonce)

    assert len({view.id for view in drawn.values()}) == len(drawn)
