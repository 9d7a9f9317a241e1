"""`joinproto check --out DIR`: all results are in a folder that belongs to one check."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import Run, run_here

BROKEN = ("two-phase-commit", "--mutant", "one-vote-short")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs `joinproto check` here."""
    return lambda *words: run_here(capsys, "check", *words)


def test_a_run_is_written_to_the_folder_in_every_format(run: Run, tmp_path: Path) -> None:
    """The folder has the report, the level counts, and the run."""
    folder = tmp_path / "new" / "out"

    done = run(*BROKEN, "--out", str(folder))

    assert 1 == done.code
    assert {
        "run.json", "report.json", "report.html", "levels.csv", "states",
        "trace.html", "trace.txt", "trace.itf.json", "test_trace.py",
    } == {file.name for file in folder.iterdir()}  # fmt: skip
    assert f"wrote to {folder}: run.json" in done.err


def test_the_report_file_has_the_object_that_json_prints(run: Run, tmp_path: Path) -> None:
    """levels.csv counts the same states, by depth."""
    done = run("two-phase-commit", "--json", "--out", str(tmp_path))

    assert done.object == json.loads((tmp_path / "report.json").read_text())
    rows = (tmp_path / "levels.csv").read_text().split()
    assert "depth,distinct" == rows[0]
    assert 288 == sum(int(row.partition(",")[2]) for row in rows[1:])


def test_the_same_check_writes_the_folder_again_and_leaves_no_old_file(
    run: Run, tmp_path: Path
) -> None:
    """If a world no longer fails, no old trace may stay next to its report."""
    run("two-phase-commit", "--out", str(tmp_path))
    (tmp_path / "trace.txt").write_text("of an older version")

    done = run("two-phase-commit", "--out", str(tmp_path))

    assert 0 == done.code
    assert not (tmp_path / "trace.txt").exists()


@pytest.mark.parametrize(
    ("words", "difference"),
    [
        (("two-phase-commit", "--members", "4"), "options none there, members=4 here"),
        (("two-phase-commit", "--symmetry"), "symmetry False there, True here"),
        (("note-restart",), "world two-phase-commit there, note-restart here"),
    ],
)
def test_a_folder_of_another_check_is_refused(
    run: Run, tmp_path: Path, words: tuple[str, ...], difference: str
) -> None:
    """The message names the difference."""
    run("two-phase-commit", "--out", str(tmp_path))
    before = (tmp_path / "report.json").read_text()

    done = run(*words, "--out", str(tmp_path))

    assert 2 == done.code
    assert difference in done.err
    assert before == (tmp_path / "report.json").read_text()


def test_a_folder_with_other_files_is_refused(run: Run, tmp_path: Path) -> None:
    """The files in it stay as they are."""
    (tmp_path / "thesis.tex").write_text("years of work")

    done = run("two-phase-commit", "--out", str(tmp_path))

    assert 2 == done.code
    assert "holds no run of joinproto: thesis.tex" in done.err
    assert ["thesis.tex"] == [file.name for file in tmp_path.iterdir()]


def test_a_file_in_place_of_the_folder_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")

    assert 2 == run("two-phase-commit", "--out", str(tmp_path / "out")).code


def test_a_folder_that_cannot_be_made_exits_4(run: Run) -> None:
    """This is an error of the machine, not of the command line."""
    done = run("two-phase-commit", "--out", "/proc/no/such")

    assert 4 == done.code
    assert "cannot write to /proc/no/such" in done.err
