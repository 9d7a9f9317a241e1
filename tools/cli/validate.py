"""`joinproto validate`: the event logs of real members, against the member and the claims."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command(epilog="Example: joinproto validate events/")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def validate(logs: tuple[Path, ...], as_json: bool) -> int:
    """Replay event logs through the same member, and check what must hold.

    LOGS are files, or directories with *.jsonl files; those of all members together.  Exit
    codes: 0 all holds, 1 a line or a claim does not, 2 a log that is empty, cut or no log.
    """
    from tools.validate.judge import SHOWN, validate

    verdict = validate(logs)
    if as_json:
        click.echo(json.dumps(verdict.as_json()))
        return 0 if verdict.holds else 1
    click.echo(
        f"{verdict.runs} runs of {', '.join(verdict.members)}: {verdict.lines} events,"
        f" {verdict.views} views, {verdict.openings} times active,"
        f" {verdict.committed} frames committed"
    )
    for note in verdict.notes:
        click.echo(f"note: {note}")
    if verdict.mismatch is not None:
        found = verdict.mismatch
        click.echo(f"\n{found.path}: the first {found.matching} lines are the member's own")
        click.echo(f"  then differs  {found.field}")
        click.echo(f"  seen          {json.dumps(found.seen)[:500]}")
        click.echo(f"  allowed       {json.dumps(found.allowed)[:500]}")
    for name, problems in verdict.broken.items():
        click.echo(f"{name:<28}{'violated' if problems else 'holds'}")
        for problem in problems[:SHOWN]:
            click.echo(f"    {problem}")
        if len(problems) > SHOWN:
            click.echo(f"    and {len(problems) - SHOWN} more")
    return 0 if verdict.holds else 1
