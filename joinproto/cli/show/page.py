"""A check as one HTML page that needs no network and no other file.

The words have all information; the chart, the panel next to it and the keys only make it easier to
read.  Without JavaScript the page shows the chart and, below it, the run as a list.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from string import Template

from joinproto.check.report import Growth, PropertyResult, Report
from joinproto.cli.show import findings
from joinproto.cli.show.amounts import count, plural
from joinproto.cli.show.drawing import definitions, drawing
from joinproto.cli.show.markup import Markup, element, folded, items, join, table, text
from joinproto.cli.show.page_growth import growth
from joinproto.cli.show.page_story import in_words
from joinproto.cli.show.paste import paste
from joinproto.cli.show.pieces import Piece, visible
from joinproto.cli.show.rows import Plan
from joinproto.cli.show.story import story_of
from joinproto.cli.show.words import headline
from joinproto.codec.json_form import encoded

# Not a path, because on a cluster our packages may be imported from a zip file.
ASSETS = files(__package__) / "assets"

_MARGINS = 40
"""Pixels next to the chart on the narrowest screen that shows the wide chart."""


def page(
    report: Report,
    *,
    options: Mapping[str, object] | None = None,
    levels: Sequence[Growth] = (),
) -> str:
    """Return the page of `report`, and of its run if it has one.

    `options`: arguments of `load_world` that build this world.  `levels`: the growth of the search;
    without it the page has no section about growth.
    """
    run, rules = _run(report)
    style, script = asset("page.css") + rules, asset("page.js")
    return Template(asset("page.html")).substitute(
        # The hashes let a browser run only this style and script, with any texts in the page.
        style_hash=style_hash(style),
        script_hash=style_hash(script),
        style=style,
        script=script,
        title=text(_title(report)),
        result=_coloured("p", findings.result(report), "badge"),
        facts=_facts(report),
        run=run,
        properties=_properties(report.properties),
        coverage=join([*([growth(levels)] if levels else []), *_coverage(report)]),
        sources=join(_sources(report, options or {})),
    )


def asset(name: str) -> str:
    """Return a file of this package, as text."""
    return (ASSETS / name).read_text(encoding="utf-8")


def style_hash(source: str) -> str:
    """Return the hash with which a page allows this style or script, and no other."""
    digest = hashlib.sha256(source.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _title(report: Report) -> str:
    if report.trace is not None:
        return headline(report.trace, world=report.world, members=report.members)
    where = f"{visible(report.world)} with {plural(report.members, 'member')}"
    return f"{where}: {findings.result(report).text}"


def _run(report: Report) -> tuple[Markup, str]:
    """Return the run as a chart and in words, and the style rules for the chart's widths."""
    if report.trace is None:
        return Markup(), ""
    story = story_of(report.trace)
    wide, narrow = Plan(story), Plan(story, narrow=True)
    chart = element("div", definitions(), drawing(wide), drawing(narrow), class_="chart")
    panel = element("aside", class_="panel", aria_label="One step", hidden=True)
    stage = element("section", chart, panel, class_="stage", aria_label="The run as a chart")
    between = wide.width_min + _MARGINS
    style = (
        f".chart .wide {{ min-width: {wide.width_min:g}px; }}\n"
        f".chart .narrow {{ min-width: {narrow.width_min:g}px; }}\n"
        f"@media (max-width: {between:g}px) {{ .chart .wide {{ display: none; }} }}\n"
        f"@media (min-width: {between + 0.02:g}px) {{ .chart .narrow {{ display: none; }} }}\n"
    )
    return join([stage, in_words(story)]), style


def _coloured(tag: str, piece: Piece, kind: str) -> Markup:
    return element(tag, piece.text, class_=f"{kind} {piece.role.value}")


def _facts(report: Report) -> Markup:
    rows = (
        element("div", element("dt", fact.heading), element("dd", fact.text))
        for fact in findings.costs(report)
    )
    return element("dl", *rows, class_="facts")


def _properties(results: Iterable[PropertyResult]) -> Markup:
    rows = (
        (
            _coloured("strong", findings.MARKS[item.result], "mark"),
            visible(item.name),
            item.kind,
            findings.remark(item),
        )
        for item in results
    )
    return table(("Result", "Property", "Kind", ""), rows, "Properties")


def _coverage(report: Report) -> Iterator[Markup]:
    idle = list(findings.not_exercised(report))
    if idle:
        yield element("h3", "Not exercised")
        yield items(idle, "idle")
    yield element("p", f"Taken: {findings.exercised(report)}.", class_="quiet")
    for title, counts in (
        ("Steps taken", report.coverage.actions),
        ("Cases of tables taken", report.coverage.rules),
    ):
        if counts:
            rows = ((visible(name), count(times)) for name, times in counts.items())
            yield folded(title, table(("What", "Times"), rows, title, kind="counts"))
    if report.notes:
        yield element("h3", "Notes")
        yield items(map(visible, report.notes))


def _sources(report: Report, options: Mapping[str, object]) -> Iterator[Markup]:
    if report.trace is not None:
        test = paste(report, report.trace, options=options)
        yield folded("The run as a pytest test", _source(test))
    yield folded("The report as JSON", _source(json.dumps(encoded(report), indent=2)))


def _source(code: str) -> Markup:
    return element("pre", element("code", code), tabindex="0")
