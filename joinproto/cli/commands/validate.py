"""`joinproto validate`: the event logs of real members and brokers, against what must hold."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from joinproto.codec.json_form import printed

if TYPE_CHECKING:
    from joinproto.cli.validate.judge import Judged, Verdict


@click.command(epilog="Example: joinproto validate events/")
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def validate(logs: tuple[Path, ...], as_json: bool) -> int:
    """Replay event logs through the same member, and check what must hold.

    LOGS are files, or directories with *.jsonl files; those of all members together, or of some;
    what they leave out is assumed, and said.  Those of brokers of hot standby are judged by what
    they confirmed, and what later primaries had.  Exit codes: 0 all holds, 1 a line or a claim does
    not, 2 a log that is empty, cut or no log.
    """
    from joinproto.cli.validate.judge import Verdict, validate
    from joinproto.cli.validate.standby import is_of_brokers, validate_brokers

    verdict = validate_brokers(logs) if is_of_brokers(logs) else validate(logs)
    if as_json:
        click.echo(printed(verdict))
        return 0 if verdict.holds else 1
    click.echo(verdict.counted)
    for note in verdict.notes:
        click.echo(f"note: {note}")
    if isinstance(verdict, Verdict):
        _show_replay(verdict)
    _show(verdict.claims)
    return 0 if verdict.holds else 1


def _show_replay(verdict: Verdict) -> None:
    for what in verdict.assumed:
        click.echo(f"assumed: {what}")
    if verdict.mismatch is not None:
        found = verdict.mismatch
        click.echo(f"\n{found.path}: the first {found.matching} lines are the member's own")
        click.echo(f"  then differs  {found.field}")
        click.echo(f"  seen          {found.seen[:500]}")
        click.echo(f"  allowed       {found.allowed[:500]}")


def _show(claims: Iterable[Judged]) -> None:
    from joinproto.cli.validate.judge import SHOWN

    for claim in claims:
        click.echo(f"{claim.name:<32}{claim.result}")
        for problem in claim.found[:SHOWN]:
            click.echo(f"    {problem}")
        if len(claim.found) > SHOWN:
            click.echo(f"    and {len(claim.found) - SHOWN} more")
