"""`joinproto recover inspect`, `collect`, `compare`, `pick`: the commands that only read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click
from attrs import evolve

from joinproto import __version__
from joinproto.codec.json_form import printed
from joinproto.pick.table import Verdict
from joinproto.recovery import info, progress, show
from joinproto.recovery.found import Format, Found, State
from joinproto.recovery.judgement import (
    EXIT,
    Judgement,
    group_results,
    judge,
    result_of,
    store_result,
)
from joinproto.recovery.schema import Result
from joinproto.recovery.sources import Sources, look
from joinproto.recovery.unused import unused
from joinproto.recovery.words import quoted_arguments, typed

FORMATS = ("auto", *(each.value for each in Format))

Command = Callable[..., Any]

AS_OBJECT = click.option("--json", "as_object", is_flag=True, help="Print one JSON object.")
_PROGRESS = "joinproto.recovery.progress"


def _set_progress(context: click.Context, _parameter: click.Parameter, wanted: bool | None) -> None:
    context.meta[_PROGRESS] = wanted


def look_with_progress(words: Sequence[str], *, kind: str, **how: Any) -> Sources:
    """Return the result of `look`; show the progress if requested, or on a terminal.

    `kind`: the requested format; "auto" detects it.  With `--json`, which programs use, progress is
    shown only if requested.
    """
    context = click.get_current_context(silent=True)
    wanted = None if context is None else context.meta.get(_PROGRESS)
    if wanted is None:
        is_program = context is not None and bool(context.params.get("as_object"))
        wanted = sys.stderr.isatty() and not is_program
    with progress.files_with_progress(sys.stderr if wanted else None) as files:
        return look(words, kind=None if kind == "auto" else Format(kind), files=files, **how)


def with_options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Return a decorator that adds these options to a command."""

    def add(command: Command) -> Command:
        for option in options:
            command = option(command)
        return command

    return add


def reading_options(
    *, many: str = "DIR|INFO...", as_json: bool = True
) -> Callable[[Command], Command]:
    """Return a decorator that adds the options that all commands that read stores have."""
    return with_options(
        click.argument("words", metavar=many, nargs=-1, required=True),
        click.option(
            "--format",
            "kind",
            type=click.Choice(FORMATS),
            default="auto",
            show_default=True,
            help="The software that wrote the directories.",
        ),
        click.option(
            "--position",
            "positions",
            metavar="DIR=SEQNO",
            multiple=True,
            help="A store's recovered position; for Galera also a log file that holds it.",
        ),
        click.option(
            "--progress/--no-progress",
            default=None,
            expose_value=False,
            callback=_set_progress,
            help="Show the progress of reading on standard error.  Default: only on a terminal.",
        ),
        *([AS_OBJECT] if as_json else []),
    )


judging_options = with_options(
    click.option(
        "--cluster",
        default="",
        help="The cluster to judge, by name or the first digits of its signature.",
    ),
    click.option(
        "--transient",
        multiple=True,
        metavar="NAME",
        help="A member that keeps no store, so its store is not missing.",
    ),
    click.option(
        "--lost",
        multiple=True,
        metavar="NAME",
        help="A member whose store is lost for good.  This proves nothing about the other stores.",
    ),
    click.option(
        "--nodes",
        type=click.IntRange(min=1),
        help="The number of nodes of a cluster of Qpid, Galera or PostgreSQL; no file has it.",
    ),
    click.option(
        "--register",
        is_flag=True,
        help="An outside register (etcd, Consul) chooses the views of this cluster.",
    ),
)
"""Adds the options of commands that judge stores."""


def judgement_of(
    *,
    words: Sequence[str],
    kind: str,
    positions: Sequence[str],
    register: bool = False,
    command: str = "pick",
    **asked: Any,
) -> Judgement:
    """Return the verdict about the stores on the command line; `asked`: `judging_options`.

    `command`: the command to type again if a word is a directory of several stores.
    """
    options = tuple(_options(kind=kind, positions=positions, register=register, **asked))
    found = look_with_progress(
        words, kind=kind, positions=positions, command=command, options=options
    )
    words = (*options, *words)
    return judge(found.stores, outside=register, notes=found.notes, words=words, **asked)


def _options(**asked: Any) -> Iterator[str]:
    """Yield the given `reading_options` and `judging_options`, as they are typed."""
    names = {"kind": "format", "positions": "position"}
    for name, value in sorted(asked.items()):
        option = f"--{names.get(name, name)}"
        if value is True:
            yield option
        elif value and (name, value) != ("kind", "auto"):
            several = value if isinstance(value, tuple) else (str(value),)
            yield from (f"{option} {typed(one)}" for one in several)


@click.command(epilog="Example: joinproto recover inspect /var/lib/broker")
@reading_options()
def inspect(words: tuple[str, ...], as_object: bool, **how: Any) -> int:
    """Show the contents of each store.

    Read-only: no lock file is made, so a read-only mount is enough.  A damaged store is shown
    field by field, as far as it can be read.
    """
    found = _inspected(words, "inspect", as_object, **how)
    if not as_object:
        click.echo("\n\n".join(map(show.store_text, found.stores)))
        for note in found.notes:
            show.say(f"note: {note}")
    return _exit_code(found.stores)


def _inspected(words: Sequence[str], command: str, as_object: bool, **how: Any) -> Sources:
    """Return the stores, and warn of unused options; if `as_object`, print them as JSON."""
    found = look_with_progress(words, command=command, options=tuple(_options(**how)), **how)
    for line in unused(found.stores):
        click.echo(show.warning_text(line), err=True)
    if as_object:
        result = Result(
            stores=tuple(map(store_result, found.stores)),
            groups=group_results(found.stores),
            evidence=tuple(found.notes),
            next="joinproto recover pick, with the stores of all members",
        )
        click.echo(printed(result))
    return found


def _exit_code(stores: Sequence[Found]) -> int:
    """Return the exit code for stores that are inspected without a verdict."""
    if any(not one.state.is_readable and one.state is not State.IN_USE for one in stores):
        return EXIT[Verdict.CORRUPT]
    return EXIT[Verdict.IN_USE] if any(one.state is State.IN_USE for one in stores) else 0


@click.command(epilog="Example: ssh b joinproto recover collect /var/lib/broker > b.info")
@reading_options(many="DIR...")
@click.option("--host", default=None, help="A name for this machine, in place of its host name.")
def collect(words: tuple[str, ...], as_object: bool, **how: Any) -> int:
    """Write the stores' files to standard output, as a file to copy to another machine.

    The file holds the original bytes and a checksum, so the other machine judges them itself.
    With --json the command prints the same as `inspect --json`, and not this file.
    """
    found = _inspected(words, "collect", as_object, **how)
    if not as_object:
        click.echo(info.write([one.raw for one in found.stores], tool=__version__), nl=False)
        for one in found.stores:
            for problem in one.problems:
                click.echo(show.clean(f"joinproto: {one.name}: {problem}"), err=True)
    return _exit_code(found.stores)


@click.command(epilog="Example: joinproto recover compare a.info b.info c.info")
@reading_options()
@judging_options
def compare(as_object: bool, words: tuple[str, ...], **asked: Any) -> int:
    """Show which stores belong together, and how far behind each store is.

    Shows the stores of each cluster, the last view that their chains have in common, which store
    is ahead, and by how much.  Clocks are shown and never compared.
    """
    judgement = judgement_of(words=words, command="compare", **asked)
    if as_object:
        click.echo(printed(result_of(judgement)))
    else:
        click.echo(show.comparison_text(judgement.stores, judgement))
        click.echo(
            f"\nnext: joinproto recover pick {quoted_arguments((*_options(**asked), *words))}"
        )
    # The comparison succeeded, even if it proves nothing.
    return 0 if judgement.verdict is Verdict.UNPROVEN else judgement.code


@click.command(epilog="Example: joinproto recover pick a.info b.info /var/lib/broker")
@reading_options()
@judging_options
@click.option("--policy", help="Also ask this program, and show its choice (docs/policies.md).")
def pick(as_object: bool, policy: str | None, **asked: Any) -> int:
    """Say which store is the latest, prove it, or say what is missing for a proof.

    Changes nothing.  Exit code: 0 proven, tie or clean; 1 corrupt; 3 different clusters;
    4 diverged; 5 unproven; 6 in use.
    """
    judgement = judgement_of(**asked)
    if not as_object:
        click.echo(show.judgement_text(judgement))  # first, because the policy may fail
    theirs = None
    if policy is not None:
        from joinproto.recovery.policy.real import ask_policy

        theirs = ask_policy(policy, judgement)
    if as_object:
        click.echo(printed(evolve(result_of(judgement), policy=theirs)))
    elif theirs is not None:
        show.say(f"\npolicy: {theirs.line}")
    return judgement.code
