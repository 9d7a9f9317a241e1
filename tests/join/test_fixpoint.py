"""Settling after each event, and the facts on which the result depends."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.join.fixpoint import facts, settle
from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from tests.join.bus import config
from tests.join.drafts import draft
from tests.join.pictures import lineage, position, seats

OPTIONS = config("a").digest
OURS = lineage("F C", options=OPTIONS)
HEARD = Observations(in_reach=frozenset("bc"), ready=seats("bc"))


@pytest.mark.parametrize(
    ("options", "is_ready", "expected"),
    [(OPTIONS, False, True), ("others", False, False), ("others", True, True)],
)
def test_a_member_that_was_ready_keeps_the_options_of_the_view(
    options: str, is_ready: bool, expected: bool
) -> None:
    """I2: options are compared before a member becomes ready; a running member is not asked."""
    chain = lineage("F C", options=options)
    assert chain.tip is not None

    m = draft(chain, ready_in=chain.tip.id if is_ready else None)

    assert expected is facts(m).has_options


@pytest.mark.parametrize(("at", "expected"), [("C1.6", True), ("F.6", False), ("C1.7", False)])
def test_a_member_whose_data_ends_at_the_start_of_the_view_has_its_data(
    at: str, expected: bool
) -> None:
    """I7: it must have the very frame; a frame of the same number may be of a dropped tail."""
    chain = "F C1@F.5 C2@C1.6"

    assert expected is facts(draft(chain, position=position(at, chain))).has_data


def test_the_last_member_to_become_ready_is_active_at_once() -> None:
    """I8: it was ready in the view before, so its phase does not change, and no event follows."""
    m = draft(OURS, phase=Phase.READY, observations=HEARD)

    settle(m, 0.0)

    assert (OURS.tip and OURS.tip.id) == m.record.held
    assert Phase.ACTIVE is m.phase


def test_a_member_that_waits_for_no_answer_has_no_deadline_for_one() -> None:
    """A deadline that is left over would begin the next ballot before its time."""
    assert OURS.tip is not None
    m = draft(
        OURS, phase=Phase.ACTIVE, ready_in=OURS.tip.id, observations=HEARD, patience_until=5.0
    )

    settle(m, 0.0)

    assert m.patience_until is None
    assert m.says_at is None
    m.observations = evolve(HEARD, in_reach=frozenset("b"))  # c must be given up
    settle(m, 1.0)
    assert 1.0 < (m.patience_until or 0.0)


@pytest.mark.parametrize(("options", "expected"), [({}, False), ({"heartbeat": 0.0}, True)])
def test_without_heartbeats_a_member_needs_no_answer_of_the_register(
    options: dict[str, object], expected: bool
) -> None:
    """3.7: a member that hears no answer of the register serves on."""
    m = draft("F C", options={"outside": True, **options})

    assert expected is facts(m).hears_majority
    assert facts(draft("F C", options={"outside": True}, free_until=1.0)).hears_majority


def test_a_member_with_an_unfinished_update_has_no_data() -> None:
    """I7: its position was right before the update began."""
    m = draft(OURS)
    assert facts(m).has_data

    m.unfinished_update()

    assert not facts(m).has_data


def test_a_member_that_is_being_updated_reports_no_wait() -> None:
    """I7: an update takes as long as there is data, and no operator need look at it."""
    chain = lineage("F C@F.5", options=OPTIONS)
    m = draft(chain, phase=Phase.UPDATING, observations=Observations(in_reach=frozenset("bc")))
    settle(m, 0.0)
    assert m.says_at is not None

    m.source = "b"
    settle(m, 0.0)

    assert m.says_at is None


@pytest.mark.parametrize(
    ("chain", "names", "outside", "expected"),
    [
        ("F C", "bc", False, False),
        ("F C", "b", False, False),
        ("F C", "", False, True),
        ("F C", "", True, False),
        # The cluster is closed, and the others may need its store to start again.
        ("F X", "", False, False),
    ],
)
def test_a_member_that_must_leave_and_hears_no_majority_leaves_alone(
    chain: str, names: str, outside: bool, expected: bool
) -> None:
    """S2: no member can choose a view without it; an outside register can."""
    m = draft(
        chain,
        leaves=True,
        options={"outside": outside},
        observations=Observations(in_reach=frozenset(names)),
    )

    assert expected is facts(m).is_done


def test_a_member_that_has_stopped_asks_for_no_tick() -> None:
    """A host would call `tick` in vain."""
    m = draft(OURS, is_done=True)

    settle(m, 0.0)

    assert (Phase.STOPPED, None) == (m.phase, m.deadline)


def test_a_patient_member_reports_no_wait_before_its_patience_ends() -> None:
    """It hears no member and must give b and c up; it reports its obstacle once patience ends."""
    assert OURS.tip is not None
    m = draft(
        OURS, phase=Phase.ACTIVE, ready_in=OURS.tip.id, observations=Observations(ready=seats("bc"))
    )

    settle(m, 0.0)

    assert (Phase.SUSPENDED, None) == (m.phase, m.says_at)
    assert m.patience_until is not None
