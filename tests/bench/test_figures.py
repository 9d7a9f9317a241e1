"""Figures read well."""

import pytest

from tools.bench import figures


def test_a_table_reads_well_as_it_is() -> None:
    """Padded; text to the left, numbers to the right."""
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
def test_numbers_keep_three_digits(number: float | None, text: str) -> None:
    """More would be noise."""
    assert text == figures.short(number)


@pytest.mark.parametrize(
    ("ratio", "text"), [(None, "-"), (2.345, "2.35 x"), (46.2, "46.2 x"), (0.0312, "0.03 x")]
)
def test_ratios_are_reported_as_times(ratio: float | None, text: str) -> None:
    """A very small one is not 0."""
    assert text == figures.times(ratio)
