"""The explored states as Parquet: the same from both engines, and questions about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from joinproto.check import load_world
from joinproto.check.engine.stopping import Limits
from spark_explore import cost
from spark_explore.columns import column_of
from spark_explore.explore import Plan, explore, here
from tests.check.compare import explored

WORLD = "note-hasty-abort"


def rows_in(folder: Path) -> list[dict[str, Any]]:
    table = pq.read_table(folder / "states")
    return sorted(table.to_pylist(), key=repr)


def test_both_engines_write_the_same_states(context: Any, tmp_path: Path) -> None:
    """Every state once, with its level, what members show, and what claims say of it."""
    one, other = tmp_path / "one", tmp_path / "other"

    report = here(load_world(WORLD), Plan(out=one))
    with cost.Watch() as watch:
        explore(load_world(WORLD), Plan(out=other, seed=2), context, watch)

    found = rows_in(one)
    assert report.distinct == len(found)
    assert found == rows_in(other)
    about = [json.loads((f / "states" / "_about.json").read_text()) for f in (one, other)]
    assert about[0] == about[1]
    assert report.distinct == about[0]["states"]


def test_columns_say_what_members_show(tmp_path: Path) -> None:
    """Against the slow reference search: levels, and each member's observation."""
    world = load_world("two-phase-commit")
    here(world, Plan(out=tmp_path))
    found = explored(world, 1000)
    assert found is not None

    states = rows_in(tmp_path)

    assert sorted(found.level_of.values()) == sorted(row["level"] for row in states)
    view = found.reference.view
    wanted = sorted(str(view(state)["rm1"]) for state in found.level_of)
    column = next(name for name in states[0] if name.startswith("rm1_sh"))
    assert len(wanted) == len([row[column] for row in states])
    assert all(row["consistent"] for row in states)


def test_a_state_that_breaks_a_claim_says_so(tmp_path: Path) -> None:
    """A claim about two members is a column as well."""
    here(load_world("two-phase-commit", mutant="one-vote-short"), Plan(out=tmp_path))

    broken = [row for row in rows_in(tmp_path) if not row["consistent"]]

    assert broken
    assert {None} == {row["is_stuck"] for row in broken}
    assert {7} == {row["level"] for row in broken}


def test_stuck_states_are_those_without_a_step_but_faults(tmp_path: Path) -> None:
    """Against the slow reference search: steps that change nothing are none."""
    world = load_world("token-ring-lossy")
    here(world, Plan(out=tmp_path))
    found = explored(world, 1000)
    assert found is not None
    moving = {
        source for source, move, target in found.edges if not move.is_fault and source != target
    }

    stuck = [row for row in rows_in(tmp_path) if row["is_stuck"]]

    assert len(found.level_of) - len(moving) == len(stuck) > 0


def test_what_a_limit_cut_off_is_not_in_it(tmp_path: Path) -> None:
    """The states of an unfinished level are nobody's."""
    plan = Plan(out=tmp_path, limits=Limits(states=100))
    report = here(load_world("two-phase-commit"), plan)

    assert sum(report.levels) == len(rows_in(tmp_path))


def test_names_are_ones_that_sql_takes() -> None:
    """Whatever a claim or a member is called."""
    assert "no_split_brain" == column_of("No split-brain!")
    assert "_2_active" == column_of("2 active")
