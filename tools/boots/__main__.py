"""`python -m tools.boots`: boots on a real server, many times, and how many clusters each gave."""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from joinproto.errors import EnvironmentProblem
from tools.boots.boot import Boot, Booted
from tools.boots.places import BACKENDS, RECORDED, place
from tools.boots.weather import FOUL, Weather
from tools.torture import _memory

STORM_SECONDS = 4.0


@click.command(epilog="Example: python -m tools.boots --backend etcd --times 200")
@click.option("--backend", type=click.Choice(BACKENDS), required=True)
@click.option("--times", type=click.IntRange(1), default=1, show_default=True)
@click.option("--nodes", type=click.IntRange(1, 16), default=5, show_default=True)
@click.option(
    "--register",
    type=click.Choice(["votes", "etcd", "consul"]),
    default="votes",
    show_default=True,
    help="Who chooses the views: the electors, or a key of the backend's own server.",
)
@click.option(
    "--weather",
    type=click.Choice([*(one.value for one in FOUL), "any"]),
    multiple=True,
    help="What the server does at random moments of the first seconds.",
)
@click.option("--seed", type=int, default=1, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Do not tell each boot.")
def main(
    backend: str,
    times: int,
    nodes: int,
    register: str,
    weather: tuple[str, ...],
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Start nodes at once, and count the clusters.

    Exit code 0: each time one, in which all serve; 1: not so; 4: the server is missing.
    """
    kinds = FOUL if "any" in weather else tuple(Weather(one) for one in weather)
    if register not in ("votes", backend):
        raise click.UsageError(f"--register {register} needs --backend {register}")
    chance = random.Random(seed)
    clusters: Counter[int] = Counter()
    met: Counter[str] = Counter()
    waits: Counter[str] = Counter()
    bad: list[Booted] = []
    began = time.monotonic()
    top = Path(tempfile.mkdtemp(prefix="joinproto-boots-", dir=_memory()))
    try:
        with place(backend, nodes, chance, kinds) as there:
            for number in range(times):
                storm = STORM_SECONDS if there.sky.foul else 0.0
                boot = Boot(there, top / str(number), number, register, storm, chance)
                booted = boot.run()
                clusters[len(booted.clusters)] += 1
                met.update(booted.weather)
                waits.update(booted.waits)
                if booted.is_well:
                    boot.clean()
                else:
                    bad.append(booted)
                if not quiet:
                    _tell(number, booted)
    except EnvironmentProblem as error:
        click.echo(f"boots: {error.message}\n  next: {error.next}", err=True)
        sys.exit(error.code)
    told = {
        "backend": backend,
        "server": "made from recorded shapes" if backend in RECORDED else "real",
        "register": register,
        "nodes": nodes,
        "times": times,
        "clusters": {str(count): number for count, number in sorted(clusters.items())},
        "not well": len(bad),
        "requests": dict(met),
        "waited for": dict(waits),
        "seconds": round(time.monotonic() - began, 1),
        "kept": str(top) if bad else None,
    }
    if as_json:
        click.echo(json.dumps(told))
    else:
        counts = ", ".join(f"{number} times {count}" for count, number in sorted(clusters.items()))
        click.echo(f"{backend} ({told['server']}), {nodes} nodes, {register}: clusters: {counts}")
        click.echo(f"requests met: {dict(met)}; waited for: {dict(waits)}")
        if bad:
            click.echo(f"NOT WELL: {len(bad)} of {times}; kept in {top}")
    if not bad:
        top.rmdir()
    sys.exit(1 if bad else 0)


def _tell(number: int, booted: Booted) -> None:
    what = f"{len(booted.clusters)} clusters, {booted.serving} serve, {booted.seconds:.1f} s"
    click.echo(f"{number}: {what} {dict(booted.weather) or ''}", err=True)
    if not booted.is_well:
        click.echo(f"silent: {booted.silent}\n{booted.said}", err=True)


if __name__ == "__main__":
    main()
