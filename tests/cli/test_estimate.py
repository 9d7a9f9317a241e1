"""The estimate of the number of states, which is made before a long search."""

from __future__ import annotations

from functools import cache

import pytest
from attrs import evolve

from joinproto.check import load_world
from joinproto.check.check import check
from joinproto.check.report import Report
from joinproto.cli.estimate import Sample, estimate, fit


@cache
def report() -> Report:
    return check(load_world("two-phase-commit"))


def closed_form(members: int) -> Report | None:
    """Return a report with the states of two-phase commit of this size; None over 500,000."""
    distinct = 2**members + 4**members + 6**members
    if distinct > 500_000:
        return None
    return evolve(report(), distinct=distinct, seconds=distinct / 1e6, bytes_per_state=24.0)


@pytest.mark.parametrize("members", [8, 9, 10])
def test_growth_is_extrapolated_from_smaller_sizes(members: int) -> None:
    """The number by the closed form is in the estimated range, or at most a tenth outside."""
    guess = estimate(members, 1, closed_form)

    assert guess is not None
    truth = 2**members + 4**members + 6**members
    assert 0.9 * guess.distinct[0] < truth < 1.1 * guess.distinct[1]
    assert (5, 6, 7) == guess.members


def test_the_estimate_says_that_it_is_rough_and_where_it_comes_from() -> None:
    """The text also says if the memory will not suffice."""
    guess = estimate(10, 1, closed_form)

    assert guess is not None
    text = guess.text(limit_bytes=10**8)
    assert text.startswith("estimate (rough): about 5")
    assert "from 5, 6 and 7 members" in text
    assert "the search will stop early" in text
    assert "the search will stop early" not in guess.text()


def test_growth_that_itself_grows_gives_a_range() -> None:
    """2^(n^2) states: the last factor alone would give far too few."""
    samples = [Sample(n, 2 ** (n * n), 1.0, 24.0 * 2 ** (n * n)) for n in (2, 3, 4)]

    guess = fit(6, samples)

    assert guess.distinct[0] < 2**36 <= guess.distinct[1] * 1.001
    assert " to " in guess.text()


@pytest.mark.parametrize("members", [1, 2])
def test_fewer_than_two_smaller_sizes_give_no_estimate(members: int) -> None:
    """One size shows no growth."""
    assert estimate(members, 1, closed_form) is None


def test_sizes_that_the_world_cannot_have_are_left_out() -> None:
    """A world whose members wait for four cannot have three members."""
    guess = estimate(7, 1, lambda members: closed_form(members) if members >= 4 else None)

    assert guess is not None
    assert (4, 5, 6) == guess.members


def test_the_time_of_a_huge_search_is_printed_in_days() -> None:
    samples = [Sample(n, 10**n, 1.0, 24.0 * 10**n) for n in (1, 2, 3)]

    assert "days" in fit(60, samples).text()
