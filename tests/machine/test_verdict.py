"""The verdict on a set of members: corner cases that no single sentence of the note covers."""

from collections import Counter

import pytest
from attrs import evolve

from joinproto.machine.verdict import Outcome, RuleSet, Verdict, decide
from joinproto.reference.note.readings import READINGS
from joinproto.reference.note.rules import note_rules
from joinproto.reference.qpid.rules import QPID_RULES
from joinproto.rulesets import RULESETS
from tests.machine.judging import judge, short
from tests.machine.pictures import members, small_worlds

ALL_RULES = [*RULESETS.values(), note_rules(READINGS["all-wait"])]


def test_no_members_have_no_outcomes_and_no_signature() -> None:
    """An empty set of members is allowed."""
    for rules in ALL_RULES:
        assert Verdict(rules.name, None, ()) == decide(rules, ())


def test_outcomes_keep_the_order_of_the_members() -> None:
    """The order lets a reader find each member again."""
    given = members("oX cXF e")[::-1]

    assert ["c", "b", "a"] == [it.id for it in decide(note_rules(), given).outcomes]


def test_each_member_obeys_its_own_n() -> None:
    """I1: the member with the larger N waits, and the other goes on without it."""
    assert "active I3; wait I1" == short(judge("e/1 e/3"))
    assert "wait I1; update I7 from a" == short(judge("cXF/3 e/2"))


def test_several_newcomers_are_judged_one_by_one() -> None:
    """J1 to J3: the store of one newcomer does not matter for another."""
    verdict = judge("e oX *oX oY t!")

    assert "update J1 from c; update J2 from c; unaffected -; abort J3; abort I2" == short(verdict)


def test_newcomers_need_not_agree_with_each_other() -> None:
    """I2, I4, I5 hold among initial members; a newcomer is compared only with active ones."""
    assert "unaffected -; update J2 from a; update J2 from a" == short(judge("*oX cXF cXG"))


def test_a_cluster_without_any_signature_has_no_store_of_its_own() -> None:
    """J3: no store matches a cluster that has no signature."""
    assert "unaffected -; abort J3; update J1 from a" == short(judge("*t oX e"))


def test_an_active_member_that_knows_no_signature_does_not_disturb_a_match() -> None:
    """J2: the newcomer's store matches that of the other active member."""
    assert "unaffected -; unaffected -; update J2 from a,b" == short(judge("*t *oX oX"))


def test_active_members_of_two_clusters_have_no_common_signature() -> None:
    """The note is silent about two clusters that meet; a store matches at most one of them."""
    verdict = judge("*oX *oY oX e")

    assert "unaffected -; unaffected -; abort J3; update J1 from a,b" == short(verdict)
    assert verdict.initial is None


@pytest.mark.parametrize(
    ("picture", "initial"),
    [
        ("e e", "new"),
        ("e/3 e/3", None),
        ("cXF e", "X"),
        ("cXF/3 oX/1", "X"),
        ("cXF/9 oX/9", None),
        ("cXF cYF", None),
        ("*oX oY", "X"),
        ("*oX", "X"),
        ("*t e", None),
    ],
)
def test_the_initial_signature_is_the_clusters_afterwards(
    picture: str, initial: str | None
) -> None:
    """It is "new" if empty stores found the cluster, and none if no member gets one."""
    assert initial == judge(picture).initial


@pytest.mark.parametrize(
    ("rules", "up_to"),
    [
        *[(rules, 2) for rules in ALL_RULES],
        *[pytest.param(rules, 3, marks=pytest.mark.soak("proofs")) for rules in ALL_RULES],
    ],
    ids=lambda item: item if isinstance(item, int) else item.name,
)
def test_members_of_one_set_never_contradict_each_other(rules: RuleSet, up_to: int) -> None:
    """All members that start with the same N judge options and signatures alike.

    Either all initial members wait, or all abort for one reason, or none of them waits or aborts.
    A member that is updated gets the state from members that are active afterwards.
    """
    for view in small_worlds(up_to=up_to):
        verdict = decide(rules, view)
        outcomes = Counter(it.outcome for it in verdict.outcomes)
        by_id = {it.id: it for it in verdict.outcomes}

        if not outcomes[Outcome.UNAFFECTED]:
            assert outcomes[Outcome.WAIT] in (0, len(view)), view
            assert outcomes[Outcome.ABORT] in (0, len(view)), view
            assert len({it.reason for it in verdict.outcomes}) == 1, view
        for it in verdict.outcomes:
            served = (Outcome.ACTIVE, Outcome.UNAFFECTED)
            assert all(by_id[source].outcome in served for source in it.sources), view
            assert bool(it.sources) == (it.outcome is Outcome.UPDATE), view
            assert (it.reason is not None) == (it.outcome in (Outcome.WAIT, Outcome.ABORT)), view


def test_the_two_readings_of_i8_give_the_same_verdict() -> None:
    """A verdict names the outcome of a member, not the time."""
    for view in small_worlds(up_to=2):
        assert decide(note_rules(), view) == decide(note_rules(READINGS["all-wait"]), view)


def test_the_notes_verdict_does_not_depend_on_the_order_of_members() -> None:
    """Sets have no order; Qpid's rules depend on the order (the lowest id)."""
    for view in small_worlds(up_to=2):
        forward, backward = decide(note_rules(), view), decide(note_rules(), view[::-1])
        found = {it.id: (it.outcome, it.rule, set(it.sources)) for it in forward.outcomes}

        assert found == {it.id: (it.outcome, it.rule, set(it.sources)) for it in backward.outcomes}
        assert forward.initial == backward.initial


def test_a_verdict_does_not_depend_on_ids() -> None:
    """Ids are only names."""
    given = members("e cXF oX")
    renamed = [evolve(it, id=f"z{at}") for at, it in enumerate(given)]

    for rules in (note_rules(), QPID_RULES):
        assert [it.outcome for it in decide(rules, given).outcomes] == [
            it.outcome for it in decide(rules, renamed).outcomes
        ]
