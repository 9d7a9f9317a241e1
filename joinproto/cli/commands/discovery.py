"""`joinproto discovery`: settings, backends, and whether a first start splits.

Exit codes: 0 fine; 1 a node would not start, or not safely; 2 bad input; 3 a search did not end.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, BinaryIO, get_args, get_type_hints

import click
from attrs import frozen

from joinproto.cli.first_start import NODES_MAX, Start, searched, start_of
from joinproto.cli.options import AS_JSON, COUNT, INPUT, option
from joinproto.codec.json_form import printed
from joinproto.codec.strict import DoesNotFit, fitted, parse
from joinproto.discovery.boot import Step
from joinproto.discovery.contract import Variant
from joinproto.discovery.findings import Problem, Severity
from joinproto.discovery.keys import Owner
from joinproto.discovery.lint import LintInput, lint
from joinproto.discovery.questions import answer_boot
from joinproto.discovery.releases import release
from joinproto.discovery.round import Decision
from joinproto.discovery.rules import does
from joinproto.discovery.values import K8S
from joinproto.errors import UsageProblem

EXAMPLE = """\b
Example:
  joinproto discovery lint rabbitmq.conf --release 4.1
  joinproto discovery list rabbitmq.conf
  joinproto discovery would-it-split rabbitmq.conf --release 3.13.2 --nodes 3
"""
PEER_DISCOVERY = "rabbitmq_peer_discovery_"
NODE = re.compile(r"[A-Za-z0-9_.-]+@[A-Za-z0-9_.:-]+")
INCOMPLETE = 3
RELEASE = option(("--release", "version"), "The broker's release: 3.7 to 4.3.", default="head")


@click.group(epilog=EXAMPLE)
def discovery() -> None:
    """How a node that starts finds its peers, and whether two of them found two clusters."""


@discovery.command("lint")
@INPUT
@RELEASE
@option("--plugins", "The enabled plugins, separated by commas; default: any.")
@option("--node", "The node's own name, such as rabbit@host1.")
@option(
    ("--variable", "variables"),
    "An environment variable of the node.",
    multiple=True,
    metavar="NAME=VALUE",
)
@AS_JSON
def lint_command(
    file: BinaryIO,
    version: str,
    plugins: str | None,
    node: str | None,
    variables: tuple[str, ...],
    as_json: bool,
) -> int:
    """Report how a release takes the settings of a rabbitmq.conf.

    For each setting that a node would refuse, ignore or use unsafely, it prints the line, the
    reason and the next step.  It ignores settings that are not about discovery.
    """
    given = LintInput(
        release=release(version),
        plugins=None if plugins is None else enabled(plugins),
        environment=_environment(variables),
        node=None if node is None else require_node(node),
    )
    found = lint(file.read(), given)
    if as_json:
        click.echo(printed(found))
    else:
        for problem in found.problems:
            click.echo(_as_text(file.name, problem))
        click.echo(f"{given.release}: {found.why}")
    bad = (Severity.ERROR, Severity.UNSAFE)
    return int(any(problem.severity in bad for problem in found.problems))


def enabled(text: str) -> frozenset[str]:
    """Return the plugins in `text`; raises `UsageProblem` for a name that no plugin has."""
    known = sorted({one.value for one in Owner if one not in (Owner.CORE, Owner.AWS_LIBRARY)})
    found = [one.strip() for one in text.split(",") if one.strip()]
    for one in found:
        if one not in known and one.startswith(PEER_DISCOVERY):
            raise UsageProblem(
                f"--plugins: {one} is not a plugin of peer discovery",
                next=f"name some of {', '.join(known)}",
            )
        if not one.startswith("rabbit") and one not in known:
            near = [name for name in known if name.endswith(f"_{one}")]
            raise UsageProblem(
                f"--plugins: {one} is not the name of a plugin",
                next=f"write {near[0] if near else 'a name such as rabbitmq_peer_discovery_k8s'}",
            )
    return frozenset(found)


def require_node(node: str) -> str:
    """Return the name of a node; raises `UsageProblem` for a malformed one."""
    if not NODE.fullmatch(node):
        raise UsageProblem(
            f"--node {node!r} is not the name of a node",
            next="write PREFIX@HOST, such as rabbit@host1",
        )
    return node


def _environment(variables: tuple[str, ...]) -> dict[str, str]:
    for one in variables:
        if "=" not in one:
            raise UsageProblem(f"--variable {one}: there is no =", next="write NAME=VALUE")
    return dict(one.split("=", 1) for one in variables)


def _as_text(name: str, problem: Problem) -> str:
    where = f"{name}:{problem.line}" if problem.line else name
    about = problem.key or problem.found
    key = f"{about}: " if about else ""
    found = f"{where}: {problem.severity.value}: {key}{problem.why} ({problem.rule})"
    return f"{found}\n  next: {problem.next}"


# -- real servers -------------------------------------------------------------------------


def _given(version: str, node: str | None) -> LintInput:
    return LintInput(release=release(version), node=None if node is None else require_node(node))


@discovery.command("list")
@INPUT
@RELEASE
@option("--node", "The node's own name, such as rabbit@host1; default: from this machine's name.")
@option("--real", "Ask as the release does, with its defects.", is_flag=True)
@AS_JSON
def list_command(file: BinaryIO, version: str, node: str | None, real: bool, as_json: bool) -> int:
    """Ask the backend of a rabbitmq.conf which nodes it has; the command writes no record.

    Exit code 1: the nodes are not known.
    """
    from joinproto.apps.discovery.listing import list_file

    variant = Variant.REAL if real else Variant.OURS
    found = list_file(file.read(), _given(version, node), variant=variant, node=node)
    if as_json:
        click.echo(printed(found))
    elif found.nodes is None:
        click.echo(f"{found.backend}: {found.error}")
    else:
        what = "selects" if found.selected else "lists"
        click.echo(f"{found.backend} {what} {', '.join(found.nodes) or 'no node'}")
    return int(found.nodes is None)


@discovery.command("conformance")
@click.argument("server")
@option(("--release", "version"), "For a file: the broker's release.", default="4.0")
@option("--node", "For a file: this node's name, which the backend must list.")
@AS_JSON
def conformance(server: str, version: str, node: str | None, as_json: bool) -> int:
    """Check whether a server answers as a backend must.

    SERVER is consul+http://HOST:PORT, etcd2+http://HOST:PORT or etcd3+http://HOST:PORT; the
    command writes records there under a name of their own, and removes them.  For DNS, AWS and
    Kubernetes, SERVER is a rabbitmq.conf with their names and keys.  Exit code 1: the server does
    not conform; 4: it does not answer.
    """
    from joinproto.apps.discovery.conform_file import conform_file
    from joinproto.apps.discovery.conformance import conformance as asked

    file = Path(server)
    if file.is_file():
        found = conform_file(file.read_bytes(), _given(version, node), node=node)
    else:
        found = asked(server)
    if as_json:
        click.echo(printed(found))
    else:
        for check in found.checks:
            click.echo(f"{'holds' if check.holds else 'FAILS'}  {check.name}: {check.found}")
        click.echo(f"{found.server} {'conforms' if found.conforms else 'does not conform'}")
    return int(not found.conforms)


@frozen(kw_only=True)
class Booted:
    """`discovery boot --json`: the backend's answer, and the decisions of the node."""

    nodes: Annotated[tuple[str, ...] | None, "nodes that the backend named; null: not known"]
    now: Annotated[Decision, "the decision of this round"]
    at_last: Annotated[Decision, "the decision of the last round, if all rounds are like this one"]
    seconds: Annotated[
        float | None, "seconds until the last round, at least; null: it tries without end"
    ]


@discovery.command("boot")
@INPUT
@option("--node", "The node's own name, as rabbit@host1.", required=True)
@option(
    ("--release", "version"), "The release whose rules apply: 3.7 to 4.3, or ours.", default="head"
)
@option(
    "--seen",
    "Nodes that answer: a JSON object, name to answer (ask discovery.boot --schema).",
    click.File("rb"),
)
@option("--expected", "For ours: how many members there will be.", COUNT)
@AS_JSON
def boot_command(
    file: BinaryIO,
    node: str,
    version: str,
    seen: BinaryIO | None,
    expected: int | None,
    as_json: bool,
) -> int:
    """Ask the backend of a rabbitmq.conf, and print a blank node's decisions, now and at last.

    The command asks no nodes: --seen gives their answers; without it the node sees only itself.
    """
    try:
        others = {} if seen is None else parse(seen.read())
        if not isinstance(others, dict):
            raise DoesNotFit("", "expected an object", next="write each node's name and its answer")
        found = booted(file.read(), node, version, {node: {}, **others}, expected)
    except DoesNotFit as error:
        raise error.of("--seen", below="seen", question="discovery.boot") from None
    if as_json:
        click.echo(printed(found))
    else:
        click.echo("no nodes are known" if found.nodes is None else ", ".join(found.nodes))
        click.echo(f"now: {_decision_text(found.now)}")
        if found.seconds is not None and found.at_last != found.now:
            click.echo(f"after {found.seconds:g} s of the same: {_decision_text(found.at_last)}")
    return 0


def _decision_text(answer: Decision) -> str:
    node = f" {answer.node}" if answer.node else ""
    return f"{answer.step.value}{node}: {answer.why} ({answer.rule})"


def booted(
    text: bytes, node: str, version: str, seen: dict[str, Any], expected: int | None
) -> Booted:
    """Return a blank node's decisions with this file; raises `UsageProblem` if it cannot start."""
    from joinproto.apps.discovery.listing import list_file
    from joinproto.discovery.chosen import chosen

    given = _given("head" if version == "ours" else version, node)
    variant = Variant.OURS if version == "ours" else Variant.REAL
    settings = chosen(text, given, variant=variant, node=node).about
    listing = list_file(text, given, variant=variant, node=node)
    limit = settings.get("discovery_retry_limit") if does(given.release, "RETRIES") else 0
    endless = limit == "unlimited" or (settings.backend == K8S and does(given.release, "PODS"))
    asked: dict[str, Any] = {
        "node": node,
        "release": version,
        "seen": seen,
        "answer": _answer_of(listing),
        "target_cluster_size_hint": settings.get("target_cluster_size_hint"),
        "expected": expected,
    }
    rounds = [
        answer_boot.answer(fitted(answer_boot.asks, {**asked, "tries_left": left}))
        for left in (None if endless else limit, None if endless else 0)
    ]
    again = rounds[0].step in (Step.RETRY, Step.WAIT)
    interval = settings.get("discovery_retry_interval") / 1000
    ends = again and not endless and version != "ours"
    return Booted(
        nodes=listing.nodes,
        now=rounds[0],
        at_last=rounds[1],
        seconds=limit * interval if ends else None if again else 0.0,
    )


def _answer_of(listing: Any) -> dict[str, Any]:
    """Return a backend's listing as the field `answer` of the question discovery.boot."""
    if listing.nodes is None:
        return {"error": listing.error}
    return {"one": listing.nodes[0]} if listing.selected else {"list": listing.nodes}


# -- would it split -----------------------------------------------------------------------


def _fields() -> str:
    """Return the lines of the help about the facts that a JSON object may give."""
    hints = get_type_hints(Start, include_extras=True)
    rows = (
        f"  {name}: {next(word for word in get_args(hint)[1:] if isinstance(word, str))}"
        for name, hint in hints.items()
    )
    return "\n\n".join(("FACTS are a JSON object:", *rows))


@discovery.command("would-it-split", epilog=_fields())
@INPUT
@option(
    ("--release", "version"),
    "The release whose rules apply: 3.7 to 4.3, or ours; default: as FILE says, or head.",
)
@option(
    "--nodes",
    "For a rabbitmq.conf without a list of nodes: how many nodes start.",
    click.IntRange(1, NODES_MAX),
    usual=3,
)
@option("--max-seconds", "Search for at most this many seconds.", click.FloatRange(0), usual=300.0)
@AS_JSON
def would_it_split(
    file: BinaryIO, version: str | None, nodes: int, max_seconds: float, as_json: bool
) -> int:
    """Search a first start: FILE is a rabbitmq.conf, or has its facts as JSON.

    Registration, locks, tries and the seed follow from the release and the backend, unless the
    facts say something else.  All orders of starts, looks and joins are searched with the
    shipped rules.  Exit code 1: it can end in two clusters, or never ends in one of all nodes; 3:
    the search did not end.
    """
    found = searched(start_of(file.read(), version, nodes), max_seconds)
    if as_json:
        click.echo(printed(found))
    elif found.splits:
        click.echo(f"it splits, in {len(found.run)} steps:")
        for number, step in enumerate(found.run, start=1):
            click.echo(f"{number:4}  {step}")
        if found.joins is False:
            click.echo("and no order ends in one cluster of all nodes")
    elif not found.ended:
        click.echo(f"{found.states:,} states without two clusters, and not all were searched")
    elif found.joins:
        click.echo(f"one cluster in every order ({found.states:,} states)")
    else:
        click.echo(
            f"no order ends in two clusters, or in one of all nodes ({found.states:,} states)"
        )
    if not as_json and found.facts:
        click.echo(f"by the release: {'; '.join(found.facts)}")
    if not found.ended:
        return INCOMPLETE
    return int(found.splits or not found.joins)
