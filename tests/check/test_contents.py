"""Numbers for contents under way in place of bits: the search is the same in every respect."""

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
from joinproto.check.engine import space as space_room
from joinproto.check.engine.expansion import deliveries as deliveries_room
from joinproto.check.engine.runs.coverage import coverage_of
from joinproto.check.engine.search import Search
from joinproto.check.engine.symmetry.symmetry import Symmetry
from joinproto.check.engine.tables import contents as contents_room
from joinproto.check.events import NOT_ENABLED, Send, plain
from joinproto.check.properties import sometimes
from joinproto.check.world import Together, World
from tests.check.compare import explored, messages_of, same_report, same_search
from tests.check.random_models import SETS, Plan, build, plans

STATES_MAX = 600

fewer_examples = settings(max_examples=settings().max_examples // 2)


@contextmanager
def always_numbered() -> Iterator[None]:
    """Number the contents of every set from the first row on, however few bits it would take.

    The tables of deliveries are almost empty at first, so that they must grow.
    """
    with (
        mock.patch.object(space_room, "WORDS_MAX", 0),
        mock.patch.object(deliveries_room, "SLOTS", 2),
        mock.patch.object(deliveries_room, "ITEMS", 1),
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
        same_search(world, found)
        same_report(world, found)


@fewer_examples
@given(plans(networks=tuple(SETS)), st.integers(0, 30), st.booleans())
def test_messages_expire_as_in_the_reference_search(plan: Plan, salt: int, numbered: bool) -> None:
    """A message goes when no member can use it any more, whether contents are numbered or not."""
    world = expiring(plan, salt)
    found = explored(world, STATES_MAX)
    assume(found is not None)
    assert found is not None

    with mock.patch.object(space_room, "WORDS_MAX", 0 if numbered else 2):
        same_search(world, found)
        same_report(world, found)


@contextmanager
def always_permuted() -> Iterator[None]:
    """Sort no members, because sets keep their bits where members are sorted."""
    with mock.patch.object(Symmetry, "_independent", return_value=False):
        yield


def test_votes_under_symmetry_are_the_same_with_numbers() -> None:
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


JOIN_IN_LITTLE: dict[str, Any] = {"members": 2, "views": 2, "frames": 0, "suspects": False}


def test_join_is_the_same_with_numbers_and_in_fewer_words() -> None:
    """In `join` messages expire, crashes cut them short, and a monitor receives records."""
    from joinproto_worlds.join.world import build as build_join

    bits, numbers = searched_with_both(build_join(**JOIN_IN_LITTLE))

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
    """Without a table of horizons, contents get no numbers, and the search is the same."""
    from joinproto_worlds.join.world import build as build_join

    world = build_join(**JOIN_IN_LITTLE)
    with mock.patch.object(contents_room, "VECTORS_MAX_BITS", 1):
        bits, numbers = searched_with_both(world)

    assert numbers.tables.contents is None
    assert bits.found.levels == numbers.found.levels
    assert coverage_of(bits) == coverage_of(numbers)


@pytest.mark.parametrize("limit", ["VALUES_MAX", "DELIVERIES_MAX"])
def test_a_world_too_large_for_packed_numbers_keeps_message_bits(limit: str) -> None:
    """A number that does not fit is not cut off: bits are used in its place."""
    from joinproto_worlds.join.world import build as build_join

    world = build_join(**JOIN_IN_LITTLE)
    with mock.patch.object(contents_room, limit, 2):
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
        build_join(**JOIN_IN_LITTLE, crashes=0) if is_join else load_world(name, members=4)
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
def test_join_two_is_the_same_with_numbers() -> None:
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
    with mock.patch.object(space_room, "WORDS_MAX", 0 if numbered else 2):
        assert 3 == same_search(turning(0)).distinct


@pytest.mark.parametrize("last", [1 << 40, -7])
def test_a_last_horizon_may_be_any_number(last: int) -> None:
    """The world may name any number as a message's last horizon, also one that no member has."""
    with always_numbered():
        same_search(turning(last))


def test_the_plain_text_of_a_function_is_its_name() -> None:
    """The function's own text holds an address, which differs from process to process."""
    assert "stamps" == plain(stamps)
