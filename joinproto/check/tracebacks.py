"""Tracebacks of errors in a user's model, with file and line."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from joinproto.check import packages
from joinproto.check.hints import hint
from joinproto.check.problems import ModelProblem
from joinproto.errors import JoinprotoError

# A user's file may lie in the folder that contains these packages, or Python itself.
_NOT_OWN = (
    *map(packages.folder, packages.ALL),
    Path(sys.base_prefix),
    Path(sys.base_prefix).resolve(),
)


def short(path: Path) -> str:
    """Return `path` relative to the working folder, if it lies below that folder."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def private_name(file: Path) -> str:
    """Return the module name for `file`; files of the same name get different module names."""
    import hashlib  # here, because worlds that ship do not need it

    digest = hashlib.sha256(str(file).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{file.stem}@{digest}"


def _with_file_name(file: Path, text: str) -> str:
    """Return `text` with the private module name replaced by the file's own name."""
    return text.replace(private_name(file), file.stem)


@contextmanager
def errors_of_model(file: Path, *, what: str = "") -> Iterator[None]:
    """Turn an error in code of `file` into a `ModelProblem` with file and line.

    `what`: the call; empty while the file is loaded.  An exception whose traceback has no frame in
    the file or its folder passes through unchanged.
    """
    try:
        yield
    except (MemoryError, BrokenPipeError, KeyboardInterrupt):
        raise
    except ModelProblem as problem:
        place = _shorter(problem.place) or _place_in(file, problem)
        message = problem.message.removeprefix(f"{problem.place}: ")
        raise ModelProblem(
            _with_file_name(file, message), next=problem.next, place=place, led_to=problem.led_to
        ) from problem
    except JoinprotoError:
        raise
    except BaseException as error:
        # Not only Exception: a model that calls exit() must not end this process with success.
        place = _place_in(file, error) or ("" if what else f"{short(file)}:1")
        if not place:
            raise
        raised = _with_file_name(file, traceback.format_exception_only(error)[-1].strip())
        what_else = "correct the file"
        if isinstance(error, SystemExit):
            what_else = "a model must not exit; put such code under `if __name__ == '__main__':`"
        raise ModelProblem(
            f"{what or 'loading the file'} raised {raised}",
            next=hint(error, what_else),
            place=place,
        ) from error


def _shorter(place: str) -> str:
    """Return file:line with the file relative to the working folder."""
    path, colon, line = place.rpartition(":")
    return f"{short(Path(path))}{colon}{line}" if path else place


def _place_in(file: Path, error: BaseException) -> str:
    """Return file:line of the deepest frame in `file` or its folder, or ""."""
    own = ""
    for frame in traceback.extract_tb(error.__traceback__):
        at = Path(frame.filename)
        beside = at.is_relative_to(file.parent) and not any(map(at.is_relative_to, _NOT_OWN))
        if at == file or (beside and "site-packages" not in at.parts):
            own = f"{short(at)}:{frame.lineno}"
    return own
