"""`joinproto draw`: state machines and decision tables, drawn from the tables themselves."""

from pathlib import Path
from typing import Annotated

import click
from attrs import evolve, frozen

from joinproto.cli import completing
from joinproto.cli.diagrams.catalog import FORMATS, Drawing, drawings
from joinproto.codec.json_form import Absent, printed
from joinproto.errors import EnvironmentProblem, UsageProblem, did_you_mean


@frozen
class Listed:
    """One."""

    name: Annotated[str, "for `joinproto draw`"]
    kind: Annotated[str, "`machine` or `table`"]
    about: Annotated[str, "what it shows"]


@frozen
class Drawings:
    """`joinproto draw --json`"""

    drawings: Annotated[tuple[Listed, ...], "what can be drawn"]
    formats: Annotated[tuple[str, ...], "for `--format`"]


@frozen(kw_only=True)
class Drawn:
    """`joinproto draw WHAT --json`"""

    name: Annotated[str, "what was drawn"]
    kind: Annotated[str, "`machine` or `table`"]
    format: Annotated[str, "in which format"]
    text: Annotated[str | None, Absent(), "the drawing; with `--out` it is in the file"] = None
    out: Annotated[str | None, Absent(), "the file"] = None


@click.command(epilog="Example: joinproto draw note --format svg --out note.svg")
@click.argument("what", required=False, shell_complete=completing.drawings)
@click.option("--format", "form", type=click.Choice(FORMATS), default="mermaid", show_default=True)
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write a file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def draw(what: str | None, form: str, out: Path | None, as_json: bool) -> int:
    """Draw WHAT, a state machine or a decision table; without WHAT, list what there is."""
    known = drawings()
    if what is None:
        if out is not None:
            raise UsageProblem("--out names a file, but nothing is drawn", next="joinproto draw")
        _list(known, as_json)
        return 0
    if what not in known:
        raise UsageProblem(
            f"there is no drawing {what!r}",
            next=f"{did_you_mean(what, known)}joinproto draw   lists what can be drawn",
        )
    text = known[what].as_text(form)
    if out is not None:
        try:
            out.write_text(text + "\n", encoding="utf-8")
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write {out}: {error.strerror}", next="name another file with --out"
            ) from error
    if as_json:
        drawn = Drawn(name=what, kind=known[what].kind, format=form)
        to = evolve(drawn, text=text) if out is None else evolve(drawn, out=str(out))
        click.echo(printed(to))
    elif out is None:
        click.echo(text)
    return 0


def _list(known: dict[str, Drawing], as_json: bool) -> None:
    if as_json:
        rows = tuple(Listed(name, it.kind, it.about) for name, it in known.items())
        click.echo(printed(Drawings(rows, tuple(FORMATS))))
        return
    width = max(map(len, known))
    for kind in dict.fromkeys(drawing.kind for drawing in known.values()):
        click.echo(f"{kind}s:")
        for name, drawing in known.items():
            if drawing.kind == kind:
                click.echo(f"  {name.ljust(width)}  {drawing.about}")
