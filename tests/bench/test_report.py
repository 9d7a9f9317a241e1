"""The report on the terminal, the page and the picture of the benchmarks."""

import xml.etree.ElementTree as ET
from pathlib import Path

from attrs import evolve

from tests.bench.stand_ins import invented_results
from tools.bench import plot, report
from tools.bench.__main__ import write
from tools.bench.results import read_json

SVG = "{http://www.w3.org/2000/svg}"


def test_the_terminal_shows_measurements_ratios_and_start() -> None:
    shown = report.terminal(invented_results())

    assert "|   8 | joinproto               |  1,745,408 |  2.50 |" in shown
    assert "|   8 | SPIN tuned, depth first " in shown
    assert "1.60 x" in shown
    assert "`joinproto --help`" in shown
    assert "the first time ever" in shown


def test_a_search_that_is_mostly_start_up_has_no_rates() -> None:
    """288 states in a second would be the speed of Python's start, not of the search."""
    lines = report.rows_table(invented_results().rows).splitlines()

    cells = [cell.strip() for cell in lines[2].split("|")]
    assert ["3", "joinproto", "288", "1.00", "1.00", "-", "-"] == cells[1:8]


def test_a_problem_is_shown_before_the_results() -> None:
    """A reader must not quote the numbers of a tool that counts wrong."""
    left_out = "musil is left out: no Python 3.12\n  next: install it"
    found = evolve(invented_results(), problems=("spin-dfs 8: wrong",), left_out=(left_out,))

    page = report.markdown(found, plot="benchmarks.svg")

    assert page.index("**Problem:** spin-dfs 8: wrong") < page.index("distinct")
    assert "musil is left out: no Python 3.12. Next: install it." in page
    assert "PROBLEM: spin-dfs 8: wrong" in report.terminal(found)


def test_the_page_names_command_date_machine_and_settings() -> None:
    """A reader who doubts a number can measure it again."""
    page = report.markdown(invented_results(), plot="benchmarks.svg")

    for part in (
        "`make bench` on 2026-01-31",
        "(benchmarks.svg)",
        "A Processor, 2600 MHz; 2 processors",
        "numpy 2.0, spin 6.5.2",
        "-DNOCOMP",
    ):
        assert part in page
    assert "{" not in page


def test_write_creates_the_page_the_summary_the_data_and_the_picture(tmp_path: Path) -> None:
    """`write` creates the folder, too."""
    write(invented_results(), tmp_path / "new")

    assert {"benchmarks-summary.md", "benchmarks.md", "benchmarks.json", "benchmarks.svg"} == {
        file.name for file in (tmp_path / "new").iterdir()
    }
    text = (tmp_path / "new" / "benchmarks.json").read_text("utf-8")
    assert invented_results().rows[0] == read_json(text).rows[0]


def test_the_picture_has_its_texts_and_a_dark_theme(tmp_path: Path) -> None:
    """Text stays text, and there are colours for a light and a dark page."""
    file = tmp_path / "picture.svg"
    plot.draw(invented_results(), file)
    text = file.read_text("utf-8")

    words = {"".join(node.itertext()).strip() for node in ET.parse(file).iter(f"{SVG}text")}
    assert {"joinproto", "SPIN tuned, depth first", "resource managers"} <= words
    assert "@media (prefers-color-scheme: dark)" in text
    for ink, _ in (plot.INK, plot.GRID):
        # The ink is in the style sheet and in the drawing, so that the style sheet has an effect.
        assert text.count(f"fill: {ink}") + text.count(f"stroke: {ink}") > 2


def test_the_same_numbers_draw_the_same_picture(tmp_path: Path) -> None:
    """So a commit shows a changed picture only if the numbers changed."""
    plot.draw(invented_results(), tmp_path / "one.svg")
    plot.draw(invented_results(), tmp_path / "two.svg")

    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
