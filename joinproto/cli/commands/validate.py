"""`joinproto validate`: check that event logs of real members and brokers keep the claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from joinproto.cli import loading
from joinproto.cli.options import AS_JSON, COUNT, FILE, option
from joinproto.cli.output import alone_on_stdout
from joinproto.codec.json_form import printed

if TYPE_CHECKING:
    from joinproto.cli.validate.foreign import Followed
    from joinproto.cli.validate.judge import JudgedClaim, Verdict


@click.command(
    epilog="""\b
Examples:
  joinproto validate events/
  joinproto validate rabbit@a.log --world my_nodes.py --patterns rabbitmq.toml
"""
)
@click.argument("logs", nargs=-1, required=True, type=click.Path(path_type=Path))
@option("--world", "A model of the program whose logs these are.", metavar="WORLD|FILE.py[::NAME]")
@option("--patterns", "A TOML file: which log lines report which steps.", FILE, metavar="FILE")
@loading.world_options
@option(
    "--max-states",
    "With --world: stop if more states than this are possible.",
    COUNT,
    usual=100_000,
)
@AS_JSON
def validate(
    logs: tuple[Path, ...],
    world: str | None,
    patterns: Path | None,
    max_states: int,
    as_json: bool,
    **arguments: Any,
) -> int:
    """Replay event logs through the same member, and judge the claims.

    LOGS are files, or directories with *.jsonl files, of all members or of some of them.  The
    command prints its assumptions about missing logs.  Logs of hot-standby brokers are judged by
    the messages that they confirmed and that later primaries had.

    With --world and --patterns, LOGS are text logs of another program.  The world says what the
    program may do, and the patterns say which lines report which steps (docs/how-to/logs.md).  The
    command prints how many lines of each step fit, and the first line that does not fit.

    Exit codes: 0 all hold, 1 a line does not fit or a claim does not hold, 2 a file is empty, cut
    or no log, 3 undetermined: no line reports a step, or more than --max-states states are
    possible.
    """
    options = loading.given(arguments)
    if world is not None and patterns is not None:
        return _followed(logs, world, options, patterns, max_states, as_json)
    if world is not None or patterns is not None or options:
        raise click.UsageError("logs of another program need both --world and --patterns")
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


def _followed(
    logs: Sequence[Path],
    world: str,
    options: Mapping[str, Any],
    patterns: Path,
    max_states: int,
    as_json: bool,
) -> int:
    from joinproto.check import catalogue
    from joinproto.cli.validate.foreign import follow
    from joinproto.cli.validate.patterns import Patterns

    with alone_on_stdout(as_json):
        wanted = Patterns.read(patterns)
        loaded = catalogue.load(world, options)
        with loaded.at_work():
            found = follow(loaded.world, wanted, logs, states_max=max_states)
    click.echo(printed(found) if as_json else "\n".join(_text(found)))
    return found.code


def _text(found: Followed) -> Iterator[str]:
    yield f"{found.world}: {found.lines} lines, {found.steps} of them report a step"
    width = max(len(rate.action) for rate in found.rates)
    for rate in found.rates:
        yield f"  {rate.action:<{width}}  {rate.fit} of {rate.lines}"
    if found.unlogged:
        yield f"without a log, so they may do anything: {', '.join(found.unlogged)}"
    if (first := found.first) is not None:
        yield f"\n{first.place}: the first line that does not fit"
        yield f"  {first.line[:500]}"
        yield f"  reported   {first.member}: {first.action}"
        yield f"  possible   {', '.join(first.possible) or 'no step that a log reports'}"
    for claim in found.violated:
        yield f"violated: {claim}"
    yield f"\n{found.result.upper()}{f': {found.why}' if found.why else ''}"


def _show_replay(verdict: Verdict) -> None:
    for assumption in verdict.assumed:
        click.echo(f"assumed: {assumption}")
    if verdict.mismatch is not None:
        found = verdict.mismatch
        click.echo(f"\n{found.path}: the first {found.matching} lines fit the member")
        click.echo(f"  then differs  {found.field}")
        click.echo(f"  seen          {found.seen[:500]}")
        click.echo(f"  allowed       {found.allowed[:500]}")


def _show(claims: Iterable[JudgedClaim]) -> None:
    from joinproto.cli.validate.judge import EVIDENCE_SHOWN_MAX

    for claim in claims:
        click.echo(f"{claim.name:<32}{claim.result}")
        for problem in claim.found[:EVIDENCE_SHOWN_MAX]:
            click.echo(f"    {problem}")
        if len(claim.found) > EVIDENCE_SHOWN_MAX:
            click.echo(f"    and {len(claim.found) - EVIDENCE_SHOWN_MAX} more")
