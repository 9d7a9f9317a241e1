"""Which view follows: of two reasons, the first one counts."""

from __future__ import annotations

from attrs import evolve

from joinproto.join.succession import Next, Row, founding, going_on


def test_founders_that_are_missing_are_waited_for_whatever_the_others_say() -> None:
    """I1 before I2: one that is started with the right options may take a wrong one's place."""
    one = Row(id="a", answered=True, is_founder=True, founders=3, options="x")
    two = evolve(one, id="b", options="y")

    assert Next.WAIT is founding().choose((one, two), 0).outcome
    assert Next.ABORT is founding().choose((evolve(one, founders=2), two), 0).outcome


def test_too_few_of_whom_one_is_sure_wait_for_a_store() -> None:
    """3.4: that a store is missing is what an operator has to know."""
    row = Row(id="a", answered=True, is_member=True, is_sure=True, has_store=False, wait_for=2)

    case = going_on().choose((row,), 0)

    assert "somebody is sure, but no store has answered" == case.name
