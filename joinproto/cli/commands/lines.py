"""`joinproto append` and `joinproto read`: lines in a node's log, through its port for clients."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedRWPair
from pathlib import Path
from typing import Annotated

import click
from attrs import frozen

from joinproto.cli.options import AS_JSON, config_of
from joinproto.codec.json_form import printed
from joinproto.errors import EnvironmentProblem, UsageProblem
from joinproto.net.addresses import Address

CONFIG = config_of("node")
TIMEOUT_SECONDS = 30.0


@frozen
class Appended:
    """`joinproto append --json`"""

    seqs: Annotated[tuple[int, ...], "the number of each line in the log"]


@frozen
class Line:
    """One line of the log."""

    seq: Annotated[int, "its number, from 1"]
    text: Annotated[str, "the appended text"]


@frozen
class Lines:
    """`joinproto read --json`"""

    lines: Annotated[tuple[Line, ...], "in order"]
    end: Annotated[int, "the number of the last acknowledged line; 0: the log is empty"]


@click.command(epilog="Example: joinproto append --config node.toml hello")
@CONFIG
@click.argument("texts", metavar="TEXT...", nargs=-1, required=True)
@AS_JSON
def append(config: Path, texts: tuple[str, ...], as_json: bool) -> int:
    """Append each TEXT to the log as a line.

    It returns when every member of the view has the lines on its disk.  Exit codes: 0 appended,
    2 wrong usage, 4 the node does not serve (then this line was not written), or ended meanwhile.
    """
    seqs: list[int] = []
    with _connected(config) as (stream, address):
        for text in texts:
            if "\n" in text or "\r" in text:
                raise UsageProblem(f"{text!r} has more than one line", next="append one line each")
            stream.write(b"append %s\n" % text.encode("utf-8", "surrogateescape"))
            stream.flush()
            answer = _line(stream, address)
            if not answer.startswith("ok "):
                raise _refused(
                    config, address, answer, f"{len(seqs)} of {len(texts)} lines were appended"
                )
            seqs.append(int(answer.removeprefix("ok ")))
            if not as_json:
                click.echo(f"appended as line {seqs[-1]}")
    if as_json:
        click.echo(printed(Appended(tuple(seqs))))
    return 0


@click.command(epilog="Example: joinproto read --config node.toml")
@CONFIG
@click.argument("first", metavar="[FIRST]", type=click.IntRange(min=1), required=False)
@AS_JSON
def read(config: Path, first: int | None, as_json: bool) -> int:
    """Print the lines of the log, from number FIRST on.

    It prints the lines that were acknowledged before it began.  Exit codes: 0 read, 2 wrong usage,
    4 the node does not serve, ended meanwhile, or has dropped line FIRST.
    """
    lines: list[Line] = []
    count = 0
    with _connected(config) as (stream, address):
        stream.write(b"read\n" if first is None else b"read %d\n" % first)
        stream.flush()
        while not (answer := _line(stream, address)).startswith("end "):
            number, _, text = answer.partition(" ")
            if not number.isdigit():
                raise _refused(config, address, answer, f"lines read before: {count}")
            count += 1
            if as_json:
                lines.append(Line(int(number), text))
            else:
                click.echo(answer)
    if as_json:
        click.echo(printed(Lines(tuple(lines), int(answer.removeprefix("end ")))))
    return 0


@contextmanager
def _connected(config: Path) -> Iterator[tuple[BufferedRWPair, Address]]:
    """Yield a stream to the client port of the node with this configuration, and its address."""
    from joinproto.apps.node.settings import read_settings

    address = read_settings(config).clients
    try:
        with (
            socket.create_connection((address.host, address.port), TIMEOUT_SECONDS) as connection,
            connection.makefile("rwb") as stream,
        ):
            yield stream, address
    except OSError as error:
        reason = "no answer came in time" if isinstance(error, TimeoutError) else error.strerror
        raise EnvironmentProblem(
            f"the node's port for clients, {address}: {reason or error}",
            next=f"joinproto status --config {config}",
        ) from error


def _line(stream: BufferedRWPair, address: Address) -> str:
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EnvironmentProblem(
            f"the node at {address} ended the connection before its answer",
            next="the last line may or may not be written: look with joinproto read",
        )
    return line.rstrip(b"\n").decode("utf-8", "surrogateescape")


def _refused(config: Path, address: Address, answer: str, done: str) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the node at {address} answered: {answer}\n  {done}",
        next=f"joinproto status --config {config}   says what the node waits for",
    )
