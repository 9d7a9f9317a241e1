"""Shell completion of worlds, mutants, claims, questions and drawings.

Each list is made when a shell asks for it.  The module that has the names is imported only then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completes(names: Callable[[click.Context], Iterable[str]], *, files: bool = False) -> Complete:
    """Return a completer of `names`; with `files`, file names are offered if no name fits."""

    def complete(
        context: click.Context, _parameter: click.Parameter, begun: str
    ) -> list[CompletionItem]:
        found = [CompletionItem(name) for name in names(context) if name.startswith(begun)]
        return found or [CompletionItem(begun, type="file")] if files else found

    return complete


def _from(module: str, names: Callable[[Any], Iterable[str]]) -> Callable[[Any], Iterable[str]]:
    return lambda _context: names(import_module(module))


def _mutants(context: click.Context) -> Iterable[str]:
    """Return the mutants of the world that the command names; without one, of all worlds."""
    entries: Any = import_module("joinproto_worlds.entries").ENTRIES
    target = context.params.get("target")
    found = (item for item in entries if target in (None, item.name))
    return sorted({mutant for item in found for mutant in item.mutants})


def _sometimes_claims(context: click.Context) -> Iterable[str]:
    """Return the `sometimes` claims of the world that the command names."""
    load: Any = import_module("joinproto.check.catalogue").load_world
    world = load(context.params["target"])
    return [item.name for item in world.properties if item.kind == "sometimes"]


sometimes = completes(_sometimes_claims)
worlds = completes(
    _from("joinproto_worlds.entries", lambda module: [item.name for item in module.ENTRIES]),
    files=True,
)
families = completes(
    _from(
        "joinproto_worlds.entries",
        lambda module: [*module.FAMILIES, "policies", *(item.name for item in module.ENTRIES)],
    )
)
mutants = completes(_mutants)
claims = completes(
    _from("joinproto_claims.claims", lambda module: [*module.layers(), *module.claims(), "tables"])
)
conjuncts = completes(_from("joinproto_claims.claims", lambda module: module.conjuncts()))
questions = completes(
    _from("joinproto.ask.catalogue", lambda module: [one.name for one in module.questions()])
)
queries = completes(_from("spark_explore.questions", lambda module: module.QUESTIONS))
drawings = completes(_from("joinproto.cli.diagrams.catalog", lambda module: module.drawings()))
