"""`joinproto draw`: draw state machines and decision tables from the tables that the code runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import click
from attrs import evolve, frozen

from joinproto.cli import completing
from joinproto.cli.diagrams.catalog import FORMATS, Drawing, drawings, machine_drawing
from joinproto.cli.options import AS_JSON, option
from joinproto.cli.show.write import write_text
from joinproto.codec.json_form import Absent, printed
from joinproto.errors import UsageProblem, did_you_mean


@frozen
class ListedDrawing:
    """One drawing."""

    name: Annotated[str, "for `joinproto draw`"]
    kind: Annotated[str, "`machine` or `table`"]
    about: Annotated[str, "what it shows"]


@frozen
class Drawings:
    """`joinproto draw --json`"""

    drawings: Annotated[tuple[ListedDrawing, ...], "all drawings"]
    formats: Annotated[tuple[str, ...], "for `--format`"]


@frozen(kw_only=True)
class Drawn:
    """`joinproto draw WHAT --json`"""

    name: Annotated[str, "the drawing's name"]
    kind: Annotated[str, "`machine` or `table`"]
    format: Annotated[str, "the format"]
    text: Annotated[str | None, Absent(), "the drawing; with `--out` it is in the file"] = None
    out: Annotated[str | None, Absent(), "the file"] = None


@click.command(
    epilog="""\b
Examples:
  joinproto draw join --format svg --out join.svg
  joinproto draw my_model.py --by state
"""
)
@click.argument("what", required=False, shell_complete=completing.drawings)
@option(("--format", "form"), "", click.Choice(FORMATS), usual="mermaid")
@option("--out", "Write a file.", click.Path(path_type=Path, dir_okay=False))
@option("--member", "For a world: draw members like this one.", metavar="NAME")
@option("--by", "For a world: the attribute that is a member's phase.", metavar="ATTRIBUTE")
@AS_JSON
def draw(
    what: str | None,
    form: str,
    out: Path | None,
    member: str | None,
    by: str | None,
    as_json: bool,
) -> int:
    """Draw WHAT: a state machine, a decision table, or the members of a world.

    Without WHAT, list all drawings.  WHAT may also be a world, or a FILE.py with a model of your
    own.  Then the first states of its search show the phases of a member and the steps between
    them, with the number of times that each step was met.
    """
    known = drawings()
    what = "join" if what == "chain" else what  # its name in earlier versions
    if what is None:
        if out is not None:
            raise UsageProblem(
                "--out names a file, but no drawing is named",
                next="name a drawing; joinproto draw lists them",
            )
        _list(known, as_json)
        return 0
    if what in known:
        if member or by:
            raise UsageProblem(
                f"--member and --by are for a world; {what} is a {known[what].kind}",
                next="leave them out",
            )
        drawing = known[what]
    else:
        drawing = _of_world(what, member, by, known)
    text = drawing.as_text(form)
    if out is not None:
        write_text(out, text + "\n")
    if as_json:
        drawn = Drawn(name=what, kind=drawing.kind, format=form)
        drawn = evolve(drawn, text=text) if out is None else evolve(drawn, out=str(out))
        click.echo(printed(drawn))
    elif out is None:
        click.echo(text)
    return 0


def _of_world(what: str, member: str | None, by: str | None, known: Iterable[str]) -> Drawing:
    """Return the drawing of a world's member, from the states that a search of the world meets."""
    from joinproto.check import catalogue
    from joinproto.check.files import is_file
    from joinproto.cli.diagrams.observed import observe
    from joinproto_worlds.entries import ENTRIES

    worlds = [item.name for item in ENTRIES]
    if not is_file(what) and what not in worlds:
        raise UsageProblem(
            f"there is no drawing and no world {what!r}",
            next=f"{did_you_mean(what, [*known, *worlds])}joinproto draw lists drawings,"
            " joinproto models worlds",
        )
    loaded = catalogue.load(what, {})
    with loaded.at_work():
        found = observe([loaded.world], member=member, by=by)
    how = "all" if found.is_whole else "the first"
    about = f"{found.kind} by its {found.by}: {how} {found.states:,} states of {what}"
    about += "; numbers: how often a step was met"
    click.echo(about, err=True)
    return machine_drawing(about, found.graph)


def _list(known: dict[str, Drawing], as_json: bool) -> None:
    if as_json:
        rows = tuple(
            ListedDrawing(name, drawing.kind, drawing.about) for name, drawing in known.items()
        )
        click.echo(printed(Drawings(rows, tuple(FORMATS))))
        return
    width = max(map(len, known))
    for kind in dict.fromkeys(drawing.kind for drawing in known.values()):
        click.echo(f"{kind}s:")
        for name, drawing in known.items():
            if drawing.kind == kind:
                click.echo(f"  {name.ljust(width)}  {drawing.about}")
