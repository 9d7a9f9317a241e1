"""The matrices of docs/incidents.md: fix by fault, for safety and for liveness.

`tests/tools/test_docs.py` compares the tables with the checker's findings; these tests read them.
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
    """With the marker and a lost volume the seed founds again, and no copy is left."""
    assert Cell("safe", "no copy is left", 4) == cell("safety", "marker", "volume")
    assert "no copy is left, 4 steps" == SAFE["marker file", "volume"]
    assert Cell("goes on") == cell("liveness", "marker", "database")


def test_without_a_fault_every_fix_is_safe_and_goes_on() -> None:
    for words in (*FIXES.values(), OURS):
        assert (GOOD["safety"], GOOD["liveness"]) == (
            SAFE[words, "no fault"],
            LIVE[words, "no fault"],
        )


def test_each_fix_changes_the_outcome_of_a_fault() -> None:
    without = [SAFE["no fix", wrong] for wrong in FAULTS]
    for words in (*FIXES.values(), OURS):
        assert words == "no fix" or [SAFE[words, wrong] for wrong in FAULTS] != without


def test_an_older_copy_of_a_disk_defeats_every_fix_but_the_activation_sequence() -> None:
    defeated = {words for words in FIXES.values() if SAFE[words, "older copy"] != "safe"}

    assert set(FIXES.values()) - {"activation sequence"} == defeated


def test_some_fixes_trade_the_loss_for_a_dead_end() -> None:
    """With these fixes no claim of safety breaks, but no member serves again without a person."""
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


def test_the_shipped_members_are_safe_under_each_fault() -> None:
    assert {"safe"} == {SAFE[OURS, wrong] for wrong in FAULTS}
