"""The relation of two stores of other brokers, by each fact in them.

Source: recovery, "Foreign formats".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from attrs import evolve

from joinproto.pick.candidate import Candidate, LastView, State
from joinproto.pick.definitions import Definitions
from joinproto.pick.others import Age, compare, examine
from joinproto.pick.wait_graph import NodeList

U, SAME, OLDER, NEWER, DIVERGED = Age.UNKNOWN, Age.SAME, Age.OLDER, Age.NEWER, Age.DIVERGED


def galera(name: str, seq: int | None = None, view: LastView | None = None, **more: Any) -> Any:
    return Candidate(name=name, member=name, state=State.DIRTY, seq=seq, last_view=view, **more)


def view(
    members: Iterable[str], step: int | None, name: str | None = None, **more: Any
) -> LastView:
    return LastView(members=frozenset(members), step=step, id=name, **more)


MIRRORED = {SAME: SAME, U: U, DIVERGED: DIVERGED, OLDER: NEWER, NEWER: OLDER}


@pytest.mark.parametrize(
    ("one", "other", "age"),
    [
        # Two views without a member in common are of two sides: their numbers do not order them.
        (galera("a", 9, view("a", 4, "x")), galera("b", 5, view("bc", 3, "y")), U),
        (galera("a", 9, view("ab", 4, "x")), galera("b", 5, view("bc", 3, "y")), NEWER),
        (galera("a", 5, view("ab", 4, "x")), galera("b", 9, view("bc", 3, "y")), U),
        (galera("a", 5, view("ab", 4, "x")), galera("b", 5, view("bc", 3, "y")), SAME),
        (galera("a", None, view("ab", 4, "x")), galera("b", 9, view("bc", 3, "y")), NEWER),
        # Views of one number with a member in common are two: which came first is not known.
        (galera("a", 9, view("ab", 3, "x")), galera("b", 5, view("bc", 3, "y")), U),
        # One view: the counts order its stores; without both counts the order is unknown.
        (galera("a", 9, view("ab", 3, "x")), galera("b", 5, view("ab", 3, "x")), NEWER),
        (galera("a", None, view("ab", 3, "x")), galera("b", 5, view("ab", 3, "x")), U),
        # A view without a number is compared by its other fields.
        (galera("a", None, view("ab", None)), galera("b", None, view("ab", None)), SAME),
        (galera("a", None, view("ab", None)), galera("b", None, view("ab", 3, "y")), U),
    ],
)
def test_last_views_order_two_stores_only_where_a_member_was_in_both(
    one: Candidate, other: Candidate, age: Age
) -> None:
    assert (age, MIRRORED[age]) == (compare(one, other), compare(other, one))


@pytest.mark.parametrize("numbers", [(2, None), (None, 2)])
def test_two_stores_are_not_ordered_if_only_one_view_has_a_number(
    numbers: tuple[int | None, int | None],
) -> None:
    """Otherwise the tool would compare None with 2, and fail."""
    mine, theirs = numbers
    one = galera("a", None, LastView(members=frozenset("a"), number=mine))
    other = galera("b", None, LastView(members=frozenset("b"), number=theirs))

    assert (U, U) == (compare(one, other), compare(other, one))


def test_a_store_that_was_alone_without_a_view_is_not_ordered_with_those_of_a_whole_view() -> None:
    """b and c are a whole view; a says that it was alone: either side may have gone on alone."""
    together = view("bc", 3, "x")
    stores = [galera("b", 9, together), galera("c", 9, together)]
    alone = galera("a", 5, stopped_last=True)

    found = examine([alone, *stores])
    assert ("a", "b", "c") == tuple(sorted(found.latest))
    assert {row.id: row.is_unordered for row in found.rows} == dict.fromkeys("abc", True)

    in_a_view = evolve(alone, last_view=view("abc", 2, "w"), seq=5)
    assert "a" not in examine([in_a_view, *stores]).latest
    # If a store of the view is missing, the rule does not apply, and the files alone decide.
    assert U is compare(alone, stores[0]) or "a" not in examine([alone, stores[0]]).latest


def rabbit(name: str, running: str, values: dict[bytes, bytes] | None, **more: Any) -> Candidate:
    node = NodeList(
        name=name,
        members=frozenset("ab"),
        disc=frozenset("ab"),
        running=frozenset(running),
        definitions=None if values is None else Definitions(values=values),
        **more,
    )
    ran = LastView(members=frozenset(running))
    return Candidate(name=name, member=name, state=State.DIRTY, last_view=ran, node=node)


ONE, TWO = {b"q": b"1"}, {b"q": b"1", b"r": b"1"}


@pytest.mark.parametrize(
    ("one", "other", "age"),
    [
        (rabbit("a", "ab", None), rabbit("b", "ab", None), SAME),
        (rabbit("a", "ab", ONE), rabbit("b", "ab", ONE), SAME),
        (rabbit("a", "ab", TWO), rabbit("b", "ab", ONE), NEWER),
        # The tables of one node do not show the other's last writes.
        (rabbit("a", "ab", ONE), rabbit("b", "ab", None), U),
        # b ran longer, so it has all definitions, unless its tables show the opposite.
        (rabbit("a", "ab", ONE), rabbit("b", "b", TWO), OLDER),
        (rabbit("a", "ab", ONE), rabbit("b", "b", None), OLDER),
        (rabbit("a", "ab", TWO), rabbit("b", "b", ONE), U),
        (rabbit("a", "ab", ONE, is_damaged=True), rabbit("b", "b", TWO), U),
    ],
)
def test_lists_of_nodes_that_ran_and_tables_order_two_nodes_together(
    one: Candidate, other: Candidate, age: Age
) -> None:
    assert (age, MIRRORED[age]) == (compare(one, other), compare(other, one))


def test_without_a_list_of_running_nodes_no_node_is_said_to_have_stopped_before() -> None:
    """RabbitMQ: the file of the running nodes is not there, so `b` may have run longer."""
    found = rabbit("a", "ab", None)
    assert found.node is not None
    found = evolve(found, node=evolve(found.node, running=None), last_view=None)

    (missing,) = examine([found]).missing

    assert ("b", False) == (missing.member, missing.was_older)


@pytest.mark.parametrize(
    ("mine", "theirs", "latest"),
    [
        ({4: b"x", 5: b"y"}, {4: b"x", 5: b"y", 6: b"z"}, "b"),
        ({4: b"x", 5: b"y"}, {4: b"w", 5: b"y", 6: b"z"}, "ab"),  # another frame under 4
        ({4: b"x", 5: b"y"}, {7: b"x", 8: b"y"}, "ab"),  # no number in common
    ],
)
def test_frames_order_two_stores_before_their_last_views(
    mine: dict[int, bytes], theirs: dict[int, bytes], latest: str
) -> None:
    """Their last views contradict the frames: a's view is the later one."""
    one = galera("a", max(mine), view("ab", 4, "x"), history=mine)
    other = galera("b", max(theirs), view("ab", 3, "y"), history=theirs)

    assert latest == "".join(sorted(examine([one, other]).latest))


def test_a_store_is_ordered_by_its_frames_only_if_they_order_it_to_all_others() -> None:
    """Without views: c's frames have no number in common with a's, so the two are not ordered."""
    a = galera("a", 5, history={4: b"x", 5: b"y"})
    b = galera("b", 6, history={5: b"y", 6: b"z"})
    clean = [evolve(item, state=State.CLEAN) for item in (a, b)]
    c = evolve(galera("c", 9, history={9: b"q"}), state=State.CLEAN)

    both = {row.id: row for row in examine(clean).rows}
    assert both["b"].is_clean
    three = {row.id: row for row in examine([*clean, c]).rows}
    assert not three["b"].is_clean
    assert three["b"].is_unordered


def test_a_node_that_was_started_again_is_not_missing_where_all_nodes_are_here() -> None:
    """A node of Galera has a new name at each start: b2 is b1 of a's view after a restart."""
    old = galera("a", 1, view(["a", "b1"], 2, "x"), history={1: b"w"})
    new = galera("b2", 1, view(["b2"], 1, "y", is_forced=True), history={1: b"w"})

    def missing(nodes: int | None) -> list[str]:
        return [one.member for one in examine([old, new], nodes=nodes).missing]

    assert missing(2) == []
    assert missing(None) == ["b1"]
    assert missing(3) == ["b1"]
