"""What a store that knows a chain tells another one, which ends somewhere on it."""

from __future__ import annotations

import pytest

from joinproto.join.choice_messages import Chosen
from tests.join.pictures import lineage, views

CHAIN = "F C1 C2 C3"


@pytest.mark.parametrize(
    ("tip", "keep", "told", "is_shown"),
    [
        ("C1", 4, "C2 C3", False),
        ("C3", 4, "", False),
        # The oldest kept view names its parent, so that one is known, too.
        ("C1", 2, "C2 C3", False),
        ("C2", 2, "C3", False),
        # The initial signature shows where the rest belongs.
        ("F", 2, "C2 C3", True),
        ("", 2, "C2 C3", True),
        ("", 4, "F C1 C2 C3", False),
    ],
)
def test_a_store_is_told_what_goes_on_where_its_own_chain_ends(
    tip: str, keep: int, told: str, is_shown: bool
) -> None:
    """3.1: and as far as that is seen."""
    known = lineage(CHAIN, keep=keep)
    there = views(CHAIN)
    parent = there[tip].id if tip else None

    said = Chosen.telling(parent, there[tip].number if tip else 0, known)

    expected = tuple(there[word] for word in told.split())
    assert Chosen(parent, expected, known.initial if is_shown else None) == said


def test_who_ends_in_what_is_forgotten_is_told_nothing() -> None:
    """3.1: what would show that its chain goes on here is not known any more."""
    there = views(CHAIN)

    assert Chosen.telling(there["C1"].id, 2, lineage(CHAIN, keep=1)) is None
