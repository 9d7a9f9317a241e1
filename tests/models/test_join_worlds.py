"""The join worlds: pinned counts, and what breaks without each rule, in how many steps."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from models.catalogue import ENTRIES, load_world
from models.check import check
from models.engine.search import Search
from models.replay import Replay
from models.worlds.join import LEDGER, MUTANTS, build

WORLDS = [item for item in ENTRIES if item.build == "models.worlds.join:build"]

QUICK = {"join-options": (22, 57, 7)}
"""Distinct states, steps and depth, of the world small enough for the quick tests."""

COUNTS = {
    "join-two": (1_019_567, 10_101_372, 41),
    "join-votes": (1_322_148, 13_071_197, 40),
    "join-rivals": (1_702_581, 29_346_241, 47),
    "join-failed": (181_437, 1_019_036, 42),
    "join-transient": (519_601, 6_764_972, 38),
    "join-lone": (715_782, 7_183_542, 40),
}

HUGE = {
    "join": (7_851_852, 119_355_590, 62),
    "join-wiped": (6_836_734, 192_512_412, 42),
}
"""Minutes, and gigabytes."""

TWO = {
    "status-does-not-freeze": ("closed_is_quiet", 11),
    "held-derived": ("permitted_after_total_failure", 17),
    "tip-is-data": ("permitted_after_total_failure", 17),
    "mark-chooses": ("nothing_lost", 20),
    "stale-source": ("nothing_lost", 20),
    "close-before-all-are-quiet": ("closed_is_quiet", 11),
    "n-forgotten": ("waits_for_n", 9),
    "change-after-total-failure": ("permitted_after_total_failure", 15),
    "active-before-all-are-ready": ("waits_for_n", 5),
    "n-is-not-counted": ("waits_for_n", 9),
    "goes-on-after-a-restart": ("nothing_lost", 14),
    "frozen-goes-on": ("closed_is_quiet", 14),
    "dirty-not-written": ("position_is_data", 20),
    "held-not-persisted": ("nothing_lost", 14),
    "update-in-place": ("position_is_data", 16),
    "joiner-marked-clean": ("position_is_data", 14),
    "older-frame-accepted": ("nothing_lost", 20),
}

FAILS = {
    ("join-options", "options-not-compared"): ("options_agree", 8),
    ("join-transient", "transient-keeps-its-id"): ("nothing_lost", 12),
    ("join-failed", "mark-chooses"): ("nothing_lost", 22),
    ("join-failed", "stale-source"): ("nothing_lost", 21),
    ("join-failed", "change-after-total-failure"): ("permitted_after_total_failure", 13),
    ("join-lone", "unfinished-counts"): ("position_is_data", 22),
    ("join-wiped", "found-by-majority"): ("one_successor", 14),
    ("join-wiped", "later-view-not-told"): ("one_successor", 16),
    **{("join-two", mutant): found for mutant, found in TWO.items()},
}
"""Which claim breaks without a rule, and in how many steps."""

ALSO = {
    ("dirty-not-written", "dirty_before_serving"): 22,
    ("held-derived", "nothing_lost"): 20,
    ("tip-is-data", "nothing_lost"): 20,
    ("frozen-goes-on", "nothing_lost"): 19,
    ("status-does-not-freeze", "nothing_lost"): 19,
}
"""The harm itself, where another claim breaks before, in `join-two`."""

AT_ONCE = {mutant for mutant, (_, steps) in TWO.items() if steps < 12}


def _slow(cases: Any, quick: Any) -> list[Any]:
    return [case if quick(case) else pytest.param(case, marks=pytest.mark.slow) for case in cases]


PINNED = {**QUICK, **COUNTS, **HUGE}


@pytest.mark.parametrize(
    "name",
    [
        *_slow({**QUICK, **COUNTS}, QUICK.__contains__),
        *[pytest.param(name, marks=pytest.mark.huge) for name in HUGE],
    ],
)
def test_the_claims_hold(name: str) -> None:
    """Section 4 of the join protocol, within the world's bounds."""
    found = check(load_world(name))

    assert "holds" == found.result
    assert PINNED[name] == (found.distinct, found.generated, found.depth)


@pytest.mark.parametrize(
    "case", _slow(FAILS, lambda case: case[0] == "join-options" or case[1] in AT_ONCE)
)
def test_a_rule_left_out_is_missed(case: tuple[str, str]) -> None:
    """A world must fail without the rule; the run it prints is a run of the real code."""
    name, mutant = case
    world = load_world(name, mutant=mutant)

    trace = check(world).trace

    assert trace is not None
    assert FAILS[name, mutant] == (trace.property, len(trace.steps))
    run = Replay(world)
    for step in trace.steps:
        run.step(step.label, step.member)
    assert run.violates(trace.property)


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "claim"), ALSO)
def test_the_harm_itself_comes_later(mutant: str, claim: str) -> None:
    """What a user would notice: data that is gone, a disk that lies."""
    world = load_world("join-two", mutant=mutant)
    only = [item for item in world.properties if item.name == claim]

    trace = check(evolve(world, properties=only)).trace

    assert trace is not None
    assert ALSO[mutant, claim] == len(trace.steps)


def test_every_world_is_pinned() -> None:
    assert set(PINNED) == {item.name for item in WORLDS}


def test_every_rule_that_can_be_left_out_is_missed_by_a_world() -> None:
    """A rule that no world misses is a rule too many.  Rules of the votes: `chain-register`."""
    missed = {mutant for item in ENTRIES for mutant in item.mutants}

    assert set(MUTANTS) <= missed
    assert {mutant for item in WORLDS for mutant in item.mutants} == {m for _, m in FAILS}


def test_messages_that_expire_change_no_state_that_members_can_reach() -> None:
    """What is dropped is of no use: the members go through the same states without it."""

    def members(**options: Any) -> set[Any]:
        world = build(members=2, crashes=0, views=2, frames=0, closes=False, suspects=False)
        world = evolve(world, properties=world.properties[: len(LEDGER)], **options)
        search = Search(world)
        search.run()
        tables, rows = search.tables, search.rows()[: search.states.count]
        return {
            tuple(tables.values[f].values[tables.layout.fields(row)[f]] for f in range(4))
            for row in rows
        }

    assert members() == members(expiry=None)
