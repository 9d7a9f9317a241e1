"""Read the texts that users give to a command; errors name the file and the field at fault."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from joinproto.codec.strict import DoesNotFit
from joinproto.durable.filesystem import reason
from joinproto.errors import UsageProblem


def text_of(file: str) -> str:
    """Return the text of a file, or of standard input for `-`; raises `UsageProblem`."""
    try:
        found = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return found.decode("utf-8-sig")
    except OSError as error:
        raise UsageProblem(f"{file}: {reason(error)}", next="name a file that is there") from None
    except UnicodeDecodeError:
        raise UsageProblem(f"{file}: not UTF-8", next="save it as UTF-8") from None


@contextmanager
def placing(*, next: str, file: str = "", below: str = "") -> Iterator[None]:
    """Put the path of a field that does not fit into the message of its error.

    `next`: the advice in place of one that names `--schema`, an option that few commands have.
    `file`: the file that the message begins with.  `below`: the path to the value that is read.
    """
    try:
        yield
    except DoesNotFit as error:
        path = f"{below}.{error.path}".strip(".")
        message = ": ".join(filter(None, (file, path, error.message)))
        advice = next if error.next.startswith("--schema") else error.next
        raise DoesNotFit(path, message, next=advice) from None
