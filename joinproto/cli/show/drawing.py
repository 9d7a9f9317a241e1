"""The run as an SVG sequence chart: lifelines, arrows, crashes, splits and the cycle.

The chart has only shapes and classes.  Colours and motion are in the style sheet, so that the
chart is readable in light and dark themes and on paper.  Each step is a link to its words below.
"""

from __future__ import annotations

from collections.abc import Iterator

from joinproto.cli.show.cells import width
from joinproto.cli.show.drawing_step import step_row
from joinproto.cli.show.markup import Markup, as_svg_text, element, join
from joinproto.cli.show.pieces import Piece, Role, line, visible
from joinproto.cli.show.rows import CELL, EDGE, LEFT, LINE_HEIGHT, Heads, Notice, Plan, StepRow, cut


def drawing(plan: Plan) -> Markup:
    """Return the chart as one SVG element; it needs `definitions()` next to it in the page."""
    return element(
        "svg",
        join(_bands(plan)),
        element("rect", class_="cursor", x=1.0, y=0.0, width=plan.width - 2, height=0.0, rx=6.0),
        join(_cycle(plan)),
        join(_lifelines(plan)),
        join(_row(plan, row) for row in plan.rows),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {plan.width:g} {plan.height:g}",
        width=plan.width,
        height=plan.height,
        role="group",
        class_="narrow" if plan.narrow else "wide",
        aria_label=f"Sequence chart of {len(plan.story.trace.steps)} steps; in words below it",
    )


def definitions() -> Markup:
    """Return the definitions that all drawings of a page refer to."""
    head = element("path", d="M0 0L10 5L0 10L2.6 5z", class_="head")
    hatch = element("path", d="M0 8L8 0", class_="hatch")
    shared = element(
        "defs",
        element(
            "marker",
            head,
            id="head",
            viewBox="0 0 10 10",
            refX=9.5,
            refY=5.0,
            markerWidth=9.0,
            markerHeight=9.0,
            markerUnits="userSpaceOnUse",
            orient="auto-start-reverse",
        ),
        element(
            "pattern",
            hatch,
            id="hatch",
            width=8.0,
            height=8.0,
            patternUnits="userSpaceOnUse",
        ),
    )
    return element(
        "svg", shared, xmlns="http://www.w3.org/2000/svg", width=0, height=0, aria_hidden="true"
    )


def _bands(plan: Plan) -> Iterator[Markup]:
    """Yield a band for each time that the network is split; one side of the split is hatched."""
    since: StepRow | None = None
    end = plan.rows[-1].top
    for row in [*plan.steps.values(), None]:
        if row is not None and row.moment.apart and since is None:
            since = row
        elif since is not None and (row is None or not row.moment.apart):
            bottom = end if row is None else row.y
            yield _band(plan, since, bottom)
            since = None


def _band(plan: Plan, since: StepRow, bottom: float) -> Markup:
    size = {"y": since.y, "height": bottom - since.y}
    parts = [element("rect", x=float(LEFT), width=plan.width - LEFT - EDGE, class_="band", **size)]
    half = plan.pitch / 2
    parts += [
        element("rect", x=plan.x(name) - half, width=plan.pitch, class_="band-other", **size)
        for name in plan.story.lifelines
        if since.moment.side and name not in since.moment.side
    ]
    return join(parts)


def _cycle(plan: Plan) -> Iterator[Markup]:
    begin = plan.story.loop_at
    if begin is None or plan.story.stops:
        return
    first, last = [row.top + row.height / 2 for row in plan.rows if isinstance(row, Notice)][:2]
    x, bend = 18, 8
    path = (
        f"M{LEFT - 10} {last:g}H{x + bend}Q{x} {last:g} {x} {last - bend:g}"
        f"V{first + bend:g}Q{x} {first:g} {x + bend} {first:g}H{LEFT - 10}"
    )
    yield element("path", d=path, class_="cycle-line", marker_end="url(#head)")


def _lifelines(plan: Plan) -> Iterator[Markup]:
    """Yield the lifeline of each member: solid while it runs, dashed while it is down."""
    steps = plan.steps
    bottom = plan.rows[-1].top
    for name in plan.story.lifelines:
        x = plan.x(name)
        start, down = plan.rows[0].top + 30, name in plan.story.moments[0].down
        for number, row in steps.items():
            now = name in plan.story.moments[number].down
            if now != down:
                yield _life(x, start, row.y, down=down)
                start, down = row.y, now
        yield _life(x, start, bottom, down=down)


def _life(x: float, top: float, bottom: float, *, down: bool) -> Markup:
    return element("line", x1=x, x2=x, y1=top, y2=bottom, class_="dead" if down else "life")


def _row(plan: Plan, row: StepRow | Notice | Heads) -> Markup:
    match row:
        case StepRow():
            return step_row(plan, row)
        case Notice():
            middle = (LEFT + plan.width - EDGE) / 2
            first = row.top + row.height / 2 + 5 - LINE_HEIGHT * (len(row.lines) - 1) / 2
            lines = (
                as_svg_text(words, x=middle, y=first + LINE_HEIGHT * number, text_anchor="middle")
                for number, words in enumerate(row.lines)
            )
            return element("g", *lines, class_="notice")
        case Heads():
            names = (_head(plan, row, name) for name in plan.story.lifelines)
            return element("g", *names, class_="heads")


def _head(plan: Plan, row: Heads, name: str) -> Markup:
    room = plan.pitch - 14
    label = cut(line(Piece(visible(name), Role.NAME)), room - 14)
    wide = min(max(CELL * width(label.text) + 24, 56), room)
    x, down = plan.x(name), name in row.moment.down
    return element(
        "g",
        element("title", visible(name) + (", down" if down else "")),
        element(
            "rect", x=x - wide / 2, y=row.top + 8, width=wide, height=28.0, rx=14.0, class_="pill"
        ),
        as_svg_text(label, x=x, y=row.top + 27, text_anchor="middle"),
        class_="is-down" if down else None,
    )
