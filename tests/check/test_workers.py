"""A search with several workers gives the report of a search with one worker."""

from __future__ import annotations

import itertools
from typing import Any, cast

import numpy as np
import pytest
from attrs import define, evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from joinproto.check import load_world, memory
from joinproto.check.check import check
from joinproto.check.engine.claims import watching
from joinproto.check.engine.expansion import work_queue
from joinproto.check.engine.expansion import workers as expansion_workers
from joinproto.check.engine.expansion.workers import ParallelLevels
from joinproto.check.engine.rows import rowset, shared_inserts
from joinproto.check.engine.rows.rowset import RowSet
from joinproto.check.engine.rows.shared_inserts import SharedInserts
from joinproto.check.engine.rows.threads import Workers
from joinproto.check.engine.search import Search
from joinproto.check.engine.stopping import Limits
from joinproto.check.engine.tables import grids
from joinproto.check.events import NOT_ENABLED, Broadcast, Message, Send
from joinproto.check.memory import Budget, MemoryLimitMet
from joinproto.check.properties import always_each, always_pair, sometimes
from joinproto.check.report import Report
from joinproto.check.world import World
from joinproto_worlds.zen.world import build as zen
from tests.census import searched, without_costs
from tests.check.chosen import CHOSEN, REST, parameters
from tests.check.compare import explored
from tests.check.random_models import Plan, build, plans
from tests.check.test_bounds import bound_on_phases
from tests.check.test_sleeping import asleep_if_possible


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make workers share levels of a few rows, and fill buffers after a few steps."""
    monkeypatch.setattr(expansion_workers, "ROWS_MIN", 2)
    monkeypatch.setattr(expansion_workers, "SUCCESSORS_MAX", 1 << 8)
    monkeypatch.setattr(expansion_workers, "_PIECE", 1 << 6)
    monkeypatch.setattr(expansion_workers, "_QUESTIONS_PER_CHECK", 2)
    monkeypatch.setattr(work_queue, "_PIECE_MAX", 3)
    monkeypatch.setattr(shared_inserts, "STRETCH", 4)


def reported_by(workers: int, name: str, *, symmetry: bool = False, **options: Any) -> Report:
    return reported(load_world(name, **options), workers, symmetry=symmetry)


def reported(world: World, workers: int, *, symmetry: bool) -> Report:
    return without_all_costs(check(world, symmetry=symmetry, workers=workers, witnesses=True))


def without_all_costs(report: Report) -> Report:
    """Return the report without its costs, such as the bytes of a state."""
    return evolve(without_costs(report), bytes_per_state=0)


@pytest.mark.parametrize(
    ("name", "mutant"), [*parameters(CHOSEN), *parameters(REST, pytest.mark.soak("engines"))]
)
def test_a_quick_world_is_reported_alike_by_several_workers(name: str, mutant: str | None) -> None:
    """The report does not depend on the number of workers."""
    assert without_all_costs(searched(name, mutant)) == reported_by(3, name, mutant=mutant)


RENAMED: list[Any] = [
    ("two-phase-commit", {"members": 5}),
    ("two-phase-commit", {"members": 5, "mutant": "one-vote-short"}),
    ("durable-vote", {}),
    ("durable-vote-split", {}),
    ("durable-vote-wiped", {}),
    ("durable-vote", {"mutant": "answer-first"}),
    ("zen-one-term", {}),
    ("zen-one-term", {"mutant": "founds-with-too-few"}),
    ("zen-two", {"mutant": "joins-after-restart"}),
    ("zen-two", {"mutant": "newer-joins"}),
]
"""Worlds with sorted and permuted members, with sets and queues, with and without a violation."""


@pytest.mark.parametrize(("name", "options"), RENAMED)
def test_a_search_with_symmetry_is_reported_alike_by_several_workers(
    name: str, options: Any
) -> None:
    """Which state is kept depends on timing, but the report does not."""
    assert reported_by(1, name, symmetry=True, **options) == reported_by(
        3, name, symmetry=True, **options
    )


@pytest.mark.parametrize("symmetry", [False, True])
@pytest.mark.parametrize("mutant", [None, "half-is-enough"])
def test_a_bounded_search_is_reported_alike_by_several_workers(
    mutant: str | None, symmetry: bool
) -> None:
    """States that are not `within` are kept, and have no successors."""
    one, three = (reported(zen(2, mutant, 1, 2, 1, 3), n, symmetry=symmetry) for n in (1, 3))

    assert one.beyond
    assert one == three


@pytest.mark.parametrize(("members", "workers"), [(5, 2), (5, 3), (6, 2)])
def test_two_phase_commit_has_the_number_of_states_of_the_formula(
    members: int, workers: int
) -> None:
    """Source: closed forms 2^N + 4^N + 6^N and 2 + 4^N + N 4^N + N 2^N + 8 N 6^(N-1)."""
    n = members
    found = reported_by(workers, "two-phase-commit", members=n)

    assert 2**n + 4**n + 6**n == found.distinct
    assert 2 + 4**n + n * 4**n + n * 2**n + 8 * n * 6 ** (n - 1) == found.generated


def test_rows_of_one_worker_stay_in_the_order_found() -> None:
    """A worker's rows stay in order, although it reserves its room in stretches."""
    drawn = np.random.default_rng(3)
    crew, expander = Workers(3), cast(Any, None)
    shared, alone = (RowSet(2, Budget(1 << 40)) for _ in range(2))
    levels = ParallelLevels(crew, expander, shared)
    none = np.empty((0, 2), np.uint64)
    for _ in range(20):
        rows = drawn.integers(0, 1 << 12, (250, 2), np.uint64)
        rows[:, 0] |= np.uint64(1 << 63)
        rows[:, 1] &= np.uint64(1)
        levels.insert_found([none, rows, none])
        alone.insert(rows, len(rows))

    assert 3_000 < shared.count
    assert np.array_equal(alone.rows[: alone.count], shared.rows[: shared.count])
    crew.close()


def test_a_row_that_several_workers_find_has_the_marks_of_all() -> None:
    """No mark is lost, whichever worker comes first, and wherever the row is moved to."""
    drawn = np.random.default_rng(11)
    crew = Workers(4)
    states = RowSet(2, Budget(1 << 40))
    first = np.array([[1 << 63, 0]], np.uint64)
    states.insert(first, 1)
    states.marks.expand(0, 1)
    joint = SharedInserts(crew, states, 1 << 14)
    wanted: dict[tuple[int, int], int] = {}
    counts = [0] * crew.count
    for _ in range(5):
        counts[:] = drawn.integers(0, 1 << 14, 4).tolist()
        for k, count in enumerate(counts):
            rows = drawn.integers(0, 1 << 8, (count, 2), np.uint64)
            rows[:, 0] |= np.uint64(1 << 63)
            rows[:, 1] |= np.uint64(1)
            via = (1 << drawn.integers(0, 16, count)).astype(np.uint16)
            joint.out[k, :count], joint.via[k, :count] = rows, via
            for row, mark in zip(rows.tolist(), via.tolist(), strict=True):
                wanted[tuple(row)] = wanted.get(tuple(row), 0) | mark
        joint.make_room_for(1 << 14)
        joint.begin()

        crew.each(lambda k: joint.put(k, counts[k]))

        joint.end()

    held = zip(states.rows[1 : states.count].tolist(), states.marks.found.tolist(), strict=False)
    assert 30_000 < len(wanted)
    assert wanted == {tuple(row): mark for row, mark in held}
    crew.close()


@given(plans())
def test_random_models_are_reported_alike_by_several_workers(plan: Plan) -> None:
    """States and counts are equal for any network, with crashes and partitions."""
    world = build(plan)
    one = Search(world, limits=Limits(states=3_000), stop_at_violation=False)
    one.run()
    assume(not one.found.stopped_by)
    two = Search(world, stop_at_violation=False, workers=2)
    two.run()

    assert (one.found.levels, one.found.generated) == (two.found.levels, two.found.generated)


@given(plans(alike=True), st.booleans(), st.none() | st.integers(0, 3))
def test_random_interchangeable_members_are_reported_alike_by_several_workers(
    plan: Plan, symmetry: bool, bound: int | None
) -> None:
    """Reports are equal with and without symmetry, and with and without a bound."""
    world = build(plan)
    if bound is not None:
        world = evolve(world, within=bound_on_phases(bound))
    assume(explored(world, 1_000) is not None)

    assert reported(world, 1, symmetry=symmetry) == reported(world, 2, symmetry=symmetry)


class _Climber:
    """Tells all members its count, so that rows are often packed again."""

    def __init__(self) -> None:
        self.at = 0
        self.heard = 0

    def choices(self) -> list[str]:
        return ["up"] if self.at < 9 else []

    def receive(self, event: Any) -> Any:
        if isinstance(event, Message):
            self.heard = max(self.heard, event.content)
            return None
        self.at += 1
        return [Broadcast(self.at)]


@pytest.mark.parametrize(
    ("symmetry", "calls"), [*((False, n) for n in range(21, 41)), *((True, n) for n in (153, 155))]
)
def test_a_search_that_is_stopped_in_a_round_reports_its_runs(symmetry: bool, calls: int) -> None:
    """Rows must be packed alike when runs are rebuilt, although some answers came late."""
    climbed = sometimes("climbed", lambda view: any(one.at == 3 for one in view.values()))
    world = World(
        name="climbers",
        members=dict.fromkeys("abc", _Climber),
        interchangeable=list("abc"),
        properties=[climbed],
    )
    asked = itertools.count(1)

    report = check(
        world,
        symmetry=symmetry,
        workers=2,
        witnesses=True,
        interrupted=lambda: next(asked) >= calls,
    )

    assert ("interrupted", 3) == (report.stopped_by, report.properties[0].trace_length)


@pytest.mark.parametrize("words", [1, 2])
def test_a_row_found_before_rows_were_packed_again_is_not_taken_for_known(words: int) -> None:
    """After packing, another state may have the words that an earlier row had."""
    crew = Workers(2)
    states = RowSet(words, Budget(1 << 40))
    expander: Any = None
    levels = ParallelLevels(crew, expander, states)
    first = np.full((1, words), 1 << 63, np.uint64)
    levels.insert_found([first, first])
    states.replace(first | np.uint64(1), 1)

    levels.insert_found([first, first])

    assert 2 == states.count
    crew.close()


@pytest.mark.parametrize("words", [1, 2])
def test_a_table_doubled_in_parts_holds_every_row_once(
    words: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every row is there once and is found again, also where parts of the table meet."""
    drawn = np.random.default_rng(7)
    monkeypatch.setattr(rowset, "_SLOTS_MOVED_ALONE", 1 << 8)
    crew = Workers(3)
    states = RowSet(words, Budget(1 << 40))
    states.over = crew.over
    expander: Any = None
    levels = ParallelLevels(crew, expander, states)
    wanted = set()
    for _ in range(60):
        found = []
        for _worker in range(3):
            count = int(drawn.integers(0, expansion_workers.SUCCESSORS_MAX))
            rows = drawn.integers(0, 400, (count, words), np.uint64)
            rows[:, 0] = (rows[:, 0] * drawn.integers(1, 50, count).astype(np.uint64)) | (1 << 63)
            found.append(rows)
            wanted |= {tuple(row) for row in rows.tolist()}
        levels.insert_found(found)

    held = states.rows[: states.count]
    assert len(wanted) == states.count
    assert wanted == {tuple(row) for row in held.tolist()}
    before = states.count
    states.insert(held.copy(), states.count)
    assert before == states.count
    crew.close()


@pytest.mark.parametrize("limits", [Limits(states=2_000), Limits(seconds=1e-9)])
def test_limits_end_a_search_of_several_workers(limits: Limits) -> None:
    """A limit ends a search of several workers, and the report names it."""
    search = Search(load_world("two-phase-commit", members=7), limits=limits, workers=2)
    found = search.run()

    assert found.stopped_by.startswith("the limit of")
    assert search.states.count < 290_000


@pytest.mark.parametrize("pieces", [1, 40, 41])
def test_states_found_until_memory_ends_are_counted(
    monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    """If memory ends within a round, in any thread, the states and the counts of steps stay."""
    put, calls = SharedInserts.put, itertools.count(1)

    def ends(self: SharedInserts, k: int, count: int) -> None:
        put(self, k, count)
        if next(calls) == pieces:
            raise MemoryLimitMet

    monkeypatch.setattr(SharedInserts, "put", ends)
    search = Search(load_world("two-phase-commit", members=5), workers=2)
    found = search.run()

    taken = int(search.tables.out["taken"].array.sum()) + int(search.tables.event_taken.sum())
    assert found.stopped_by
    assert search.begins + taken == found.generated


def test_touch_works_in_a_process_that_uses_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """`touch` inserts no rows, so it needs no memory for rows."""
    monkeypatch.setattr(memory, "resident_bytes", lambda: 1 << 40)
    monkeypatch.setattr(expansion_workers, "_PIECE", 1 << 15)

    expansion_workers.touch()


@define
class _Digit:
    """Chooses a digit, once."""

    digit: int = -1

    def choices(self) -> list[int]:
        return list(range(10)) if self.digit < 0 else []

    def receive(self, event: int) -> None:
        self.digit = event


def _digits() -> World:
    """Return a world in which many rows break the first claim, and few break the second."""
    return World(
        name="digits",
        members=dict.fromkeys("abc", _Digit),
        properties=[
            always_each("small", lambda shown: shown.digit < 2),
            always_pair("not nine twice", lambda one, other: one.digit + other.digit < 18),
        ],
    )


@pytest.mark.parametrize("workers", [1, 2])
def test_more_breaking_rows_than_the_initial_room_are_all_reported(
    monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    """Which of the rows come first depends on the number of workers, so all must be kept."""
    wanted = Search(_digits(), stop_at_violation=False).run()
    monkeypatch.setattr(watching, "_BAD_ROOM", 2)
    monkeypatch.setattr(watching, "_SHARED_ROWS_MIN", 2)

    found = Search(_digits(), stop_at_violation=False, workers=workers).run()

    hits = [[(hit.claim.property.name, hit.level) for hit in one.hits] for one in (wanted, found)]
    assert [("small", 1), ("not nine twice", 2)] == hits[0] == hits[1]
    assert (
        [len(hit.rows) for hit in wanted.hits] == [len(hit.rows) for hit in found.hits] == [24, 3]
    )


@define
class _Picks:
    """Picks one number and then another, so that there are as many states as pairs."""

    one: int = -1
    other: int = -1

    def choices(self) -> list[tuple[str, int]]:
        if self.other >= 0:
            return []
        return [("one" if self.one < 0 else "other", number) for number in range(40)]

    def receive(self, event: Any) -> None:
        if event[0] == "one":
            self.one = event[1]
        else:
            self.other = event[1]


def test_more_questions_than_a_table_has_room_for_are_asked_in_several_rounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A look-up in a full hash table would never end."""
    monkeypatch.setattr(grids, "ASKS_MAX", 64)
    monkeypatch.setattr(grids, "DENSE_MAX", 64)
    monkeypatch.setattr(expansion_workers, "ROWS_MIN", 64)
    claim = always_each("any", lambda shown: True)
    search = Search(World(name="picks", members={"a": _Picks}, properties=[claim]), workers=2)
    search.run()

    assert search.tables.cells.sparse is not None
    assert 1 + 40 + 40 * 40 == search.states.count


@define
class _Climbs:
    at: int = 0

    def choices(self) -> list[str]:
        return ["up"] if self.at < 9 else []

    def receive(self, event: Any) -> Any:
        if event != "up":
            return NOT_ENABLED
        self.at += 1
        return None

    def horizon(self) -> int:
        return self.at


@define
class _Says:
    said: frozenset[int] = frozenset()

    def choices(self) -> list[int]:
        return [word for word in range(5) if word not in self.said]

    def receive(self, event: Any) -> Any:
        if not isinstance(event, int):
            return NOT_ENABLED
        self.said |= {event}
        return [Send("climbs", event)]


@pytest.mark.parametrize("first", ["climbs", "says"])
def test_horizons_may_be_numbered_anew_while_questions_wait(
    monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    """Questions about old numbers must be asked again with the new numbers."""
    monkeypatch.setattr(expansion_workers, "ROWS_MIN", 1)
    monkeypatch.setattr(expansion_workers, "SUCCESSORS_MAX", 1 << 8)
    monkeypatch.setattr(expansion_workers, "_PIECE", 64)
    members: dict[str, Any] = {"climbs": _Climbs, "says": _Says}
    world = World(
        name="numbered anew",
        members={first: members[first], **members},
        properties=[sometimes("top", lambda view: view["climbs"].at == 9)],
        expiry=lambda sender, to, content: [("climbs", 2 * content + 1)],
    )
    found = explored(world, 1_000)
    assert found is not None

    with asleep_if_possible():
        search = Search(world, stop_at_violation=False, workers=2)
        search.run()

    assert (found.distinct, found.generated) == (search.states.count, search.found.generated)
