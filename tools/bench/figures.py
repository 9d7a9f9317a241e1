"""Figures as text: a Markdown table, a number, a ratio."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, padded so that its source is readable, too.

    A column whose head ends in a colon is aligned to the left, the others (numbers) to the
    right.
    """
    names = [head.rstrip(":") for head in heads]
    left = [head.endswith(":") for head in heads]
    cells = [list(line) for line in lines]
    widths = [max(3, *(len(row[i]) for row in [names, *cells])) for i in range(len(names))]

    def line(row: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if to_left else text.rjust(width)
            for text, width, to_left in zip(row, widths, left, strict=True)
        ]
        return f"| {' | '.join(padded)} |"

    rule = [
        "-" * width if to_left else "-" * (width - 1) + ":"
        for width, to_left in zip(widths, left, strict=True)
    ]
    return "\n".join([line(names), line(rule), *map(line, cells)])


def short(number: float | None) -> str:
    """Return a rate or a size with three significant digits: 1.81 M, 607 k, 22."""
    if number is None:
        return "-"
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= limit * 0.9995:
            return f"{_three(number / limit)} {unit}"
    return _three(number)


def _three(number: float) -> str:
    digits = 0 if number >= 99.95 else 1 if number >= 9.995 else 2
    return f"{number:.{digits}f}"


def times(ratio: float | None) -> str:
    """Return the ratio as text, with at least two significant digits."""
    if ratio is None:
        return "-"
    return f"{_three(ratio) if ratio >= 0.1 else f'{ratio:.1g}'} x"
