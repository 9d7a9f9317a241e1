"""A store's path, given or by default: the names of its views from the founding."""

from __future__ import annotations

import pytest
from attrs import evolve

from joinproto.join.hypothetical import (
    ChainStatus,
    GivenPosition,
    HypotheticalView,
    as_chain_status,
    given_path,
    ids_of,
)
from joinproto.join.view import Position, Seat
from joinproto.machine.vocabulary import Status, Store


@pytest.mark.parametrize(
    ("store", "final", "names", "expected"),
    [
        # The initial signature is added if it is left out, and so is a clean store's final
        # signature.
        (Store.DIRTY, None, "X V", ("X", "V")),
        (Store.DIRTY, None, "V W", ("X", "V", "W")),
        (Store.DIRTY, None, "X", ("X",)),
        (Store.DIRTY, "F", "X V", ("X", "V")),
        (Store.CLEAN, "F", "X V", ("X", "V", "F")),
        (Store.CLEAN, "F", "X V F", ("X", "V", "F")),
        (Store.CLEAN, "F", "V", ("X", "V", "F")),
        (Store.CLEAN, "X", "X", ("X", "X")),
        (Store.DIRTY, None, "", ()),
    ],
)
def test_a_given_path_with_views_begins_with_the_initial_signature(
    store: Store, final: str | None, names: str, expected: tuple[str, ...]
) -> None:
    status = ChainStatus("a", store, initial="X", final=final, lineage=tuple(names.split()))

    assert expected == given_path(status)


def test_a_store_without_an_initial_signature_has_no_given_path() -> None:
    assert () == given_path(ChainStatus("a", Store.EMPTY, lineage=("V",)))


def test_a_store_without_a_lineage_has_no_given_path() -> None:
    assert () == given_path(as_chain_status(Status("a", Store.DIRTY, initial="X")))


def test_a_given_frame_is_in_the_view_of_the_given_path() -> None:
    """A view outside of the path is another view, even with an equal name."""
    status = ChainStatus(
        "a",
        Store.DIRTY,
        initial="X",
        lineage=("X", "V"),
        position=GivenPosition("X", 3),
        has_position=True,
    )
    here = HypotheticalView.of((status,))
    elsewhere = HypotheticalView.of((evolve(status, position=GivenPosition("W", 3)),))

    assert Position(ids_of(("X",))[0], 3) == here.answer(0, None).position
    assert elsewhere.answer(0, None).position not in (None, here.answer(0, None).position)


def test_a_store_may_have_views_after_its_final_signature() -> None:
    """S2: the CLOSE is the view with that name, which need not be the last one."""
    status = ChainStatus("a", Store.DIRTY, initial="X", final="F", lineage=("X", "F", "R"))
    one = HypotheticalView.of((status,))

    assert [ids_of(("X", "F"))[-1]] == list(one.closes)
    assert not one.is_closed(one.paths[0])


def test_a_close_starts_at_the_end_of_the_clean_stores() -> None:
    """S2: a dirty member that has more data has frames that no member acknowledged."""
    clean = ChainStatus(
        "a", Store.CLEAN, initial="X", final="F", position=GivenPosition("X", 3), has_position=True
    )
    dirty = evolve(clean, id="b", store=Store.DIRTY, position=GivenPosition("X", 9))

    both = HypotheticalView.of((clean, dirty))

    assert [Position(ids_of(("X",))[0], 3)] == list(both.closes.values())


def test_the_members_of_a_view_are_the_stores_that_know_it() -> None:
    """Electors are members of the FOUND, whether they know a later view or not."""
    status = ChainStatus("a", Store.DIRTY, initial="X", lineage=("X", "V"))
    two = HypotheticalView.of((status, evolve(status, id="b", lineage=("X",))))
    absent = Seat("absent", "absent")
    a, b = two.seat(0), two.seat(1)

    chain = two.lineage(two.paths[0], electors=frozenset({a, b, absent}), options="-", seats=None)

    assert [{a, b, absent}, {a}] == [view.members for view in chain.views]


def test_no_member_was_ready_in_a_close() -> None:
    """S2: a CLOSE serves no client, so a store was last ready in the view before it."""
    one = HypotheticalView.of((Status("a", Store.CLEAN, initial="X", final="F"),))

    assert ids_of(("X",))[0] == one.answer(0, None).held


def test_a_member_without_a_store_is_transient() -> None:
    """T: such a member is never clean, wherever its data ends."""
    members = HypotheticalView.of((Status("a", Store.NONE), Status("b", Store.EMPTY)))

    assert [True, False] == [members.answer(at, None).transient for at in range(2)]
