"""The worlds that ship, as one HTML page that needs no network and no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from string import Template

from joinproto.check.catalogue import load_world
from joinproto.check.entry import Entry
from joinproto.cli.show.amounts import plural
from joinproto.cli.show.markup import Markup, element, items, join, text
from joinproto.cli.show.page import asset, style_hash
from joinproto_worlds.entries import FAMILIES, family_of, mistake


def models_page(worlds: Iterable[Entry]) -> str:
    """Return the page: families, and in them worlds with claims, bounds and expected results."""
    listed = list(worlds)
    style = asset("page.css") + asset("models.css")
    return Template(asset("models.html")).substitute(
        style_hash=style_hash(style),
        style=style,
        title=text(f"{plural(len(listed), 'world')} that ship with joinproto"),
        families=join(_families(listed)),
    )


def _families(listed: list[Entry]) -> Iterator[Markup]:
    for family, found in groupby(listed, key=family_of):
        worlds = list(found)
        yield element(
            "section",
            element("h2", f"{family} "),
            element("p", FAMILIES[family], class_="about"),
            *map(_world, worlds),
            id=family,
        )


def _world(item: Entry) -> Markup:
    least, most = item.members
    sizes = f"{least} to {most} members, {item.usual} by default"
    bounds = plural(item.usual, "member") if least == most else sizes
    run = [] if item.steps is None else [f"the shortest run that breaks it has {item.steps} steps"]
    good = item.expected == "holds"
    claims = [f"{claim.kind}: {claim.name}" for claim in load_world(item.name).properties]
    mutants = [f"--mutant {name}: {mistake(name)}" for name in item.mutants]
    return element(
        "details",
        element(
            "summary",
            element("code", item.name),
            " ",
            element("span", item.expected, class_="good" if good else "warn"),
            " ",
            element("span", item.about, class_="about"),
        ),
        element("p", item.happened) if item.happened else None,
        element("p", element("a", item.link, href=item.link)) if item.link else None,
        element("p", "; ".join([bounds, f"tier {item.tier}", *run])),
        items(claims),
        element("p", "with a mistake built in:") if mutants else None,
        items(mutants) if mutants else None,
        element("pre", f"joinproto check {item.name}"),
        id=item.name,
    )
