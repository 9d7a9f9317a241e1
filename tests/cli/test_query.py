"""`joinproto query`: what is wrong is said before Spark is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.check import load_world
from joinproto.cli.commands.query import _table
from spark_explore.explore import Plan, here
from tests.cli.running import Run, run_here
from tests.cli.schemas import faults, unexplained
from tests.needs import need
from tools import json_schema as schema


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto query` here."""
    return lambda *words: run_here(capsys, "query", *words)


@pytest.fixture
def states(tmp_path: Path) -> str:
    """Return a folder with the states of a small world."""
    need("pyarrow")
    here(load_world("note-rejoin"), Plan(out=tmp_path))
    return str(tmp_path)


def test_without_a_query_it_lists_the_columns(run: Run, states: str) -> None:
    """And the questions that are ready for this world."""
    done = run(states)

    assert 0 == done.code
    assert "note-rejoin: 46 states" in done.out
    assert "a_phase" in done.out
    assert "active " in done.out


def test_the_columns_as_json_are_as_documented(run: Run, states: str) -> None:
    """Every key is there, of its type, and no key is there that no document names."""
    found = run(states, "--json").object

    assert [] == list(faults(found, schema.DATASET))
    assert [] == list(unexplained(found, schema.DATASET))


def test_a_folder_without_states_is_refused(run: Run, tmp_path: Path) -> None:
    """2, and what would write them."""
    done = run(str(tmp_path), "SELECT 1", "--json")

    assert 2 == done.code
    assert "holds no explored states" in done.error["message"]
    assert "check WORLD --out DIR" in done.error["next"]


def test_an_unknown_question_is_answered_with_those_there_are(run: Run, states: str) -> None:
    """2: before Spark is started."""
    done = run(states, "--ask", "why")

    assert 2 == done.code
    assert "growth, active" in done.err


def test_a_question_that_asks_for_what_is_not_there_says_so(run: Run, tmp_path: Path) -> None:
    """2: the world has no such column."""
    need("pyarrow")
    here(load_world("dining-philosophers"), Plan(out=tmp_path))

    done = run(str(tmp_path), "--ask", "aborts")

    assert 2 == done.code
    assert "aborts needs members that show a phase, and faults" in done.err


def test_sql_and_a_question_are_one_too_many(run: Run, states: str) -> None:
    """2: usage."""
    assert 2 == run(states, "SELECT 1", "--ask", "growth").code


def test_a_table_lines_up_numbers_and_says_what_is_missing() -> None:
    """Numbers to the right, nothing is a dash, and more rows are announced."""
    from spark_explore.query import Answer

    answer = Answer(("phase", "states"), (("active", 1_200), (None, 7)), more=True)

    assert [
        "phase   states",
        "------  ------",
        "active   1,200",
        "-            7",
        "... and more: --rows N",
    ] == _table(answer).splitlines()
