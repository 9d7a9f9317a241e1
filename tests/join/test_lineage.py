"""Lineages: appending, forgetting, and comparing two of them."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from joinproto.codec.malformed import Malformed
from joinproto.join.ids import by_content, by_hash
from joinproto.join.lineage import (
    VIEWS_KEPT,
    Comparison,
    Lineage,
    Order,
    compare,
    follow,
    lineage_of,
)
from joinproto.join.view import Position, View
from tests.join.pictures import lineage, seats, views
from tests.join.trees import Tree, slow_compare, trees

keeps = st.integers(1, 5)


# -- one lineage ---------------------------------------------------------------------------


def test_the_initial_signature_is_the_id_of_the_found_and_never_changes() -> None:
    """S1: the id of the view that founds the cluster is the signature."""
    founded, later = lineage("F"), lineage("F C X R C", keep=2)

    assert founded.tip is not None
    assert founded.tip.id == founded.initial == later.initial


@pytest.mark.parametrize(
    ("picture", "is_closed"), [("F", False), ("F C X", True), ("F X R", False), ("F X R X", True)]
)
def test_the_final_signature_is_the_tip_if_it_is_a_close(picture: str, is_closed: bool) -> None:
    """S2: the orderly shutdown of the whole cluster sets it."""
    store = lineage(picture)

    assert store.tip is not None
    assert (store.tip.id if is_closed else None) == store.final


def test_an_empty_lineage_has_no_views_and_no_signatures() -> None:
    assert (None, None, None, 0, 0) == (
        Lineage().tip,
        Lineage().initial,
        Lineage().final,
        Lineage().length,
        Lineage().forgotten,
    )


def test_old_views_are_forgotten_but_still_counted() -> None:
    """The parent of the oldest kept view is a hash of all forgotten views."""
    whole, store = lineage("F C1 C2 C3 C4"), lineage("F C1 C2 C3 C4", keep=2)

    assert (5, 3) == (store.length, store.forgotten)
    known = [whole.id_at(number) if number != 2 else None for number in range(7)]
    assert known == [store.id_at(number) for number in range(7)]
    assert [None, 1, None, 3, 4, 5] == [
        None if (view_id := store.id_at(number)) is None else store.number_of(view_id)
        for number in range(6)
    ]


def test_a_thousand_views_are_kept() -> None:
    """3.2: forgotten views do not add to the cost of a lineage."""
    store = lineage(" ".join(["F", *(f"C{number}" for number in range(VIEWS_KEPT + 4))]))

    assert (VIEWS_KEPT, 5) == (len(store.views), store.forgotten)
    assert store == lineage_of(store.views, store.initial)


@pytest.mark.parametrize(
    ("tip", "next_view", "message"),
    [
        ("F", "F X", None),
        ("F", "F C X", "parent: found .*, the tip"),
        ("F1", "F2 C", "parent: found .*, the tip"),
        ("", "F C", "first view: found CHANGE 2 of a b c .*, expected a FOUND"),
        ("F C@F.3", "F C@F.3 X@F.2", None),
        ("F C@F.3", "F C@F.3 X@C.4", None),
        ("F C@F.3", "F C@F.3 X@C.3", "position of view 3, seq: found 3, expected more than 3"),
    ],
)
def test_only_a_successor_of_the_tip_is_appended(
    tip: str, next_view: str, message: str | None
) -> None:
    """Every view has one parent, and starts at a frame on the path to it."""
    store = lineage(tip)
    view = list(views(next_view).values())[-1]

    if message is None:
        assert store.append(view).tip == view
        return
    with pytest.raises(Malformed, match=message):
        store.append(view)


def test_a_view_cannot_start_at_a_frame_of_another_chain() -> None:
    """Equal positions are equal data, so a position must be on the path to the view."""
    elsewhere = views("F C1")["C1"]
    view = evolve(views("F C2 C3")["C3"], position=Position(elsewhere.id, 1))

    with pytest.raises(Malformed, match="position of view 3: found a frame of"):
        lineage("F C2").append(view)


def test_no_frame_is_sent_in_a_close() -> None:
    """No client is served in a CLOSE."""
    store = lineage("F X R")
    assert store.tip is not None
    closed = store.views[1]
    view = evolve(views("F X R C")["C"], position=Position(closed.id, 1))

    with pytest.raises(Malformed, match=r"found a frame of CLOSE 2 .*, expected a view in which"):
        store.append(view)


def test_a_frame_of_a_forgotten_view_is_accepted() -> None:
    """No record shows that the frame is wrong, so the cluster must not stop."""
    store = lineage("F C1@F.5 C2 C3", keep=2)

    assert 5 == store.append(views("F C1@F.5 C2 C3 C4")["C4"], keep=2).length


# -- received or read ----------------------------------------------------------------------


@given(trees(), keeps, st.data())
def test_written_lineages_can_be_read(tree: Tree, keep: int, data: st.DataObject) -> None:
    """The lineages are whole, or their first views are forgotten."""
    store = tree.lineage(data.draw(st.sampled_from(tree.views)), keep=keep)
    digest = by_hash if isinstance(store.initial, str) else by_content

    assert store == lineage_of(store.views, store.initial, digest=digest)


def test_a_malformed_lineage_is_refused() -> None:
    """Every view and every link is verified once, when a lineage comes in."""
    whole, late = lineage("F C1 C2 C3"), lineage("F C1 C2 C3", keep=3)
    other = lineage("F2").initial
    forged = evolve(whole.views[2], members=seats("a"))

    assert late == lineage_of(late.views, late.initial)
    for found, initial, message in [
        ((), whole.initial, "initial signature without a view"),
        (whole.views, None, "initial signature: found None, expected the id of the FOUND"),
        (whole.views, other, "initial signature: found .*, the FOUND"),
        (late.views, other, "initial signature: found .*, the parent of view 2"),
        ((*whole.views[:2], whole.views[3]), whole.initial, "parent: found"),
        ((*whole.views[:2], forged), whole.initial, "id of view 3"),
    ]:
        with pytest.raises(Malformed, match=message):
            lineage_of(found, initial)


# -- comparing -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "order", "common"),
    [
        ("F C X", "F C X", Order.EQUAL, 3),
        ("F C", "F C X", Order.BEHIND, 2),
        ("F C X R", "F C", Order.AHEAD, 2),
        ("F C1 C2", "F C1 C3", Order.DIVERGED, 2),
        ("F C1 X", "F C1 C", Order.DIVERGED, 2),
        ("F C:ab", "F C:ac", Order.DIVERGED, 1),
        ("F C1 C2", "F C3 C2 C4", Order.DIVERGED, 1),
        ("F1 C", "F2 C", Order.FOREIGN, 0),
        ("F1", "F2 C X", Order.FOREIGN, 0),
        ("", "F C", Order.BEHIND, 0),
        ("F C", "", Order.AHEAD, 0),
        ("", "", Order.EQUAL, 0),
    ],
)
def test_lineages_compare_as_drawn(one: str, other: str, order: Order, common: int) -> None:
    """A is behind B when A's lineage is a prefix of B's; if neither is, they have diverged."""
    found = compare(lineage(one), lineage(other))

    assert (order, common) == (found.order, found.common_number)
    assert found.common_number == found.common_max


def test_a_fork_is_shown_with_the_views_of_each_side_after_it() -> None:
    """The comparison has the last common view, and the later views of each side."""
    one, other = lineage("F C1 C2 X"), lineage("F C1 C3")

    found = compare(one, other)

    assert (one.views[1].id, 2, 2) == (found.common, found.common_number, found.common_max)
    assert (one.views[2:], other.views[2:]) == (found.one_beyond, found.other_beyond)


LONG = "F C1 C2 C3 C4 C5 C6"


@pytest.mark.parametrize(
    ("one", "keep", "other", "other_keep", "order", "common"),
    [
        # The kept views overlap, and their ids stand for the forgotten ones.
        (LONG, 3, "F C1 C2 C3 C4 C5", 3, Order.AHEAD, (6, 6)),
        (LONG, 3, "F C1 C2 C3 C4 C8", 3, Order.DIVERGED, (5, 5)),
        # They touch: the forgotten view just before C3 is C2, and C3 names it.
        (LONG, 4, "F C1 C2", 1, Order.AHEAD, (3, 3)),
        # The fork itself is forgotten, but the ids after it differ.
        (LONG, 3, "F C1 C8 C3 C4 C5 C6", 3, Order.DIVERGED, (1, 3)),
        (LONG, 4, "F C1 C8", 1, Order.DIVERGED, (1, 2)),
        # They do not touch: C1 may be on the path to C6, or another view may be.
        (LONG, 3, "F C1", 1, Order.UNKNOWN, (1, 2)),
        ("F C1 C2", 1, LONG, 2, Order.UNKNOWN, (1, 3)),
        # Only the founding is left to compare, and that is enough.
        (LONG, 3, "F", 1, Order.AHEAD, (1, 1)),
        (LONG, 3, "F2 C1", 1, Order.FOREIGN, (0, 0)),
    ],
)
def test_a_forgotten_view_makes_a_comparison_unknown(
    one: str, keep: int, other: str, other_keep: int, order: Order, common: tuple[int, int]
) -> None:
    """The last common view has a number between the two."""
    found = compare(lineage(one, keep=keep), lineage(other, keep=other_keep))

    assert (order, common) == (found.order, (found.common_number, found.common_max))


@given(trees(), st.data())
def test_whole_lineages_compare_as_the_slow_definition_says(
    tree: Tree, data: st.DataObject
) -> None:
    """The slow definition compares two paths from their foundings, view by view."""
    tips = st.sampled_from([None, *tree.views])
    one, other = data.draw(tips), data.draw(tips)
    one_way = () if one is None else tree.path_of(one)
    other_way = () if other is None else tree.path_of(other)

    found = compare(whole(tree, one), whole(tree, other))

    order, common = slow_compare(one_way, other_way)
    assert (
        Comparison(
            order,
            one_way[common - 1].id if common else None,
            common,
            common,
            one_way[common:],
            other_way[common:],
        )
        == found
    )


def whole(tree: Tree, tip: View | None) -> Lineage:
    """Return the whole lineage of this tip; an empty lineage for None."""
    return Lineage() if tip is None else tree.lineage(tip)


@given(trees(), keeps, keeps, st.data())
def test_a_lineage_with_its_beginning_forgotten_is_never_compared_wrongly(
    tree: Tree, keep: int, other_keep: int, data: st.DataObject
) -> None:
    """The result is exact if the kept views overlap or touch; otherwise it may be unknown."""
    tips = st.sampled_from(tree.views)
    one, other = data.draw(tips), data.draw(tips)
    order, common = slow_compare(tree.path_of(one), tree.path_of(other))
    short, other_short = tree.lineage(one, keep=keep), tree.lineage(other, keep=other_keep)

    found = compare(short, other_short)

    shorter = min(one.number, other.number)
    oldest = max(short.forgotten, other_short.forgotten)
    touch = oldest <= shorter
    assert found.order in (order, Order.UNKNOWN)
    assert order is found.order or not touch
    assert found.common_number <= common <= found.common_max
    assert found.common_number == found.common_max or not (touch and common >= oldest)
    assert found.common == (tree.path_of(one)[found.common_number - 1].id if found.common else None)
    beyond = found.common_max
    assert tuple(view for view in short.views if view.number > beyond) == found.one_beyond
    assert tuple(view for view in other_short.views if view.number > beyond) == found.other_beyond


MIRRORED = {Order.BEHIND: Order.AHEAD, Order.AHEAD: Order.BEHIND}


@given(trees(), keeps, keeps, st.data())
def test_a_comparison_is_mirrored_if_its_sides_are_exchanged(
    tree: Tree, keep: int, other_keep: int, data: st.DataObject
) -> None:
    tips = st.sampled_from(tree.views)
    one = tree.lineage(data.draw(tips), keep=keep)
    other = tree.lineage(data.draw(tips), keep=other_keep)

    there, back = compare(one, other), compare(other, one)

    assert MIRRORED.get(there.order, there.order) is back.order
    assert (there.common, there.common_max) == (back.common, back.common_max)
    assert (there.one_beyond, there.other_beyond) == (back.other_beyond, back.one_beyond)


def test_a_shared_view_under_two_initial_signatures_is_refused() -> None:
    """One chain with two initial signatures is corrupt."""
    store = lineage("F C1 C2", keep=1)
    renamed = evolve(store, initial=lineage("F2").initial)

    with pytest.raises(Malformed, match="expected none, because they differ at view 1"):
        compare(store, renamed)


# -- following -----------------------------------------------------------------------------


def test_a_store_learns_a_chain_that_continues_its_own() -> None:
    """It learns the later tip, and keeps the views that the other still knows."""
    own, other = lineage("F C1"), lineage("F C1 C2 X", keep=3)

    assert other == follow(own, other)
    assert lineage("F C1 C2 X", keep=2) == follow(own, other, keep=2)
    assert other == follow(other, own)
    assert other == follow(Lineage(), other)


@pytest.mark.parametrize(
    ("own", "other", "found"),
    [
        ("F C1", "F C2 C3", "diverged"),
        ("F1", "F2 C", "foreign"),
        ("F C1", "F C1 C2 C3 C4 C5", "unknown"),
    ],
)
def test_no_store_leaves_its_chain(own: str, other: str, found: str) -> None:
    """J3: wrong store; the same if the views that would show the path are forgotten."""
    with pytest.raises(Malformed, match=f"lineage to follow: found {found}, expected one that"):
        follow(lineage(own), lineage(other, keep=2))
