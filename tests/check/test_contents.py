"""A search with numbers for contents under way finds the same as a search with bits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import pytest
from attrs import define, evolve
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from joinproto.check import load_world
from joinproto.check.engine import space as space_module
from joinproto.check.engine.expansion import deliveries as deliveries_module
from joinproto.check.engine.runs.coverage import coverage_of
from joinproto.check.engine.search import Search
from joinproto.check.engine.symmetry.symmetry import Symmetry
from joinproto.check.engine.tables import contents as contents_module
from joinproto.check.events import NOT_ENABLED, Send, plain
from joinproto.check.properties import sometimes
from joinproto.check.world import Together, World
from tests.check.compare import assert_same_report, assert_same_search, explored, messages_of
from tests.check.random_models import SETS, Plan, build, plans

STATES_MAX = 600

fewer_examples = settings(max_examples=settings().max_examples // 2)


@contextmanager
def always_numbered() -> Iterator[None]:
    """Number the contents of every set from the first row on, even if bits would fit a word.

    The tables of deliveries are almost empty at first, so that they must grow.
    """
    with (
        mock.patch.object(space_module, "WORDS_MAX", 0),
        mock.patch.object(deliveries_module, "SLOTS", 2),
        mock.patch.object(deliveries_module, "ITEMS", 1),
    ):
        yield


def stamps(
    salt: int, names: tuple[str, ...], sender: str | None, to: str | None, content: Any
) -> list[tuple[str, int]]:
    """Return the members that can use a message, and up to which horizon each can.

    An empty list means that the message never expires.
    """
    one, other = (0 if name is None else 1 + names.index(name) for name in (sender, to))
    parts = [one, other, *map(repr, content)]
    number = sum(ord(char) for part in parts for char in str(part)) * (2 * salt + 1) + salt
    wanted = [name for at, name in enumerate(names) if number >> at & 1]
    return [(name, (number >> (3 + at)) % 3) for at, name in enumerate(wanted)]


def expiring(plan: Plan, salt: int) -> World:
    world = build(plan)
    return evolve(world, expiry=partial(stamps, salt, tuple(world.members)))


@fewer_examples
@given(plans(networks=tuple(SETS)))
def test_a_search_with_numbered_contents_equals_the_reference_search(plan: Plan) -> None:
    """States, steps, levels, results, shortest runs and coverage are the same."""
    world = build(plan)
    found = explored(world, STATES_MAX)
    assume(found is not None)
    assert found is not None

    with always_numbered():
        assert_same_search(world, found)
        assert_same_report(world, found)


@fewer_examples
@given(plans(networks=tuple(SETS)), st.integers(0, 30), st.booleans())
def test_messages_expire_as_in_the_reference_search(plan: Plan, salt: int, numbered: bool) -> None:
    """A message is dropped when no member can use it, whether contents are numbered or not."""
    world = expiring(plan, salt)
    found = explored(world, STATES_MAX)
    assume(found is not None)
    assert found is not None

    with mock.patch.object(space_module, "WORDS_MAX", 0 if numbered else 2):
        assert_same_search(world, found)
        assert_same_report(world, found)


@contextmanager
def always_permuted() -> Iterator[None]:
    """Prevent the sorting of members, because sets keep their bits if members are sorted."""
    with mock.patch.object(Symmetry, "_independent", return_value=False):
        yield


def test_durable_vote_with_symmetry_has_the_same_levels_with_numbers() -> None:
    """Each voter sends, crashes cut its messages short, and the voters are interchangeable."""
    world = load_world("durable-vote", members=3)
    bits = Search(world, symmetry=True, numbers_contents=False)
    numbers = Search(world, symmetry=True)
    with always_numbered(), always_permuted():
        bits.run()
        numbers.run()

    assert bits.tables.contents is None
    assert numbers.tables.contents is not None
    assert bits.found.levels == numbers.found.levels
    assert bits.found.generated == numbers.found.generated


def searched_with_both(world: World) -> tuple[Search, Search]:
    """Return two finished searches: with a bit for each message, and with numbers."""
    bits, numbers = Search(world, numbers_contents=False), Search(world)
    with always_numbered():
        bits.run()
        numbers.run()
    return bits, numbers


def assert_same_findings(bits: Search, numbers: Search) -> None:
    assert bits.found.levels == numbers.found.levels
    assert bits.found.generated == numbers.found.generated
    assert coverage_of(bits) == coverage_of(numbers)
    assert bits.tables.codes.calls == numbers.tables.codes.calls


SMALL_JOIN: dict[str, Any] = {"members": 2, "views": 2, "frames": 0, "suspects": False}


def test_a_small_join_has_the_same_findings_with_numbers_in_fewer_words() -> None:
    """In `join` messages expire, crashes cut them short, and a monitor receives records."""
    from joinproto_worlds.join.world import build as build_join

    bits, numbers = searched_with_both(build_join(**SMALL_JOIN))

    assert_same_findings(bits, numbers)
    assert numbers.tables.contents is not None
    assert numbers.row_bits < bits.row_bits
    assert numbers.tables.layout.words < bits.tables.layout.words


def test_rows_of_one_or_two_words_keep_their_bits() -> None:
    """Setting bits is the fastest step, so narrow rows, such as in two-phase commit, keep them."""
    search = Search(load_world("two-phase-commit", members=4))

    search.run()

    assert search.tables.contents is None


def test_a_world_whose_horizons_need_too_many_bits_keeps_message_bits() -> None:
    """Contents get no numbers without a table of horizons, and the search is the same."""
    from joinproto_worlds.join.world import build as build_join

    world = build_join(**SMALL_JOIN)
    with mock.patch.object(contents_module, "VECTORS_MAX_BITS", 1):
        bits, numbers = searched_with_both(world)

    assert numbers.tables.contents is None
    assert bits.found.levels == numbers.found.levels
    assert coverage_of(bits) == coverage_of(numbers)


@pytest.mark.parametrize("limit", ["VALUES_MAX", "DELIVERIES_MAX"])
def test_a_world_too_large_for_packed_numbers_keeps_message_bits(limit: str) -> None:
    """Numbers that do not fit are not cut off: bits are used instead."""
    from joinproto_worlds.join.world import build as build_join

    world = build_join(**SMALL_JOIN)
    with mock.patch.object(contents_module, limit, 2):
        bits, numbers = searched_with_both(world)

    assert numbers.tables.contents is None
    assert bits.found.levels == numbers.found.levels
    assert coverage_of(bits) == coverage_of(numbers)


@pytest.mark.parametrize("name", ["join", "two-phase-commit"])
def test_numbered_rows_get_their_bits_back(name: str) -> None:
    """Rows on Spark have bits, so a search that continues there must get the same states.

    Rows of two-phase commit keep their width, and rows of join become wider.
    """
    from joinproto_worlds.join.world import build as build_join

    is_join = name == "join"
    bits, numbers = searched_with_both(
        build_join(**SMALL_JOIN, crashes=0) if is_join else load_world(name, members=4)
    )
    count = numbers.states.count
    wanted = sorted(tuple(messages_of(bits.tables, row)) for row in bits.rows()[:count])
    of_words = {
        number: bits.tables.messages.of[value]
        for number, value in enumerate(numbers.tables.messages.values)
    }

    in_bits = numbers.tables.give_bits()
    rows = in_bits(numbers.rows()[:count])

    layout = numbers.tables.layout
    found = [sorted(of_words[m] for m in layout.messages(row)) for row in rows]
    assert wanted == sorted(map(tuple, found))
    assert len(numbers.tables.value_counts()) == len(layout.widths)


@pytest.mark.soak("join-worlds")
def test_join_two_has_the_same_findings_with_numbers() -> None:
    bits = Search(load_world("join-two"), numbers_contents=False)
    numbers = Search(load_world("join-two"))
    bits.run()
    numbers.run()

    assert_same_findings(bits, numbers)
    assert numbers.tables.contents is not None


@define
class _Turns:
    """Changes its horizon at every joint step, from 0 to 1 and back."""

    late: bool = False

    def receive(self, event: Any) -> Any:
        if event != "turn":
            return NOT_ENABLED
        self.late = not self.late
        return None

    def horizon(self) -> int:
        return int(self.late)


class _Tells:
    def receive(self, event: Any) -> Any:
        return [Send("turns", "news")] if event == "turn" else NOT_ENABLED


def turning(last: int) -> World:
    """Return a world whose messages are of use up to the horizon `last`."""
    return World(
        name="turns",
        members={"tells": _Tells, "turns": _Turns},
        together=[Together("turn", {"tells": "turn", "turns": "turn"})],
        properties=[sometimes("late", lambda view: view["turns"].late)],
        expiry=lambda sender, to, content: [("turns", last)],
    )


@pytest.mark.parametrize("numbered", [False, True])
def test_messages_expire_after_all_members_of_a_joint_step_have_moved(numbered: bool) -> None:
    """Whether a sent message is of use is decided after all members of the step have moved."""
    with mock.patch.object(space_module, "WORDS_MAX", 0 if numbered else 2):
        assert 3 == assert_same_search(turning(0)).distinct


@pytest.mark.parametrize("last", [1 << 40, -7])
def test_a_last_horizon_may_be_any_number(last: int) -> None:
    """A message's last horizon may be a number that no member's horizon reaches."""
    with always_numbered():
        assert_same_search(turning(last))


def test_the_plain_text_of_a_function_is_its_name() -> None:
    """The function's own text holds an address, which differs from process to process."""
    assert "stamps" == plain(stamps)
