"""Positions: "equal positions are equal data, the same `seq` alone proves nothing"."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from joinproto.join.position import PositionOrder, compare_positions
from tests.join.pictures import lineage, position
from tests.join.trees import Tree, positions, slow_compare_data, trees

BEHIND, EQUAL, AHEAD = PositionOrder.BEHIND, PositionOrder.EQUAL, PositionOrder.AHEAD
INCOMPARABLE, UNKNOWN = PositionOrder.INCOMPARABLE, PositionOrder.UNKNOWN


@pytest.mark.parametrize(
    ("chain", "one", "other", "order"),
    [
        ("F", "-", "-", EQUAL),
        ("F", "-", "F.1", BEHIND),
        ("F", "F.2", "F.2", EQUAL),
        ("F", "F.3", "F.2", AHEAD),
        ("F C@F.5", "F.5", "C.6", BEHIND),
        ("F C@F.5", "F.4", "C.6", BEHIND),
        # A tail that no member acknowledged: RESTART begins before it, and has other frames.
        ("F R@F.3", "F.5", "R.4", INCOMPARABLE),
        ("F R@F.3", "F.4", "R.9", INCOMPARABLE),
        ("F R@F.3", "F.3", "R.4", BEHIND),
        # CHANGE was chosen at frame 5 and never served; RESTART took a source at frame 4.
        ("F C@F.5 R@F.4", "F.5", "R.5", INCOMPARABLE),
        ("F C@F.5 R@F.4", "C.6", "R.5", INCOMPARABLE),
        ("F C@F.5 R@F.4", "F.4", "R.5", BEHIND),
        ("F C@F.5 R@F.4", "F.5", "C.6", BEHIND),
        # No frame was sent before CHANGE.
        ("F C", "-", "C.1", BEHIND),
        ("F C", "F.1", "C.1", INCOMPARABLE),
    ],
)
def test_positions_on_one_chain_compare_as_their_data(
    chain: str, one: str, other: str, order: PositionOrder
) -> None:
    """Neither `seq` nor the view's number decides the order."""
    found = compare_positions(position(one, chain), position(other, chain), [lineage(chain)])

    assert order is found


@given(trees(), st.data())
def test_positions_compare_as_the_lists_of_their_frames(tree: Tree, data: st.DataObject) -> None:
    """The slow comparison lists all frames, and compares the two lists."""
    tips = st.sampled_from(tree.views)
    one_tip, other_tip = data.draw(tips), data.draw(tips)
    one, other = data.draw(positions(tree, one_tip)), data.draw(positions(tree, other_tip))

    found = compare_positions(one, other, [tree.lineage(one_tip), tree.lineage(other_tip)])

    assert slow_compare_data(tree.data(one), tree.data(other)) is found


@given(trees(), st.integers(1, 4), st.integers(1, 4), st.data())
def test_positions_of_forgotten_views_are_never_compared_wrongly(
    tree: Tree, keep: int, other_keep: int, data: st.DataObject
) -> None:
    """The result is right, or unknown."""
    tips = st.sampled_from(tree.views)
    one_tip, other_tip = data.draw(tips), data.draw(tips)
    one, other = data.draw(positions(tree, one_tip)), data.draw(positions(tree, other_tip))
    lineages = [tree.lineage(one_tip, keep=keep), tree.lineage(other_tip, keep=other_keep)]

    found = compare_positions(one, other, lineages)

    assert found in (slow_compare_data(tree.data(one), tree.data(other)), UNKNOWN)


@given(trees(), st.data())
def test_seq_counts_all_frames_since_the_founding(tree: Tree, data: st.DataObject) -> None:
    """So two positions on one path show by how many frames they differ."""
    at = data.draw(positions(tree, data.draw(st.sampled_from(tree.views))))

    assert len(tree.data(at)) == (0 if at is None else at.seq)


@pytest.mark.parametrize(
    ("one", "other", "order"),
    [
        ("F.5", "C3.6", BEHIND),  # C3 and C2 start where C1 does, at a frame of a forgotten view
        ("F.4", "C3.6", BEHIND),
        ("F.6", "C3.6", INCOMPARABLE),
        ("F.5", "F.7", BEHIND),
        ("C1.6", "C3.6", UNKNOWN),  # F and C1 are both forgotten
        ("-", "F.1", BEHIND),
    ],
)
def test_an_idle_cluster_is_compared_although_its_last_frame_is_older_than_its_views(
    one: str, other: str, order: PositionOrder
) -> None:
    """A store keeps views, not frames; the view of the last frame may be forgotten."""
    chain = "F C1@F.5 C2 C3"

    found = compare_positions(
        position(one, chain), position(other, chain), [lineage(chain, keep=2)]
    )

    assert order is found


def test_a_forgotten_view_that_was_never_reached_makes_the_order_unknown() -> None:
    """The shorter store may be on the path to the longer one, or on another path."""
    chain, short = "F C1@F.2 C2 C3 C4", "F"
    lineages = [lineage(chain, keep=2), lineage(short)]

    found = compare_positions(position("C1.4", chain), position("F.1", short), lineages)

    assert UNKNOWN is found


def test_a_view_that_is_forgotten_is_not_taken_for_the_beginning() -> None:
    """3.2: C starts where F may have ended, but F is forgotten."""
    chain = "F C"
    one, other = position("C.1", chain), position("F.1", chain)

    assert UNKNOWN is compare_positions(one, other, [lineage(chain, keep=1)])
    assert UNKNOWN is compare_positions(other, one, [lineage(chain, keep=1)])
