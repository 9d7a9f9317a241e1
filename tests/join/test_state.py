"""Facts that are derived from a member's state."""

from __future__ import annotations

from itertools import permutations

import pytest

from joinproto.join.observations import Observations
from joinproto.join.phases import Phase
from tests.join.drafts import draft

DUES = ("patience_until", "next_heartbeat", "free_until", "says_at")


@pytest.mark.parametrize("order", list(permutations(DUES)), ids=" ".join)
def test_the_deadline_is_the_earliest_time_that_the_member_waits_for(
    order: tuple[str, ...],
) -> None:
    """Each of the times is the earliest once; without a time there is no deadline."""
    m = draft()
    assert m.deadline is None

    for at, name in zip((4.0, 3.0, 2.0, 1.0), order, strict=True):
        setattr(m, name, at)

        assert at == m.deadline

    for name in order[:-1]:
        setattr(m, name, 5.0)

        assert m.deadline == 1.0


@pytest.mark.parametrize("phase", Phase)
def test_only_an_active_member_serves(phase: Phase) -> None:
    """3.5: a suspended or frozen member acknowledges no frame."""
    assert draft("F", phase=phase).is_serving is (phase.value == "active")


@pytest.mark.parametrize(
    ("chain", "names"), [("", "xy"), ("F", "bc"), ("F C:ab", "bc"), ("F C:ab C2", "b")]
)
def test_the_members_of_the_tip_and_of_its_parent_are_neighbours(chain: str, names: str) -> None:
    """3.4: a leaver waits for its neighbours; before the founding, they are all peers in reach."""
    m = draft(chain, observations=Observations(in_reach=frozenset("yx")))

    assert list(names) == m.neighbours


@pytest.mark.parametrize(
    ("chain", "orders"), [("", False), ("F", True), ("F C:ab", True), ("F C:bc", False)]
)
def test_the_member_with_the_least_seat_orders_the_frames(chain: str, orders: bool) -> None:
    assert orders is draft(chain).is_sequencer
