"""Steps are not written if other steps reach the same states; no state is lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pytest
from attrs import define, evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from joinproto.check.engine import space as space_module
from joinproto.check.engine.expansion import deliveries as deliveries_module
from joinproto.check.engine.expansion import workers as workers_module
from joinproto.check.engine.rows.marks import Marks
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.runs.coverage import coverage_of
from joinproto.check.engine.runs.paths import uncounted
from joinproto.check.engine.search import Search
from joinproto.check.events import NOT_ENABLED, Send
from joinproto.check.memory import Budget
from joinproto.check.properties import sometimes
from joinproto.check.world import World
from joinproto_worlds.join.world import build as build_join
from tests.check.compare import assert_same_search, counts_of, explored
from tests.check.random_models import SETS, Plan, build, plans
from tests.check.test_contents import SMALL_JOIN, STATES_MAX, always_numbered, expiring


@contextmanager
def asleep_if_possible() -> Iterator[None]:
    """Number contents and mark rows even in the smallest world."""
    wide = partial(RowSet, numbered=True)
    with always_numbered(), mock.patch.object(space_module, "RowSet", wide):
        yield


@contextmanager
def awake() -> Iterator[None]:
    with mock.patch.object(Search, "_may_sleep", return_value=False):
        yield


@given(plans(networks=tuple(SETS)))
def test_a_search_with_sleeping_steps_equals_the_reference_search(plan: Plan) -> None:
    """States, levels, steps and counts are equal, with crashes, splits and a monitor."""
    found = explored(build(plan), STATES_MAX)
    assume(found is not None)

    with asleep_if_possible():
        assert_same_search(build(plan), found)


@given(plans(networks=tuple(SETS)), st.integers(0, 30))
def test_sleeping_steps_are_right_if_messages_expire(plan: Plan, salt: int) -> None:
    """A step may make a message useless that another member could still receive."""
    world = expiring(plan, salt)
    found = explored(world, STATES_MAX)
    assume(found is not None)

    with asleep_if_possible():
        assert_same_search(world, found)


class _Idle:
    """Does nothing, and has a lower rank than other members."""

    persistent = ("kept",)

    def __init__(self) -> None:
        self.phase = -1
        self.kept = 0

    def receive(self, event: Any) -> Any:
        return NOT_ENABLED


@given(plans(networks=tuple(SETS)), st.integers(5, 6))
def test_sleeping_steps_are_right_if_members_share_a_rank(plan: Plan, idle: int) -> None:
    """All members from the seventh on share a rank; five or six idle members come first."""
    assume(plan.faults.partitions == 0)
    world = build(plan)
    crowded = evolve(
        world, members={**{f"A{k}": _Idle for k in range(idle)}, **world.members}, together=None
    )
    found = explored(crowded, STATES_MAX)
    assume(found is not None)

    with asleep_if_possible():
        assert_same_search(crowded, found)


@given(plans(networks=tuple(SETS)), st.sampled_from([1, 4, 64]), st.none() | st.integers(0, 30))
def test_several_workers_with_sleeping_steps_equal_the_reference_search(
    plan: Plan, deferred_max: int, salt: int | None
) -> None:
    """The searches agree for any number of rows put aside, with and without expiry."""
    world = build(plan) if salt is None else expiring(plan, salt)
    found = explored(world, STATES_MAX)
    assume(found is not None)
    assert found is not None

    with (
        asleep_if_possible(),
        mock.patch.object(workers_module, "ROWS_MIN", 1),
        mock.patch.object(workers_module, "DEFERRED_MAX", deferred_max),
    ):
        search = Search(world, stop_at_violation=False, workers=2)
        search.run()

    sizes = tuple(int(size) for size in np.diff(search.found.levels))
    assert (found.levels, found.generated) == (sizes, search.found.generated)
    actions, _ = counts_of(found)
    assert dict(actions) == {k: n for k, n in coverage_of(search).actions.items() if n}


@pytest.mark.parametrize("workers", [1, 2])
def test_steps_walked_between_two_levels_are_not_counted(workers: int) -> None:
    """A search takes such steps to report a member's error, for example; no count is lost."""
    with asleep_if_possible(), mock.patch.object(workers_module, "ROWS_MIN", 1):
        plain = Search(build_join(**SMALL_JOIN), workers=workers)
        walked = Search(build_join(**SMALL_JOIN), workers=workers)
        walks = 0

        def walk() -> bool:
            nonlocal walks
            walks += 1
            known = walked.found.levels[-2]  # the number of rows of finished levels
            uncounted(walked, lambda: (list(walked.successors(0, known)), walked.lacking(0, known)))
            return False

        walked.pause = walk
        plain.run()
        walked.run()

    assert walks > 10
    assert plain.found.levels == walked.found.levels
    assert plain.found.generated == walked.found.generated
    assert coverage_of(plain) == coverage_of(walked)


def successors_written(search: Search) -> int:
    """Search, and return how many successors were put into the set of rows."""
    count = 0
    insert = RowSet.insert

    def counting(self: RowSet, rows: Any, many: int, *marks: Any) -> Any:
        nonlocal count
        count += many
        return insert(self, rows, many, *marks)

    with mock.patch.object(RowSet, "insert", counting):
        search.run()
    return count


@pytest.mark.parametrize("faults", [{}, {"crashes": 0, "partitions": 1}])
def test_sleeping_steps_write_fewer_successors_in_join(faults: dict[str, int]) -> None:
    one, all_written = (Search(build_join(**{**SMALL_JOIN, **faults})) for _ in range(2))
    with asleep_if_possible():
        few = successors_written(one)
        with awake():
            every = successors_written(all_written)

    assert few < every
    assert one.found.levels == all_written.found.levels
    assert one.found.generated == all_written.found.generated
    assert coverage_of(one) == coverage_of(all_written)


def test_marks_are_forgotten_after_their_level() -> None:
    """The members that led to a row are forgotten once the row's level is expanded."""
    states, marks = RowSet(2, Budget(1 << 30), room=1 << 12), np.array([1, 2], np.uint16)
    rows = np.array([[1 << 63, 1], [1 << 63, 2]], np.uint64)
    states.marks.expand(0, 0)
    states.insert(rows, 2, marks)
    states.insert(rows[1:].copy(), 1, np.array([4], np.uint16))

    assert [1, 6] == states.marks.expand(0, 2)[:2].tolist()
    states.insert(rows, 2, marks)
    assert [0, 0] == states.marks.expand(2, 4)[:2].tolist()


def test_rows_without_marks_have_mark_zero() -> None:
    marks = Marks()

    assert [0, 0, 0] == marks.expand(5, 8).tolist()


@define
class _Goes:
    """Moves to a later horizon, at which a message to another member is useless."""

    gone: bool = False

    def choices(self) -> list[str]:
        return [] if self.gone else ["go"]

    def receive(self, event: Any) -> Any:
        if event != "go":
            return NOT_ENABLED
        self.gone = True
        return None

    def horizon(self) -> int:
        return int(self.gone)


@define
class _Hears:
    """Receives the word while it is under way."""

    heard: bool = False

    def receive(self, event: Any) -> None:
        self.heard = True


class _Says:
    def start(self) -> Any:
        return [Send("hears", "word")]

    def receive(self, event: Any) -> Any:
        return NOT_ENABLED


def test_no_state_is_lost_if_a_step_makes_a_message_useless() -> None:
    """The steps do not commute: "goes" makes the word useless to "hears"."""
    world = World(
        name="useless",
        members={"goes": _Goes, "hears": _Hears, "says": _Says},
        properties=[sometimes("heard", lambda view: view["hears"].heard)],
        expiry=lambda sender, to, content: [("goes", 0)],
    )

    with asleep_if_possible():
        assert 4 == assert_same_search(world).distinct


def test_lacking_finds_the_same_rows_with_room_for_one_choice_at_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`lacking` forgets the outcome of each choice, but not the room for the choices."""
    found = []
    for choices in (deliveries_module.CHOICES, 1):
        monkeypatch.setattr(deliveries_module, "CHOICES", choices)
        with asleep_if_possible():
            search = Search(build_join(**SMALL_JOIN))
            search.run()
            found.append(search.lacking(0, search.states.count).tolist())
        held = search.expander._deliveries.arrays
        assert (
            len(held.outcomes) == len(held.sleeping_prefix) >= search.tables.choice_column.count > 1
        )

    assert found[0] == found[1] != []
