"""Figures as people read them: tables, short numbers, ratios."""

import pytest

from tools.bench import figures


def test_the_columns_of_a_table_are_aligned() -> None:
    """Cells are padded, with text to the left and numbers to the right."""
    expected = """\
|   N | tool  | states |
| --: | ----- | -----: |
|   8 | a     |      1 |
|   9 | other | 12,345 |"""
    found = figures.table(["N", "tool:", "states"], [["8", "a", "1"], ["9", "other", "12,345"]])
    assert expected == found


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"),
        (0.5, "0.50"),
        (22.04, "22.0"),
        (99.96, "100"),
        (999, "999"),
        (999.7, "1.00 k"),
        (607_213, "607 k"),
        (1_814_321, "1.81 M"),
        (22_000_000, "22.0 M"),
    ],
)
def test_numbers_are_shown_with_two_or_three_digits(number: float | None, text: str) -> None:
    assert text == figures.short(number)


@pytest.mark.parametrize(
    ("ratio", "text"), [(None, "-"), (2.345, "2.35 x"), (46.2, "46.2 x"), (0.0312, "0.03 x")]
)
def test_a_ratio_is_shown_with_an_x(ratio: float | None, text: str) -> None:
    """A very small ratio is not shown as 0."""
    assert text == figures.times(ratio)
