"""`joinproto ask`: ask the systems for decisions, in JSON.

The exit code is 0 for any answer, and 2 if an input cannot be answered.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from joinproto.ask.catalogue import question, questions
from joinproto.ask.question import Question
from joinproto.cli import completing
from joinproto.cli.options import option
from joinproto.cli.show.amounts import aligned
from joinproto.codec.json_form import encoded, schema_of
from joinproto.codec.strict import DoesNotFit, fitted, parse
from joinproto.errors import JoinprotoError, UsageProblem

EXAMPLE = """\b
Example:
  joinproto ask reconcile.target --schema
  echo '{"argument": 3, "policy": 5}' | joinproto ask reconcile.target -
"""
REFUSED = 2


@click.command(epilog=EXAMPLE)
@click.argument("name", metavar="[QUESTION]", required=False, shell_complete=completing.questions)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True), required=False)
@option("--schema", "Print the schemas of the input and of the answer.", is_flag=True)
def ask(name: str | None, file: str | None, schema: bool) -> int:
    """Ask for one decision of a system.

    Without QUESTION the questions are listed.  FILE holds one JSON object; `-` reads standard
    input, one object a line, and answers each in a line.  An answer names the rule that
    decided, and why.  Exit code 2: the input does not fit; the error has the path of the field.
    """
    if name is None:
        click.echo("\n".join(aligned([(one.name, one.about) for one in questions()])))
        return 0
    asked = question(name)
    if schema:
        click.echo(json.dumps(described(asked), indent=2, ensure_ascii=False))
        return 0
    if file is None:
        raise UsageProblem(
            f"{name}: no input is given",
            next="name a file with a JSON object, or - for standard input;"
            f" joinproto ask {name} --schema describes the object",
        )
    if file == "-":
        return _lines(asked, sys.stdin.buffer)
    return _file(asked, file)


def described(asked: Question[Any, Any]) -> dict[str, Any]:
    """Return the schemas of a question's input and answer, with an example of each."""
    answer = asked.answer(fitted(asked.asks, asked.example))
    return {
        "question": asked.name,
        "about": asked.about,
        "input": {**schema_of(asked.asks, read=True), "examples": [asked.example]},
        "answer": {**schema_of(asked.answers), "examples": [encoded(answer)]},
    }


def answered(asked: Question[Any, Any], text: bytes) -> Any:
    """Return the answer as JSON values; raises `JoinprotoError`."""
    return encoded(asked.answer(fitted(asked.asks, parse(text))))


def refusal(error: JoinprotoError) -> dict[str, Any]:
    """Return the object that is printed in place of an answer."""
    path = error.path if isinstance(error, DoesNotFit) else ""
    return {
        "error": {"code": error.code, "path": path, "message": error.message, "next": error.next}
    }


def _file(asked: Question[Any, Any], name: str) -> int:
    try:
        click.echo(json.dumps(answered(asked, Path(name).read_bytes()), ensure_ascii=False))
    except OSError as error:
        raise UsageProblem(f"{name}: {error.strerror}", next="name a file that is there") from None
    except JoinprotoError as error:
        click.echo(json.dumps(refusal(error), ensure_ascii=False), err=True)
        return REFUSED
    return 0


def _lines(asked: Question[Any, Any], lines: Iterable[bytes]) -> int:
    code = 0
    for line in lines:
        if not line.strip():
            continue
        try:
            answer = answered(asked, line)
        except JoinprotoError as error:
            answer, code = refusal(error), REFUSED
        click.echo(json.dumps(answer, ensure_ascii=False))
    return code
