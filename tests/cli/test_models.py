"""`joinproto models`: the list of worlds."""

from __future__ import annotations

import pytest

from joinproto_worlds.entries import ENTRIES
from tests.cli.running import Run, run_here


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto models` here."""
    return lambda *words: run_here(capsys, "models", *words)


def test_every_world_is_listed(run: Run) -> None:
    """What each shows, members, expected result."""
    listed = run("--json").object["worlds"]

    assert [item.name for item in ENTRIES] == [row["name"] for row in listed]
    (row,) = (row for row in listed if row["name"] == "two-phase-commit")
    assert ("holds", 3, 1, 12) == (
        row["expected"],
        row["members"],
        row["members_least"],
        row["members_most"],
    )
    assert ["one-vote-short"] == row["mutants"]


def test_people_get_a_table(run: Run) -> None:
    """With the options that each world takes."""
    done = run()

    assert 0 == done.code
    for item in ENTRIES:
        assert f"\n{item.name} " in f"\n{done.out}"
    assert "--members 3 (1 to 12)  --mutant one-vote-short" in done.out
    assert max(map(len, done.out.splitlines())) <= 100


def test_a_narrow_terminal_gets_narrow_lines(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """COLUMNS is what a person set."""
    monkeypatch.setenv("COLUMNS", "70")

    assert max(map(len, run().out.splitlines()[:-1])) <= 70


def test_the_help_shows_a_real_example(run: Run) -> None:
    """One that can be pasted."""
    assert "joinproto models --json" in run("--help").out
