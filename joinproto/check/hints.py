"""Advice for common errors in a model, whose Python message does not say what to write instead."""

from __future__ import annotations

import inspect
import re
import sys

from joinproto.errors import did_you_mean

_MISSING = re.compile(r"(\S+)\.__init__\(\) missing \d+ required .*argument")
_ARGUMENTS = re.compile(r"(\w+)\(\) (?:missing \d+ required|takes \d+ positional)")
_KEYWORD = re.compile(r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'")

CLAIMS = {
    "world": "the function takes the view alone: lambda view: ...",
    "each": "the function takes one member's observation: lambda shown: ...",
    "pair": "the function takes two members' observations: lambda one, other: ...",
    "beside": (
        "the function takes the observations of one member and of the monitor:"
        " lambda shown, monitor: ..."
    ),
    "monitor": "the function takes the monitor's observation: lambda monitor: ...",
    "step": (
        "the function takes the view before, the step and the view after:"
        " lambda before, step, after: ..."
    ),
}
"""The arguments of a claim, by its scope."""


def hint(error: BaseException, otherwise: str) -> str:
    """Return the advice for an error in a model; `otherwise`: the default."""
    said, ours = str(error), vars(sys.modules["joinproto.check"])
    if isinstance(error, TypeError) and (found := _MISSING.match(said)):
        kind = found[1].rpartition(".")[2]
        if kind in ours:
            return f"{kind}(...) needs {said.partition(': ')[2]}"
        return f"call it with the arguments of __init__, in a function: lambda: {kind}(...)"
    if isinstance(error, TypeError) and (found := _KEYWORD.match(said)):
        if found[1] not in ours:
            return f"{found[1]} has no parameter {found[2]!r}: look at its parameters"
        takes = [*inspect.signature(ours[found[1]]).parameters]
        return f"{did_you_mean(found[2], takes)}{found[1]} takes {', '.join(takes)}"
    if isinstance(error, TypeError) and (found := _ARGUMENTS.match(said)) and found[1] in ours:
        return f"{found[1]} takes {', '.join(inspect.signature(ours[found[1]]).parameters)}"
    if isinstance(error, NameError) and error.name in ours:
        return f"import it: from joinproto.check import {error.name}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        package, _, name = error.name.rpartition(".")
        if package == "joinproto":
            near = did_you_mean(name, ("check", "errors", "join", "pick", "host", "store"))
            return f"{near}a model imports from joinproto.check"
        return f"install {error.name}, or put it next to the file"
    if isinstance(error, ImportError) and error.name in sys.modules:
        wanted = re.search(r"cannot import name '(\w+)'", said)
        names = [name for name in dir(sys.modules[error.name]) if not name.startswith("_")]
        if wanted:
            return f"{did_you_mean(wanted[1], names)}correct the import"
    if isinstance(error, AttributeError) and error.name is not None:
        names = [name for name in dir(error.obj) if not name.startswith("_")]
        if near := did_you_mean(error.name, names):
            return f"{near}there is no {error.name!r}"
    return otherwise


def is_about_arguments(error: BaseException) -> bool:
    """Return whether `error` says that a function was called with a wrong number of arguments."""
    return isinstance(error, TypeError) and bool(
        re.search(r"positional argument(s)?( but|:|$)|takes \d+ positional", str(error))
    )
