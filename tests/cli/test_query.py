"""`joinproto query` with DuckDB: its answers, and its errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from joinproto.check import load_world
from joinproto.cli.commands.query import Found, _table
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


def test_without_a_query_the_command_lists_the_columns(run: Run, states: str) -> None:
    """It also lists the questions that are ready for this world."""
    done = run(states)

    assert 0 == done.code
    assert "note-rejoin: 46 states" in done.out
    assert "a_phase" in done.out
    assert "active " in done.out


def test_the_columns_as_json_are_as_documented(run: Run, states: str) -> None:
    """Every documented key is there, with its type, and there are no other keys."""
    found = run(states, "--json").object

    assert [] == list(faults(found, schema.DATASET))
    assert [] == list(unexplained(found, schema.DATASET))


def test_a_folder_without_states_is_refused(run: Run, tmp_path: Path) -> None:
    """The command exits 2 and names the command that writes states."""
    done = run(str(tmp_path), "SELECT 1", "--json")

    assert 2 == done.code
    assert "holds no explored states" in done.error["message"]
    assert "check WORLD --out DIR" in done.error["next"]


def test_an_unknown_question_is_refused_with_the_known_ones(run: Run, states: str) -> None:
    done = run(states, "--ask", "why")

    assert 2 == done.code
    assert "growth, active" in done.err


def test_a_question_about_a_missing_column_is_refused(run: Run, tmp_path: Path) -> None:
    """The ready question needs columns that this world lacks."""
    need("pyarrow")
    here(load_world("dining-philosophers"), Plan(out=tmp_path))

    done = run(str(tmp_path), "--ask", "aborts")

    assert 2 == done.code
    assert "aborts needs members that show a phase, and faults" in done.err


def test_sql_with_a_question_is_refused(run: Run, states: str) -> None:
    """The command takes one of the two."""
    assert 2 == run(states, "SELECT 1", "--ask", "growth").code


@pytest.mark.needs("duckdb")
def test_a_query_is_answered_by_duckdb(run: Run, states: str) -> None:
    """The command prints a table, or one documented object, which names the engine."""
    sql = "SELECT level, count(*) AS states FROM states GROUP BY level ORDER BY level"

    done, found = run(states, sql), run(states, sql, "--json").object
    few = run(states, "SELECT id FROM states ORDER BY id", "--rows", "2", "--json").object

    assert 0 == done.code
    assert done.out.startswith("level  states\n-----  ------\n    0       1\n")
    assert [] == list(faults(found, schema.QUERY))
    assert [] == list(unexplained(found, schema.QUERY))
    assert ("duckdb", 46) == (found["engine"], sum(count for _, count in found["rows"]))
    assert ([[0], [1]], True) == (few["rows"], few["more"])


@pytest.mark.needs("duckdb")
def test_the_nearest_state_that_fits_is_reported_with_a_shortest_run(run: Run, states: str) -> None:
    """If no state fits, the command exits 1."""
    done = run(states, "--to", "a_phase = 'active' -- at last")
    short = run(states, "--to", "founded > 0 and a_phase = 'active'", "--json").object
    found = run(states, "--to", "a_phase = 'active'", "--json").object
    none = run(states, "--to", "level > 1000", "--json")

    level = found["level"]
    assert found["state"]["level"] == level == len(found["steps"])
    assert "active" == found["state"]["a_phase"]
    assert f"\nafter {level} steps, state " in done.out
    assert done.out.startswith(f"1  {found['steps'][0]}\n")
    assert short["steps"] == found["steps"]
    assert (1, None) == (none.code, none.object["level"])
    for one in (found, none.object):
        assert [] == list(faults(one, schema.REACHED))
        assert [] == list(unexplained(one, schema.REACHED))


@pytest.mark.needs("duckdb")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("SELECT nothing FROM states",), "nothing"),
        (("SELEKT 1",), "SELEKT"),
        (("--to", "phase ="), "phase fits the columns a_phase and b_phase"),
        (("--to", "face = 1"), "the query is wrong"),
        (("SELECT CAST('x' AS INT)",), "the query failed"),
        (("SELECT 1", "--to", "true"), "SQL, --ask and --to"),
        (("SELECT 1", "--engine", "duckdb", "--master", "local[2]"), "--master is for Spark"),
    ],
)
def test_a_wrong_query_is_refused(
    run: Run, states: str, words: tuple[str, ...], message: str
) -> None:
    """The command exits 2 and prints the error."""
    done = run(states, *words, "--json")

    assert 2 == done.code
    assert message in done.error["message"]


@pytest.mark.needs("duckdb")
def test_a_dataset_without_parents_is_refused(run: Run, states: str) -> None:
    """A dataset of an earlier version has no parents; the command exits 2."""
    about = Path(states, "states", "_about.json")
    description = json.loads(about.read_text("utf-8"))
    del description["columns"]["parent"]
    about.write_text(json.dumps(description), "utf-8")

    done = run(states, "--to", "true", "--json")

    assert 2 == done.code
    assert "search again" in done.error["next"]


def test_without_any_query_engine_the_command_names_the_extra_to_install(
    run: Run, states: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command exits 4, because the machine lacks a query engine."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    done = run(states, "SELECT 1", "--json")

    assert 4 == done.code
    assert "joinproto[query]" in done.error["next"]


def test_a_table_aligns_numbers_and_announces_more_rows() -> None:
    """A missing value is a dash."""
    rows = (("active", 1_200), (None, 7))
    answer = Found("", ("phase", "states"), rows, more=True, engine="duckdb", seconds=0.0)

    assert [
        "phase   states",
        "------  ------",
        "active   1,200",
        "-            7",
        "... and more: --rows N",
    ] == _table(answer)
