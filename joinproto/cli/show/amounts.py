"""Numbers with their units, and tables, as a person reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence


def count(number: int) -> str:
    """Return `number` with commas: 1,234,567."""
    return f"{number:,}"


def short(number: int) -> str:
    """Return `number` in three digits: 950, 12.3 k, 4.56 M."""
    return _scaled(number, ("", " k", " M", " G", " T"))


def plural(number: int, noun: str) -> str:
    """Return "1 step", "2 steps"; `noun` takes an s."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def size(octets: int) -> str:
    """Return a size in memory in three digits, in units of 1,000: 98.2 MB."""
    return _scaled(octets, (" bytes", " kB", " MB", " GB", " TB"))


def duration(seconds: float) -> str:
    """Return a time: 0.41 s, 12.3 s, 4 min 05 s, 2 h 03 min."""
    # A time that rounds to the next unit is written in that unit.
    if seconds < 9.995:
        return f"{seconds:.2f} s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3_600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3_600} h {whole % 3_600 // 60:02d} min"


def _scaled(number: int, units: tuple[str, ...]) -> str:
    value, at = float(number), 0
    # A value that rounds to 1,000 is written in the next unit.
    while value >= 999.5 and at < len(units) - 1:
        value /= 1_000
        at += 1
    digits = 0 if not at or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:,.{digits}f}{units[at]}"


def aligned(rows: Sequence[Sequence[str]], *pads: Callable[[str, int], str]) -> list[str]:
    """Return rows as lines, with the cells of a column below each other.

    `pads`: functions that pad a cell to its width, one for each column or one for all; `str.ljust`
    by default.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    columns = pads if len(pads) == len(widths) else (pads or (str.ljust,)) * len(widths)
    return [
        "  ".join(
            pad(cell, width) for pad, cell, width in zip(columns, row, widths, strict=True)
        ).rstrip()
        for row in rows
    ]
