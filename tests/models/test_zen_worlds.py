"""Elasticsearch's published model: its sizes, a second model of it, and the claims that mutants
break.
"""

from __future__ import annotations

import pytest

from joinproto.check.catalogue import load_world
from joinproto.check.check import check
from joinproto.check.engine.search import Search
from joinproto_worlds.zen.entries import IN_ONE_TERM, IN_TWO_TERMS
from joinproto_worlds.zen.world import build
from tests.census import searched
from tests.models.slow_zen import Model

SAME_SIZES = [
    (1, 2, 3, 2, 15),
    (2, 1, 2, 2, 15),
    (2, 2, 2, 1, 3),
    pytest.param(2, 2, 3, 1, 7, marks=pytest.mark.soak("system-worlds")),
    pytest.param(3, 1, 2, 1, 4, marks=pytest.mark.soak("system-worlds")),
]
"""Numbers of nodes, terms, versions and values, and the most messages."""


@pytest.mark.parametrize(("nodes", "terms", "versions", "values", "messages"), SAME_SIZES)
def test_a_model_of_one_set_of_messages_has_the_same_levels(
    nodes: int, terms: int, versions: int, values: int, messages: int
) -> None:
    """Both models keep all facts, and leave out states with too many messages."""
    names = frozenset(f"n{i + 1}" for i in range(nodes))
    levels, broken = Model(names, terms, versions, values, messages).explore()
    world = build(nodes, None, terms, versions, values, messages, forgets=False)
    search = Search(world, stop_at_violation=False)

    found = search.run()

    assert not broken
    inside = {int(row) for row in search._within(0, search.states.count)}
    counts = [
        len(inside.intersection(range(begin, end)))
        for begin, end in zip(found.levels, found.levels[1:], strict=False)
    ]
    assert levels == [count for count in counts if count]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("zen-one-term", (7_396, 31_599, 16)),
        pytest.param("zen-two", (223_382, 1_193_871, 27), marks=pytest.mark.soak("system-worlds")),
    ],
)
def test_small_instances_hold_to_their_end(name: str, counts: tuple[int, int, int]) -> None:
    """Every published claim holds, and nodes can commit, change and elect again."""
    report = searched(name)

    assert counts == (report.distinct, report.generated, report.depth)
    assert {"holds", "reached"} == {item.result for item in report.properties}


@pytest.mark.soak("zen")
def test_the_published_size_holds_to_its_end() -> None:
    """The search takes five minutes and ten gigabytes for 27 levels; TLC reached the 18th level."""
    report = check(load_world("zen"), symmetry=True, workers=2)

    assert (199_428_940, 1_479_008_531, 27) == (report.distinct, report.generated, report.depth)
    assert report.beyond == 50_917_594
    assert {"holds", "reached"} == {item.result for item in report.properties}


@pytest.mark.soak("system-worlds")
def test_three_nodes_hold_in_one_term_with_strangers() -> None:
    """One state stands for all its renamings.  A founder's quorum may leave one node out."""
    report = check(load_world("zen-one-term", members=3), symmetry=True)

    assert (1_303_871, 9_167_611, 23) == (report.distinct, report.generated, report.depth)
    assert {"holds", "reached"} == {item.result for item in report.properties}


def test_forgetting_facts_changes_no_verdict_and_no_shortest_run() -> None:
    """The shortest runs of three mutants are as long as without forgetting."""
    for mutant in (None, *IN_ONE_TERM[:3]):
        worlds = [build(2, mutant, 1, 2, 1, 0, forgets=one) for one in (False, True)]
        whole, part = map(check, worlds)

        told = [
            [(item.name, item.result, item.trace_length) for item in report.properties]
            for report in (whole, part)
        ]
        assert told[0] == told[1], mutant


BREAKS = {
    "joins-after-restart": ("zen-one-term", 4, {"a node is consistent"}),
    "changes-unheard": ("zen-one-term", 5, {"a node is consistent"}),
    "half-is-enough": ("zen-one-term", 6, {"commits have a quorum of the configuration before"}),
    "commits-by-new-alone": (
        "zen-one-term",
        8,
        {"commits have a quorum of the configuration before"},
    ),
    "founds-with-too-few": (
        "zen-one-term",
        8,
        {"a node is consistent", "one master in a term", "one value in a version of a term"},
    ),
    "newer-joins": (
        "zen-two",
        11,
        {"what is later builds on what is committed", "a later term goes on behind it"},
    ),
    "commits-former": ("zen-two", 14, {"commits have a quorum of the configuration before"}),
}
"""The world of each mutant, the steps of its shortest run with two nodes, and the claims that
break in it."""


def test_every_mutant_has_a_pinned_result() -> None:
    assert {*IN_ONE_TERM, *IN_TWO_TERMS} == BREAKS.keys()


@pytest.mark.parametrize("mutant", BREAKS)
def test_a_claim_breaks_without_each_rule(mutant: str) -> None:
    name, steps, claims = BREAKS[mutant]

    report = searched(name, mutant)

    assert report.trace is not None
    assert steps == len(report.trace.steps)
    assert claims == {item.name for item in report.properties if item.result == "violated"}


@pytest.mark.parametrize(
    ("mutant", "states"),
    [(None, 58_056), ("commits-by-old-alone", 64_423), ("changes-twice", 66_296)],
)
def test_two_nodes_break_no_claim_without_either_of_two_rules(
    mutant: str | None, states: int
) -> None:
    """With two nodes these mutants reach other states, and no state breaks a claim."""
    report = check(build(2, mutant, values=1, messages=0), symmetry=True)

    assert states == report.distinct
    assert {"holds", "reached"} == {item.result for item in report.properties}
