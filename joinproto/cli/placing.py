"""`--placement MODULE:NAME`: the user's own function, with its answers checked."""

from __future__ import annotations

import importlib

from joinproto.errors import UsageProblem
from joinproto.reconcile.placement import Choice, Placement
from joinproto.reconcile.queue import Node, Situation


def function_of(name: str | None) -> Placement | None:
    """Return the function that `--placement` names."""
    if name is None:
        return None
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageProblem(
            f"--placement {name}: {error}", next="give MODULE:FUNCTION that Python can import"
        ) from None

    def guarded(candidates: tuple[Node, ...], situation: Situation) -> Choice:
        try:
            choice = found(candidates, situation)
        except Exception as error:
            raise UsageProblem(
                f"--placement {name} raised {type(error).__name__}: {error}",
                next="it takes the candidates and the situation (docs/reconcile.md)",
            ) from error
        if not isinstance(choice, Choice) or choice.node not in [one.name for one in candidates]:
            raise UsageProblem(
                f"--placement {name} answered {choice!r}",
                next="return a Choice of one of the candidates (docs/reconcile.md)",
            )
        return choice

    return guarded
