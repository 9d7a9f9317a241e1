"""The run in words, as HTML: a list of steps, each with all members' states after it.

The script shows the same items, one at a time, next to the chart.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from joinproto.check.pictures import is_svg
from joinproto.check.report import Trace
from joinproto.cli.show.markup import Markup, as_html, element, items
from joinproto.cli.show.pieces import Line, visible
from joinproto.cli.show.story import Change, Moment, Story
from joinproto.cli.show.words import (
    closing,
    cycle_begins,
    cycle_ends,
    fairness,
    sentence,
    statements_of,
)

MEMBERS_WIDE_MAX = 5
"""If there are more members than this, their states are shown closer together."""


def in_words(story: Story) -> Markup:
    """Return the run as a list of its steps."""
    moments = (_moment(moment, story) for moment in story.moments)
    return element(
        "section",
        element("h2", "The run in words"),
        element("ol", *moments, class_="story"),
        *_fairness(story.trace),
        *(element("p", as_html(words), class_="closing") for words in closing(story)),
        class_="words",
    )


def _moment(moment: Moment, story: Story) -> Markup:
    number = "At first" if moment.step is None else f"Step {moment.number}"
    is_last = moment is story.moments[-1]
    begins = moment.number == story.loop_at and not story.stops
    end = cycle_ends(story) if is_last else None
    title = element("span", number, class_="step-number")
    what = Markup("") if moment.step is None else as_html(sentence(moment, story))
    statements = [_statement(statement, moment) for statement in statements_of(moment)]
    is_dense = len(story.members) > MEMBERS_WIDE_MAX
    states = element("div", *_cards(moment, story), class_="states many" if is_dense else "states")
    # The initial state is shown unfolded.  Later, the changes say enough.
    summary = element("summary", "all members after this step")
    return element(
        "li",
        element("h3", title, " ", what),
        element("ul", *statements) if statements else None,
        _picture(moment),
        states if moment.step is None else element("details", summary, states),
        _mark(cycle_begins()) if begins else None,
        _mark(end) if end is not None else None,
        id=f"step-{moment.number}",
        tabindex="-1",
    )


def _picture(moment: Moment) -> Markup | None:
    """Return the model's own picture of the state.

    SVG is shown as an image, so that no script in it runs and no file is fetched.
    """
    if not moment.picture:
        return None
    if not is_svg(moment.picture):
        rows = "\n".join(visible(row) if row else "" for row in moment.picture.splitlines())
        return element("pre", rows, class_="picture")
    code = base64.b64encode(moment.picture.encode("utf-8", "backslashreplace")).decode("ascii")
    words = f"the model's own picture after step {moment.number}"
    source = f"data:image/svg+xml;base64,{code}"
    return element("img", class_="picture", src=source, alt=words)


def _statement(statement: Line, moment: Moment) -> Markup:
    acts = moment.step.member if moment.step else None
    name = statement.member
    if name is None or name == acts:
        return element("li", as_html(statement))
    return element("li", element("span", visible(name), class_="name"), " ", as_html(statement))


def _mark(words: Line) -> Markup:
    return element("p", as_html(words), class_="cycle-mark")


def _fairness(trace: Trace) -> Iterator[Markup]:
    reasons = fairness(trace)
    if reasons:
        yield element("h3", "Why this run is fair")
        yield items(reasons, "fairness")


def _cards(moment: Moment, story: Story) -> Iterator[Markup]:
    for name in story.members:
        changes = {change.attribute: change for change in moment.changes if change.member == name}
        values = moment.states.get(name, {})
        status, down = None, values.get("")
        if down is not None:
            status = element("span", visible(down), class_="status crash")
        elif "" in changes:
            status = element("span", "up again", class_="status start")
        label = element("span", "changed", class_="marker") if changes else None
        keys = [key for key in dict.fromkeys([*values, *changes]) if key]
        rows = [_row(key, values.get(key), changes.get(key)) for key in keys]
        kinds = ["card", *(["changed"] if changes else []), *(["down"] if down is not None else [])]
        yield element(
            "section",
            element("h4", visible(name), " ", status, label),
            element("table", *rows) if rows else None,
            class_=" ".join(kinds),
        )


def _row(key: str, value: str | None, change: Change | None) -> Markup:
    if change is None:
        shown = element("td", visible(value or ""))
    else:
        old = None if change.before is None else element("del", visible(change.before))
        new = "gone" if change.after is None else element("ins", visible(change.after))
        arrow = element("span", " → ", aria_hidden="true") if old is not None else None
        shown = element("td", old, arrow, new)
    head = element("th", visible(key), scope="row")
    return element("tr", head, shown, class_="changed" if change is not None else None)
