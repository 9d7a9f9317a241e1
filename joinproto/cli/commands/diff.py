"""`joinproto diff`: compare two worlds, or two mutants of one, and show where they first differ.

0  they are the same    1  they differ    2  usage, a bad model (file:line), too many states
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Annotated, Any

import click
from attrs import frozen

from joinproto.check import catalogue
from joinproto.check.diff import Difference, Only, Parting, difference
from joinproto.check.report import FailedRun, Report
from joinproto.check.small_first import check
from joinproto.check.world import World
from joinproto.cli import completing, loading
from joinproto.cli.options import AS_JSON, COUNT, option
from joinproto.cli.output import Terminal, alone_on_stdout
from joinproto.cli.show.amounts import count, plural
from joinproto.codec.json_form import Count, filled, printed
from joinproto.errors import UsageProblem

EXAMPLE = """\b
Examples:
  joinproto diff termination --mutant stays-white
  joinproto diff durable-vote --mutant no-persist --mutant answer-first
  joinproto diff incident-galera-pod-0 incident-galera-pod-0-fixed
  joinproto diff old/my_model.py my_model.py
"""


NO_CLAIM = (None, None)
"""The result of a claim that a world does not make, and the length of its run."""


@frozen
class ClaimOfBoth:
    """A claim that one of two worlds makes, or both."""

    name: Annotated[str, "as the world calls it"]
    first: Annotated[str | None, "its result in the first world; null: that world does not make it"]
    second: Annotated[str | None, "its result in the second world"]
    first_length: Annotated[Count | None, "steps of the shortest run that breaks or reaches it"]
    second_length: Annotated[Count | None, "the same in the second world"]


@frozen(kw_only=True)
class PartingOfBoth:
    """The first run after which two worlds differ."""

    steps: Annotated[tuple[str, ...], "its steps, in words; empty: they differ at the beginning"]
    only_first: Annotated[tuple[Only, ...], "steps that only the first world can take then"]
    only_second: Annotated[tuple[Only, ...], "steps that only the second world can take then"]


@frozen(kw_only=True)
class Differences:
    """`joinproto diff WORLD ... --json`.  Pairs are of the first world and the second."""

    first: Annotated[str, "the first world, as it was asked for"]
    second: Annotated[str, "the second world"]
    same: Annotated[bool, "whether states, steps and verdicts are the same"]
    states: Annotated[tuple[Count, ...], "how many states each world has"]
    states_only: Annotated[tuple[Count, ...], "how many of them the other world does not have"]
    steps: Annotated[tuple[Count, ...], "how many steps each world has"]
    steps_only: Annotated[tuple[Count, ...], "how many of them the other world does not have"]
    left_out: Annotated[tuple[str, ...], "attributes that are not compared, and why"]
    claims: Annotated[tuple[ClaimOfBoth, ...], "every claim of either world"]
    parts: Annotated[PartingOfBoth | None, "where they first differ; null: they do not"]


@click.command(epilog=EXAMPLE)
@loading.target()
@click.argument("other", metavar="[OTHER]", required=False, shell_complete=completing.worlds)
@loading.options_but_mutant
@option(
    ("--mutant", "mutants"),
    "Build this mistake into the second world; given twice: into the first, then the second.",
    metavar="NAME",
    multiple=True,
    shell_complete=completing.mutants,
)
@option("--max-states", "Refuse a world with more states.", COUNT, usual=20_000)
@AS_JSON
def diff(
    target: str,
    other: str | None,
    mutants: tuple[str, ...],
    max_states: int,
    as_json: bool,
    **arguments: Any,
) -> int:
    """Compare two worlds: states, steps and verdicts, and the first run on which they part.

    OTHER is a second world or file.  Without it, the same world is compared with its mutant.
    """
    options = loading.given({**arguments, "mutant": None})
    first, second = _worlds_asked(target, other, mutants)
    with alone_on_stdout(as_json):
        worlds = [_world(name, mutant, options) for name, mutant in (first, second)]
        found = difference(*worlds, states_max=max_states)
        reports = [check(world) for world in worlds]
    claims = _claims(*reports)
    names = [f"{name} --mutant {mutant}" if mutant else name for name, mutant in (first, second)]
    verdicts_differ = any(
        (claim.first, claim.first_length) != (claim.second, claim.second_length) for claim in claims
    )
    same = found.parting is None and not verdicts_differ
    differences = _differences(names, found, claims, same=same)
    if as_json:
        click.echo(printed(differences))
    else:
        _print(differences, found.parting)
    return 0 if same else 1


def _worlds_asked(
    target: str, other: str | None, mutants: tuple[str, ...]
) -> tuple[tuple[str, str | None], tuple[str, str | None]]:
    """Return the name and the mutant of the two worlds that are compared."""
    if len(mutants) > 2:
        raise UsageProblem(
            f"{len(mutants)} mutants are given, expected at most 2",
            next="compare two worlds at a time",
        )
    if other is None and not mutants:
        catalogue.load(target, {})  # reports an unknown world first
        raise UsageProblem(
            f"{target} needs a second world to be compared with",
            next="name a second world, or give --mutant NAME",
        )
    one, two = mutants if len(mutants) == 2 else (None, mutants[0] if mutants else None)
    return (target, one), (other or target, two)


def _world(name: str, mutant: str | None, options: dict[str, Any]) -> World:
    return catalogue.load(name, {**options, "mutant": mutant}).world


def _claims(one: Report, other: Report) -> tuple[ClaimOfBoth, ...]:
    here, there = (
        {item.name: (item.result, item.trace_length) for item in report.properties}
        for report in (one, other)
    )
    found = []
    for name in dict.fromkeys([*here, *there]):
        first, first_length = here.get(name, NO_CLAIM)
        second, second_length = there.get(name, NO_CLAIM)
        found.append(ClaimOfBoth(name, first, second, first_length, second_length))
    return tuple(found)


def _differences(
    names: list[str], found: Difference, claims: tuple[ClaimOfBoth, ...], *, same: bool
) -> Differences:
    parting = found.parting
    parts = None
    if parting is not None:
        first, second = parting.only
        steps = tuple(step.label for step in parting.steps)
        parts = PartingOfBoth(steps=steps, only_first=first, only_second=second)
    both = {"first": names[0], "second": names[1]}
    return filled(Differences, found, **both, same=same, claims=claims, parts=parts)


def _print(found: Differences, parting: Parting | None) -> None:
    click.echo(f"first:  {found.first}\nsecond: {found.second}\n")
    if parting is not None:
        _print_parting(parting)
    for noun, both, only in (
        ("states", found.states, found.states_only),
        ("steps", found.steps, found.steps_only),
    ):
        first, second = map(count, both)
        mine, others = map(count, only)
        click.echo(
            f"{noun}  {first} and {second}; only in the first {mine}, in the second {others}"
        )
    for attribute in found.left_out:
        click.echo(f"not compared  {attribute}")
    click.echo("\nclaims, in the first and in the second")
    for claim in found.claims:
        one, other = (
            _result(claim.first, claim.first_length),
            _result(claim.second, claim.second_length),
        )
        click.echo(f"  {'  ' if one == other else '* '}{claim.name}: {one}; {other}")
    click.echo("\nthey are the same" if found.same else "\nthey differ")


def _result(result: str | None, length: int | None) -> str:
    if result is None:
        return "not claimed"
    return result if length is None else f"{result} in {plural(length, 'step')}"


def _print_parting(parting: Parting) -> None:
    if not parting.steps and not any(parting.only):
        click.echo("they begin in different states\n")
        return
    if parting.steps:
        run = FailedRun("they part", "always", parting.initial, parting.steps)
        click.echo(Terminal.now().chart(run).rstrip() + "\n")
    else:
        click.echo("they part at the first step\n")
    for which, only in zip_longest(("first", "second"), parting.only):
        for one in only:
            click.echo(_only_text(which, one))
    click.echo()


def _only_text(which: str, one: Only) -> str:
    changes = "".join(f"\n    {change}" for change in one.changes)
    return f"only the {which} can do next: {one.step}{changes}"
