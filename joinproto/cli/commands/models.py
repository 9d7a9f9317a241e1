"""`joinproto models`: the worlds that ship, and how each must end."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import click
from attrs import frozen

from joinproto.check import catalogue
from joinproto.check.entry import Entry
from joinproto.check.options import listed
from joinproto.cli import completing
from joinproto.cli.options import AS_JSON, FILE, option
from joinproto.cli.output import Terminal
from joinproto.cli.own_words import worlds_that_say
from joinproto.cli.show.amounts import plural
from joinproto.cli.show.pieces import Piece, Role, line
from joinproto.codec.json_form import Count, filled, printed
from joinproto.errors import UsageProblem, did_you_mean
from joinproto_worlds import entries
from joinproto_worlds.policy import entries as policies

EPILOG = """\b
Examples:
  joinproto models
  joinproto models standby
  joinproto models join-wiped
  joinproto models --expect violated --grep restart
  joinproto models --grep "pod 0 lost its volume and made its own cluster"
  joinproto models --html models.html
"""


@click.command(epilog=EPILOG)
@click.argument("name", required=False, shell_complete=completing.families)
@option("--grep", "Only worlds with TEXT, or with its rarer words.", metavar="TEXT")
@option("--expect", "Only worlds with this expected result.", click.Choice(["holds", "violated"]))
@option("--html", "Write the worlds as a page, and print no list.", FILE)
@AS_JSON
def models(
    name: str | None, grep: str | None, expect: str | None, html: Path | None, as_json: bool
) -> int:
    """List the worlds that ship: their families, or the worlds of a family, or one world.

    A world that must be violated shows the harm without a rule, or outside of the protocol's
    promises.
    """
    every = [item for item in _entries_named(name) if expect in (None, item.expected)]
    exact, near = (every, []) if grep is None else worlds_that_say(grep, every)
    found = exact + near
    worlds = [item for item in found if item.name not in PROGRAMS]
    programs = [PROGRAMS[item.name] for item in found if item.name in PROGRAMS]
    if html is not None:
        from joinproto.cli.show.page_models import models_page
        from joinproto.cli.show.write import write_text

        write_text(html, models_page(worlds))
    if as_json:
        listed_programs = tuple(filled(ListedProgram, row.entry, row) for row in programs)
        click.echo(printed(Models(tuple(map(_listed, worlds)), listed_programs)))
        return 0
    if html is not None:
        return 0
    terminal = Terminal.now()
    if len(found) == 1 and name == found[0].name:
        _print_one(terminal, found[0])
    elif name is grep is expect is None:
        _print_families(terminal, found)
    else:
        if near and not exact:
            click.echo("no world has just this text; worlds with its words, the nearest first:\n")
        _print_worlds(terminal, exact, near)
        for item in found:
            if item.name == name:
                click.echo()
                _print_one(terminal, item)
    return 0


PROGRAMS = {row.entry.name: row for row in policies.ROWS}
"""Worlds that ask a program for its decisions, by name; they are listed as their own family."""


def _family_of(item: Entry) -> str:
    return policies.FAMILY if item.name in PROGRAMS else entries.family_of(item)


def _entries_named(name: str | None) -> list[Entry]:
    every = [*entries.ENTRIES, *(row.entry for row in policies.ROWS)]
    if name is None:
        return every
    one = [item for item in every if item.name == name]
    family = [item for item in every if _family_of(item) == name]
    if family or one:
        return family or one
    having = [item.name for item in every if name in item.mutants]
    if having:
        raise UsageProblem(
            f"{name!r} is not a world, but a mistake that can be built into worlds",
            next=f"joinproto check {having[0]} --mutant {name}",
        )
    families = [*entries.FAMILIES, policies.FAMILY]
    raise UsageProblem(
        f"there is no family and no world called {name!r}",
        next=did_you_mean(name, [*families, *(item.name for item in every)])
        or "joinproto models lists the families",
    )


def _print_families(terminal: Terminal, found: list[Entry]) -> None:
    width = max(map(len, entries.FAMILIES)) + 2
    click.echo(f"{'family':{width}}{'worlds':>6}  {'violated':>8}")
    for family, about in {**entries.FAMILIES, policies.FAMILY: policies.ABOUT}.items():
        worlds = [item for item in found if _family_of(item) == family]
        violated = sum(item.expected == "violated" for item in worlds)
        heading = Piece(family.ljust(width), Role.NAME)
        counts = Piece(f"{len(worlds):6}  {violated or '':>8}  ")
        click.echo(terminal.paragraph(line(heading, counts, about), indent=width + 18))
    click.echo()
    of_catalogue = sum(item.name not in PROGRAMS for item in found)
    click.echo(f"{of_catalogue} worlds; `violated`: must be violated, to show a rule's purpose")
    click.echo("next: joinproto models FAMILY; joinproto models NAME; joinproto check NAME")


def _print_worlds(terminal: Terminal, exact: list[Entry], near: list[Entry]) -> None:
    found = exact + near
    width = max((len(item.name) for item in found), default=0) + 2
    for item in found:
        if exact and near and item is near[0]:
            click.echo("\nother worlds with its words:\n")
        role = Role.GOOD if item.expected == "holds" else Role.WARN
        heading = Piece(item.name.ljust(width), Role.NAME)
        text = line(heading, Piece(item.expected.ljust(10), role), item.about)
        click.echo(terminal.paragraph(text, indent=width + 10))
    click.echo(f"\n{plural(len(found), 'world')}")
    others = [item.name for item in found if item.name not in entries.FAMILIES]
    if others:
        click.echo(f"next: joinproto models {others[0]}   shows one world, with its options")


TIERS = {"quick": "it takes seconds", "long": "it takes seconds to minutes", "deep": "for Spark"}


def _print_one(terminal: Terminal, item: Entry) -> None:
    click.echo(terminal.paragraph(line(Piece(f"{item.name}: ", Role.NAME), item.about), indent=2))
    if item.happened:
        click.echo(terminal.paragraph(line(f"\n  {item.happened}"), indent=2))
        if item.spoken:
            click.echo(terminal.paragraph(line(f"\n  also: {item.spoken}"), indent=2))
        click.echo(f"\n  source: {item.link}\n" if item.link else "")
    if item.name in PROGRAMS:
        _print_program(terminal, item)
        return
    least, most = item.members
    sizes = "" if least == most else f" ({least} to {most})"
    rows = [
        ("family", entries.family_of(item)),
        ("must be", "violated" if item.expected == "violated" else "true: it holds"),
        ("members", f"{item.usual}{sizes}"),
        ("tier", f"{item.tier}: {TIERS[item.tier]}"),
    ]
    if item.steps is not None:
        rows.append(("shortest run that breaks it", plural(item.steps, "step")))
    others = [name for name in catalogue.parameters(item) if name not in ("members", "mutant")]
    rows += [("option", listed([name])) for name in others]
    for mutant in item.mutants:
        about = entries.mistake(mutant)
        rows.append(("mistake that it can have", f"--mutant {mutant}: {about}"))
    claims = catalogue.load_world(item.name).properties
    rows += [("claim", f"{claim.kind}: {claim.name}") for claim in claims]
    width, before = max(len(name) for name, _ in rows) + 4, ""
    for name, text in rows:
        if name == before:
            click.echo(terminal.paragraph(line(text), first=width, indent=width))
        else:
            heading = Piece(name.ljust(width - 2))
            click.echo(terminal.paragraph(line(heading, text), first=2, indent=width))
        before = name
    click.echo(f"\nnext: joinproto check {item.name}")


def _print_program(terminal: Terminal, item: Entry) -> None:
    end = "no run defeats it" if item.steps is None else f"defeated after {item.steps} steps"
    click.echo(f"  {end}; all rules and their runs: docs/policies.md")
    row = PROGRAMS[item.name]
    if policies.RULES in row.command:
        click.echo(f"  {policies.RULES} is a folder of a checkout of the project")
    click.echo("")
    if row.before:
        click.echo(f"first: {row.before}")
    click.echo(f"next: {row.command}")


@frozen(kw_only=True)
class ListedWorld:
    """One world."""

    name: Annotated[str, "for `joinproto check`"]
    family: Annotated[str, "the worlds that it belongs to: see `joinproto models`"]
    expected: Annotated[Literal["holds", "violated"], "how its search must end"]
    members: Annotated[Count, "members by default"]
    about: Annotated[str, "what it shows"]
    members_least: Annotated[Count, "the fewest members that it can have"]
    members_most: Annotated[Count, "the most members that it can have"]
    tier: Annotated[
        Literal["quick", "long", "deep"], "`quick`: seconds; `long`: minutes; `deep`: for Spark"
    ]
    steps: Annotated[Count | None, "steps of the shortest run that breaks it; null: not pinned"]
    mutants: Annotated[tuple[str, ...], "mistakes that can be built in, for `--mutant`"]
    happened: Annotated[str, "of an incident: its story, in an operator's words"]
    link: Annotated[str, "of an incident: the address of its report"]
    spoken: Annotated[str, "of an incident: other words for it: log lines, products"]
    options: Annotated[Mapping[str, Any], "other options it takes, with their defaults"]


@frozen(kw_only=True)
class ListedProgram:
    """A program that decides which node founds a cluster."""

    name: Annotated[str, "for `joinproto models`"]
    before: Annotated[str, "the command that makes the program; empty: none is needed"]
    command: Annotated[str, "the command that checks it"]
    expected: Annotated[Literal["holds", "violated"], "how its check must end"]
    steps: Annotated[Count | None, "steps of the shortest run that defeats it; null: none does"]
    about: Annotated[str, "its rule"]
    happened: Annotated[str, "its story, in an operator's words"]


@frozen
class Models:
    """`joinproto models --json`"""

    worlds: Annotated[tuple[ListedWorld, ...], "the worlds asked for; without options, every world"]
    policies: Annotated[
        tuple[ListedProgram, ...], "the programs asked for, each in a world that asks it"
    ]


def _listed(item: Entry) -> ListedWorld:
    least, most = item.members
    return filled(
        ListedWorld,
        item,
        family=entries.family_of(item),
        members=item.usual,
        members_least=least,
        members_most=most,
        options={
            name: _default(value)
            for name, value in catalogue.parameters(item).items()
            if name not in ("members", "mutant")
        },
    )


def _default(parameter: inspect.Parameter) -> Any:
    """Return a parameter's default, if it is a plain value of JSON; else None."""
    value = parameter.default
    return value if isinstance(value, bool | int | float | str) else None
