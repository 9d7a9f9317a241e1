"""The kind of the next view: the first case of the table that holds decides."""

from __future__ import annotations

from attrs import evolve

from joinproto.join.succession import Next, Row, founding, going_on, reopening
from joinproto.machine.vocabulary import Reason


def test_members_wait_for_missing_founders_whatever_their_options_are() -> None:
    """I1 before I2: a member with the right options may come instead of one with wrong options."""
    one = Row(id="a", answered=True, is_founder=True, founders=3, options="x")
    two = evolve(one, id="b", options="y")

    assert Next.WAIT is founding().choose((one, two), 0).outcome
    assert Next.ABORT is founding().choose((evolve(one, founders=2), two), 0).outcome


def test_too_few_members_wait_whatever_their_options_are() -> None:
    """I1 before I2: the next answer may show which of the options are right."""
    one = Row(id="a", answered=True, wait_for=3, majority=0, options="x")
    two = evolve(one, id="b", options="y")

    for table in (reopening(), going_on()):
        assert Next.WAIT is table.choose((one, two), 0).outcome
        assert Next.ABORT is table.choose((evolve(one, wait_for=2), two), 0).outcome


def test_too_few_members_of_which_one_is_sure_wait_for_a_store() -> None:
    """3.4: an operator must know that a store is missing."""
    row = Row(id="a", answered=True, is_member=True, is_sure=True, has_store=False, wait_for=2)

    case = going_on().choose((row,), 0)

    assert "somebody is sure, but no store has answered" == case.name


def test_a_restart_needs_a_store_with_every_acknowledged_frame() -> None:
    """I6: a member without a store would lose the frames with its process."""
    row = Row(id="a", answered=True, is_elector=True, covers=True, is_automatic=True)

    for table in (reopening(), going_on()):
        assert Next.RESTART is table.choose((row,), 0).outcome
        for wrong in (evolve(row, has_store=False), evolve(row, covers=False)):
            case = table.choose((wrong,), 0)

            assert (Next.WAIT, Reason.NO_CLEAN_STORE) == (case.outcome, case.reason)


def test_a_missing_store_is_reported_before_a_missing_permission() -> None:
    """I6: no permission can make a restart without such a store possible."""
    row = Row(id="a", answered=True, is_elector=True)

    assert "no store has all of the tip" == going_on().choose((row,), 0).name


def test_a_close_needs_a_sure_store_if_a_member_has_a_store() -> None:
    """S2: otherwise no store would be clean; in a CHANGE the store gets the data first."""
    row = Row(id="a", answered=True, is_member=True, is_sure=True, has_store=False, closes=True)
    store = Row(id="b", answered=True, is_member=True, fits=True)

    assert Next.CLOSE is going_on().choose((row,), 0).outcome
    assert Next.CHANGE is going_on().choose((row, store), 0).outcome
    assert Next.CLOSE is going_on().choose((row, evolve(store, is_sure=True)), 0).outcome


def test_a_close_needs_a_sure_member() -> None:
    """S2: the member may lack acknowledged frames."""
    row = Row(id="a", answered=True, is_member=True, has_store=False, closes=True)

    assert Next.WAIT is going_on().choose((row,), 0).outcome
