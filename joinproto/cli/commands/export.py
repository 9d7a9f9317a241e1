"""`joinproto export`: write a world as TLA+, for another checker.

0  written    2  usage, a bad model (file:line), a world that has no form in TLA+
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import click
from attrs import frozen

from joinproto.check import catalogue
from joinproto.check.tla.export import Claim, exported
from joinproto.cli import loading
from joinproto.cli.options import AS_JSON, COUNT, FOLDER, option
from joinproto.cli.output import alone_on_stdout
from joinproto.cli.show.amounts import count, plural
from joinproto.codec.json_form import filled, printed
from joinproto.errors import EnvironmentProblem

EXAMPLE = """\b
Examples:
  joinproto export two-phase-commit --out tla/
  joinproto export path/to/my_model.py --set window=2 --out tla/
"""


@frozen
class ExportedWorld:
    """`joinproto export WORLD --json`"""

    world: Annotated[str, "the world's name"]
    files: Annotated[tuple[str, ...], "the module, its constants, and both in the form for TLC"]
    states: Annotated[int, "states found; with a violation, the states up to one level past it"]
    result: Annotated[str, "of the claims about states: `holds` or `violated`"]
    claims: Annotated[tuple[Claim, ...], "claims about states"]
    left_out: Annotated[tuple[str, ...], "claims about runs and steps"]


@click.command(epilog=EXAMPLE)
@loading.target()
@loading.world_options
@option("--out", "The folder for the files.", FOLDER, required=True)
@option("--max-states", "Refuse a world with more states.", COUNT, usual=100_000)
@AS_JSON
def export(target: str, out: Path, max_states: int, as_json: bool, **arguments: Any) -> int:
    """Write a world as TLA+, so that another checker can search it.

    The answers of members' code are data in NAME.cfg.  NAME.tla says in TLA+ how steps, the network
    and faults work.  TLC cannot read such data in NAME.cfg: it reads MCNAME.tla and MCNAME.cfg.
    The other checker must find the same states and the same violations.
    """
    options = loading.given(arguments)
    with alone_on_stdout(as_json):
        loaded = catalogue.load(target, options)
        with loaded.at_work():
            found = exported(loaded.world, states_max=max_states)
        try:
            files = tuple(map(str, found.write(out)))
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write to {out}: {error.strerror}", next="name another folder with --out"
            ) from error
    result = "holds" if found.broken_at is None else "violated"
    if as_json:
        world = filled(ExportedWorld, found, world=loaded.world.name, files=files, result=result)
        click.echo(printed(world))
        return 0
    click.echo(f"{loaded.world.name}: {count(found.states)} states, {result}")
    for one in found.claims:
        steps = "" if one.steps is None else f"  in {plural(one.steps, 'step')}"
        click.echo(f"  {one.invariant:<10} {one.name}{steps}")
    for name in found.left_out:
        click.echo(f"  left out   {name}: it is about runs or steps")
    click.echo("\n".join(f"wrote {file}" for file in files))
    return 0
