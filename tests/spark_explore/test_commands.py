"""Commands that start Spark, in this process: they use the tests' session and do not end it."""

from __future__ import annotations

from pathlib import Path

import pytest

from joinproto.check import load_world
from spark_explore.explore import Plan, here
from tests.cli.running import run_here
from tests.cli.schemas import faults
from tools import json_schema as schema

pytestmark = pytest.mark.usefixtures("lasting")
SPARK = ("--master", "local[2]", "--json")
SEARCH = ("check", "two-phase-commit", "--engine", "spark", *SPARK)


def test_questions_and_sql_are_answered_and_a_wrong_query_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    here(load_world("note-hasty-abort"), Plan(out=tmp_path))

    query = ("query", str(tmp_path), *SPARK)
    growth = run_here(capsys, *query, "--ask", "growth")
    counted = run_here(capsys, *query, "SELECT count(*) AS n, max(level) AS far FROM states")
    wrong = run_here(capsys, *query, "SELECT nothing FROM states")

    assert (0, 0, 2) == (growth.code, counted.code, wrong.code)
    assert ["level", "states"] == growth.object["columns"]
    assert [[39, 8]] == counted.object["rows"]
    assert 39 == sum(n for _, n in growth.object["rows"])
    assert "nothing" in wrong.error["message"]


@pytest.mark.needs("duckdb")
def test_spark_and_duckdb_give_the_same_answers(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Both agree on each predefined question, on SQL, and on the run to a state."""
    here(load_world("note-hasty-abort"), Plan(out=tmp_path))
    own = "SELECT a_phase, count(*) AS n, avg(level) AS far FROM states GROUP BY 1 ORDER BY 1"
    questions = run_here(capsys, "query", str(tmp_path), "--json").object["questions"]
    asked = [(own,), *(("--ask", one["name"]) for one in questions), ("--to", "NOT a_up")]
    asked += [("--to", "level > 100")]

    for words in asked:
        one, other = (
            run_here(capsys, "query", str(tmp_path), *words, *which)
            for which in (SPARK, ("--json", "--engine", "duckdb"))
        )
        assert one.code == other.code, words
        told = [{**done.object, "seconds": 0, "engine": ""} for done in (one, other)]
        for found in told:
            # Rows of equal rank have any order.
            found["rows"] = sorted(map(repr, found.get("rows", ())))
        assert told[0] == told[1], words


def test_a_folder_refuses_another_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The error names the other options or version; other options do not change the state."""
    words = (*SEARCH, "--out", str(tmp_path), "--members")
    assert 0 == run_here(capsys, *words, "7").code
    state = (tmp_path / "search" / "state.json").read_bytes()

    other = run_here(capsys, *words, "6", "--resume")

    assert 2 == other.code
    assert "{'members': 7} there, {'members': 6} here" in other.error["message"]
    assert state == (tmp_path / "search" / "state.json").read_bytes()

    changed = state.replace(b'"version": "', b'"version": "0')
    (tmp_path / "search" / "state.json").write_bytes(changed)
    older = run_here(capsys, *words, "7", "--resume")

    assert 2 == older.code
    assert "version 0" in older.error["message"]


def test_many_simulations_run_and_are_summarised_on_spark(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The summaries agree with the single runs; a second run and damaged files are refused."""
    small = ("--queues", "300", "--nodes", "20", "--zones", "5")
    one = ["reconcile", "simulate", *small, "--copies-at-once", "2"]
    words = [*one, "--copies-at-once", "4", "--seeds", "2"]
    folder = str(tmp_path / "out")
    made = run_here(capsys, *words, "--out", folder, *SPARK)
    asked = run_here(capsys, "reconcile", "results", folder, *SPARK)

    assert [] == list(faults(made.object, schema.SCHEMAS["simulated"]))
    assert made.object == asked.object
    found = {(it["way"], it["copies_at_once"]): it for it in asked.object["summaries"]}
    assert {("events", 25), ("periodic", 25), ("ours", 2), ("ours", 4)} == found.keys()
    assert {2} == {it["runs"] for it in found.values()}
    alone = [run_here(capsys, *one, "--seed", seed, "--json").object for seed in "12"]
    means = [it["below_mean"] for each in alone for it in each["ways"] if it["way"] == "ours"]
    assert found["ours", 2]["below_mean"] == pytest.approx(sum(means) / 2, abs=0.002)
    assert 1 == found["periodic", 25]["share_of_periodic"]
    again = run_here(capsys, *words, "--out", folder, *SPARK)
    assert 2 == again.code
    assert "is there already" in again.err + again.out
    for file in (tmp_path / "out" / "outcomes").glob("*.parquet"):
        file.write_bytes(b"garbage")
    damaged = run_here(capsys, "reconcile", "results", folder, *SPARK)
    assert (2, True) == (damaged.code, "is not Parquet" in damaged.err + damaged.out)
