"""`joinproto discovery`: settings, backends, and whether a first start splits.

Exit codes: 0 fine; 1 a node would not start, or not safely, or a start would split; 2 bad input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, BinaryIO, Literal

import click
from attrs import field, frozen

from joinproto.ask.strict import DoesNotFit, parse, reader_of
from joinproto.discovery.boot import Rules, rules_of
from joinproto.discovery.lint import Given, lint
from joinproto.discovery.problem import Problem, Severity
from joinproto.discovery.questions import ConfAnswer, Told, conf_answer
from joinproto.discovery.releases import release
from joinproto.errors import UsageProblem
from joinproto.json_form import AtLeast, Count, printed

EXAMPLE = """\b
Example:
  joinproto discovery lint rabbitmq.conf --release 4.1
  joinproto discovery would-it-split facts.json
"""
NODES_MAX = 6


@click.group(epilog=EXAMPLE)
def discovery() -> None:
    """How a node that starts finds its peers, and whether two of them found two clusters."""


@frozen
class Lint(ConfAnswer):
    """`discovery lint --json`: each setting of discovery, and what is wrong with the file."""


@discovery.command("lint")
@click.argument("file", type=click.File("rb"))
@click.option("--release", "at", default="head", help="Whose settings: 3.7 to 4.3.")
@click.option("--plugins", help="The plugins that are enabled, with commas; default: any.")
@click.option("--node", help="The node's own name, as rabbit@host1.")
@click.option("--variable", "variables", multiple=True, metavar="NAME=VALUE", help="Of the node.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def lint_command(
    file: BinaryIO,
    at: str,
    plugins: str | None,
    node: str | None,
    variables: tuple[str, ...],
    as_json: bool,
) -> int:
    """Say what a release makes of the settings of a rabbitmq.conf.

    What a node would refuse, ignore or do unsafely is said with its line, the reason and what to
    write.  Settings that are not about discovery are not looked at.
    """
    given = Given(
        release=release(at),
        plugins=None if plugins is None else frozenset(filter(None, plugins.split(","))),
        environment=_environment(variables),
        node=node,
    )
    found = lint(file.read(), given)
    if as_json:
        click.echo(printed(conf_answer(found)))
    else:
        for problem in found.problems:
            click.echo(_as_text(file.name, problem))
        click.echo(f"{at}: {conf_answer(found).why}")
    bad = (Severity.ERROR, Severity.UNSAFE)
    return int(any(problem.severity in bad for problem in found.problems))


def _environment(variables: tuple[str, ...]) -> dict[str, str]:
    for one in variables:
        if "=" not in one:
            raise UsageProblem(f"--variable {one}: there is no =", next="write NAME=VALUE")
    return dict(one.split("=", 1) for one in variables)


def _as_text(name: str, problem: Problem) -> str:
    where = f"{name}:{problem.line}" if problem.line else name
    key = f" {problem.key}" if problem.key else f" {problem.found}" if problem.found else ""
    said = f"{where}: {problem.severity.value}:{key}: {problem.why} ({problem.rule})"
    return f"{said}\n  next: {problem.next}"


# -- would it split -----------------------------------------------------------------------


@frozen(kw_only=True)
class Start:
    """The facts of a first start."""

    nodes: Annotated[tuple[str, ...], "that start, blank, at any moments; at most six"]
    release: Annotated[str, "a release, as 4.1 or 3.8.4; ours: our own rules"] = "head"
    backend: Annotated[
        Literal["lists", "selects", "seed"],
        "lists: it lists all nodes; selects: it names the oldest that registered;"
        " seed: the first of nodes is known to all",
    ] = "lists"
    answers: Annotated[Mapping[str, Told], "what a node is always told instead, by its name"] = (
        field(factory=dict)
    )
    cut: Annotated[
        tuple[tuple[str, ...], ...],
        "groups of nodes that hear only themselves, until the network heals",
    ] = ()
    tries: Annotated[int | None, AtLeast(0), "rounds after the first; null: nobody gives up"] = None
    fails: Annotated[bool, "the backend may answer with an error"] = False
    partial_lists: Annotated[bool, "a list may lack any one other node"] = False
    stale: Annotated[bool, "the record of a dead node is there (selects)"] = False
    lapses: Annotated[int, AtLeast(0), "records that may lapse (selects)"] = 0
    wipes: Annotated[bool, "the first node may lose its disk once it runs"] = False
    registers_late: Annotated[bool, "a node looks before it registers (selects)"] = False
    locks: Annotated[bool, "the service keeps a lock from the look to the record"] = False
    expires: Annotated[bool, "that lock may expire"] = False
    expected: Annotated[
        int | None, AtLeast(1), "ours: how many members there will be; null: as many as nodes"
    ] = None


@frozen(kw_only=True)
class Split:
    """`discovery would-it-split --json`: one cluster, or the shortest run to two."""

    splits: Annotated[bool, "whether two clusters can come of it"]
    joins: Annotated[bool | None, "whether one cluster of all can; null: not known, it splits"]
    run: Annotated[tuple[str, ...], "the shortest run to two clusters, a step each"]
    states: Annotated[Count, "that were looked at"]


@discovery.command("would-it-split")
@click.argument("file", type=click.File("rb"))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def would_it_split(file: BinaryIO, as_json: bool) -> int:
    """Search a first start: FILE has its facts, as JSON (docs/discovery.md).

    All orders of starts, looks and joins are searched with the shipped rules.  Exit code 1 where
    two clusters can come of it, or none of all nodes.
    """
    found = searched(reader_of(Start).read(parse(file.read())))
    if as_json:
        click.echo(printed(found))
    elif found.splits:
        click.echo(f"it splits, in {len(found.run)} steps:")
        for number, step in enumerate(found.run, start=1):
            click.echo(f"{number:4}  {step}")
    elif found.joins:
        click.echo(f"one cluster, whatever the order ({found.states:,} states)")
    else:
        click.echo(f"never two clusters, and never one of all nodes ({found.states:,} states)")
    return int(found.splits or not found.joins)


def searched(start: Start) -> Split:
    """Return what a search of this start finds; raises `DoesNotFit` for facts that do not fit."""
    from models.check import check
    from models.worlds.discovery.race import world_of

    report = check(world_of(facts_of(start)))
    results = {one.name: one.result for one in report.properties}
    splits = results["one cluster"] == "violated"
    trace = report.trace if splits else None
    last = list(results.values())[-1]
    return Split(
        splits=splits,
        joins={"reached": True, "not-reached": False}.get(last),
        run=tuple(map(_step_as_text, trace.steps)) if trace else (),
        states=report.distinct,
    )


def _step_as_text(step: Any) -> str:
    who = f"{step.member}: " if step.member else ""
    why = f" ({'; '.join(step.rules)})" if step.rules else ""
    return f"{who}{step.label}{why}"


def facts_of(start: Start) -> Any:
    """Return the facts of the world; raises `DoesNotFit`."""
    from models.worlds.discovery.facts import Facts

    names = start.nodes
    if not 1 <= len(names) <= NODES_MAX:
        raise DoesNotFit("nodes", f"nodes: expected 1 to {NODES_MAX}", next="name so many")
    for at, name in enumerate(names):
        if not name or name in names[:at] or name in ("links", "service"):
            raise DoesNotFit(
                f"nodes[{at}]", f"nodes[{at}]: {name!r} is of no use here", next="name each once"
            )
    for place, named in (("answers", start.answers), *(("cut", group) for group in start.cut)):
        unknown = sorted(set(named) - set(names))
        if unknown:
            raise DoesNotFit(
                place, f"{place}: {unknown[0]!r} is not among nodes", next="add it there"
            )
    try:
        rules = Rules.OURS if start.release == "ours" else rules_of(release(start.release))
    except UsageProblem as error:
        raise DoesNotFit("release", f"release: {error.message}", next=error.next) from None
    return Facts(
        names=names,
        rules=rules,
        backend=start.backend,
        tries=start.tries,
        told=tuple((name, one.answer()) for name, one in sorted(start.answers.items())),
        groups=tuple(frozenset(group) for group in start.cut),
        partial_lists=start.partial_lists,
        fails=start.fails,
        stale=start.stale,
        lapses=start.lapses,
        wipes=start.wipes,
        registers_late=start.registers_late,
        locks=start.locks,
        expires=start.expires,
        expected=start.expected or 0,
    )
