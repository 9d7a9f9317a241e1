"""What follows from what a member knows."""

from __future__ import annotations

from itertools import permutations

import pytest

from tests.join.drafts import draft

DUES = ("patience_until", "next_beat", "free_until", "says_at")


@pytest.mark.parametrize("order", list(permutations(DUES)), ids=" ".join)
def test_the_deadline_is_the_earliest_of_what_it_waits_for(order: tuple[str, ...]) -> None:
    """Whatever else is due, and where nothing else is."""
    m = draft()
    assert m.deadline is None

    for at, name in zip((4.0, 3.0, 2.0, 1.0), order, strict=True):
        setattr(m, name, at)

        assert at == m.deadline

    for name in order[:-1]:
        setattr(m, name, 5.0)

        assert m.deadline == 1.0
