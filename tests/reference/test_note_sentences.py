"""The note, sentence by sentence, in its own order.

Each test is one sentence; its docstring begins with the label.  Where a sentence is a promise
and not a rule, the test shows whether the rules keep it.
"""

import pytest

from joinproto.machine.vocabulary import Store
from joinproto.reference.effects import DiskRecord, Log
from joinproto.reference.note.readings import READINGS
from joinproto.reference.note.recovery import SignatureOrder, comparison
from tests.machine.judging import judge, reasons, short
from tests.machine.pictures import members
from tests.reference.cluster import Cluster

CLEAN_AND_BEHIND = {
    "a": DiskRecord(Store.CLEAN, 1, 2, ("x",)),
    "b": DiskRecord(Store.DIRTY, 1, 1, ("y",)),
}


# -- Summary of requirements -------------------------------------------------------------------


def test_a_persistent_member_that_crashes_rejoins_the_running_cluster() -> None:
    """P1."""
    cluster = Cluster()
    cluster.start("a", "b")
    cluster.crash("b")
    cluster.write("x")

    cluster.start("b")
    cluster.update()

    assert {"a": "active", "b": "active"} == cluster.phases()
    assert ("x",) == cluster.members["b"].data


def test_the_cluster_restarts_by_itself_after_an_orderly_shutdown() -> None:
    """P2."""
    cluster = Cluster(wait_for=2)
    cluster.start("a", "b")
    cluster.write("x")
    cluster.shutdown()

    cluster.start("a", "b")

    assert {"a": "active", "b": "active"} == cluster.phases()
    assert ("x",) == cluster.members["a"].data == cluster.members["b"].data


def test_after_total_failure_only_a_manual_recovery_helps() -> None:
    """P3."""
    cluster = Cluster(wait_for=2)
    cluster.start("a", "b")
    cluster.write("x")
    cluster.crash("a", "b")

    cluster.start("a", "b")
    assert {} == cluster.phases()  # both aborted
    cluster.mark("a")
    cluster.start("a", "b")
    cluster.update()

    assert {"a": "active", "b": "active"} == cluster.phases()
    assert ("x",) == cluster.members["b"].data


def test_members_that_start_at_the_same_time_become_one_cluster() -> None:
    """P4, for one agreed set; the note does not say how members agree on a set."""
    cluster = Cluster()

    cluster.start("a", "b", "c")

    assert {"a", "b", "c"} == set(cluster.members)
    assert 1 == len({member.initial for member in cluster.members.values()})


# -- Terminology -------------------------------------------------------------------------------


def test_the_initial_signature_never_changes() -> None:
    """S1."""
    cluster = Cluster()
    cluster.start("a")
    first = cluster.disk["a"].initial
    cluster.write("x")
    cluster.start("b")
    cluster.update()
    cluster.crash("a")
    cluster.start("a")
    cluster.update()
    cluster.shutdown()

    cluster.start("a", "b")

    assert first is not None
    assert {first} == {kept.initial for kept in cluster.disk.values()}


def test_the_final_signature_advances_while_the_cluster_runs() -> None:
    """S2, first half."""
    cluster = Cluster()
    cluster.start("a")
    finals = []

    for frame in ("x", "y"):
        cluster.write(frame)
        finals.append(cluster.disk["a"].final)

    assert [1, 2] == finals
    assert Store.DIRTY is cluster.disk["a"].store


def test_the_orderly_shutdown_of_the_whole_cluster_marks_every_store_clean() -> None:
    """S2, second half."""
    cluster = Cluster()
    cluster.start("a", "b")
    cluster.write("x")

    cluster.shutdown()

    assert {Store.CLEAN} == {kept.store for kept in cluster.disk.values()}
    assert {1} == {kept.final for kept in cluster.disk.values()}


@pytest.mark.parametrize("end", ["crash", "leave"])
def test_any_other_end_leaves_a_dirty_store(end: str) -> None:
    """S2: "Otherwise the store is considered dirty"; the orderly stop of one member, too."""
    cluster = Cluster()
    cluster.start("a", "b")
    cluster.shutdown()
    cluster.start("a", "b")

    getattr(cluster, end)("b")

    assert Store.DIRTY is cluster.disk["b"].store


# -- Wait for N --------------------------------------------------------------------------------


def test_a_member_waits_for_n_initial_members() -> None:
    """I1."""
    assert "wait I1; wait I1" == short(judge("e e", wait_for=3))
    assert {"too-few-members"} == reasons(judge("e e", wait_for=3))
    assert "active I3; active I3; active I3" == short(judge("e e e", wait_for=3))


def test_below_n_neither_options_nor_stores_are_judged() -> None:
    """I1 comes first."""
    assert "wait I1; wait I1" == short(judge("cXF! oY", wait_for=3))


def test_as_written_a_clean_member_serves_before_n_are_active() -> None:
    """W1 is a promise, and I8 as written breaks it: the other member is still updating."""
    cluster = Cluster(wait_for=2)
    cluster.disk = dict(CLEAN_AND_BEHIND)

    cluster.start("a", "b")

    assert {"a": "active", "b": "joining"} == cluster.phases()


def test_if_all_members_wait_no_client_is_served_before_n_have_the_state() -> None:
    """W1, kept by the other reading of I8."""
    cluster = Cluster(wait_for=2, readings=READINGS["all-wait"])
    cluster.disk = dict(CLEAN_AND_BEHIND)

    cluster.start("a", "b")
    assert {"a": "ready", "b": "updating"} == cluster.phases()
    cluster.update()

    assert {"a": "active", "b": "active"} == cluster.phases()


def test_several_members_start_from_their_own_stores_without_an_update() -> None:
    """W2."""
    verdict = judge("cXF cXF cXF", wait_for=3)

    assert "active I8; active I8; active I8" == short(verdict)
    assert "X" == verdict.initial


# -- Initialization ----------------------------------------------------------------------------


def test_members_with_different_options_abort() -> None:
    """I2."""
    verdict = judge("e e!", wait_for=2)

    assert "abort I2; abort I2" == short(verdict)
    assert {"options-differ"} == reasons(verdict)


@pytest.mark.parametrize(
    ("picture", "initial"),
    [("e", "new"), ("e e", "new"), ("t e", "new"), ("t", None), ("t t", None)],
)
def test_transient_and_empty_members_found_a_cluster(picture: str, initial: str | None) -> None:
    """I3: only members in E set an initial signature, so without them there is none."""
    verdict = judge(picture)

    assert {"active I3"} == set(short(verdict).split("; "))
    assert initial == verdict.initial


def test_empty_members_write_the_same_initial_signature() -> None:
    """I3: "Members in E set the initial signature on their stores"."""
    cluster = Cluster()

    cluster.start("a", "b")
    cluster.start("c", store=Store.NONE)

    assert cluster.disk["a"].initial == cluster.disk["b"].initial is not None
    assert DiskRecord(Store.NONE) == cluster.disk["c"]


def test_all_used_stores_have_the_same_initial_signature_or_every_member_aborts() -> None:
    """I4: clean and dirty stores count, and members without a used store abort, too."""
    verdict = judge("cXF oY e t")

    assert {"abort I4"} == set(short(verdict).split("; "))
    assert {"initial-signature-mismatch"} == reasons(verdict)


def test_all_clean_stores_have_the_same_final_signature_or_every_member_aborts() -> None:
    """I5."""
    verdict = judge("cXF cXG oX")

    assert {"abort I5"} == set(short(verdict).split("; "))
    assert {"final-signature-mismatch"} == reasons(verdict)


def test_the_final_signature_of_a_dirty_store_does_not_matter() -> None:
    """I5 speaks of C alone."""
    assert "active I8; update I7 from a" == short(judge("cXF oXG"))


@pytest.mark.parametrize("picture", ["oX", "oX e", "oX oX t"])
def test_without_a_clean_store_every_member_aborts(picture: str) -> None:
    """I6."""
    verdict = judge(picture)

    assert {"abort I6"} == set(short(verdict).split("; "))
    assert {"no-clean-store"} == reasons(verdict)


def test_the_operator_reads_that_manual_recovery_is_needed() -> None:
    """I6: "log message: need manual recovery"."""
    cluster = Cluster()
    cluster.disk = {"a": DiskRecord(Store.DIRTY, 1, 1)}

    cluster.start("a")

    assert Log("need manual recovery") in cluster.effects


def test_members_without_a_clean_store_are_updated_from_members_with_one() -> None:
    """I7."""
    verdict = judge("oX cXF e cXF t")

    assert (
        "update I7 from b,d; active I8; update I7 from b,d; active I8; update I7 from b,d"
        == short(verdict)
    )


def test_an_updated_member_takes_the_clean_stores_initial_signature() -> None:
    """I7: "set initial signature to same value as clean stores"."""
    cluster = Cluster(readings=READINGS["all-wait"])
    cluster.disk = {"a": DiskRecord(Store.CLEAN, 7, 2, ("x",)), "b": DiskRecord(Store.EMPTY)}

    cluster.start("a", "b")
    cluster.update()

    assert DiskRecord(Store.DIRTY, 7, 2, ("x",)) == cluster.disk["b"]


def test_an_updated_member_waits_for_the_updates_of_the_others() -> None:
    """I8."""
    cluster = Cluster(readings=READINGS["all-wait"])
    cluster.disk = dict(CLEAN_AND_BEHIND)
    cluster.start("a", "b", "c")

    cluster.update("b")
    assert {"a": "ready", "b": "ready", "c": "updating"} == cluster.phases()
    cluster.update()

    assert {"a": "active", "b": "active", "c": "active"} == cluster.phases()


# -- Joining -----------------------------------------------------------------------------------


@pytest.mark.parametrize("newcomer", ["e", "t"])
def test_a_newcomer_without_a_state_is_updated_from_an_active_member(newcomer: str) -> None:
    """J1."""
    assert "unaffected -; update J1 from a,c; unaffected -" == short(judge(f"*oX {newcomer} *oX"))


@pytest.mark.parametrize("newcomer", ["oX", "cXF", "cXG"])
def test_a_newcomer_with_a_store_of_this_cluster_is_updated(newcomer: str) -> None:
    """J2: the store may be clean or dirty, with any final signature, even the newer one."""
    assert "unaffected -; update J2 from a" == short(judge(f"*oX {newcomer}"))


@pytest.mark.parametrize("newcomer", ["oY", "cYF"])
def test_a_newcomer_with_another_store_aborts(newcomer: str) -> None:
    """J3."""
    verdict = judge(f"*oX {newcomer}")

    assert "unaffected -; abort J3" == short(verdict)
    assert "X" == verdict.initial


def test_only_the_newcomer_stops_if_its_options_differ_from_the_cluster() -> None:
    """I2, towards a running cluster."""
    assert "unaffected -; abort I2; update J1 from a" == short(judge("*oX e! e"))


def test_a_newcomer_does_not_wait_for_n() -> None:
    """I1 speaks of initial members."""
    assert "unaffected -; update J1 from a" == short(judge("*oX e/5", wait_for=5))


# -- Manual recovery ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stores", "found"),
    [
        ("oXF oYF", SignatureOrder.DIFFERENT_CLUSTERS),
        ("oXF oXG", SignatureOrder.ONE_IS_LATER),
        ("oXF cXF", SignatureOrder.SAME_STATE),
        ("oXF e", SignatureOrder.NO_SIGNATURE),
    ],
)
def test_the_tools_tell_whether_signatures_belong_to_the_same_cluster(
    stores: str, found: SignatureOrder
) -> None:
    """R1, and R2 as far as equality goes."""
    assert found is comparison().choose(members(stores), 0).outcome


def test_a_cluster_restarts_from_the_store_that_is_marked_clean() -> None:
    """R3."""
    cluster = Cluster()
    cluster.disk = {
        "a": DiskRecord(Store.DIRTY, 1, 1, ("x",)),
        "b": DiskRecord(Store.DIRTY, 1, 2, ("x", "y")),
    }

    cluster.mark("b")
    cluster.start("a", "b")
    cluster.update()

    assert ("x", "y") == cluster.members["a"].data


def test_a_mark_on_an_empty_store_has_no_effect() -> None:
    """R3 marks "the latest store"; an empty store has no signature."""
    cluster = Cluster()
    cluster.disk = {"a": DiskRecord(Store.EMPTY)}

    cluster.mark("a")

    assert DiskRecord(Store.EMPTY) == cluster.disk["a"]
