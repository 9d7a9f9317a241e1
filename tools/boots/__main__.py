"""`python -m tools.boots`: boot nodes with a real server many times, and count the clusters."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import click

from joinproto.cli.options import AS_JSON
from joinproto.errors import EnvironmentProblem
from tools.boots.boot import Boot, BootResult
from tools.boots.places import BACKENDS, RECORDED, place
from tools.boots.spaces import require_spaces, spaces
from tools.boots.weather import FOUL, Weather
from tools.faults.namespaces import begin_inside, is_inside
from tools.torture import memory

STORM_SECONDS = 4.0


@click.command(epilog="Example: python -m tools.boots --backend etcd --times 200")
@click.option("--backend", type=click.Choice(BACKENDS), required=True, help="The backend.")
@click.option(
    "--times", type=click.IntRange(1), default=1, show_default=True, help="How many boots."
)
@click.option("--nodes", type=click.IntRange(1, 16), default=5, show_default=True)
@click.option(
    "--register",
    type=click.Choice(["votes", "etcd", "consul"]),
    default="votes",
    show_default=True,
    help="Whether electors choose the views, or a key of the backend's own server.",
)
@click.option(
    "--weather",
    type=click.Choice([*(one.value for one in FOUL), "any"]),
    multiple=True,
    help="A fault of the server at random moments of the first seconds; may be repeated.",
)
@click.option(
    "--spaces", "in_spaces", is_flag=True, help="Start each node in its own network namespace."
)
@click.option(
    "--cut-off",
    is_flag=True,
    help="Cut one node off at first, and connect it later; needs --spaces.",
)
@click.option("--found-with", type=int, help="How many nodes must found the cluster; default: all.")
@click.option("--seed", type=int, default=1, show_default=True)
@AS_JSON
@click.option("--quiet", is_flag=True, help="Do not print a line for each boot.")
def main(
    backend: str,
    times: int,
    nodes: int,
    register: str,
    weather: tuple[str, ...],
    in_spaces: bool,
    cut_off: bool,
    found_with: int | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Start nodes at the same time, and count the clusters that they form.

    Exit code 0: each boot gave one cluster, in which all nodes serve; 1: a boot did not; 4: the
    server is not installed, or namespaces are not possible.
    """
    kinds = FOUL if "any" in weather else tuple(Weather(one) for one in weather)
    if register not in ("votes", backend):
        raise click.UsageError(f"--register {register} needs --backend {register}")
    _enter_namespace(in_spaces, cut_off)
    chance = random.Random(seed)
    clusters: Counter[int] = Counter()
    requests: Counter[str] = Counter()
    waits: Counter[str] = Counter()
    failed: list[BootResult] = []
    began = time.monotonic()
    top = Path(tempfile.mkdtemp(prefix="joinproto-boots-", dir=memory()))
    try:
        with ExitStack() as stack:
            apart = stack.enter_context(spaces(nodes, cuts=cut_off)) if in_spaces else None
            there = stack.enter_context(place(backend, nodes, chance, kinds, apart))
            for number in range(times):
                storm = STORM_SECONDS if there.proxy.foul else 0.0
                boot = Boot(
                    there, top / str(number), number, register, storm, found_with, apart, chance
                )
                booted = boot.run()
                clusters[len(booted.clusters)] += 1
                requests.update(booted.weather)
                waits.update(booted.waits)
                if booted.is_well:
                    boot.clean()
                else:
                    failed.append(booted)
                if not quiet:
                    _print_boot(number, booted)
    except EnvironmentProblem as error:
        _give_up(error)
    results = {
        "backend": backend,
        "server": "simulated from recorded answers" if backend in RECORDED else "real",
        "register": register,
        "nodes": nodes,
        "times": times,
        "clusters": {str(count): number for count, number in sorted(clusters.items())},
        "not well": len(failed),
        "requests": dict(requests),
        "cut off": dict(apart.seen) if apart else {},
        "waited for": dict(waits),
        "seconds": round(time.monotonic() - began, 1),
        "kept": str(top) if failed else None,
    }
    _print_report(results, as_json=as_json)
    if not failed:
        top.rmdir()
    sys.exit(1 if failed else 0)


def _print_report(results: Mapping[str, Any], *, as_json: bool) -> None:
    """Print the results of all boots, as lines or as JSON."""
    if as_json:
        click.echo(json.dumps(results))
        return
    counts = ", ".join(f"{number} times {count}" for count, number in results["clusters"].items())
    server = f"{results['backend']} ({results['server']})"
    nodes = f"{results['nodes']} nodes, {results['register']}"
    click.echo(f"{server}, {nodes}: clusters: {counts}")
    click.echo(f"requests by weather: {results['requests']}")
    click.echo(f"waited for: {results['waited for']}")
    if results["not well"]:
        click.echo(
            f"{results['not well']} of {results['times']} boots failed; see {results['kept']}"
        )


def _enter_namespace(in_spaces: bool, cut_off: bool) -> None:
    """Start this program again inside a network namespace if `in_spaces`."""
    if cut_off and not in_spaces:
        raise click.UsageError("--cut-off needs --spaces")
    if in_spaces and not is_inside():
        try:
            require_spaces()
        except EnvironmentProblem as error:
            _give_up(error)
        begin_inside("tools.boots", sys.argv[1:])


def _give_up(error: EnvironmentProblem) -> NoReturn:
    click.echo(f"boots: {error.message}\n  next: {error.next}", err=True)
    sys.exit(error.code)


def _print_boot(number: int, booted: BootResult) -> None:
    what = f"{len(booted.clusters)} clusters, {booted.serving} serve, {booted.seconds:.1f} s"
    click.echo(f"{number}: {what} {dict(booted.weather) or ''}", err=True)
    if not booted.is_well:
        click.echo(f"gave no reason: {booted.silent}\n{booted.log_ends}", err=True)


if __name__ == "__main__":
    main()
