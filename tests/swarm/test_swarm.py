"""Runs of real members in a simulated world: they replay, they shrink, and each claim can fail."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from attrs import evolve

from joinproto.errors import MisuseError
from joinproto.swarm.draw import draw
from joinproto.swarm.many import many
from joinproto.swarm.run import Outcome, run
from joinproto.swarm.scenario import Action, ActionKind, Scenario
from joinproto.swarm.shrink import shrink
from tests.swarm.breaking import BREAKS, FORMER, BrokenRule, plain

ALWAYS = {
    "one_successor",
    "no_split_brain",
    "nothing_lost",
    "acked_is_held",
    "position_is_data",
    "log_agrees",
    "waits_for_n",
    "options_agree",
    "dirty_before_serving",
    "signature_never_changes",
    "makes_sense",
}
"""The claims that plain scenarios keep in all variants."""

QUICK_SEEDS = range(300, 306)

ONCE_FAILED = (
    900_040,  # a member that was told to close was left out of one view, and forgot it
    900_080,  # seven founders ignored each other's ballots
    900_085,  # the same
    900_093,  # a guest that became apart was asked about for each view, and left out of it
    1_000_061,  # no member had a store, and a member that was told to close made view after view
    1_000_636,  # a newcomer that was about to be taken in was not told of the CLOSE
    21_001_153,  # a member that did not hear the proposer of the CLOSE was not told of it
    21_000_908,  # without the member that was told to leave they were fewer than N
    21_001_817,  # a member that was told to close was cut off for a moment, and forgot it
    41_200_249,  # a newcomer's hello ended the wait for the members' answers, again and again
)


def test_plain_runs_keep_all_claims_and_serve() -> None:
    """Each run has its own configuration; as a check of the test, members serve in them."""
    outcomes = [run(plain(draw(seed))) for seed in QUICK_SEEDS]

    assert not [one for one in outcomes if one.claim in ALWAYS]
    assert sum(one.opened for one in outcomes) > 20
    assert sum(one.acked for one in outcomes) > 20


@pytest.mark.soak("swarm-rules")
def test_sixty_plain_runs_keep_all_claims() -> None:
    claims = {run(plain(draw(seed))).claim for seed in range(20_000, 20_060)}

    assert not ALWAYS & claims


def test_a_scenario_replays_exactly() -> None:
    """A seed replays the same events, and the same story word by word."""
    one, two = (run(draw(3), tells=True) for _ in range(2))

    assert one == two
    assert one.events > 100


def test_another_process_plays_the_same_run() -> None:
    """The hashes of texts differ between processes, but runs and their stories do not."""
    code = (
        "from joinproto.swarm.draw import draw; from joinproto.swarm.run import run;"
        "print([(one.events, one.claim, one.story)"
        " for one in (run(draw(seed), tells=True) for seed in (4, 9, 12))])"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert told[0] == told[1]


def test_a_run_is_the_same_on_one_core_and_on_two() -> None:
    """A run depends on its seed alone."""
    one, two = (many(seed=8, runs=3, jobs=jobs) for jobs in (1, 2))

    assert (one.runs, one.events, one.broken) == (two.runs, two.events, two.broken)
    assert 3 == one.configurations


@pytest.mark.parametrize("broken", BREAKS[:2], ids=lambda broken: broken.name)
def test_the_swarm_finds_a_missing_rule_soon(broken: BrokenRule) -> None:
    """Each claim can fail; this plays two rules, and the test below plays all."""
    assert _found(broken) is not None


@pytest.mark.soak("swarm-rules")
@pytest.mark.parametrize("broken", BREAKS, ids=lambda broken: broken.name)
def test_the_swarm_finds_a_missing_rule(broken: BrokenRule) -> None:
    """A member without the rule is found within `events_most` events."""
    found = _found(broken)

    assert found is not None
    assert found.claim in broken.claims


@pytest.mark.soak("swarm-rules")
@pytest.mark.parametrize("former", FORMER[1:], ids=lambda former: former.name)
def test_a_drawn_run_fails_with_a_former_rule(former: BrokenRule) -> None:
    """With the former rule the run of this seed fails; with the present rule it does not."""
    scenario = former.drawn(former.first_seed)

    assert former.play(scenario).claim in former.claims
    assert not run(scenario).failed


@pytest.mark.soak("swarm-rules")
def test_too_few_founders_found_two_clusters_and_are_refused() -> None:
    """3.3: with 3 of 5 two FOUND may be chosen, so no member starts with that any more."""
    former = FORMER[0]
    scenario = former.drawn(former.first_seed)

    assert former.play(scenario).claim in former.claims
    with pytest.raises(MisuseError, match="found_with is 3, with 5 electors"):
        scenario.config("a")


def test_a_failure_shrinks_to_the_parts_it_needs() -> None:
    """Actions, members and options are removed if the run still fails without them."""
    broken = BREAKS[0]
    found = _found(broken)
    assert found is not None

    smaller = shrink(found, broken.play, seconds=3_600)

    assert smaller.claim == found.claim
    assert len(smaller.scenario.actions) < len(found.scenario.actions)
    assert smaller == broken.play(smaller.scenario)


def test_most_claims_are_void_if_a_disk_forgot_its_promises() -> None:
    """An old copy of a disk may split a cluster, which is no bug."""
    scenario = evolve(
        draw(5),
        actions=(Action(0.0, ActionKind.START, "a"), Action(9.0, ActionKind.RESTORE, "a")),
    )

    assert scenario.restores_old_disk
    assert not run(scenario).failed


def test_members_start_late_and_serve() -> None:
    """The scenario has no actions, so the fair phase starts the members."""
    scenario = Scenario(seed=1, members="abc", electors="abc", wait_for=2)

    done = run(scenario, tells=True)

    assert not done.failed
    assert done.acked > 5
    assert any("serves FOUND 1 of a b c" in line for line in done.story)


@pytest.mark.soak("swarm-rules")
@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_seed_that_once_failed_serves_and_ends(seed: int) -> None:
    """`tests/join/test_runs.py` describes the failures, and plays them on a bus."""
    done = run(draw(seed))

    assert "" == done.claim, done.what
    assert done.acked > 0


def test_an_old_copy_of_a_disk_may_be_from_before_the_founding() -> None:
    """Seed 44000039: `Place` accepts such a copy, and no exception ends the run."""
    assert "" == run(draw(44_000_039)).claim


def _found(broken: BrokenRule) -> Outcome | None:
    events, seed = 0, broken.first_seed
    while events < broken.events_most:
        outcome = broken.play(broken.scenario(draw(seed)))
        if outcome.claim in broken.claims:
            return outcome
        events, seed = events + outcome.events, seed + 1
    return None


def test_a_transient_newcomer_is_not_an_elector() -> None:
    """Seed 28: if its hello made it an elector, no view would need a store."""
    assert "" == run(draw(28)).claim
