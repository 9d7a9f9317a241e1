"""Config files of the Clusterer's commands, with errors that name file and line."""

from __future__ import annotations

import sys
from pathlib import Path

from joinproto.clusterer.reading import NotConfig, Read, Release, read
from joinproto.durable.filesystem import reason
from joinproto.errors import UsageProblem


def config_of(file: str, release: Release, text: str | None = None) -> Read:
    """Return the config of a file; raises `UsageProblem` with the line at fault."""
    try:
        return read(text_of(file) if text is None else text, release=release)
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
        raise UsageProblem(f"{file}: {reason(error)}", next="name a file that is there") from None
    except UnicodeDecodeError:
        raise UsageProblem(f"{file}: not UTF-8", next="save it as UTF-8") from None
