"""The matrices of docs/incidents.md: fix by fault, for safety and for liveness.

`tests/tools/test_docs.py` compares the tables with what the checker finds; here they are read.
"""

from __future__ import annotations

import pytest

from tools.fix_worlds import FAULTS, FIXES, STANDS_STILL
from tools.fixes import GOOD, MATRICES, OURS, WAITS, Cell, Matrix, cell, path_of, picture, shown

SAFE, LIVE = shown("safety"), shown("liveness")


@pytest.mark.parametrize("matrix", MATRICES)
def test_the_picture_is_up_to_date(matrix: Matrix) -> None:
    """`python -m tools.fixes` writes it from the table."""
    assert picture(matrix) == path_of(matrix).read_text("utf-8")


def test_a_cell_holds_the_finding_of_the_checker() -> None:
    """Marked, and the whole volume is lost: the seed founds again, two join, no copy is left."""
    assert Cell("safe", "no copy is left", 4) == cell("safety", "marker", "volume")
    assert "no copy is left, 4 steps" == SAFE["marker file", "volume"]
    assert Cell("goes on") == cell("liveness", "marker", "database")


def test_without_a_fault_every_fix_is_safe_and_goes_on() -> None:
    for words in (*FIXES.values(), OURS):
        assert (GOOD["safety"], GOOD["liveness"]) == (
            SAFE[words, "no fault"],
            LIVE[words, "no fault"],
        )


def test_each_fix_stops_a_fault_that_does_harm_without_it() -> None:
    """Or there would be no reason for it."""
    without = [SAFE["no fix", wrong] for wrong in FAULTS]
    for words in (*FIXES.values(), OURS):
        assert words == "no fix" or [SAFE[words, wrong] for wrong in FAULTS] != without


def test_a_mark_on_a_disk_is_defeated_by_an_older_copy_of_it() -> None:
    defeated = {words for words in FIXES.values() if SAFE[words, "older copy"] != "safe"}

    assert set(FIXES.values()) - {"activation sequence"} == defeated


def test_fixes_that_trade_the_loss_for_a_dead_end() -> None:
    """Safe, and without a person nothing serves again."""
    traded = {
        (words, wrong)
        for words, wrong in SAFE
        if SAFE[words, wrong] == "safe" and LIVE[words, wrong].startswith((STANDS_STILL, WAITS))
    }

    assert {
        ("mark of a clean stop", "fast restart"),
        ("mark of a clean stop", "killed"),
        ("activation sequence", "register"),
        ("directory ids", "two volumes"),
        (OURS, "two volumes"),
    } == traded


def test_ours_is_safe_under_each_fault() -> None:
    assert {"safe"} == {SAFE[OURS, wrong] for wrong in FAULTS}
