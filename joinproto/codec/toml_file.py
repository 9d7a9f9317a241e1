"""A settings file: a TOML file that is read into a type, and then checked by a function."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from joinproto.codec.codec import PEOPLE, Codec
from joinproto.codec.malformed import Malformed
from joinproto.codec.strict import DoesNotFit
from joinproto.errors import JoinprotoError, UsageProblem

T = TypeVar("T")
S = TypeVar("S")
_SETTINGS = Codec(people=True, words={**PEOPLE, None: "nothing"})


def read_toml(path: Path) -> dict[str, Any]:
    """Return the contents of a file; raises `UsageProblem` if it cannot be read."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageProblem(
            f"{path}: cannot be read: {error.strerror or error}", next="check the path"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"{path}: is not a TOML file: {error}", next="mend the file") from error


def structured(tree: Mapping[str, Any], kind: type[T], *, next: str) -> T:
    """Return the content as a `kind`; raises `DoesNotFit` with all faults.

    Each field must have its type, each number must be finite, and each key must be known.  `next`:
    the advice, which names the document with an example.
    """
    try:
        found: T = _SETTINGS.take(kind, tree)
    except Malformed as fault:
        first, *others = (DoesNotFit.of_fault(one, next="") for one in (fault, *fault.others))
        said = "; ".join([first.message, *map(_error_text, others)])
        steps = dict.fromkeys(one.next for one in (first, *others) if one.next)
        raise DoesNotFit(first.path, said, next="; ".join([*steps, next])) from None
    return found


def read_settings(path: Path, kind: type[T], judge: Callable[[T, Path], S], *, next: str) -> S:
    """Read the file as a `kind`, and return `judge(value, the file's directory)`.

    Raises `UsageProblem`, which names the file and the place in it.
    """
    tree = read_toml(path)
    try:
        return judge(structured(tree, kind, next=next), path.resolve().parent)
    except DoesNotFit as error:
        raise UsageProblem(f"{path}: {_error_text(error)}", next=error.next) from error
    except JoinprotoError as error:
        raise UsageProblem(f"{path}: {error.message}", next=error.next) from error
    except Malformed as error:
        raise UsageProblem(f"{path}: {error}", next="mend the file") from error


def _error_text(error: DoesNotFit) -> str:
    return f"{error.path}: {error.message}" if error.path else error.message
