"""From the command line to a world: one that ships, or the world of somebody's own file."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from attrs import field, frozen

from models import catalogue
from models.files import FLAGS, is_file, its_own_fault, load_file
from models.options import Words, converted
from models.problems import ModelProblem
from models.world import World


@frozen
class Loaded:
    """A world with the way to it.

    `options`: those given, by parameter.  `file`, `place`: of a world of somebody's own.
    `members`: how many it was asked for, and `sized` builds it with another number, at
    least `least`; both None for a world of one size.
    """

    world: World
    target: str
    options: Mapping[str, Any]
    file: Path | None = None
    place: str = ""
    members: int | None = None
    sized: Callable[[int], World] | None = field(default=None, repr=False)
    least: int = 1

    @property
    def words(self) -> str:
        """Return the target and its options as they are typed."""
        return shlex.join([self.target, *words_of(self.options)])

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """While a model runs: what goes wrong in its code gets file and line."""
        if self.file is None:
            yield
            return
        try:
            with its_own_fault(self.file, what="the model"):
                yield
        except RecursionError as error:
            raise ModelProblem(
                "a value that a member holds contains itself, or is nested too deep",
                next="hold plain values, tuples, lists, dicts, sets, enums or frozen objects",
                place=self.place,
            ) from error
        except ModelProblem as problem:
            if problem.place or not self.place:
                raise
            raise ModelProblem(problem.message, next=problem.next, place=self.place) from problem


def words_of(options: Mapping[str, Any]) -> list[str]:
    """Return options as words of a command line."""
    words: list[str] = []
    for name, value in options.items():
        flag = name.replace("_", "-")
        if name not in FLAGS:
            words += ["--set", f"{name}={value}"]
        elif isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", str(value)]
    return words


# -- options of the command line -------------------------------------------------------


def _number(flag: str, least: int, about: str) -> Callable[..., Any]:
    return click.option(flag, type=click.IntRange(min=least), metavar="N", help=about)


_OPTIONS = (
    _number("--members", 1, "How many members."),
    _number("--wait-for", 1, "How many must be there before they serve."),
    _number("--crashes", 0, "Crashes in one run, at most."),
    _number("--partitions", 0, "Splits of the network in one run, at most."),
    click.option("--lose/--no-lose", default=None, help="Whether messages may be lost."),
    click.option(
        "--register",
        type=click.Choice(["atomic", "votes"]),
        help="How members agree on what is so.",
    ),
    click.option("--mutant", metavar="NAME", help="The world with a mistake built in."),
    click.option(
        "--set",
        "more",
        metavar="NAME=VALUE",
        multiple=True,
        help="Another parameter of the world's function.",
    ),
)


def world_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a click command the options that describe a world."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a world out of a command's arguments; return those given."""
    found = {name: arguments.pop(name) for name in FLAGS}
    for text in arguments.pop("more"):
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name.isidentifier():
            raise click.UsageError(f"--set takes NAME=VALUE, not {text!r}")
        if found.get(name) is not None:
            raise click.UsageError(f"{name} is given twice")
        found[name] = Words(value)
    return {name: value for name, value in found.items() if value is not None}


# -- loading ---------------------------------------------------------------------------


def load(target: str, options: Mapping[str, Any]) -> Loaded:
    """Return the world that `target` names, built with `options`; raises `ModelProblem`."""
    if is_file(target):
        return _own(target, options)
    item = catalogue.entry(target)
    options = converted(options, catalogue.builder(item))
    world = _shipped(target, options)
    if "members" not in catalogue.parameters(item):
        return Loaded(world, target, options)
    return Loaded(
        world,
        target,
        options,
        members=options.get("members", item.usual),
        sized=lambda members: _shipped(target, {**options, "members": members}),
        least=item.members[0],
    )


def _shipped(name: str, options: Mapping[str, Any]) -> World:
    try:
        return catalogue.load_world(name, **options)
    except (ValueError, TypeError) as error:
        raise ModelProblem(
            f"world {name} cannot be built with {shlex.join(words_of(options))}: {error}",
            next=f"joinproto models   lists what {name} takes",
        ) from error


def _own(target: str, options: Mapping[str, Any]) -> Loaded:
    found = load_file(target, options)
    build, options = found.build, found.options
    if build is None or found.members is None:
        return Loaded(found.world, target, options, found.file, found.place)
    return Loaded(
        found.world,
        target,
        options,
        found.file,
        found.place,
        members=found.members,
        sized=lambda members: build({**options, "members": members}),
    )
