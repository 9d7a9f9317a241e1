"""Partial partitions: a majority that hears each other in full serves, and the chain rests."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from joinproto.join.config import Config
from joinproto.join.member import Member
from joinproto.swarm.run import run
from joinproto_worlds.mutations.catalogue import MUTATIONS
from joinproto_worlds.mutations.mutation import applied, inside
from tests.swarm.cut import acknowledged, scenario, views, with_a_majority

KEEPS_ALL = MUTATIONS["apart-kept"]
"""With this mutation a proposer keeps all members that answer."""

METHODS = ("peer_up", "peer_down", "receive", "tick", "appended", "update_done", "update_progress")


class FormerMember(Member):
    """A member of the former version: its steps keep all members that answer."""


for _name in METHODS:
    setattr(FormerMember, _name, inside(lambda _: KEEPS_ALL)(getattr(Member, _name)))

VIEWS_MOST = 3
"""The founding, and two changes, because two proposers may each have heard of another half."""

CHURNS = (
    ("abcd", ("bc", "bd"), 1.0),
    pytest.param(
        "abcde", ("ab", "ad", "be", "ce", "de"), 0.0, marks=pytest.mark.soak("swarm-rules")
    ),
    pytest.param("abcde", ("ac", "ad", "ae", "de"), 0.0, marks=pytest.mark.soak("swarm-rules")),
)
"""Members, cut links, and the most seconds until a cut is noticed."""


@pytest.mark.parametrize(("names", "cut", "notice"), CHURNS)
def test_cut_links_cause_at_most_two_views(names: str, cut: tuple[str, ...], notice: float) -> None:
    """As a check of the test: members that keep all that answer change the view more often."""
    seeds = range(4)
    runs = [scenario(names, cut, seed=seed, notice=notice) for seed in seeds]

    now = [run(one, tells=True) for one in runs]
    with applied(KEEPS_ALL):
        before = [run(one, tells=True) for one in runs]

    assert not [one.what for one in now if one.failed]
    assert max(map(views, now)) <= 2
    assert max(map(views, before)) > 2


def test_every_topology_of_four_members_with_a_connected_majority_serves() -> None:
    """There are 22 of them."""
    told = [run(scenario("abcd", cut), tells=True) for cut in with_a_majority("abcd")]

    assert 22 == len(told)
    assert not [one.what for one in told if one.failed]
    assert max(map(views, told)) <= 2


@pytest.mark.parametrize(
    "every",
    [
        pytest.param(8, marks=pytest.mark.soak("swarm-rules")),
        pytest.param(1, marks=pytest.mark.soak("swarm-rules")),
    ],
    ids=["each eighth", "each"],
)
def test_every_topology_of_five_members_with_a_connected_majority_serves(every: int) -> None:
    """There are 635 of them; with members that keep all that answer, some never serve."""
    cuts = list(with_a_majority("abcde"))

    told = [run(scenario("abcde", cut), tells=True) for cut in cuts[::every]]

    assert 635 == len(cuts)
    assert not [one.what for one in told if one.failed]
    assert max(map(views, told)) <= VIEWS_MOST


@pytest.mark.parametrize(
    ("names", "links"),
    [("abcd", "ab bc cd"), ("abcde", "ab bc cd de ae")],
    ids=["a line of four", "a ring of five"],
)
def test_without_a_connected_majority_two_members_that_hear_a_majority_serve(
    names: str, links: str
) -> None:
    """This is not required, but each of two hears a majority of electors, and the chain rests."""
    pairs = map("".join, combinations(names, 2))
    cut = tuple(pair for pair in pairs if pair not in links.split())

    told = run(scenario(names, cut), tells=True)

    assert not told.failed
    assert 2 == views(told)
    assert acknowledged(told) > 0


def test_members_of_the_former_and_the_present_version_come_to_rest_together() -> None:
    """In a rolling upgrade, a proposer of the former version keeps all, a newer one does not."""
    old = "ab"

    def start(now: float, config: Config, *args: Any, **more: Any) -> Member:
        kind = FormerMember if config.member in old else Member
        return kind.start(now, config, *args, **more)

    told = [
        run(scenario("abcd", ("ac", "ad"), seed=seed, notice=1.0), start=start, tells=True)
        for seed in range(4)
    ]

    assert not [one.what for one in told if one.failed]
