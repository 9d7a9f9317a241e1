"""`joinproto clusterer`: declarative cluster configs, read, compared and played through.

Exit code 0 whatever the answer; 1 where a config is not valid, or an outcome depends on the
order; 2 where an input cannot be read.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import click
from attrs import frozen

from joinproto.clusterer.ask_config import AskRead, CompareAnswer, ReadAnswer, answer_read, compared
from joinproto.clusterer.reading import NotConfig, Read, Release, read
from joinproto.errors import UsageProblem
from joinproto.json_form import Merged, printed

EXAMPLE = """\b
Example:
  joinproto clusterer validate cluster.config
  joinproto clusterer compare cluster.config new.config --json
"""


@frozen
class Validated:
    """`clusterer validate --json`: the config of a file, or its first error."""

    file: Annotated[str, "its name"]
    answer: Annotated[ReadAnswer, Merged()]


@click.group(epilog=EXAMPLE)
def clusterer() -> None:
    """Declarative cluster configs that a set of nodes reaches by itself.

    A config file holds Erlang terms, or TOML.
    """


def options(command: Any) -> Any:
    """Add what every command takes."""
    release = click.option(
        "--release",
        type=click.Choice([one.value for one in Release]),
        default=Release.SEED.value,
        help="seed: shutdown_timeout is required; head: there is none.",
    )
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")(
        release(command)
    )


@clusterer.command()
@options
@click.argument("file")
def validate(file: str, release: str, as_json: bool) -> int:
    """Read a config; exit code 1 where it is not valid, with its first error."""
    answer = answer_read(AskRead(text=text_of(file), release=Release(release)))
    if as_json:
        click.echo(printed(Validated(file, answer)))
        return int(answer.error is not None)
    if answer.error is None:
        click.echo(f"{file}: {answer.why}" + (f"\n  {answer.note}" if answer.note else ""))
        return 0
    click.echo(f"{file}:{answer.error.line}: {answer.error.found}\n  write {answer.error.write}")
    return 1


@clusterer.command()
@options
@click.argument("a")
@click.argument("b")
def compare(a: str, b: str, release: str, as_json: bool) -> int:
    """Say what config A is beside config B: younger, older, coeval or invalid."""
    one, other = (config_of(file, Release(release)).held.config for file in (a, b))
    answer: CompareAnswer = compared(one, other)
    said = printed(answer) if as_json else f"{answer.result.value}: {answer.why} ({answer.rule})"
    click.echo(said)
    return 0


def config_of(file: str, release: Release) -> Read:
    """Return the config of a file; raises `UsageProblem` with the line at fault."""
    try:
        return read(text_of(file), release=release)
    except NotConfig as error:
        raise UsageProblem(
            f"{file}:{error.line}: {error.found}", next=f"write {error.write}"
        ) from None


def text_of(file: str) -> str:
    """Return what stands in a file, `-` for standard input; raises `UsageProblem`."""
    try:
        found = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return found.decode("utf-8-sig")
    except OSError as error:
        raise UsageProblem(f"{file}: {error.strerror}", next="name a file that is there") from None
    except UnicodeDecodeError:
        raise UsageProblem(f"{file}: not UTF-8", next="save it as UTF-8") from None
