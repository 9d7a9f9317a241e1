"""A report is written to a file in the format that the ending of the file's name selects."""

import json
from pathlib import Path

import pytest

from joinproto.cli.show.write import FORMATS, format_of, write_trace
from joinproto.codec.json_form import encoded
from joinproto.errors import EnvironmentProblem, UsageProblem
from tests.cli.show import traces


@pytest.mark.parametrize(
    ("name", "ending"),
    [
        ("run.html", ".html"),
        ("RUN.HTML", ".html"),
        ("run.itf.json", ".itf.json"),
        ("run.json", ".json"),
        ("test_run.py", ".py"),
        ("run.txt", ".txt"),
    ],
)
def test_the_ending_of_the_name_selects_the_format(name: str, ending: str) -> None:
    """If two endings fit, the longer one counts."""
    assert ending == format_of(Path("some") / name).ending


@pytest.mark.parametrize("name", ["run", "run.htm", "run.json.gz", ".", "html"])
def test_another_ending_is_refused_with_the_known_endings(name: str) -> None:
    """The name is refused before the search, which would otherwise be lost."""
    with pytest.raises(UsageProblem, match="format") as raised:
        format_of(Path(name))

    assert all(item.ending in raised.value.next for item in FORMATS)


def test_every_format_is_written(tmp_path: Path) -> None:
    """Any contents can be written, also texts that no encoding has."""
    report = traces.report(traces.odd())

    for item in FORMATS:
        file = tmp_path / f"run{item.ending}"
        write_trace(report, file, options={"members": 3})

        assert file.read_text(encoding="utf-8").endswith("\n")


def test_the_json_file_has_the_encoded_report(tmp_path: Path) -> None:
    report = traces.report(traces.lasso())

    write_trace(report, tmp_path / "run.json")

    assert encoded(report) == json.loads((tmp_path / "run.json").read_text("utf-8"))


@pytest.mark.parametrize("ending", [item.ending for item in FORMATS if item.needs_trace])
def test_a_format_that_holds_a_run_is_not_written_without_one(tmp_path: Path, ending: str) -> None:
    with pytest.raises(UsageProblem, match="no run"):
        write_trace(traces.report(None), tmp_path / f"run{ending}")

    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", [item.ending for item in FORMATS if not item.needs_trace])
def test_without_a_run_the_report_is_still_written(tmp_path: Path, ending: str) -> None:
    """The report has the claims that hold, and the coverage."""
    write_trace(traces.report(None), tmp_path / f"run{ending}")

    assert "two-phase-commit" in (tmp_path / f"run{ending}").read_text("utf-8")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    file = tmp_path / "absent" / "run.txt"

    with pytest.raises(EnvironmentProblem, match="cannot write") as raised:
        write_trace(traces.report(None), file)

    assert str(file) in raised.value.message
