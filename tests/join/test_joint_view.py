"""Groups of members that all hear each other, and the group that a proposer takes."""

from __future__ import annotations

from itertools import combinations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from joinproto.join.answers import Answer, Evidence
from joinproto.join.config import Config
from joinproto.join.joint_view import GROUPS_MAX, CutPairs, JointView
from joinproto.join.lineage import Lineage
from joinproto.join.successor import Proposer
from joinproto.join.view import Kind, Seat, View, found
from joinproto_worlds.mutations.mutation import applied
from joinproto_worlds.mutations.named import mutation

names = st.sampled_from("abcdef")
aparts = st.builds(CutPairs, st.frozensets(st.tuples(names, names), max_size=12))


def apart(*pairs: str) -> CutPairs:
    return CutPairs(frozenset((pair[0], pair[1]) for pair in pairs))


# -- groups ------------------------------------------------------------------------------------


@given(aparts, st.frozensets(names, min_size=1))
def test_the_groups_are_all_largest_sets_whose_members_hear_each_other(
    them: CutPairs, some: frozenset[str]
) -> None:
    """The result is compared with a search of all subsets."""

    def hear_each_other(group: frozenset[str]) -> bool:
        return not any(
            {(one, two), (two, one)} & them.pairs for one, two in combinations(sorted(group), 2)
        )

    whole = {
        group
        for count in range(1, len(some) + 1)
        for group in map(frozenset, combinations(sorted(some), count))
        if hear_each_other(group)
        and not any(hear_each_other(group | {other}) for other in some - group)
    }

    groups = list(them.groups(some))

    assert whole == set(groups)
    assert len(groups) == len(whole)
    assert them.among(some) == (groups != [some])


@pytest.mark.parametrize(
    ("pairs", "groups"),
    [
        ("ab bc", "ac b"),
        ("ab bc cd", "ac ad bd"),
        ("ab bc ca", "a b c"),
        ("ab cd", "ac ad bc bd"),
        ("ab bc cd ad", "ac bd"),
    ],
)
def test_the_groups_of_a_few_members_are_as_listed(pairs: str, groups: str) -> None:
    """Each group comes once, and no group is within another."""
    names = sorted(set(pairs) - {" "})

    assert groups.split() == sorted(
        "".join(sorted(one)) for one in apart(*pairs.split()).groups(names)
    )


def test_the_number_of_groups_is_limited() -> None:
    """Forty members in twenty pairs that are apart make 2 ** 20 groups."""
    many = [f"{number:02}" for number in range(40)]
    them = CutPairs(frozenset(zip(many[::2], many[1::2], strict=True)))

    groups = list(them.groups(many))

    assert GROUPS_MAX == len(groups)
    assert groups == list(them.groups(many))
    assert {20} == {len(group) for group in groups}


def test_a_new_report_of_a_member_replaces_its_former_report() -> None:
    told = apart("ab").as_told_by("c", frozenset("d")).as_told_by("a", frozenset())

    assert apart("cd") == told


# -- the view that a proposer makes ------------------------------------------------------------


SEATS = {name: Seat(name, f"{name}1") for name in "abcdef"}
OPTIONS = Config(member="a", electors=frozenset("abcde"), wait_for=3).digest


def tip_of(members: str, electors: str) -> View:
    first = found(
        members=[SEATS[name] for name in members],
        electors=[SEATS[name] for name in electors],
        wait_for=3,
        options_digest=OPTIONS,
        cluster_name="cluster",
        nonce="-",
        time=0,
    )
    return evolve(first, activated=False)


def answered(tip: View, members: str, **more: Answer) -> Evidence:
    """Return the answers of these members; by default each ran on in the tip."""
    answers = [
        more.get(
            name,
            Answer(seat=SEATS[name], held=tip.id, ran_on=True, was_active=True, options=OPTIONS),
        )
        for name in members
    ]
    return Evidence.of(Lineage().append(tip), answers)


def proposer(me: str, them: CutPairs) -> Proposer:
    config = Config(member=me, electors=frozenset("abcde"), wait_for=3)
    return Proposer(config=config, seat=SEATS[me], apart=them)


@pytest.mark.parametrize(
    ("them", "members"),
    [
        (apart(), "abcde"),
        (apart("ac", "ad"), "bcde"),
        (apart("ab"), "acde"),  # of two equal groups always the same one
        (apart("ac", "ad", "ae", "be"), "bcd"),
    ],
)
def test_the_largest_group_that_hears_each_other_is_in_the_view(
    them: CutPairs, members: str
) -> None:
    """All electors stay electors: a member that is left out comes in when it hears the others."""
    tip = tip_of("abcde", "abcde")

    view = proposer("b", them).view(Kind.CHANGE, answered(tip, "abcde"))

    assert members == "".join(sorted(seat.member for seat in view.members))
    assert tip.electors == view.electors


def test_without_the_rule_members_that_are_apart_are_in_the_view() -> None:
    tip = tip_of("abcde", "abcde")

    with applied(mutation("apart-kept")):
        view = proposer("b", apart("ac", "ad")).view(Kind.CHANGE, answered(tip, "abcde"))

    assert tip.members == view.members


def test_one_member_of_the_view_has_the_data() -> None:
    """Four members hear each other, but only `a`, which hears just b, is sure."""
    tip = tip_of("abcde", "abcde")
    others = {
        name: Answer(seat=SEATS[name], options=OPTIONS, update_unfinished=True) for name in "bcde"
    }
    own = Answer(seat=SEATS["a"], held=tip.id, ran_on=True, options=OPTIONS)
    evidence = answered(tip, "abcde", a=own, **others)

    view = proposer("b", apart("ac", "ad", "ae")).view(Kind.CHANGE, evidence)

    assert {"a", "b"} == {seat.member for seat in view.members}


def test_a_group_without_a_majority_must_hear_a_majority_if_possible() -> None:
    """In a line a-b-c-d, b and c hear three of four; a hears two, and would be suspended."""
    tip = tip_of("abcd", "abcd")
    line = apart("ac", "ad", "bd", "ca", "da", "db")

    view = proposer("b", line).view(Kind.CHANGE, answered(tip, "abc"))

    assert {"b", "c"} == {seat.member for seat in view.members}


def test_a_member_that_leaves_does_not_count_as_staying() -> None:
    tip = tip_of("abcde", "abcde")
    leaver = Answer(
        seat=SEATS["c"], held=tip.id, ran_on=True, was_active=True, options=OPTIONS, leaves=True
    )

    view = proposer("b", apart("ad")).view(Kind.CHANGE, answered(tip, "abcde", c=leaver))

    assert {"a", "b", "e"} == {seat.member for seat in view.members}


def test_a_proposer_yields_if_others_may_choose_alone() -> None:
    """a hears c and e, which do not hear each other; b, c and d may all hear each other."""
    tip = tip_of("abcde", "abcde")
    evidence = answered(tip, "ace")
    told = proposer("a", apart("ce", "ec", "eb", "ed"))
    view = told.view(Kind.CHANGE, evidence)

    assert {"a", "c"} == {seat.member for seat in view.members}
    assert told.yields(view, evidence, frozenset("bd"))
    # If c and d are apart as well, no majority hears each other, so a need not wait for one.
    hopeless = evolve(told, apart=apart("ce", "ec", "eb", "ed", "cd"))
    assert not hopeless.yields(view, evidence, frozenset("bd"))
    # With an outside register no majority is needed, so a need not wait for one.
    outside = evolve(told, config=evolve(told.config, outside=True))
    assert not outside.yields(view, evidence, frozenset("bd"))


def test_a_proposer_whose_view_can_choose_alone_does_not_yield() -> None:
    """It does not yield either if its answers show no pair apart, as after a crash of two."""
    tip = tip_of("abcde", "abcde")
    for them, here in ((apart("ae"), "abcde"), (apart("ad", "bd", "ae"), "abc")):
        evidence = answered(tip, here)
        told = proposer("b", them)

        assert not told.yields(told.view(Kind.CHANGE, evidence), evidence, frozenset())


@pytest.mark.parametrize(("was_active", "members"), [(True, "ab"), (False, "acd")])
def test_before_n_were_active_a_group_of_n_goes_first(was_active: bool, members: str) -> None:
    """W1: N is 3; after an activation the electors a and b are enough, as b hears only a."""
    tip = tip_of("abcd", "ab")
    them = apart("bc", "bd")
    there = frozenset(SEATS[name] for name in "abcd")

    best = JointView(tip, them, False).best(there, [], was_active=was_active)

    assert set(members) == {seat.member for seat in best}


def test_members_of_the_view_go_before_more_newcomers() -> None:
    """3.4: a and b are members already; the newcomers come in later."""
    tip = tip_of("abc", "abc")
    there = frozenset(SEATS[name] for name in "abde")

    best = JointView(tip, apart("bd", "be"), True).best(there, [], was_active=True)

    assert {SEATS["a"], SEATS["b"]} == best


def test_the_larger_of_two_groups_with_equally_many_present_members_is_taken() -> None:
    """3.4: the groups are a with e and f, and b with d; a member that is left out comes later."""
    them = apart("ab", "ad", "be", "bf")
    there = frozenset(SEATS[name] for name in "abdef")

    best = JointView(tip_of("abc", "abc"), them, True).best(there, [], was_active=True)

    assert {"a", "e", "f"} == {seat.member for seat in best}


def test_transient_members_do_not_need_a_store_that_leaves() -> None:
    """3.4: no member had a store when the cluster was founded; c is cut off, and e leaves."""
    tip = tip_of("abce", "abc")
    transients = {
        name: evolve(answer, transient=True)
        for name, answer in zip("abc", answered(tip, "abc").answers, strict=True)
    }
    (leaver,) = answered(tip, "e").answers
    evidence = answered(tip, "abce", **transients, e=evolve(leaver, leaves=True))

    view = proposer("a", apart("ac", "bc")).view(Kind.CHANGE, evidence)

    assert {"a", "b"} == {seat.member for seat in view.members}
