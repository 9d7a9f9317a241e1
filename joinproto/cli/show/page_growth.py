"""The growth of a search, for the page of a run: a plot of the levels, and the time and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from joinproto.check.report import Growth
from joinproto.cli.show.amounts import count, size
from joinproto.cli.show.markup import Markup, element, folded, join, table

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 720.0, 240.0, 84.0, 16.0, 34.0


def growth(levels: Sequence[Growth]) -> Markup:
    """Return the section: a plot, the sums, and a folded table of all levels."""
    return element("section", *_parts(levels), class_="growth", aria_label="Growth by level")


def _parts(levels: Sequence[Growth]) -> Iterator[Markup]:
    yield element("h3", "Growth by level")
    yield plot([item.new for item in levels])
    spark = [item for item in levels if item.engine == "spark"]
    if spark:
        distinct = sum(item.new for item in levels)
        sent, written = (sum(getattr(i, name) for i in spark) for name in ("sent", "written"))
        seconds = sum(item.seconds for item in spark)
        yield element(
            "p",
            f"{len(spark)} of {len(levels)} levels on Spark, in {seconds:.1f} s of jobs;"
            f" {size(sent)} of rows exchanged, {sent / distinct:.1f} bytes for each distinct"
            f" state; {size(written)} of files written.",
            class_="quiet",
        )
    heads = ("Level", "New states", "Where", "Steps out", "Seconds", "Exchanged", "Written")
    yield folded("Every level", table(heads, map(_row, levels), "Every level", kind="counts"))


def _row(item: Growth) -> tuple[str, ...]:
    on_spark = item.engine == "spark"
    return (
        count(item.level),
        count(item.new),
        item.engine,
        count(item.generated) if on_spark else "",
        f"{item.seconds:.2f}" if on_spark else "",
        size(item.sent) if on_spark else "",
        size(item.written) if on_spark else "",
    )


def plot(counts: Sequence[int]) -> Markup:
    """Return the new states of each level as an SVG area; the table has the same numbers."""
    top = max(counts, default=1)
    across = (WIDTH - LEFT - 8) / max(1, len(counts) - 1)
    down = HEIGHT - TOP - BOTTOM
    base = TOP + down
    points = [(LEFT + at * across, base - down * n / top) for at, n in enumerate(counts)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    area = (
        f"M {LEFT:.1f},{base:.1f} L {line.replace(' ', ' L ')} L {points[-1][0]:.1f},{base:.1f} Z"
    )
    widest = counts.index(top)
    label = f"New states by level: the most, {count(top)}, at level {widest} of {len(counts) - 1}"
    marks = [
        _text(LEFT - 8, TOP + 8, count(top), "end"),
        _text(LEFT - 8, base, "0", "end"),
        _text(LEFT, base + 20, "0", "middle"),
        _text(points[-1][0], base + 20, f"level {len(counts) - 1}", "end"),
        _text(points[widest][0], base + 20, str(widest), "middle"),
    ]
    return element(
        "svg",
        element("title", label),
        element("path", d=area, fill="currentColor", fill_opacity="0.2", stroke="currentColor"),
        element("line", x1=LEFT, y1=base, x2=WIDTH - 8, y2=base, stroke="currentColor"),
        join(marks),
        viewBox=f"0 0 {WIDTH:g} {HEIGHT:g}",
        role="img",
        width="100%",
        xmlns="http://www.w3.org/2000/svg",
    )


def _text(x: float, y: float, words: str, anchor: str) -> Markup:
    return element("text", words, x=x, y=y, text_anchor=anchor, font_size="12", fill="currentColor")
