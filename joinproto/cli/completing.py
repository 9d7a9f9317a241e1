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


def _named(module: str, names: Callable[[Any], Iterable[str]]) -> Callable[[Any], Iterable[str]]:
    return lambda _context: names(import_module(module))


def _mutants(context: click.Context) -> Iterable[str]:
    """Return the mutants of the world that the command names; without one, of all worlds."""
    entries: Any = import_module("joinproto_worlds.entries").ENTRIES
    target = context.params.get("target")
    found = (item for item in entries if target in (None, item.name))
    return sorted({mutant for item in found for mutant in item.mutants})


def _reachable(context: click.Context) -> Iterable[str]:
    """Return the `sometimes` claims of the world that the command names."""
    load: Any = import_module("joinproto.check.catalogue").load_world
    world = load(context.params["target"])
    return [item.name for item in world.properties if item.kind == "sometimes"]


sometimes = completes(_reachable)
worlds = completes(
    _named("joinproto_worlds.entries", lambda at: [item.name for item in at.ENTRIES]), files=True
)
families = completes(
    _named(
        "joinproto_worlds.entries",
        lambda at: [*at.FAMILIES, "policies", *(item.name for item in at.ENTRIES)],
    )
)
mutants = completes(_mutants)
claims = completes(
    _named("joinproto_claims.claims", lambda at: [*at.layers(), *at.claims(), "tables"])
)
conjuncts = completes(_named("joinproto_claims.claims", lambda at: at.conjuncts()))
questions = completes(
    _named("joinproto.ask.catalogue", lambda at: [one.name for one in at.questions()])
)
queries = completes(_named("spark_explore.questions", lambda at: at.QUESTIONS))
drawings = completes(_named("joinproto.cli.diagrams.catalog", lambda at: at.drawings()))
