"""The real behaviour of Qpid, one fact per test.

Verdicts first, in the order of the questions that the note leaves open; then the life of a
store; then the traps, as stories of several brokers.
"""

import pytest

from joinproto.machine.vocabulary import Store
from joinproto.reference.effects import Abort, DiskRecord
from joinproto.reference.qpid.member import QpidMember
from tests.machine.judging import judge, qpid, reasons, short
from tests.reference.cluster import Cluster

# -- Starting ----------------------------------------------------------------------------------


def test_members_with_matching_clean_stores_start_and_dirty_stores_are_updated() -> None:
    """As in the note."""
    assert "active Q6; active Q6; update Q8 from a,b" == short(qpid("cXF cXF oX"))


def test_all_members_abort_if_clean_stores_disagree() -> None:
    """Members with dirty stores abort, too."""
    verdict = qpid("cXF cXG oX")

    assert {"abort Q2"} == set(short(verdict).split("; "))
    assert {"final-signature-mismatch"} == reasons(verdict)


def test_members_with_dirty_and_empty_stores_all_abort_without_a_clean_store() -> None:
    """Check 4."""
    verdict = qpid("oX e")

    assert "abort Q4; abort Q4" == short(verdict)
    assert {"no-clean-store"} == reasons(verdict)


def test_an_empty_store_is_updated_from_a_clean_store() -> None:
    """As in the note."""
    assert "active Q6; update Q8 from a" == short(qpid("cXF e"))


@pytest.mark.parametrize("picture", ["t e", "t cXF", "t oX"])
def test_transient_and_persistent_members_do_not_mix(picture: str) -> None:
    """Check 3, which the note does not have."""
    verdict = qpid(picture)

    assert "abort Q3; abort Q3" == short(verdict)
    assert {"mixed-transient-persistent"} == reasons(verdict)
    assert {"abort"} != {it.outcome.value for it in judge("t e").outcomes}


def test_transient_members_alone_go_active() -> None:
    """There is no persistent member to mix them with."""
    assert "active Q7; active Q7" == short(qpid("t t"))
    assert qpid("t t").initial is None


def test_different_clusters_are_found_before_other_faults() -> None:
    """Check 1 stands before 2, 3 and 4."""
    assert "abort Q1; abort Q1; abort Q1; abort Q1" == short(qpid("cXF cXG oY t"))


def test_the_group_goes_active_one_by_one() -> None:
    """A clean member is active at once, each other member after its own update."""
    cluster = Cluster(QpidMember, wait_for=3)
    cluster.disk = {
        "a": DiskRecord(Store.CLEAN, 1, 2),
        "b": DiskRecord(Store.DIRTY, 1),
        "c": DiskRecord(Store.EMPTY),
    }

    cluster.start("a", "b", "c")
    assert {"a": "active", "b": "joining", "c": "joining"} == cluster.phases()
    cluster.update("b")

    assert {"a": "active", "b": "active", "c": "joining"} == cluster.phases()


def test_the_lowest_member_gives_the_initial_signature() -> None:
    """A lowest member with an empty store renames a cluster with clean stores."""
    assert "new" == qpid("e cXF").initial
    assert "X" == qpid("cXF e").initial
    assert "X" == judge("e cXF").initial


def test_the_lowest_active_member_if_any_gives_the_initial_signature() -> None:
    """A lower member that is not active does not decide."""
    assert "X" == qpid("e *oX").initial


def test_every_member_in_the_set_counts_when_there_are_more_than_n() -> None:
    """The members after the first N are judged, too."""
    assert "active Q6; active Q6; active Q6" == short(qpid("cXF cXF cXF", wait_for=2))


def test_a_member_that_comes_after_n_was_reached_joins() -> None:
    """Members past the exchange of statuses count as active."""
    assert "unaffected -; unaffected -; update Q5 from a,b" == short(qpid("*oX *oX e", wait_for=2))


def test_a_crash_during_initialization_only_removes_a_member() -> None:
    """N is tested again over the remaining members."""
    cluster = Cluster(QpidMember, wait_for=3)
    cluster.start("a", "b")

    cluster.crash("b")
    cluster.start("c", "d")

    assert {"a": "active", "c": "active", "d": "active"} == cluster.phases()


def test_the_joiner_aborts_when_the_last_donor_crashes() -> None:
    """Q9: no possible donor is left."""
    cluster = Cluster(QpidMember)
    cluster.start("a")
    cluster.start("b")

    cluster.crash("a")

    assert {} == cluster.phases()
    assert Abort("Q9", None) in cluster.effects


def test_another_donor_takes_over() -> None:
    """Q9: the joiner asks a remaining donor."""
    cluster = Cluster(QpidMember)
    cluster.start("a")
    cluster.start("b")
    cluster.update()
    cluster.start("c")

    cluster.crash("a")

    assert {"c": ("b",)} == cluster.asked


def test_n_is_ignored_when_joining_a_running_cluster() -> None:
    """Q0 holds only while no member is active."""
    assert "unaffected -; update Q5 from a" == short(qpid("*oX e/9"))


def test_each_member_obeys_its_own_n() -> None:
    """Members may have different values of `cluster-size`."""
    assert "wait Q0; active Q6" == short(qpid("cXF/3 cXF/2"))


def test_below_n_every_member_waits() -> None:
    """Even stores of different clusters are not reported."""
    assert {"too-few-members"} == reasons(qpid("oX oY", wait_for=3))


@pytest.mark.parametrize("final", ["F", "G"])
def test_a_joining_clean_store_with_any_final_signature_is_updated(final: str) -> None:
    """Final signatures are compared only while no member is active."""
    assert "unaffected -; update Q5 from a" == short(qpid(f"*cXF cX{final}"))


def test_a_joiner_of_another_cluster_aborts_alone() -> None:
    """The running members are not judged."""
    assert "unaffected -; abort Q1" == short(qpid("*oX oY"))


def test_a_wrong_store_makes_another_newcomer_abort_as_well() -> None:
    """Check 1 is over all members in the set; the note judges each newcomer alone."""
    assert "unaffected -; abort Q1; abort Q1" == short(qpid("*oX oY oX"))
    assert "unaffected -; abort J3; update J2 from a" == short(judge("*oX oY oX"))


def test_options_are_not_compared() -> None:
    """Qpid has no rule like I2 of the note."""
    assert "active Q7; active Q7" == short(qpid("e e!"))


def test_the_initial_signature_of_an_empty_store_is_not_compared() -> None:
    """The broker drew this signature itself."""
    assert "active Q6; update Q8 from a" == short(qpid("cXF eY"))
    assert "Y" == qpid("eY cXF").initial


# -- The life of a store -----------------------------------------------------------------------


def test_a_crash_right_after_the_first_start_leaves_a_dirty_store() -> None:
    """ "Empty" is never on disk."""
    cluster = Cluster(QpidMember, wait_for=2)
    cluster.start("a")
    assert Store.EMPTY is cluster.members["a"].store

    cluster.crash("a")

    assert Store.DIRTY is cluster.disk["a"].store


def test_members_of_a_group_are_dirty_and_the_last_member_is_clean() -> None:
    """The last member gets a fresh final signature, because the cluster restarts from it."""
    cluster = Cluster(QpidMember)
    cluster.start("a", "b")
    assert {Store.DIRTY} == {kept.store for kept in cluster.disk.values()}

    cluster.crash("b")

    assert Store.CLEAN is cluster.disk["a"].store
    assert cluster.disk["a"].final is not None
    assert Store.DIRTY is cluster.disk["b"].store


def test_a_lone_clean_member_keeps_its_final_signature() -> None:
    """Only a member that was not clean gets a fresh one."""
    cluster = Cluster(QpidMember)
    cluster.disk = {"a": DiskRecord(Store.CLEAN, 1, 2)}

    cluster.start("a")
    cluster.write("x")

    assert DiskRecord(Store.CLEAN, 1, 2, ("x",)) == cluster.disk["a"]


def test_a_lone_member_that_is_killed_is_clean() -> None:
    """A strict reading of the note would leave it dirty."""
    cluster = Cluster(QpidMember)
    cluster.start("a")
    cluster.write("x")

    cluster.crash("a")

    assert Store.CLEAN is cluster.disk["a"].store


def test_a_dirty_member_that_stops_alone_stays_dirty() -> None:
    """L8."""
    cluster = Cluster(QpidMember)
    cluster.start("a", "b")

    cluster.leave("b")

    assert Store.DIRTY is cluster.disk["b"].store


def test_the_shutdown_of_the_cluster_marks_every_member_clean_with_one_signature() -> None:
    """The signature comes with the message."""
    cluster = Cluster(QpidMember)
    cluster.start("a", "b")

    cluster.shutdown(final=99)

    assert {(Store.CLEAN, 99)} == {(kept.store, kept.final) for kept in cluster.disk.values()}


# -- Traps -------------------------------------------------------------------------------------


def test_the_shutdown_marks_a_member_clean_that_still_waits_for_its_update() -> None:
    """Its store reads as clean, and has no data."""
    cluster = Cluster(QpidMember)
    cluster.start("a")
    cluster.write("x")
    cluster.start("b")

    cluster.shutdown(final=99)

    assert (Store.CLEAN, ()) == (cluster.disk["b"].store, cluster.disk["b"].data)


def test_a_lone_restart_diverges_unnoticed() -> None:
    """The restarted member keeps its final signature while it takes new data."""
    cluster = Cluster(QpidMember)
    cluster.start("a", "b")
    cluster.shutdown(final=99)
    cluster.start("a")
    cluster.write("x")
    cluster.crash("a")

    cluster.start("a", "b")

    assert {"a": "active", "b": "active"} == cluster.phases()
    assert cluster.members["a"].data != cluster.members["b"].data


def test_the_minority_survivor_wins_with_a_stale_store() -> None:
    """A member that is cut off alone becomes clean; the others go on dirty, and lose."""
    cluster = Cluster(QpidMember)
    cluster.start("a", "b", "c")
    other_side = Cluster(QpidMember)
    other_side.disk = cluster.disk
    other_side.members = {name: cluster.members[name] for name in ("b", "c")}

    cluster.crash("b", "c")
    other_side.agree()
    other_side.write("x")
    cluster.crash("a")
    other_side.crash("b", "c")
    cluster.start("a", "b", "c")
    cluster.update()

    assert {"a": "active", "b": "active", "c": "active"} == cluster.phases()
    assert ["x"] == list(dict.fromkeys(other_side.acknowledged))
    assert () == cluster.members["b"].data


def test_a_clean_joiner_that_crashes_during_its_update_still_reads_clean() -> None:
    """Its journal is set aside, and its status file is not changed."""
    cluster = Cluster(QpidMember)
    cluster.disk = {
        "a": DiskRecord(Store.CLEAN, 1, 2, ("x",)),
        "b": DiskRecord(Store.CLEAN, 1, 2, ("x",)),
    }
    cluster.start("a")
    cluster.start("b")

    cluster.crash("b")

    assert DiskRecord(Store.CLEAN, 1, 2, ()) == cluster.disk["b"]


def test_an_empty_lowest_member_renames_the_cluster() -> None:
    """An absent clean store with the old signature no longer matches."""
    cluster = Cluster(QpidMember)
    clean = DiskRecord(Store.CLEAN, 500, 2, ("x",))
    cluster.disk = {"b": clean, "c": clean}
    cluster.start("a", "b")
    cluster.update()

    cluster.start("c")

    assert {"a": "active", "b": "active"} == cluster.phases()
    assert cluster.disk["a"].initial == cluster.disk["b"].initial != clean.initial


def test_two_stores_that_are_marked_clean_refuse_each_other() -> None:
    """Each mark is a new final signature."""
    cluster = Cluster(QpidMember)
    cluster.disk = {"a": DiskRecord(Store.DIRTY, 1), "b": DiskRecord(Store.DIRTY, 1)}
    cluster.mark("a", final=50)
    cluster.mark("b", final=51)

    cluster.start("a", "b")

    assert {} == cluster.phases()
