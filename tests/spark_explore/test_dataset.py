"""The explored states as Parquet, the same from both engines, and questions about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from joinproto.check import (
    NOT_ENABLED,
    Broadcast,
    Message,
    MessageSet,
    World,
    load_world,
    sometimes,
)
from joinproto.check.engine.stopping import Limits
from joinproto.check.events import Effects
from joinproto.check.reference import State
from joinproto.check.steps import said
from joinproto.errors import UsageProblem
from spark_explore import cost
from spark_explore.columns import column_of
from spark_explore.explore import Plan, explore, here
from spark_explore.query import dataset_in
from spark_explore.reached import nearest
from spark_explore.sessions import session_over
from tests.check.compare import explored

WORLD = "note-hasty-abort"
ORIGIN = ("id", "parent", "step")


def rows_in(folder: Path) -> list[dict[str, Any]]:
    table = pq.read_table(folder / "states")
    return sorted(table.to_pylist(), key=repr)


def test_both_engines_write_the_same_states(context: Any, tmp_path: Path) -> None:
    """Both write every state once, with its level, members' observations, and claims' verdicts."""
    one, other = tmp_path / "one", tmp_path / "other"

    report = here(load_world(WORLD), Plan(out=one))
    with cost.Watch() as watch:
        explore(load_world(WORLD), Plan(out=other, seed=2), context, watch)

    # Each engine numbers the states of a level in its own order.
    found, same = (
        sorted(({k: v for k, v in row.items() if k not in ORIGIN} for row in rows_in(at)), key=repr)
        for at in (one, other)
    )
    assert report.distinct == len(found)
    assert found == same
    about = [json.loads((f / "states" / "_about.json").read_text()) for f in (one, other)]
    assert about[0] == about[1]
    assert report.distinct == about[0]["states"]


def test_columns_have_the_levels_and_a_members_observations(tmp_path: Path) -> None:
    """The columns are compared with the slow reference search."""
    world = load_world("two-phase-commit")
    here(world, Plan(out=tmp_path))
    found = explored(world, 1000)
    assert found is not None

    states = rows_in(tmp_path)

    assert sorted(found.level_of.values()) == sorted(row["level"] for row in states)
    view = found.reference.view
    wanted = sorted(view(state)["rm1"].value for state in found.level_of)
    column = next(name for name in states[0] if name.startswith("rm1_sh"))
    assert wanted == sorted(row[column] for row in states)
    assert all(row["consistent"] for row in states)


def test_a_column_shows_which_states_break_a_claim(tmp_path: Path) -> None:
    """A claim about two members is a column as well."""
    here(load_world("two-phase-commit", mutant="one-vote-short"), Plan(out=tmp_path))

    broken = [row for row in rows_in(tmp_path) if not row["consistent"]]

    assert broken
    assert {None} == {row["is_stuck"] for row in broken}
    assert {7} == {row["level"] for row in broken}


def test_as_many_states_are_stuck_as_have_no_step_but_faults(tmp_path: Path) -> None:
    """The slow reference search counts them; steps that do not change the state do not count."""
    world = load_world("token-ring-lossy")
    here(world, Plan(out=tmp_path))
    found = explored(world, 1000)
    assert found is not None
    moving = {
        source for source, move, target in found.edges if not move.is_fault and source != target
    }

    stuck = [row for row in rows_in(tmp_path) if row["is_stuck"]]

    assert len(found.level_of) - len(moving) == len(stuck) > 0


def test_the_states_of_an_unfinished_level_are_left_out(tmp_path: Path) -> None:
    """The search ends within a level, at a limit of states."""
    plan = Plan(out=tmp_path, limits=Limits(states=100))
    report = here(load_world("two-phase-commit"), plan)

    assert sum(report.levels) == len(rows_in(tmp_path))


def test_column_names_need_no_quotes_in_sql() -> None:
    """A claim or a member may have any name."""
    assert "no_split_brain" == column_of("No split-brain!")
    assert "_2_active" == column_of("2 active")


class Herald:
    """Counts to `last`: if it `tells`, by one, with ignored broadcasts; otherwise by one or two."""

    def __init__(self, last: int, tells: bool) -> None:
        self.last, self.tells, self.count = last, tells, 0

    def choices(self) -> Iterator[int]:
        if self.count < self.last:
            yield from (1,) if self.tells else (1, 2)

    def receive(self, event: int | Message) -> Effects:
        if isinstance(event, Message):
            return NOT_ENABLED
        self.count += event
        return [Broadcast(self.count)] if self.tells else None

    def shows(self) -> int:
        return self.count


def herald(last: int, *, tells: bool) -> World:
    return World(
        name="wide" if tells else "bounded",
        members={"h": partial(Herald, last, tells), "o": partial(Herald, 0, tells)},
        network=MessageSet(),
        properties=[sometimes("some", lambda view: view["h"] > 0)],
        within=None if tells else lambda view: view["h"] != 1,
    )


WORLDS = {
    "narrow": load_world("note-hasty-abort"),
    "faults": load_world("token-ring-lossy"),
    "wide": herald(64, tells=True),
    "bounded": herald(7, tells=False),
}


def searched_on(context: Any, world: World, plan: Plan) -> None:
    with cost.Watch() as watch:
        explore(world, plan, context, watch)


def check_runs(world: World, out: Path) -> None:
    """Follow the runs to some states, step by step, in the slow reference search."""
    found = explored(world, 1000)
    assert found is not None
    reference, dataset = found.reference, dataset_in(out)

    with session_over(dataset, "duckdb", None) as session:
        some = range(0, dataset.states, 1 + dataset.states // 50)
        ways = [nearest(dataset, session, f"id = {number}") for number in some]

    ends: set[State] = set()
    for way in ways:
        assert way is not None
        standing = set(reference.initials())
        for step in way.steps:
            standing = {state for state in standing if not reference.is_beyond(state)}
            moves = [one for state in standing for one in reference.successors(state)]
            standing = {after for move, after in moves if said(move) == step}
        assert way.state["level"] in {found.level_of[state] for state in standing}
        ends |= standing
    assert len(some) <= len(ends)
    assert found.level_of.keys() >= ends


def check_edges(world: World, out: Path) -> None:
    """Compare the edges with the steps that change the state in the slow reference search."""
    found, dataset = explored(world, 1000), dataset_in(out)
    assert found is not None

    with session_over(dataset, "duckdb", None) as session:
        edges = session.ask(
            "SELECT a.level, edges.step, b.level FROM edges JOIN states a ON a.id = source"
            " JOIN states b ON b.id = target",
            100_000,
        )
    level = [*found.level_of.values()]
    wanted = [
        (level[one], said(move), level[other]) for one, move, other in found.edges if one != other
    ]

    assert sorted(wanted) == sorted(edges.rows)


@pytest.mark.needs("duckdb")
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_run_to_a_state_is_a_shortest_run(world: World, tmp_path: Path) -> None:
    """The slow reference search takes the steps to at most fifty states one after another."""
    here(world, Plan(out=tmp_path))

    check_runs(world, tmp_path)


@pytest.mark.needs("duckdb")
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_the_edges_are_the_steps_that_change_the_state(world: World, tmp_path: Path) -> None:
    """The slow reference search finds the same steps."""
    here(world, Plan(out=tmp_path, keeps_edges=True))

    check_edges(world, tmp_path)


@pytest.mark.needs("duckdb")
@pytest.mark.parametrize(("world", "edges"), [("faults", True), ("wide", False), ("wide", True)])
def test_spark_writes_the_origins_of_states(
    context: Any, tmp_path: Path, world: str, edges: bool
) -> None:
    """Runs and edges fit the slow reference search; a parent is in the level before its state."""
    searched_on(context, WORLDS[world], Plan(out=tmp_path, seed=2, keeps_edges=edges))

    check_runs(WORLDS[world], tmp_path)
    if edges:
        check_edges(WORLDS[world], tmp_path)
    rows = pq.read_table(tmp_path / "states", columns=["id", "level", "parent"]).to_pylist()
    level = {row["id"]: row["level"] for row in rows}
    assert [*range(len(rows))] == sorted(level)
    assert all(
        (row["level"] == 0) if row["parent"] is None else level[row["parent"]] == row["level"] - 1
        for row in rows
    )


def test_the_edges_of_an_earlier_run_are_removed(tmp_path: Path) -> None:
    """A dataset without steps has no table of them."""
    here(load_world(WORLD), Plan(out=tmp_path, keeps_edges=True))
    assert (tmp_path / "edges").is_dir()

    here(load_world(WORLD), Plan(out=tmp_path))

    assert not (tmp_path / "edges").exists()


def test_the_origins_of_states_take_few_bytes(tmp_path: Path) -> None:
    """The columns `id`, `parent` and `step` take at most 12 bytes a state."""
    report = here(load_world("two-phase-commit", members=5), Plan(out=tmp_path))

    (file,) = (tmp_path / "states").glob("*.parquet")
    group = pq.ParquetFile(file).metadata.row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    size = sum(one.total_compressed_size for one in columns if one.path_in_schema in ORIGIN)

    assert report.distinct > 3_000
    assert size <= 12 * report.distinct


@pytest.mark.needs("duckdb")
def test_not_all_runs_are_known_if_several_states_were_taken_for_one(tmp_path: Path) -> None:
    """With symmetry a step may lead to another state than the kept one."""
    here(load_world("two-phase-commit"), Plan(out=tmp_path, symmetry=True))
    dataset = dataset_in(tmp_path)

    with (
        session_over(dataset, "duckdb", None) as session,
        pytest.raises(UsageProblem, match="took several states for one"),
    ):
        assert [nearest(dataset, session, f"id = {number}") for number in range(dataset.states)]
