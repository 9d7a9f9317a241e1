"""Find a world by its name or its file, and build it with the options of a command line.

The worlds that ship are listed in `joinproto_worlds/entries.py`.  The options of `joinproto check`
(members, wait_for, crashes and others) are the parameters of the function that builds the world.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from attrs import evolve

from joinproto.check.entry import Entry
from joinproto.check.files import is_file, load_file
from joinproto.check.loaded import Loaded
from joinproto.check.options import converted, listed, words_of
from joinproto.check.problems import ModelProblem
from joinproto.check.world import World
from joinproto.errors import did_you_mean


def _entries() -> dict[str, Entry]:
    from joinproto_worlds.entries import ENTRIES  # here, because the worlds import this package

    return {item.name: item for item in ENTRIES}


def entry(name: str) -> Entry:
    """Return the world's entry; raises `ModelProblem`, which suggests the name most like `name`."""
    if not ships(name):
        raise ModelProblem(
            f"there is no world called {name!r}",
            next=f"{did_you_mean(name, _entries())}joinproto models lists them; a file of your own"
            " ends in .py or has a /",
        )
    return _entries()[name]


def ships(name: str) -> bool:
    """Return whether a world of this name ships."""
    return name in _entries()


def parameters(item: Entry) -> dict[str, inspect.Parameter]:
    """Return the world's parameters: the parameters of its builder that are not keyword-only."""
    found = inspect.signature(builder(item)).parameters
    return {name: it for name, it in found.items() if it.kind is it.POSITIONAL_OR_KEYWORD}


def builder(item: Entry) -> Any:
    """Return the function that builds the world."""
    module, _, attribute = item.build.partition(":")
    return getattr(import_module(module), attribute)


def load_world(name: str, **options: Any) -> World:
    """Return the world of that name, built with `options`; raises `ModelProblem`.

    `name` may also be a file of your own: it ends in `.py`, or contains `/` or `::`.
    """
    return load(name, options).world


def load(target: str, options: Mapping[str, Any]) -> Loaded:
    """Return the world as `load_world` does, with its target and options, for commands.

    The values of `options` may be `TypedText`; options that are None are ignored.
    """
    options = {key: value for key, value in options.items() if value is not None}
    if is_file(target):
        return load_file(target, options)
    item = entry(target)
    options = converted(options, builder(item))
    has_sizes = "members" in parameters(item)
    return Loaded(
        _built(item, options),
        target,
        options,
        members=options.get("members", item.usual) if has_sizes else None,
        sized=(lambda size: _built(item, {**options, "members": size})) if has_sizes else None,
        least=item.members[0],
    )


def _built(item: Entry, options: Mapping[str, Any]) -> World:
    allowed = parameters(item)
    for key in options:
        if key not in allowed:
            raise ModelProblem(
                f"world {item.name} takes no {listed([key])}", next=f"it takes {listed(allowed)}"
            )
    least, most = item.members
    members = options.get("members", item.usual)
    if not least <= members <= most:
        wanted = f"{least} to {most}" if least < most else str(least)
        raise ModelProblem(
            f"world {item.name} cannot have {members} members", next=f"give it {wanted}"
        )
    mutant = options.get("mutant")
    if mutant is not None and mutant not in item.mutants:
        raise ModelProblem(
            f"world {item.name} has no mutant {mutant!r}",
            next=did_you_mean(mutant, item.mutants) + f"it has {', '.join(item.mutants) or 'none'}",
        )
    source = {**item.given, "members": members, **options}
    try:
        world: World = builder(item)(**source)
    except (ValueError, TypeError) as error:
        raise ModelProblem(
            f"world {item.name} cannot be built with {shlex.join(words_of(options))}: {error}",
            next=f"joinproto models   lists what {item.name} takes",
        ) from error
    from joinproto_worlds.entries import mistake  # here, because the worlds import this package

    expected: Any = "violated" if mutant else item.expected
    about = f"with a mistake built in: {mistake(mutant)}" if mutant else item.about
    return evolve(world, name=item.name, expected=expected, source=source, about=about)


def mistakes(item: Entry) -> dict[str, str]:
    """Return the mutants that a world can be built with: name to a text about the mistake."""
    from joinproto_worlds.entries import mistake  # here, because the worlds import this package

    return {name: mistake(name) for name in item.mutants}
