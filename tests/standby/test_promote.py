"""A promotion: which broker accepts, which one refuses, and its role then.

Source: hot standby, H1 to H4, H8, H10.
"""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from joinproto.standby.broker import Mark, Role, Variant
from joinproto.standby.promote import Peer, Promoted, Promotion, promote
from joinproto.standby.tables import TABLES, WHY, Verdict

BACKUP = Peer(name="c", role=Role.BACKUP, generation=3)
PRIMARY = Peer(name="c", role=Role.PRIMARY, generation=4)
STARTS = Peer(name="c", role=Role.CONNECTING, generation=3)
SILENT = Peer(name="c", role=None)
YES, NO, SAME = Verdict.ACCEPTED, Verdict.REFUSED, Verdict.IGNORED


def promoted(variant: Variant, role: Role, *peers: Peer, **more: Any) -> Promoted:
    about = Promotion(me="b", role=role, variant=variant, peers=peers, **{"generation": 3, **more})
    return promote(about)


@pytest.mark.parametrize("variant", Variant)
def test_a_broker_that_catches_up_refuses_and_a_backup_accepts(variant: Variant) -> None:
    """H3; by the document, the start script fails, so that the manager tries another broker."""
    assert NO is promoted(variant, Role.CATCHUP).verdict
    assert YES is promoted(variant, Role.BACKUP).verdict


@pytest.mark.parametrize("role", [Role.PRIMARY, Role.RECOVERING])
@pytest.mark.parametrize("variant", Variant)
def test_a_second_promotion_changes_nothing(variant: Variant, role: Role) -> None:
    """H3: the second promotion is reported as success."""
    found = promoted(variant, role)

    assert (SAME, role) == (found.verdict, found.role)


@pytest.mark.parametrize(
    ("peer", "seed", "real", "ours"),
    [
        (SILENT, YES, YES, YES),
        (STARTS, YES, YES, YES),
        (BACKUP, YES, NO, NO),
        (PRIMARY, YES, NO, NO),
        (Peer(name="c", role=Role.CATCHUP, generation=3), YES, NO, YES),
        (Peer(name="c", role=Role.CONNECTING, generation=4), YES, YES, NO),
        (Peer(name="c", role=Role.CONNECTING, generation=3, was_primary=True), YES, YES, NO),
    ],
)
def test_a_broker_without_a_primary_accepts_only_if_no_better_broker_answers(
    peer: Peer, seed: Verdict, real: Verdict, ours: Verdict
) -> None:
    """H3: in all variants, a broker that does not answer does not count as better."""
    found = [promoted(variant, Role.CONNECTING, peer).verdict for variant in Variant]

    assert [seed, real, ours] == found


@pytest.mark.parametrize(
    ("peer", "verdict"),
    [
        # It lost its primary in a view that is older than ours, (3, 2).
        ({"generation": 3, "number": 1, "lost": True}, YES),
        ({"generation": 2, "number": 9, "lost": True}, YES),
        # It may have been in a later view than we were.
        ({"generation": 3, "number": 2, "lost": True}, NO),
        ({"generation": 3, "number": 3, "lost": True}, NO),
        # It follows a primary, which runs.
        ({"generation": 2, "number": 9}, NO),
        # It is a primary.
        ({"generation": 2, "number": 9, "role": Role.PRIMARY}, NO),
    ],
)
def test_a_backup_that_lost_its_primary_in_an_older_view_is_not_better(
    peer: dict[str, Any], verdict: Verdict
) -> None:
    """H3: a broker in a view has every message that was confirmed before that view."""
    found = promoted(Variant.OURS, Role.CONNECTING, evolve(BACKUP, **peer), number=2)

    assert verdict is found.verdict


def test_only_ours_refuses_the_promotion_of_an_older_generation() -> None:
    """H2, H4: a backup that missed a promotion, and a backup that the primary dropped."""
    behind = [promoted(variant, Role.BACKUP, PRIMARY).verdict for variant in Variant]
    dropped = [promoted(variant, Role.BACKUP, dropped=True).verdict for variant in Variant]

    assert [YES, YES, NO] == behind == dropped


def test_a_broker_with_a_dirty_store_refuses_until_the_store_is_marked() -> None:
    """H10: the document has this rule; the shipped broker never had it."""
    found = [promoted(one, Role.CONNECTING, mark=Mark.DIRTY).verdict for one in Variant]

    assert [NO, YES, NO] == found
    assert YES is promoted(Variant.OURS, Role.CONNECTING, mark=Mark.CLEAN).verdict


def test_a_new_primary_raises_the_generation_before_it_serves() -> None:
    """H2: the new generation is above all that it knows; the real variant has no generation."""
    found = promoted(Variant.OURS, Role.BACKUP, BACKUP)

    assert 4 == found.generation
    assert promoted(Variant.REAL, Role.BACKUP, BACKUP).generation is None


def test_a_new_primary_waits_for_the_expected_backups() -> None:
    """H8; by the document it confirms at once (LM5)."""
    found = {one: promoted(one, Role.BACKUP, expected=("b", "c")) for one in Variant}

    assert (Role.PRIMARY, ()) == (found[Variant.SEED].role, found[Variant.SEED].waits_for)
    assert (Role.RECOVERING, ("c",)) == (found[Variant.REAL].role, found[Variant.REAL].waits_for)
    assert Role.PRIMARY is promoted(Variant.OURS, Role.BACKUP, expected=("b",)).role


def test_a_refusal_has_a_reason_and_changes_nothing() -> None:
    found = promoted(Variant.OURS, Role.CATCHUP)

    assert (Role.CATCHUP, 3) == (found.role, found.generation)
    assert "b still catches up" in found.why


@pytest.mark.parametrize(
    ("peer", "of_one", "of_several"),
    [
        (PRIMARY, "c knows of", "a, c and d know of"),
        (STARTS, "c answers, and may have", "a, c and d answer, and may have"),
    ],
)
def test_a_reason_has_the_grammar_of_one_or_several_brokers(
    peer: Peer, of_one: str, of_several: str
) -> None:
    """H2, H3: the peers start, too, and were primary in the same generation."""
    peer = evolve(peer, was_primary=True)
    others = [evolve(peer, name=name) for name in ("a", "c", "d")]

    assert promoted(Variant.OURS, Role.CONNECTING, peer).why.startswith(of_one)
    assert promoted(Variant.OURS, Role.CONNECTING, *others).why.startswith(of_several)


def test_every_case_has_its_reason_in_words() -> None:
    assert {case.name for table in TABLES.values() for case in table.cases} == WHY.keys()
