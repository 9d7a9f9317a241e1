"""`joinproto validate`: the event logs of real members, against the member and the claims."""

from __future__ import annotations

from pathlib import Path

import click

from joinproto.json_form import printed


@click.command(epilog="Example: joinproto validate events/")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def validate(logs: tuple[Path, ...], as_json: bool) -> int:
    """Replay event logs through the same member, and check what must hold.

    LOGS are files, or directories with *.jsonl files; those of all members together, or of some;
    what they leave out is assumed, and said.  Exit codes: 0 all holds, 1 a line or a claim does
    not, 2 a log that is empty, cut or no log.
    """
    from tools.validate.judge import SHOWN, validate

    verdict = validate(logs)
    if as_json:
        click.echo(printed(verdict))
        return 0 if verdict.holds else 1
    click.echo(
        f"{verdict.runs} runs of {', '.join(verdict.members)}: {verdict.lines} events,"
        f" {verdict.views} views, {verdict.openings} times active,"
        f" {verdict.committed} frames committed"
    )
    for note in verdict.notes:
        click.echo(f"note: {note}")
    for what in verdict.assumed:
        click.echo(f"assumed: {what}")
    if verdict.mismatch is not None:
        found = verdict.mismatch
        click.echo(f"\n{found.path}: the first {found.matching} lines are the member's own")
        click.echo(f"  then differs  {found.field}")
        click.echo(f"  seen          {found.seen[:500]}")
        click.echo(f"  allowed       {found.allowed[:500]}")
    for claim in verdict.claims:
        click.echo(f"{claim.name:<28}{claim.result}")
        for problem in claim.found[:SHOWN]:
            click.echo(f"    {problem}")
        if len(claim.found) > SHOWN:
            click.echo(f"    and {len(claim.found) - SHOWN} more")
    return 0 if verdict.holds else 1
