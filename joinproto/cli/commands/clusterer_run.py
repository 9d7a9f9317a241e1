"""`joinproto clusterer node`, `apply` and `status`: run nodes, and talk to them."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import click
from attrs import evolve, frozen

from joinproto.cli.commands.clusterer_asking import (
    ANSWER_SECONDS_MAX,
    Ask,
    OperatorProof,
    StatusShown,
    answers,
    status_at,
    status_of,
    with_proof,
)
from joinproto.cli.inputs import text_of
from joinproto.cli.options import AS_JSON, option
from joinproto.cli.options import config_of as config_option
from joinproto.clusterer.config import Config
from joinproto.clusterer.plan import Plan
from joinproto.clusterer.reading import NotConfig, Read, Release, read
from joinproto.codec.json_form import printed
from joinproto.errors import UsageProblem
from joinproto.net.addresses import Address


def config_of(file: str, release: Release, text: str | None = None) -> Read:
    """Return the config of a file; raises `UsageProblem` with the line at fault.

    `text`: the contents of the file, if they have been read.
    """
    try:
        return read(text_of(file) if text is None else text, release=release)
    except NotConfig as error:
        raise UsageProblem(
            f"{file}:{error.line}: {error.found}", next=f"write {error.write}"
        ) from None


LOOK_SECONDS = 0.5
TO = option("--to", "The address of the running node.", required=True, metavar="HOST:PORT")

NODE_EXAMPLE = """\b
Example:
  joinproto clusterer node --config node.toml
  joinproto clusterer node --config node.toml --given cluster.config
"""
APPLY_EXAMPLE = """\b
Example:
  joinproto clusterer apply cluster.config --to 127.0.0.1:7501
  joinproto clusterer apply cluster.config --to 127.0.0.1:7501 --yes --wait 60
"""
STATUS_EXAMPLE = """\b
Example:
  joinproto clusterer status --to 127.0.0.1:7501
"""


@click.command(epilog=NODE_EXAMPLE)
@config_option("node")
@option(
    "--given", "Start with this cluster config, if it is younger than the node's.", metavar="FILE"
)
@option(("--check", "only_check"), "Only read the files; start no node.", is_flag=True)
@option("--verbose", "Show more.", is_flag=True)
def node(config: Path, given: str | None, only_check: bool, verbose: bool) -> int:
    """Run a node: it manages a service here, and reaches the cluster config with other nodes.

    SIGTERM stops the service and the node; a second SIGTERM ends the node at once.  Exit codes: 0
    ended in order or left out, 1 the service or the disk failed, 2 wrong settings, 4 the machine.
    """
    from joinproto.apps.clusterer.process import run_node
    from joinproto.apps.clusterer.settings import read_settings
    from joinproto.apps.node.reporting import log_to_stderr

    settings = read_settings(config)
    wanted = None if given is None else config_of(given, settings.release).held.config
    if only_check:
        click.echo(f"{config}: fine, node {settings.node}")
        return 0
    log_to_stderr(settings.node, verbose=verbose)
    return run_node(settings, wanted)


@frozen(kw_only=True)
class Applied:
    """`clusterer apply --json`: a node's answer to a config."""

    to: Annotated[str, "the address of the node that was asked"]
    plan: Annotated[Plan, "the effect of the config, as far as can be known before"]
    unsure: Annotated[tuple[str, ...], "nodes that are about to join, so their data may be lost"]
    silent: Annotated[tuple[str, ...], "nodes that do not answer, so the plan counts them as off"]
    sent: Annotated[bool, "false: not confirmed, so nothing was sent"]
    reply: Annotated[str | None, "the node's answer; null: not sent"] = None
    error: Annotated[
        str | None, "why the config is refused or not sent, if `reply` does not say so"
    ] = None
    ready: Annotated[
        bool | None, "with --wait: whether all nodes of the config are ready; null: not awaited"
    ] = None


@click.command(epilog=APPLY_EXAMPLE)
@click.argument("config")
@TO
@with_proof
@option("--yes", "Go on although data are lost.", is_flag=True)
@option(
    "--wait", "Wait at most this many seconds until all nodes of it are ready.", click.FloatRange(0)
)
@AS_JSON
def apply(
    config: str, to: str, proof: OperatorProof, yes: bool, wait: float | None, as_json: bool
) -> int:
    """Give a cluster config to a running node; the other nodes follow.

    The command first asks the nodes for their status, tries many orders, and prints which nodes are
    wiped, leave, restart or wait in the worst order.  It asks you before data are or may be lost;
    without a terminal, or with --json, --yes is needed.  Exit codes: 1 refused, or not ready in
    time; 2 a wrong config, or not confirmed; 4 the node does not answer.
    """
    address = Address.parse_local(to)
    ask = proof.ask
    known = answers(ask, to)
    found, unsure = known.found, known.joining
    text = text_of(config)
    new = config_of(config, known.release, text).held.config
    plan, silent = known.plan(new), known.silent(new)
    risked = [one.name for one in plan.nodes if one.at_risk]
    if not as_json:
        joining = [f"  {one} is about to join: its present data may be lost" for one in unsure]
        click.echo("\n".join([*plan_as_text(config, plan), *joining, *silent_as_text(silent)]))
    outcome = Applied(to=to, plan=plan, unsure=unsure, silent=tuple(silent), sent=False)
    lost = ", ".join(sorted({*plan.wiped, *unsure, *risked}))
    if lost and not yes and not _confirmed(lost, as_json=as_json):
        problem = f"not confirmed: the data of {lost} would be lost; nothing was sent"
        advice = "look at the plan, then add --yes"
        if as_json:
            click.echo(printed(evolve(outcome, error=f"{problem}; {advice}")))
            return 2
        raise UsageProblem(problem, next=advice)
    answer = ask(address, {"op": "apply", "config": text}, ANSWER_SECONDS_MAX)
    accepted = bool(answer.get("accepted"))
    ready = None
    if accepted and wait is not None:
        ready = _wait(ask, address, found, new, wait)
    reply, error = answer["reply"], answer.get("error")
    if as_json:
        click.echo(printed(evolve(outcome, sent=True, reply=reply, error=error, ready=ready)))
    else:
        late = f"not all nodes are ready after {wait} s: `joinproto clusterer status` says why"
        ends = {None: [], True: ["all nodes of the config are ready"], False: [late]}
        why = [error] if error else []
        click.echo("\n".join([f"{found.node} answers: {reply}", *why, *ends[ready]]))
    return 0 if accepted and ready is not False else 1


def plan_as_text(name: str, plan: Plan) -> list[str]:
    """Return a plan in lines."""
    rows = [f"{name} is {plan.result.value}; given to {plan.applied_at}: {plan.reply}"]
    if (plan.reply or "").startswith("refused"):
        return [*rows, "  nothing changes"]
    for one in plan.nodes:
        lost = ", its data are LOST" if one.wiped else ""
        waits = f", waits for {', '.join(one.waits_for)}" if one.waits_for else ""
        some = "" if one.orders == plan.orders else f" (in {one.orders} of {plan.orders} orders)"
        rows.append(f"  {one.name:20} {one.does.value}{lost}{waits}{some}: {one.why}")
    return rows


def silent_as_text(names: list[str]) -> list[str]:
    """Return a line for the nodes that did not answer."""
    if not names:
        return []
    return [f"  no answer from {', '.join(names)}: this plan does not know their configs and data"]


def _confirmed(lost: str, *, as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        return False
    return click.confirm(f"The data of {lost} will be lost. Go on?")


def _wait(ask: Ask, address: Address, found: StatusShown, new: Config, seconds: float) -> bool:
    """Return whether all nodes of the config are ready with it, or a later one, in `seconds`."""
    places = {name: one.address for name, one in found.nodes.items()}
    places[found.node] = str(address)
    left = set(new.nodes)
    end = time.monotonic() + seconds
    while left and time.monotonic() < end:
        for name in sorted(left):
            status = status_of(ask, places.get(name))
            if status is None or status.status != "ready":
                continue
            if (status.version or 0) >= new.version:
                left.remove(name)
        if left:
            time.sleep(LOOK_SECONDS)
    return not left


@click.command(epilog=STATUS_EXAMPLE)
@TO
@with_proof
@AS_JSON
def status(to: str, proof: OperatorProof, as_json: bool) -> int:
    """Say what a running node is doing, and which nodes it waits for."""
    found = status_at(proof.ask, Address.parse_local(to), 30.0)
    if as_json:
        click.echo(printed(found))
        return 0
    click.echo(f"{found.node}: {found.status}, version {found.version}: {found.why}")
    if found.waits_for:
        click.echo(f"  waits for {', '.join(found.waits_for)}")
    if found.note:
        click.echo(f"  note: {found.note}")
    failure = f", its last boot failed: {found.service.failure}" if found.service.failure else ""
    click.echo(f"  service {'runs' if found.service.runs else 'is off'}{failure}")
    if "waits" in found.service.says:
        click.echo(f"  service waits: {found.service.says['waits']}")
    for name, one in found.nodes.items():
        address = one.address or "no address is known: no node's [nodes] has it"
        click.echo(f"  {name:20} {'connected' if one.connected else 'away':9} {address}")
    return 0
