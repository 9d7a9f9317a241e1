"""`joinproto models`: the worlds that ship, and how each must end."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import click
from attrs import frozen

from joinproto.check import catalogue
from joinproto.check.entry import Entry
from joinproto.check.options import listed
from joinproto.cli.output import Terminal
from joinproto.cli.show.pieces import Line, Piece, Role, line
from joinproto.codec.json_form import Count, printed
from joinproto_worlds import entries

EPILOG = "Example: joinproto models --json"


@click.command(epilog=EPILOG)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def models(as_json: bool) -> int:
    """List the worlds that ship: what each shows, its members, how its search must end.

    A world that must be violated shows what goes wrong without a rule, or outside of what
    the protocol promises.
    """
    if as_json:
        click.echo(printed(Models(tuple(map(_told, entries.ENTRIES)))))
        return 0
    terminal = Terminal.now(colours=False)
    names = max(len(item.name) for item in entries.ENTRIES) + 2
    for item in entries.ENTRIES:
        for first, text in _lines(item, names):
            click.echo(terminal.paragraph(text, first=first, indent=names + 10))
    click.echo()
    click.echo("joinproto check NAME searches one, joinproto check --tier quick all that are quick")
    return 0


def _lines(item: Entry, names: int) -> Iterator[tuple[int, Line]]:
    """Yield what there is to say of a world, each line with its indentation."""
    role = Role.GOOD if item.expected == "holds" else Role.WARN
    heading = Piece(item.name.ljust(names), Role.NAME)
    yield 0, line(heading, Piece(item.expected.ljust(10), role), item.about)
    yield names + 10, line(Piece("  ".join(_facts(item)), Role.QUIET))


def _facts(item: Entry) -> Iterator[str]:
    least, most = item.members
    yield f"--members {item.usual}" + (f" ({least} to {most})" if least < most else "")
    others = [name for name in catalogue.parameters(item) if name not in ("members", "mutant")]
    yield from (listed([name]) for name in others)
    for mutant in item.mutants:
        yield f"--mutant {mutant}"


@frozen(kw_only=True)
class Listed:
    """One world."""

    name: Annotated[str, "for `joinproto check`"]
    expected: Annotated[Literal["holds", "violated"], "how its search must end"]
    members: Annotated[Count, "by default"]
    about: Annotated[str, "what it shows"]
    members_least: Annotated[Count, "the fewest it can have"]
    members_most: Annotated[Count, "the most it can have"]
    tier: Annotated[
        Literal["quick", "long", "deep"], "`quick`: seconds; `long`: minutes; `deep`: for Spark"
    ]
    steps: Annotated[Count | None, "of the shortest run that breaks it; null: not pinned"]
    mutants: Annotated[tuple[str, ...], "mistakes it can have built in, for `--mutant`"]
    options: Annotated[Mapping[str, Any], "other options it takes, with their defaults"]


@frozen
class Models:
    """`joinproto models --json`"""

    worlds: Annotated[tuple[Listed, ...], "every world that ships"]


def _told(item: Entry) -> Listed:
    least, most = item.members
    return Listed(
        name=item.name,
        expected=item.expected,
        members=item.usual,
        about=item.about,
        members_least=least,
        members_most=most,
        tier=item.tier,
        steps=item.steps,
        mutants=item.mutants,
        options={
            name: _default(value)
            for name, value in catalogue.parameters(item).items()
            if name not in ("members", "mutant")
        },
    )


def _default(parameter: inspect.Parameter) -> Any:
    """Return a parameter's default as a JSON value; None where there is none to show."""
    value = parameter.default
    return value if isinstance(value, bool | int | float | str) else None
