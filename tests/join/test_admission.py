"""Admission: which fact decides first, and which facts a hello shows about its sender."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve

from joinproto.join.admission import (
    BRANCH,
    COPY,
    FOREIGN,
    FORGOTTEN,
    OPTIONS,
    Newcomer,
    admission,
    mismatch,
    newcomer,
)
from joinproto.join.answers import Answer
from joinproto.join.ids import short
from joinproto.join.lineage import Lineage
from joinproto.join.messages import Hello
from joinproto.join.view import Seat
from tests.join.bus import config
from tests.join.pictures import lineage, position

CHAIN = lineage("F C")
SIGNATURE = short(CHAIN.initial)
D = Seat("d", "d'")


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (Newcomer(is_forgotten=True, is_copy=True), FORGOTTEN),
        (Newcomer(is_copy=True, is_behind=True), COPY),
        (Newcomer(is_member=True), "no open view"),
        (Newcomer(is_open=True, is_member=True, leaves=True), "a member"),
        (Newcomer(is_open=True, is_near=True), "has the data of the view"),
        (Newcomer(is_open=True), "the view is not active yet"),
        (Newcomer(is_open=True, is_active=True), "an update is needed"),
    ],
)
def test_the_first_case_that_holds_decides(row: Newcomer, name: str) -> None:
    """The newcomer's operator corrects the reason that the refusal names."""
    assert name == admission().choose((row,), 0).name


def hello(hears: str = "", **status: object) -> Hello:
    said = Answer(seat=D, **status)  # type: ignore[arg-type]
    tip = CHAIN.tip
    assert tip is not None
    return Hello(said, tip.id, 2, CHAIN.initial, "cluster", frozenset(hears))


@pytest.mark.parametrize(
    ("hears", "in_reach", "expected"),
    [("ab", "b", False), ("a", "b", True), ("a", "x", False), ("a", "", False)],
)
def test_a_member_that_does_not_hear_a_member_that_we_hear_is_apart(
    hears: str, in_reach: str, expected: bool
) -> None:
    """3.4: in one view, the two would give each other up; x is no member."""
    row = newcomer(hello(hears), CHAIN, config("a"), is_active=True, in_reach=frozenset(in_reach))

    assert expected is row.is_apart


def test_a_row_has_the_facts_of_the_hello_and_of_the_known_view() -> None:
    """`activated` is about earlier views; a member itself knows whether this one was active."""
    found = lineage("F")
    assert found.tip is not None
    said = evolve(hello(leaves=True), tip=found.tip.id, number=1)

    row = newcomer(said, found, config("a"), is_active=True)

    assert (True, True) == (row.leaves, row.is_active)
    assert not newcomer(said, found, config("a"), is_active=False).is_active
    assert newcomer(hello(), CHAIN, config("a"), is_active=False).is_active


def test_a_view_that_we_do_not_know_yet_has_not_diverged() -> None:
    """3.3: the sender is told our views; an empty store has no view that could differ."""
    row = newcomer(evolve(hello(), number=0, tip=None), CHAIN, config("a"), is_active=True)

    assert (False, True) == (row.has_diverged, row.is_behind)


@pytest.mark.parametrize(
    ("at", "is_unfinished", "expected"),
    [("-", False, True), ("C.4", False, True), ("F.3", False, False), ("C.4", True, False)],
)
def test_a_member_that_is_in_the_view_with_its_data_needs_no_update(
    at: str, is_unfinished: bool, expected: bool
) -> None:
    """J2: it ends at a frame of our tip, or where our tip starts, and no update is unfinished."""
    said = hello(position=position(at, "F C"), update_unfinished=is_unfinished)

    assert expected is newcomer(said, CHAIN, config("a"), is_active=True).is_near


def test_a_refusal_names_the_expected_view() -> None:
    """The store's last view is forgotten here, so the text names the first one that is known."""
    late = Lineage(CHAIN.views[1:], CHAIN.initial)

    found, expected = mismatch(FORGOTTEN, hello(), late, config("a"))

    assert "a view after number 1" == expected
    assert found.startswith("view 2 is ")
    assert "a view after number 1" != mismatch(BRANCH, hello(), late, config("a"))[1]


@pytest.mark.parametrize(
    ("case", "said", "told"),
    [
        (COPY, {}, ("store d', which another member has as well", "a store of its own")),
        (OPTIONS, {"status": Answer(seat=D, options="x")}, ("options x", "options options")),
        (FOREIGN, {"cluster_name": "x"}, ("cluster x", "cluster cluster")),
        (FOREIGN, {"initial": "x"}, ("initial signature x", f"initial signature {SIGNATURE}")),
        (BRANCH, {"tip": "x"}, ("view 2 is x", short(CHAIN.id_at(2)))),
    ],
)
def test_each_refusal_names_the_found_and_the_expected_value(
    case: str, said: dict[str, Any], told: tuple[str, str]
) -> None:
    """J3, I2, 3.6: the operator of a newcomer reads these two values."""
    assert told == mismatch(case, evolve(hello(), **said), CHAIN, config("a"))


def test_an_empty_store_hears_no_member_of_a_view() -> None:
    row = newcomer(hello(), Lineage(), config("a"), is_active=False, in_reach=frozenset("b"))

    assert (False, True) == (row.is_apart, row.is_ahead)


@pytest.mark.parametrize(
    ("picture", "is_open", "name"), [("F C", True, "a member"), ("F X", False, "no open view")]
)
def test_all_members_wait_for_the_restart_after_a_close(
    picture: str, is_open: bool, name: str
) -> None:
    """I1: after a CLOSE no member is taken in; all take part in the restart."""
    chain = lineage(picture)
    assert chain.tip is not None
    said = evolve(hello(), status=Answer(seat=Seat("b", "b'")), tip=chain.tip.id)

    row = newcomer(said, chain, config("a"), is_active=False)

    assert is_open is row.is_open
    assert name == admission().choose((row,), 0).name
