"""Views: their fields, and the views that may follow a view."""

from typing import Any

import pytest
from attrs import evolve

from joinproto.codec.malformed import INT_MAX, Malformed
from joinproto.join.ids import by_hash
from joinproto.join.view import (
    Kind,
    Position,
    Seat,
    View,
    change,
    close,
    found,
    restart,
    verify_id,
    verify_successor,
)
from tests.join.pictures import seats, views

FIRST = views("F")["F"]
CHAIN = views("F C:ab@F.5 X R@F.5")
CHANGED, CLOSED, RESTARTED = CHAIN["C"], CHAIN["X"], CHAIN["R"]
LATER = Position(CHANGED.id, 99)
ELSEWHERE = Position("0e" * 32, 5)
QUIET = views("F X")["X"]


def test_a_found_is_the_first_view() -> None:
    """A FOUND has no parent and no position; its id is the initial signature."""
    view = found(
        members=seats("abc"),
        electors=seats("ab"),
        wait_for=3,
        options_digest="options",
        cluster_name="cluster",
        nonce="nonce",
        time=7,
    )

    assert (None, 1, Kind.FOUND, None, False) == (
        view.parent,
        view.number,
        view.kind,
        view.position,
        view.activated,
    )
    verify_id(view)


def test_a_change_keeps_n_options_and_cluster_name() -> None:
    """A CHANGE may have other members and electors."""
    position = Position(FIRST.id, 4)

    view = change(FIRST, members=seats("abd"), position=position, activated=True, nonce="n", time=7)

    assert (FIRST.id, 2, Kind.CHANGE) == (view.parent, view.number, view.kind)
    assert (seats("abd"), FIRST.electors, position) == (view.members, view.electors, view.position)
    assert FIRST.wait_for == view.wait_for
    assert FIRST.options_digest == view.options_digest
    assert FIRST.cluster_name == view.cluster_name
    verify_id(view)


def test_a_close_keeps_members_and_electors() -> None:
    """A CLOSE is the orderly shutdown of all members; its id is the final signature."""
    view = close(CHANGED, position=Position(CHANGED.id, 9), activated=True, nonce="n", time=7)

    assert not view.is_open
    assert CHANGED.members == view.members
    assert CHANGED.electors == view.electors
    verify_id(view)


def test_a_restart_has_the_n_and_options_with_which_its_members_were_started() -> None:
    """A RESTART begins again (I4 to I8): N counts again, and may be another N."""
    view = restart(
        CLOSED,
        members=seats("abd"),
        position=CLOSED.position,
        wait_for=3,
        options_digest="other options",
        nonce="n",
        time=7,
    )

    assert CLOSED.activated
    assert not view.activated
    assert (3, "other options") == (view.wait_for, view.options_digest)
    verify_id(view)


@pytest.mark.parametrize(
    ("voters", "holds"),
    [("abc", True), ("ab", True), ("a", False), ("ade", False), ("", False), ("bcd", True)],
)
def test_a_majority_is_more_than_half_of_the_electors(voters: str, holds: bool) -> None:
    """All members may answer, only electors count in the majority."""
    assert holds == FIRST.is_majority(seats(voters))


def test_half_of_the_electors_is_not_a_majority() -> None:
    """Otherwise two halves could choose two successors."""
    view = evolve(FIRST, electors=seats("ab"))

    assert not view.is_majority(seats("a"))


def test_a_member_with_another_store_has_another_seat() -> None:
    """A wiped or exchanged disk is a stranger."""
    assert not FIRST.is_majority([Seat("a", "new"), Seat("b", "b'"), Seat("c", "new")])


# -- a view by itself ----------------------------------------------------------------------

TWICE = frozenset([Seat("a", "1"), Seat("a", "2")])
COPIED = frozenset([Seat("a", "1"), Seat("b", "1")])


@pytest.mark.parametrize(
    ("view", "wrong", "message"),
    [
        (FIRST, {"parent": "x"}, "parent of a FOUND: found 'x', expected none: it is the first"),
        (FIRST, {"number": 2}, "number of a FOUND: found 2, expected 1"),
        (FIRST, {"position": Position("x", 1)}, "position of a FOUND: found Position"),
        (FIRST, {"electors": seats("ad")}, "electors: found ['d'], expected members of this"),
        (FIRST, {"activated": True}, "activated of a FOUND: found True, expected False (W1)"),
        (FIRST, {"wait_for": 4}, "members of a FOUND: found 3, expected at least wait_for, 4"),
        (RESTARTED, {"wait_for": 3}, "members of a RESTART: found 2, expected at least wait_for"),
        (RESTARTED, {"activated": True}, "activated of a RESTART: found True, expected False"),
        (CHANGED, {"parent": None}, "parent of a CHANGE: found None, expected the id of a view"),
        (CHANGED, {"parent": 7}, "parent of a CHANGE: found 7, expected the id of a view"),
        (CHANGED, {"number": 1}, "number: found 1, expected 2 or more, because it has a parent"),
        (CHANGED, {"number": True}, "number: found True, expected int"),
        (CHANGED, {"number": "2"}, "number: found '2', expected int"),
        (CHANGED, {"number": INT_MAX + 1}, "expected at least 1, at most 2**63 - 1"),
        (CHANGED, {"number": 10**5_000}, "number: found a number too long to print, expected"),
        (CHANGED, {"kind": "change"}, "kind: found 'change', expected Kind"),
        (CHANGED, {"members": frozenset()}, "members: found none, expected at least one"),
        (CHANGED, {"members": [Seat("a", "1")]}, "expected frozenset"),
        (CHANGED, {"members": frozenset(["a"])}, "members: found 'a', expected Seat"),
        (CHANGED, {"members": TWICE}, "members: found ['a', 'a'], expected each member once"),
        (CHANGED, {"members": COPIED}, "store_id: found 1 at a and at b, expected one member"),
        (CHANGED, {"electors": frozenset()}, "electors: found none, expected at least one"),
        (CHANGED, {"position": ("x", 1)}, "position: found ('x', 1), expected Position or None"),
        (CHANGED, {"activated": 1}, "activated: found 1, expected bool"),
        (CHANGED, {"wait_for": 0}, "wait_for: found 0, expected at least 1"),
        (CHANGED, {"options_digest": ""}, "options_digest: found '', expected a text that is not"),
        (CHANGED, {"cluster_name": "a\nb"}, r"cluster_name: found 'a\nb', expected no control"),
        (CHANGED, {"cluster_name": "\x1b[2J"}, r"cluster_name: found '\x1b[2J', expected no"),
        (CHANGED, {"nonce": "\ud800"}, r"nonce: found '\ud800', expected no control"),
        (CHANGED, {"nonce": None}, "nonce: found None, expected str"),
        (CHANGED, {"time": -1}, "time: found -1, expected at least 0"),
        (CHANGED, {"id": ""}, "id: found '', expected a text that is not empty"),
    ],
)
def test_a_malformed_view_cannot_be_made(view: View, wrong: dict[str, Any], message: str) -> None:
    """A refusal names the found and the expected value."""
    with pytest.raises(Malformed) as caught:
        evolve(view, **wrong)

    assert message in str(caught.value)


def test_one_store_under_two_names_is_refused_among_members_and_electors_together() -> None:
    """Two copies of one disk must not vote twice."""
    with pytest.raises(Malformed, match="a' at a and at b"):
        evolve(CHANGED, members=frozenset([Seat("b", "a'")]))


def test_an_elector_may_be_a_member_with_another_store() -> None:
    """Its new store does not vote until a CHANGE makes it an elector."""
    stranger = Seat("a", "new")

    view = evolve(CHANGED, members=frozenset([stranger, Seat("b", "b'")]))

    assert stranger not in view.electors


@pytest.mark.parametrize(("seq", "view"), [(0, "x"), (True, "x"), (1, ""), (1, None)])
def test_a_malformed_position_is_refused(seq: Any, view: Any) -> None:
    """Frames are counted from 1; before the first frame there is no position."""
    with pytest.raises(Malformed):
        Position(view, seq)


@pytest.mark.parametrize(("member", "store"), [("", "s"), ("a", ""), ("a", None), ("a", "x\n")])
def test_a_malformed_seat_is_refused(member: Any, store: Any) -> None:
    with pytest.raises(Malformed):
        Seat(member, store)


def test_a_long_value_is_cut_in_the_message() -> None:
    """A peer's value must not fill the operator's screen."""
    with pytest.raises(Malformed) as caught:
        Seat("x" * 1_000 + "\n", "store")

    assert len(str(caught.value)) < 200


# -- a view after its parent ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("parent", "view", "wrong", "message"),
    [
        (FIRST, CHANGED, {"parent": "x"}, "parent: found x, expected"),
        (FIRST, CHANGED, {"number": 3}, "number: found 3, expected 2, the next"),
        (CHANGED, CLOSED, {"members": seats("abc")}, "members of a CLOSE"),
        (CHANGED, CLOSED, {"electors": seats("ab")}, "electors of a CLOSE"),
        (CHANGED, CLOSED, {"wait_for": 1}, "wait_for of a CLOSE: found 1, expected 2, the parent"),
        (FIRST, CHANGED, {"wait_for": 1}, "wait_for of a CHANGE: found 1, expected 2, the parent"),
        (FIRST, CHANGED, {"options_digest": "o"}, "options_digest of a CHANGE: found 'o'"),
        (FIRST, CHANGED, {"cluster_name": "o"}, "cluster_name of a CHANGE: found 'o'"),
        (CLOSED, RESTARTED, {"cluster_name": "o"}, "cluster_name of a RESTART: found 'o'"),
        (CHANGED, CLOSED, {"activated": False}, "activated of a CLOSE: found False, expected True"),
        (CLOSED, RESTARTED, {"position": LATER}, "position of a RESTART: found frame 99, expected"),
        (
            CLOSED,
            RESTARTED,
            {"position": ELSEWHERE},
            "position of a RESTART: found frame 5, expect",
        ),
        (
            QUIET,
            views("F X R")["R"],
            {"position": Position("x", 1)},
            "found frame 1, expected 0 or",
        ),
        (CLOSED, RESTARTED, {"kind": Kind.CHANGE}, "CLOSE: found CHANGE, expected RESTART"),
        (CLOSED, RESTARTED, {"kind": Kind.CLOSE}, "CLOSE: found CLOSE, expected RESTART"),
        (FIRST, CHANGED, {"electors": seats("abz")}, "electors: found ['z'], expected members"),
    ],
)
def test_a_view_that_may_not_follow_its_parent_is_refused(
    parent: View, view: View, wrong: dict[str, Any], message: str
) -> None:
    """CHANGE and CLOSE follow an open view, RESTART any view; the number is the parent's + 1."""
    verify_successor(parent, view)

    with pytest.raises(Malformed) as caught:
        verify_successor(parent, evolve(view, **wrong))

    assert message in str(caught.value)


def test_a_found_has_no_parent() -> None:
    with pytest.raises(Malformed, match="parent: found none, expected"):
        verify_successor(FIRST, FIRST)


def test_a_restart_may_follow_an_open_view() -> None:
    """RESTART: from a CLOSE, or an open view after total failure."""
    verify_successor(CHANGED, views("F C:ab@F.5 R")["R"])


@pytest.mark.parametrize("position", [None, Position(FIRST.id, 4), CLOSED.position])
def test_a_restart_after_a_close_starts_at_its_position_or_before(
    position: Position | None,
) -> None:
    """I5: if the clean disk is lost, the store with the most data counts, even without a frame."""
    verify_successor(CLOSED, evolve(RESTARTED, position=position))


def test_a_newcomer_may_become_an_elector_only_as_a_member() -> None:
    """3.6: a stranger never votes until a CHANGE makes it an elector."""
    common: dict[str, Any] = {"position": None, "activated": True, "nonce": "n", "time": 0}

    view = change(FIRST, members=seats("abcd"), electors=seats("abd"), **common)

    assert seats("abd") == view.electors
    with pytest.raises(Malformed, match="electors"):
        change(FIRST, members=seats("abc"), electors=seats("abd"), **common)
    with pytest.raises(
        Malformed, match="electors"
    ):  # a member outside the view cannot become an elector
        change(view, members=seats("abd"), electors=seats("abc"), **common)


def test_an_elector_that_is_down_stays_an_elector() -> None:
    """A member that is given up leaves the view, but may stay an elector."""
    view = change(
        FIRST, members=seats("a"), position=None, activated=True, nonce="n", time=0, digest=by_hash
    )

    assert seats("abc") == view.electors


def test_a_restart_may_have_other_electors() -> None:
    """R3: a caller may give other electors; by default they stay."""
    *_, closed = views("F X").values()
    same: Any = {"members": seats("ab"), "position": None, "wait_for": 2, "nonce": "-", "time": 0}

    assert seats("abc") == restart(closed, options_digest="o", **same).electors
    same["electors"] = seats("ab")
    assert seats("ab") == restart(closed, options_digest="o", **same).electors
