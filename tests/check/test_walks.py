"""Random runs are runs of the world, and claims are judged on them as in a search."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.check import Replay, always_step, any_of, implements, load_world
from joinproto.check.check import check
from joinproto.check.simulate import simulate
from tests.check.test_step_claims import by_hours, clock, hours
from tools.slow_search import explore

WORLDS = [
    ("two-phase-commit", {}),
    ("two-phase-commit", {"mutant": "one-vote-short"}),
    ("note-restart", {}),
    ("note-lone-restart", {}),
    ("note-partition", {}),
    ("qpid-founding", {}),
]


@pytest.mark.parametrize(("name", "options"), WORLDS)
def test_many_runs_reach_most_states_of_a_search_unless_a_claim_is_violated(
    name: str, options: dict[str, str]
) -> None:
    """A run ends when it breaks a claim, so then the runs may reach fewer states."""
    world = load_world(name, **options)
    every = explore(world).distinct

    found = simulate(world, runs=3000, seed=1, steps_max=60)

    assert found.distinct <= every
    assert found.runs == 3000
    if found.result == "not-violated":
        assert found.distinct > 0.7 * every


@pytest.mark.parametrize("name", ["note-lone-restart", "note-partition", "note-half-updated"])
def test_a_violating_run_can_be_replayed(name: str) -> None:
    """The members' code takes each step by its words, and the last state breaks the claim."""
    world = load_world(name)

    found = simulate(world, runs=2000, seed=5)

    assert found.trace is not None
    run = Replay(world)
    for step in found.trace.steps:
        taken = run.step(step.label, step.member)
        assert taken.states == step.states
    assert run.violates(found.trace.property)


def test_no_random_run_is_shorter_than_the_run_of_a_search() -> None:
    """The search finds a shortest run, so no random run can be shorter."""
    for name in ("note-lone-restart", "note-partition", "note-wrong-mark"):
        world = load_world(name)
        report = check(world)
        assert report.trace is not None

        found = simulate(world, runs=2000, seed=5)

        assert found.trace is not None
        assert len(found.trace.steps) >= len(report.trace.steps)


def test_no_run_violates_a_world_that_holds() -> None:
    """Random runs reach only states of the world, and no such state breaks a claim."""
    for name in ("note-joining", "note-orderly-shutdown", "qpid-two-marks"):
        assert "not-violated" == simulate(load_world(name), runs=500).result


def test_every_step_is_equally_likely() -> None:
    """Each of the five first steps of two-phase commit with two managers begins a fifth of runs.

    Each manager can prepare or abort, and the transaction manager can abort.
    """
    world = load_world("two-phase-commit", members=2)

    first = simulate(world, runs=10_000, steps_max=1, seed=9).coverage.actions

    assert 5 == sum(1 for times in first.values() if times)
    # 2,000 expected, with a standard deviation of 40.
    assert all(1_800 < times < 2_200 for times in first.values() if times)


def test_more_runs_than_one_block_holds_are_all_taken() -> None:
    """The runs are taken in several blocks, and the counts are added up."""
    found = simulate(load_world("two-phase-commit"), runs=2 * 4096 + 10, seed=2, steps_max=10)

    reached = {claim.name: claim.runs for claim in found.claims}
    assert 8_202 == found.runs
    # Nearly every run of ten steps comes to a state in which a member has aborted.
    assert found.runs - reached["aborted"] < 0.1 * found.runs
    assert 288 >= found.distinct > 280


def test_a_memory_limit_stops_a_simulation() -> None:
    """The runs that were finished still count."""
    found = simulate(load_world("two-phase-commit", members=9), runs=10**6, memory_max_bytes=1)

    assert "the memory limit" == found.stopped_by
    assert found.runs < 10**6


def test_coverage_counts_steps_that_were_drawn() -> None:
    """A run of two-phase commit has at most three steps that prepare a manager."""
    found = simulate(load_world("two-phase-commit"), runs=100, seed=1)

    prepared = sum(n for name, n in found.coverage.actions.items() if "prepare " in name)
    assert 0 < prepared <= 300


@pytest.mark.parametrize("begins_late", [False, True])
def test_runs_judge_that_one_world_implements_another(begins_late: bool) -> None:
    """Runs judge the steps drawn and the initial states, as a search does."""
    world = clock(implements("hours", hours(), by_hours), skips=True)
    if begins_late:
        world = evolve(world, beginnings=any_of({"clock": {"hour": [2]}}))
    report = check(world)

    found = simulate(world, runs=200, seed=1)

    assert ("violated", "violated") == (found.result, found.claims[0].result)
    assert found.trace is not None
    assert report.trace is not None
    assert report.trace == found.trace
    assert report.notes[0] in found.notes
    assert "not-violated" == simulate(clock(*world.properties), runs=50).claims[0].result


def test_runs_judge_claims_about_steps() -> None:
    """Two steps between the same two views are judged separately."""
    skipped = always_step("no skip", lambda before, step, after: step.action != "skip")
    world = clock(skipped, skips=True)

    found = simulate(world, runs=200, seed=1)

    assert ("violated", 3) == (found.claims[0].result, found.claims[0].trace_length)
    assert found.trace is not None
    assert "skip" == found.trace.steps[-1].action
    assert "not-violated" == simulate(clock(skipped), runs=50).claims[0].result


@pytest.mark.parametrize(
    ("name", "result"), [("register-of-join", "not-violated"), ("register-of-note", "violated")]
)
def test_random_runs_judge_the_register_worlds_as_expected(name: str, result: str) -> None:
    assert result == simulate(load_world(name), runs=300, seed=1).result
