"""The picture of the benchmarks: states per second of CPU, and bytes per state, by size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from tools.bench.results import MEMBERS_OF_BASE, TOOL_NAMES, Results, Row, Tool

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = ("#1f2328", "#e6edf3")
GRID = ("#d1d9e0", "#3d444d")
"""The colours of text and grid, on a light page and on a dark page."""


@frozen
class Line:
    """One tool's line.

    Colours are of medium lightness, so that they are visible on white and on black; marks
    distinguish the tools for people who cannot distinguish the colours.
    """

    tool: Tool
    colour: str
    mark: str
    stroke: str = "-"
    after_start: bool = False

    @property
    def label(self) -> str:
        return TOOL_NAMES[self.tool] + (", start left out" if self.after_start else "")


LINES = (
    Line("joinproto", "#d9480f", "o"),
    Line("joinproto", "#d9480f", ".", ":", after_start=True),
    Line("spin-dfs", "#1c7ed6", "s"),
    Line("spin-bfs", "#0ca678", "^"),
    Line("spin-bfs-o3", "#9c36b5", "v"),
    Line("per-state", "#868e96", "D"),
    Line("minicheck", "#e8590c", "P"),
    Line("musil", "#495057", "X"),
)


def draw(results: Results, file: Path) -> None:
    # Imported here, because the parent of a measured command must stay small.
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = [
        row
        for row in results.rows
        if row.world == "two-phase-commit" and row.members > MEMBERS_OF_BASE
    ]
    settings: dict[Any, Any] = {
        "svg.fonttype": "none",  # text stays text, which is sharp and can be searched
        "svg.hashsalt": "joinproto",  # the same numbers give the same file
        "font.family": "sans-serif",
        "font.size": 10,
        **dict.fromkeys(
            ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"),
            INK[0],
        ),
        "grid.color": GRID[0],
    }
    with mpl.rc_context(settings):
        figure = Figure(figsize=(9.5, 4.6), layout="constrained")
        speed, memory = figure.subplots(1, 2)
        _draw_panel(speed, rows, rate, "distinct states for each second of CPU")
        _draw_panel(memory, rows, weight, "bytes of memory for each distinct state")
        handles, labels = speed.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    file.write_text(for_both_themes(file.read_text("utf-8")), "utf-8")


def for_both_themes(svg: str) -> str:
    """Return `svg` with a style sheet that swaps ink and grid on a dark page."""
    rules = [
        f'[style*="{what}: {light}"] {{ {what}: {dark} !important }}'
        for light, dark in (INK, GRID)
        for what in ("fill", "stroke")
    ]
    sheet = "@media (prefers-color-scheme: dark) { " + " ".join(rules) + " }"
    head, mark, rest = svg.partition("<defs>")
    return f"{head}<style>{sheet}</style>\n {mark}{rest}"


def rate(line: Line, row: Row) -> float | None:
    if not line.after_start:
        return row.distinct_per_cpu_second
    return None if row.cpu_after_start is None else row.seen.distinct / row.cpu_after_start


def weight(line: Line, row: Row) -> float | None:
    """Return bytes for each distinct state, without the memory of the start."""
    return None if line.after_start else row.bytes_per_state


def tick(value: float, _place: object = None) -> str:
    """Return the number at a tick: 200 k, 1 M, 50."""
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if value >= limit:
            return f"{value / limit:g}{unit}"
    return f"{value:g}"


def _draw_panel(
    axes: Axes, rows: Sequence[Row], value: Callable[[Line, Row], float | None], title: str
) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for line in LINES:
        points = sorted(
            (row.members, number)
            for row in rows
            if row.tool == line.tool and (number := value(line, row)) is not None
        )
        if points:
            axes.plot(
                [size for size, _ in points],
                [number for _, number in points],
                color=line.colour,
                marker=line.mark,
                markersize=7,
                linewidth=2,
                linestyle=line.stroke,
                label=line.label,
            )
    axes.set_title(title, fontsize=11)
    axes.set_xlabel("resource managers")
    axes.set_xticks(sorted({row.members for row in rows}))
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(tick))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.grid(visible=True, which="major", axis="y")
    axes.spines[["top", "right"]].set_visible(False)
