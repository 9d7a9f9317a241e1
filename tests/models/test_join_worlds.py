"""The join worlds: pinned counts, and the claim that breaks without each rule, with its steps."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.check.engine.search import Search
from joinproto.join.admission import admission
from joinproto.join.phases import standing
from joinproto.join.succession import founding, going_on, reopening
from joinproto_worlds.entries import ENTRIES
from joinproto_worlds.join.bounds import LAPSES
from joinproto_worlds.join.claims import LEDGER
from joinproto_worlds.join.host import row
from joinproto_worlds.join.outcomes import OUTCOMES
from joinproto_worlds.join.world import build
from joinproto_worlds.mutations.catalogue import OF_THE_MEMBER
from tests.census import ended, replayed, searched

WORLDS = [item for item in ENTRIES if item.build == "joinproto_worlds.join.world:build"]
DEEP = [item.name for item in WORLDS if item.tier == "deep"]

QUICK = {
    "join-options": (22, 57, 7),
    "join-closed-beside": (34_471, 394_199, 33),
    "join-founders": (114, 1_042, 16),
    "join-cut": (726, 7_265, 18),
    "join-cut-between": (8_694, 139_037, 22),
    "join-clean-lost": (133, 971, 14),
    "join-live-shutdown": (3_690, 38_333, 31),
    "join-left-to-absent": (1_166, 11_177, 24),
    "join-mixed": (6_764, 81_955, 23),
    "join-foreign": (1_530, 24_345, 17),
    "join-branch": (3_748, 60_297, 19),
    "join-copied": (1_020, 17_533, 19),
    "join-long-ago": (760, 10_849, 17),
    "join-not-clean": (16, 105, 7),
    "join-other-options": (22, 107, 7),
    "join-reopened-options": (22, 81, 7),
    "join-changed-options": (26_660, 568_741, 25),
    "join-newcomer-options": (903, 13_830, 17),
    "join-put-back-empty": (17_572, 278_649, 22),
    "join-two-put-back": (2_336, 26_289, 14),
}
"""Distinct states, steps and depth, of the worlds small enough for `make test`."""

COUNTS = {
    "join-two": (1_018_397, 10_079_027, 43),
    "join-two-frames": (3_016_922, 30_351_156, 50),
    "join-tails": (165_216, 1_902_510, 36),
    "join-two-closing": (1_038_292, 10_234_430, 43),
    "join-votes": (1_248_046, 12_243_565, 39),
    "join-votes-crash": (42_558, 194_506, 33),
    "join-rivals": (1_990_855, 35_088_205, 47),
    "join-failed": (206_012, 1_129_326, 39),
    "join-transient": (388_633, 4_691_528, 37),
    "join-lone": (759_537, 7_626_098, 40),
    "join-newcomers": (134_174, 2_092_329, 43),
    "join-leave": (458_541, 8_515_332, 46),
    "join-last-store": (4_431, 69_122, 26),
    "join-source-lost": (55_271, 1_040_784, 41),
    "join-storeless": (16_660, 234_506, 27),
    "join-lost-disk": (397_678, 11_349_656, 34),
    "join-apart": (1_799_345, 25_176_581, 32),
    "join-reads": (861_290, 12_899_176, 40),
    "join-cut-four": (55_004, 1_307_725, 30),
    "join-cut-lasting": (122_784, 2_364_869, 26),
    "join-live": (938_998, 18_255_343, 46),
    "join-live-votes": (204_797, 2_582_865, 35),
    "join-live-closed": (32_292, 375_329, 33),
    "join-live-leave": (174_868, 2_345_397, 41),
    "join-replaced": (2_286_344, 51_520_977, 53),
    "join-live-mixed": (185_065, 4_325_668, 32),
    "join-put-back": (123_837, 2_162_821, 26),
    "join-put-back-marked": (42_888, 700_761, 29),
    "join-put-back-outside": (52_617, 852_723, 25),
    "join-put-back-in-update": (66_276, 1_468_121, 31),
}

HUGE = {
    "join": (9_611_601, 137_399_775, 60),
    "join-wiped": (6_836_734, 192_512_412, 42),
}
"""Worlds that take minutes and gigabytes."""

TWO = {
    "status-does-not-freeze": ("closed_is_quiet", 11),
    "held-derived": ("permitted_after_total_failure", 16),
    "tip-is-data": ("permitted_after_total_failure", 16),
    "mark-chooses": ("nothing_lost", 19),
    "stale-source": ("nothing_lost", 19),
    "close-before-all-are-quiet": ("closed_is_quiet", 11),
    "n-forgotten": ("waits_for_n", 8),
    "change-after-total-failure": ("permitted_after_total_failure", 14),
    "active-before-all-are-ready": ("waits_for_n", 5),
    "n-is-not-counted": ("waits_for_n", 8),
    "goes-on-after-a-restart": ("nothing_lost", 14),
    "frozen-goes-on": ("closed_is_quiet", 13),
    "dirty-not-written": ("position_is_data", 19),
    "held-not-persisted": ("permitted_after_total_failure", 15),
    "update-in-place": ("position_is_data", 15),
    "joiner-marked-clean": ("position_is_data", 14),
    "older-frame-accepted": ("nothing_lost", 20),
    # Duties of the host.
    "sends-before-persisting": ("waits_for_n", 7),
    "told-before-durable": ("nothing_lost", 18),
    "acknowledged-early": ("nothing_lost", 8),
    "update-not-durable": ("position_is_data", 17),
    "feeds-more-than-it-says": ("position_is_data", 18),
    "register-forgets": ("one_successor", 10),
}
"""For `join-two`: the claim that breaks with each mutant, and the number of steps."""

THREE = {
    "active-before-all-are-ready": ("waits_for_n", 7),
    "n-is-not-counted": ("waits_for_n", 11),
    "n-forgotten": ("waits_for_n", 11),
    "close-before-all-are-quiet": ("closed_is_quiet", 16),
    "status-does-not-freeze": ("closed_is_quiet", 17),
    "goes-on-after-a-restart": ("nothing_lost", 19),
    "held-not-persisted": ("permitted_after_total_failure", 25),
    "joiner-marked-clean": ("position_is_data", 20),
    "frozen-goes-on": ("closed_is_quiet", 20),
    "update-in-place": ("position_is_data", 21),
    "change-after-total-failure": ("permitted_after_total_failure", 24),
    "held-derived": ("permitted_after_total_failure", 24),
    "tip-is-data": ("permitted_after_total_failure", 24),
    "older-frame-accepted": ("nothing_lost", 26),
    "stale-source": ("nothing_lost", 27),
    "dirty-not-written": ("position_is_data", 28),
}
"""The same for `join`, with three members; failures of more than 20 steps take minutes together."""

FAILS = {
    ("join-options", "options-not-compared"): ("options_agree", 8),
    ("join-transient", "transient-keeps-its-id"): ("nothing_lost", 12),
    ("join-failed", "mark-chooses"): ("nothing_lost", 21),
    ("join-failed", "stale-source"): ("nothing_lost", 20),
    ("join-failed", "change-after-total-failure"): ("permitted_after_total_failure", 13),
    ("join-votes", "electors-differ"): ("one_successor", 4),
    ("join-votes-crash", "disk-restored"): ("learned_is_chosen", 17),
    ("join-apart", "serves-unheard"): ("suspended_alone", 4),
    ("join-apart", "heard-by-connection"): ("opens_where_it_stands", 10),
    ("join-closed-beside", "register-unnoted"): ("close_ends", 14),
    ("join-reads", "reads-unconfirmed"): ("reads_see_acknowledged", 13),
    ("join-cut", "apart-taken-in"): ("the chain comes to rest", 15),
    ("join-cut-between", "apart-kept"): ("the chain comes to rest", 15),
    ("join-cut-lasting", "apart-taken-in"): ("the chain comes to rest", 15),
    ("join-cut-four", "apart-kept"): ("the chain comes to rest", 26),
    ("join-changed-options", "ready-with-other-options"): ("options_agree", 4),
    ("join-clean-lost", "clean-or-nothing"): ("all become active", 0),
    ("join-left-to-absent", "left-to-the-absent"): ("a majority is there", 6),
    ("join-source-lost", "unfit-before-the-first-byte"): ("a member serves again", 3),
    ("join-storeless", "nobody-keeps-it"): ("kept_on_a_store", 8),
    ("join-last-store", "leave-waits"): ("all become active", 8),
    ("join-live-leave", "starts-where-nobody-stays"): ("all become active", 15),
    ("join-copied", "copy-taken-in"): ("all become active", 3),
    ("join-replaced", "replaced-not-noticed"): ("all become active", 0),
    ("join-lone", "unfinished-counts"): ("position_is_data", 23),
    ("join-wiped", "found-by-majority"): ("one_successor", 14),
    ("join-wiped", "later-view-not-told"): ("one_successor", 16),
    ("join-tails", "equal-number-covers"): ("nothing_lost", 12),
    ("join-put-back", "backup-believed"): ("nothing_lost", 2),
    ("join-put-back", "backup-goes-on"): ("nothing_lost", 2),
    ("join-put-back", "backup-not-told"): ("nothing_lost", 2),
    ("join-put-back-marked", "backup-believed"): ("nothing_lost", 2),
    ("join-put-back-outside", "backup-believed"): ("nothing_lost", 2),
    ("join-put-back-empty", "backup-believed"): ("nothing_lost", 9),
    ("join-put-back-in-update", "backup-believed"): ("nothing_lost", 13),
    ("join-put-back-in-update", "backup-answers"): ("nothing_lost", 13),
    ("join-two-put-back", "backup-believed"): ("nothing_lost", 2),
    **{("join-two", mutant): found for mutant, found in TWO.items()},
    **{("join", mutant): found for mutant, found in THREE.items()},
}
"""The claim that breaks without each rule, and the number of steps."""

HARM = {
    ("dirty-not-written", "dirty_before_serving"): 22,
    ("held-derived", "nothing_lost"): 19,
    ("tip-is-data", "nothing_lost"): 19,
    ("frozen-goes-on", "nothing_lost"): 17,
    ("status-does-not-freeze", "nothing_lost"): 17,
}
"""The number of steps to the harm itself in `join-two`, where another claim breaks earlier."""


PUT_BACK = [name for name in COUNTS if "put-back" in name]

LARGE = "join-worlds"
"""The part of the soak tests for all join worlds but the two largest."""


def _weight(case: tuple[str, str]) -> Any:
    """Return the mark of a case, by the time that its search takes."""
    name, steps = case[0], FAILS[case][1]
    if name in ("join-options", "join-cut", "join-tails", *PUT_BACK) or (
        name == "join-two" and steps < 12
    ):
        return ()
    return _soak(name)


def _soak(name: str) -> pytest.MarkDecorator:
    """Return the mark of a large world; searches of the two largest run one by one."""
    return pytest.mark.soak({"join": "join-three", "join-wiped": "join-wiped"}.get(name, LARGE))


PINNED = {**QUICK, **COUNTS, **HUGE}


@pytest.mark.parametrize(
    "name",
    [
        *QUICK,
        *[pytest.param(name, marks=_soak(name)) for name in (*COUNTS, *HUGE)],
    ],
)
def test_a_world_holds_and_has_its_pinned_size(name: str) -> None:
    """The claims are those of section 4 of the join protocol."""
    assert ("holds", PINNED[name]) == ended(name)


@pytest.mark.parametrize("case", [pytest.param(case, marks=_weight(case)) for case in FAILS])
def test_a_world_fails_without_its_rule(case: tuple[str, str]) -> None:
    """The printed run is a run of the real code."""
    name, mutant = case
    trace, run = replayed(name, mutant)

    assert FAILS[name, mutant] == (trace.property, len(trace.steps))
    assert run.violates(trace.property)


@pytest.mark.soak(LARGE)
def test_every_row_of_every_table_is_taken_in_some_world() -> None:
    """Otherwise the row is redundant or a world is missing; the same is true of outcomes."""
    tables = (standing(), founding(), reopening(), going_on(), admission())
    rows = {row(table.name, case.label, case.name) for table in tables for case in table.cases}

    every = [searched(name).coverage.rules for name in (*QUICK, *COUNTS)]
    taken = {rule for rules in every for rule, times in rules.items() if times}

    assert {*rows, *OUTCOMES} == taken


@pytest.mark.soak(LARGE)
@pytest.mark.parametrize(("mutant", "claim"), HARM)
def test_the_harm_itself_needs_its_pinned_number_of_steps(mutant: str, claim: str) -> None:
    """A user would notice lost data, or a disk with wrong contents."""
    world = load_world("join-two", mutant=mutant)
    only = [item for item in world.properties if item.name == claim]

    trace = check(evolve(world, properties=only)).trace

    assert trace is not None
    assert HARM[mutant, claim] == len(trace.steps)


def test_every_world_has_a_pinned_result() -> None:
    assert {*PINNED, *DEEP} == {item.name for item in WORLDS}


@pytest.mark.soak(LARGE)
@pytest.mark.parametrize("name", DEEP)
def test_no_claim_of_a_deep_world_breaks_in_its_first_states(name: str) -> None:
    """A search to the end needs Spark: see docs/spark.md."""
    found = check(load_world(name), states_max=200_000)

    assert "incomplete" == found.result
    assert not {item.name for item in found.properties if item.result == "violated"}


def test_every_rule_that_can_be_left_out_is_a_mutant_of_a_world() -> None:
    """Otherwise the rule is redundant or not tested."""
    mutants = {mutant for item in ENTRIES for mutant in item.mutants}

    assert {*OF_THE_MEMBER, *LAPSES} <= mutants
    assert {mutant for item in WORLDS for mutant in item.mutants} == {m for _, m in FAILS}


def test_members_reach_the_same_states_if_messages_expire() -> None:
    """The dropped messages could not change a member."""

    def reached(**options: Any) -> set[Any]:
        world = build(members=2, crashes=0, views=2, frames=0, closes=False, suspects=False)
        world = evolve(world, properties=world.properties[: len(LEDGER)], **options)
        search = Search(world)
        search.run()
        tables, rows = search.tables, search.rows()[: search.states.count]
        return {
            tuple(tables.values[f].values[tables.layout.fields(row)[f]] for f in range(4))
            for row in rows
        }

    assert reached() == reached(expiry=None)
