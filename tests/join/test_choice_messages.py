"""The views that a store tells another store whose chain ends somewhere on its own chain."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.join.choice_messages import Chosen
from joinproto.join.lineage import Lineage
from joinproto.join.store import StoreRecord
from joinproto.join.view import Position
from tests.join.pictures import lineage, views

CHAIN = "F C1 C2 C3"


def _store(chain: Lineage) -> StoreRecord:
    return StoreRecord(store_id="a1", lineage=chain)


@pytest.mark.parametrize(
    ("tip", "keep", "told", "is_shown"),
    [
        ("C1", 4, "C2 C3", False),
        ("C3", 4, "", False),
        # The oldest kept view names its parent, so the parent's id is known, too.
        ("C1", 2, "C2 C3", False),
        ("C2", 2, "C3", False),
        # The initial signature shows where the kept views belong.
        ("F", 2, "C2 C3", True),
        ("", 2, "C2 C3", True),
        ("", 4, "F C1 C2 C3", False),
    ],
)
def test_a_store_is_told_the_views_after_the_end_of_its_chain(
    tip: str, keep: int, told: str, is_shown: bool
) -> None:
    """3.1: this goes as far as the kept views and the initial signature show it."""
    known = lineage(CHAIN, keep=keep)
    there = views(CHAIN)
    parent = there[tip].id if tip else None

    said = Chosen.telling("b", parent, there[tip].number if tip else 0, _store(known))

    expected = tuple(there[word] for word in told.split())
    assert Chosen(parent, expected, known.initial if is_shown else None) == said


def test_a_member_whose_tip_is_forgotten_is_told_no_view() -> None:
    """3.1: the views that would show that its chain continues here are forgotten."""
    there = views(CHAIN)

    assert Chosen.telling("b", there["C1"].id, 2, _store(lineage(CHAIN, keep=1))) is None


def test_a_member_of_the_last_view_is_told_whether_it_has_frames() -> None:
    """3.6: a store that was ready in that view and does not know it is an older copy."""
    there = views(CHAIN)
    whole = _store(lineage(CHAIN))
    ends = (None, Position(there["C2"].id, 4), Position(there["C3"].id, 5))

    told = [Chosen.telling("b", None, 0, evolve(whole, position=end)) for end in ends]
    told.append(Chosen.telling("d", None, 0, evolve(whole, position=ends[-1])))

    assert [False, False, True, False] == [said is not None and said.has_frames for said in told]
