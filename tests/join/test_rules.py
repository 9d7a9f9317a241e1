"""The chain's verdict on given members, and its differences from the verdict of the note."""

from __future__ import annotations

from collections import Counter

import pytest
from attrs import asdict, evolve
from hypothesis import given
from hypothesis import strategies as st

from joinproto.join.hypothetical import ChainStatus, GivenPosition
from joinproto.join.rules import CHAIN_RULES
from joinproto.machine.verdict import Outcome, Verdict, decide
from joinproto.machine.vocabulary import Status, Store
from joinproto.reference.note.rules import note_rules
from tests.machine.judging import judge, reasons, short
from tests.machine.pictures import members, small_worlds


def verdict_of(picture: str, wait_for: int = 1) -> Verdict:
    """Return the verdict by the chain's rules on a picture of members."""
    return judge(picture, wait_for, CHAIN_RULES)


def with_views(
    picture: str,
    *lineages: str,
    positions: tuple[str | None, ...] = (),
    electors: str | None = None,
    wait_for: int = 1,
) -> Verdict:
    """Return the verdict with given views: "X V W" is a lineage, "V.3" a position, "-" no frame."""
    found = []
    for at, status in enumerate(members(picture, wait_for)):
        position = positions[at] if at < len(positions) else None
        view, _, seq = (position or "").partition(".")
        found.append(
            ChainStatus(
                **asdict(status, recurse=False, filter=lambda it, _: it.name != "ready"),
                lineage=tuple(lineages[at].split()) if at < len(lineages) else (),
                position=GivenPosition(view, int(seq)) if seq else None,
                has_position=position is not None,
                electors=None if electors is None else tuple(electors.split()),
            )
        )
    return decide(CHAIN_RULES, found)


# -- agreement with the note
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("picture", "wait_for"),
    [
        ("e e", 2),
        ("e t", 1),
        ("cXF e", 2),
        ("cXF oX e t", 2),
        ("cXF cXF", 2),
        ("cXF", 2),
        ("e!  e", 2),
        ("cXF cYF", 2),
        ("cXF cXG", 2),
        ("*oX e", 1),
        ("*oX t oY", 1),
        ("*oX oX!", 1),
        ("*t oX e", 1),
        ("*oX *oY oX e", 1),
        ("*t *oX oX", 1),
    ],
)
def test_the_chain_agrees_with_the_note_about_these_members(picture: str, wait_for: int) -> None:
    """Outcome, sources, reason and signature are the same."""
    ours, notes = verdict_of(picture, wait_for), judge(picture, wait_for)

    assert [evolve(it, rule=None) for it in ours.outcomes] == [
        evolve(it, rule=None) for it in notes.outcomes
    ]
    assert ours.initial == notes.initial


def changed_outcomes(ours: Verdict, notes: Verdict) -> tuple[str, ...]:
    """Return the outcomes in which two verdicts differ."""
    return tuple(
        sorted(
            {
                f"{old.outcome.value} {old.reason and old.reason.value} ->"
                f" {new.outcome.value} {new.reason and new.reason.value}"
                for new, old in zip(ours.outcomes, notes.outcomes, strict=True)
                if (new.outcome, new.reason, new.sources) != (old.outcome, old.reason, old.sources)
            }
        )
    )


def differences(up_to: int) -> Counter[tuple[str, ...]]:
    """Count the differences over all sets of at most this many members without given views."""
    return Counter(
        changed_outcomes(decide(CHAIN_RULES, view), decide(note_rules(), view))
        for view in small_worlds(up_to=up_to)
    )


def test_two_members_find_no_difference_that_is_not_listed() -> None:
    found = differences(up_to=2)

    assert len(found) > 3
    assert found.keys() <= DIFFERENCES.keys()


@pytest.mark.soak("swarm-rules")
def test_the_differences_from_the_note_are_as_listed() -> None:
    """These are all differences, over every small set of members without given views.

    I6 waits.  Foreign stores, and clean stores that differ, are noticed before N is reached and
    before options are compared.  A cluster in which no member has a store needs a register.
    """
    assert DIFFERENCES == dict(differences(up_to=3))


DIFFERENCES: dict[tuple[str, ...], int] = {
    (): 13_962,
    # I6: a clean store may come a second later.
    ("abort no-clean-store -> wait no-clean-store",): 178,
    # 3.7: no member can vote.
    ("active None -> wait too-few-members",): 12,
    ("abort options-differ -> wait too-few-members",): 8,
    # A hello shows at once which stores can never be in one cluster.
    ("wait too-few-members -> abort initial-signature-mismatch",): 32,
    ("wait too-few-members -> abort final-signature-mismatch",): 8,
    ("abort options-differ -> abort initial-signature-mismatch",): 800,
    ("abort options-differ -> abort final-signature-mismatch",): 182,
    ("abort options-differ -> abort wrong-store",): 4_416,
    # A dirty store that knows another CLOSE is on a branch; the note compares clean stores only.
    (
        "active None -> abort final-signature-mismatch",
        "update None -> abort final-signature-mismatch",
    ): 34,
}


# -- differences from the note
# ----------------------------------------------------------------------


def test_a_total_failure_waits_for_permission() -> None:
    """I6 is only reported, because a clean store may still come."""
    assert "wait I6; wait I6" == short(verdict_of("oX oX", 2))
    assert {"no-clean-store"} == reasons(verdict_of("oX oX", 2))
    assert {"abort"} == {it.outcome.value for it in judge("oX oX", 2).outcomes}


def test_dirty_stores_of_an_open_view_lack_only_the_permission() -> None:
    """I6: they were ready in the view, so they have all acknowledged frames."""
    case = CHAIN_RULES.choose(members("oX oX", 2), 0)

    assert case is not None
    assert "total failure, and nobody permits a restart" == case.name


def test_a_lone_member_of_three_waits() -> None:
    """A member that is alone does not know that the others are dead."""
    alone = with_views("cXF", electors="a b c")

    assert "wait I1" == short(alone)
    assert "active I8; update I7 from a" == short(with_views("cXF oX", electors="a b c"))


def test_a_member_that_lost_its_disk_does_not_vote() -> None:
    """3.6: a stranger never votes until a CHANGE makes it an elector."""
    assert "wait I1; wait I1" == short(with_views("cXF e", electors="a b c", wait_for=2))
    assert "active I8; update I7 from a" == short(with_views("cXF e", electors="a", wait_for=2))


def test_a_cluster_is_founded_by_all_its_electors() -> None:
    """I3: a member that lost its disk looks new, so fewer could found a second cluster."""
    assert "wait I1; wait I1" == short(with_views("e e", electors="a b c", wait_for=2))
    assert "active I3; active I3" == short(with_views("e t", electors="a", wait_for=2))


def test_transient_members_found_no_cluster() -> None:
    """3.7: such members can found a cluster only with an outside register."""
    assert "wait I1; wait I1" == short(verdict_of("t t", 2))


def test_the_same_n_is_one_of_the_options() -> None:
    """I2: W1 counts to N, so N must be equal in all members."""
    assert {"options-differ"} == reasons(verdict_of("cXF/1 oX/2"))


def test_a_clean_store_of_an_earlier_shutdown_is_updated() -> None:
    """I5 asks for one chain; the older CLOSE is on the path to the newer one."""
    verdict = with_views("cXF cXG", "X F", "X F R G", wait_for=2)

    assert "update I7 from b; active I8" == short(verdict)


def test_a_clean_store_does_not_restart_with_a_store_that_served_since() -> None:
    """The dirty store may have later frames, so the clean store waits."""
    verdict = with_views("cXF oX", "X F", "X F R", wait_for=2)

    assert "wait I6; wait I6" == short(verdict)


def test_stores_of_two_clusters_abort() -> None:
    """I4: no member has served yet; alongside a running cluster the rule would be J3."""
    assert "abort I4; abort I4" == short(verdict_of("oX oY", 2))


def test_two_successors_of_one_view_abort() -> None:
    """A fork has diverged, and no rule may guess which side is right."""
    verdict = with_views("oX oX", "X V", "X W")

    assert "abort J3; abort J3" == short(verdict)
    assert {"wrong-store"} == reasons(verdict)


def test_a_store_newer_than_the_cluster_is_refused() -> None:
    """A store is newer if its tip descends from the cluster's tip."""
    verdict = with_views("*oX oX oX", "X V", "X V W", "X V")

    assert "unaffected -; abort J3; update J2 from a" == short(verdict)
    assert {None, "store-newer-than-cluster"} == reasons(verdict)


def test_a_tail_of_frames_is_not_newer() -> None:
    """A tail of a view that has a successor is dropped, as P1 needs."""
    verdict = with_views("*oX oX", "X V", "X", positions=("V.3", "X.9"))

    assert "unaffected -; update J1 from a" == short(verdict)


def test_a_branch_of_the_running_cluster_is_refused() -> None:
    """J3: the view that the newcomer knows is not on the cluster's chain."""
    assert "unaffected -; abort J3" == short(with_views("*oX oX", "X V", "X W"))


# -- given facts, and defaults -------------------------------------------------------------


def test_a_dirty_store_with_all_data_of_the_close_is_clean() -> None:
    """Clean is derived, never stored: the tip is the CLOSE, the position is the tip's."""
    verdict = with_views("cXF oX oX", positions=("X.3", "X.3", "X.4"))

    assert "active I8; active I8; update I7 from a,b" == short(verdict)


def test_a_clean_store_with_less_than_another_is_updated() -> None:
    """S2: a member whose position is not the CLOSE's is not clean."""
    assert "update I7 from b; active I8" == short(with_views("cXF cXF", positions=("X.2", "X.3")))


def test_an_empty_store_has_all_data_if_no_frame_was_ever_written() -> None:
    """ "No frame" is the position of both the CLOSE and the empty store."""
    assert "active I8; active I8" == short(with_views("cXF e", positions=("-",)))


def test_a_store_without_a_lineage_is_found_on_the_lineage_of_another_store() -> None:
    """The CLOSE that it names is on the path that another store gives."""
    assert "update I7 from b; active I8" == short(with_views("cXF cXG", "", "X V F R G"))


def test_a_store_without_a_lineage_is_not_found_on_the_lineage_of_another_cluster() -> None:
    """I4: the same name of a CLOSE does not make two clusters one."""
    assert {"initial-signature-mismatch"} == reasons(with_views("cXF cYF", "", "Y V F"))


def test_the_signatures_may_be_left_out_of_a_lineage() -> None:
    """Both signatures are given already."""
    assert with_views("cXF oX", "X V F", "X V") == with_views("cXF oX", "V", "V")


def test_frames_of_a_view_that_no_lineage_has_are_older_than_all_others() -> None:
    """Both stores are clean at one CLOSE; the store with less data is updated (S2)."""
    assert "active I8; update I7 from a" == short(
        with_views("cXF cXF", "X", "X", positions=("X.1", "V.3"))
    )


def test_the_initial_signature_is_the_first_view_if_a_lineage_leaves_it_out() -> None:
    """Otherwise its first view would found another cluster."""
    assert "update I7 from b; active I8" == short(with_views("oX cXF", "", "V"))


def test_a_change_starts_after_all_frames_of_the_view_before() -> None:
    """The start is not given, so a store that knows only the former view is updated."""
    assert "unaffected -; update J1 from a" == short(
        with_views("*oX t", "V", "V", positions=("-",))
    )


def test_a_view_is_identified_by_its_whole_path() -> None:
    """Two clusters that use one name do not share a view."""
    assert {"initial-signature-mismatch"} == reasons(with_views("oX oY", "X V", "Y V"))
    assert {"wrong-store"} == reasons(with_views("oX oX", "X V W", "X U W"))


@pytest.mark.parametrize("electors", ["a x", "a b"])
def test_an_elector_that_is_away_or_has_an_empty_store_is_waited_for(electors: str) -> None:
    """3.4: one of two electors is no majority."""
    others = "e" if "b" in electors else "t"

    assert "wait I1; wait I1" == short(with_views(f"cXF {others}", electors=electors))
    assert "active I8; update I7 from a" == short(with_views(f"cXF {others}", electors="a"))


def test_clean_stores_that_differ_are_named_before_others() -> None:
    """I5: c is on a branch, too, but its operator must look at the clean stores first."""
    case = CHAIN_RULES.choose(members("cXF cXG", 1), 0)

    assert case is not None
    assert "clean stores differ" == case.name
    assert "abort I5; abort I5; abort I5" == short(with_views("cXF cXG oX", "", "", "X W"))


def test_each_active_member_answers_by_the_views_that_it_knows() -> None:
    """3.4: a has not learned W, but b has, and takes in a member that knows it."""
    verdict = with_views("*oX *oX oX", "X V", "X V W", "X V W")

    assert "unaffected -; unaffected -; update J2 from b" == short(verdict)


def test_an_active_member_without_given_views_knows_the_views_of_another_member() -> None:
    """J2: all active members are in one view, and the newcomer has its data."""
    verdict = with_views("*oX *oX oX", "", "X V", "X V")

    assert "unaffected -; unaffected -; update J2 from a,b" == short(verdict)


def test_a_clean_store_and_a_branch_are_not_two_shutdowns() -> None:
    """I5 is about two clean stores; here only one store is clean."""
    assert {"wrong-store"} == reasons(with_views("cXF oX", "", "X W"))


def test_an_active_member_without_given_views_is_of_its_own_cluster() -> None:
    """J3: the views that b gives are of another cluster, so a refuses a newcomer from there."""
    verdict = with_views("*oX *oY oY", "", "Y W", "Y W")

    assert "unaffected -; unaffected -; abort J3" == short(verdict)


def test_an_active_member_has_an_open_view_after_the_given_close() -> None:
    assert "unaffected -; update J2 from a" == short(with_views("*oX cXF", "X F", "X F"))


def test_only_the_n_of_an_elector_counts() -> None:
    """I1 before I2: a member without a vote proposes no view."""
    assert "abort I2; abort I2" == short(with_views("t/5 cXF/1", electors="b"))
    assert "wait I1; wait I1" == short(with_views("t/1 cXF/5", electors="b"))


def test_a_restart_starts_where_the_close_ends() -> None:
    """I5: no frame follows the CLOSE, so a store with all its data has the RESTART's data."""
    assert "unaffected -; update J2 from a" == short(with_views("*oX cXF", "X F R", "X F"))


names = st.sampled_from(["X", "Y", "V", "W", "F", "G", "", "\x00", "\ud800", "new"])


@st.composite
def statuses(draw: st.DrawFn, at: int) -> Status:
    """Draw a well-formed member, with views that need not fit."""
    store = draw(st.sampled_from(Store))
    active = draw(st.booleans())
    has_store = store in (Store.CLEAN, Store.DIRTY)
    signature = st.sampled_from("XYFG")
    final = signature if store is Store.CLEAN else signature | st.none()
    return ChainStatus(
        str(at),
        store,
        initial=draw(signature) if has_store else None,
        final=draw(final) if has_store else None,
        active=active,
        options=draw(st.sampled_from([(), (("x", "1"),)])),
        wait_for=draw(st.integers(1, 4) | st.just(10**30)),
        lineage=tuple(draw(st.lists(names, max_size=4))) if has_store or active else (),
        position=draw(st.none() | st.builds(GivenPosition, names, st.integers(0, 3)))
        if has_store
        else None,
        has_position=draw(st.booleans()),
        electors=draw(st.none() | st.lists(st.sampled_from("01239"), max_size=4).map(tuple)),
    )


@given(data=st.data(), count=st.integers(0, 5))
def test_there_is_a_verdict_for_any_members(data: st.DataObject, count: int) -> None:
    """Exactly a member that waits or aborts has a reason, and one that is updated has sources."""
    drawn = [data.draw(statuses(at)) for at in range(count)]

    verdict = decide(CHAIN_RULES, drawn)

    assert [it.id for it in drawn] == [it.id for it in verdict.outcomes]
    served = {
        it.id for it in verdict.outcomes if it.outcome in (Outcome.ACTIVE, Outcome.UNAFFECTED)
    }
    for it in verdict.outcomes:
        assert (it.reason is not None) == (it.outcome in (Outcome.WAIT, Outcome.ABORT))
        assert bool(it.sources) == (it.outcome is Outcome.UPDATE)
        assert set(it.sources) <= served
