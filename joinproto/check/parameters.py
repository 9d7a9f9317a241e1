"""The parameters of a world in words: the option to type, the kind of its values, the default."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from typing import Any, cast

from joinproto.check import catalogue
from joinproto.check.files import is_file, load_module, named_world, signature_of
from joinproto.check.options import FLAGS, is_text, said_kind
from joinproto.check.world import World

_ANY = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)


def _maker(target: str) -> Callable[..., Any] | None:
    """Return the function that makes the world, None if a file holds a finished `World`."""
    if not is_file(target):
        return cast("Callable[..., Any]", catalogue.builder(catalogue.entry(target)))
    path, _, wanted = target.partition("::")
    module, _ = load_module(path)
    made = named_world(module, path, wanted)
    return None if isinstance(made, World) else cast("Callable[..., Any]", made)


def takes_text(target: str, name: str) -> bool:
    """Return whether the world's parameter `name` takes a text; raises `ModelProblem`."""
    made = _maker(target)
    return made is not None and is_text(name, made)


def parameters_of(target: str) -> Iterator[tuple[str, str]]:
    """Yield, for each parameter of the world `target`, the option to type and its values."""
    made = _maker(target)
    if made is None:
        return
    if is_file(target):
        for name, parameter in signature_of(made, target).parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                yield "--set NAME=...", "any other name"
            elif parameter.kind not in (*_ANY, parameter.POSITIONAL_ONLY):
                yield _option_text(name, parameter, made)
        return
    item = catalogue.entry(target)
    least, most = item.members
    for name, parameter in catalogue.parameters(item).items():
        if name == "members":
            yield "--members N", f"{least} to {most}; {item.usual} if not given"
        elif name == "mutant":
            if item.mutants:
                yield "--mutant NAME", "one of " + ", ".join(item.mutants)
        elif parameter.kind not in _ANY:
            given = item.given.get(name, parameter.default)
            yield _option_text(name, parameter.replace(default=given), made)


def _option_text(
    name: str, parameter: inspect.Parameter, made: Callable[..., Any]
) -> tuple[str, str]:
    kind, default = said_kind(name, made), parameter.default
    flag = name.replace("_", "-")
    typed = f"--set {name}=..."
    if name in FLAGS:
        typed = f"--{flag}/--no-{flag}" if name == "lose" else f"--{flag} ..."
    usual = default.name.lower() if isinstance(default, enum.Enum) else default
    usual = "none" if usual is None else usual
    return typed, kind if default is parameter.empty else f"{kind}; {usual} if not given"
