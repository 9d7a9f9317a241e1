"""Torture: real processes get real faults, and no acknowledged write may be lost.

    tools/torture --minutes 10 --seed 7                     nodes of the join protocol
    tools/torture --system clusterer --minutes 10           nodes of the Clusterer
    tools/torture --system standby --minutes 10             brokers of hot standby and clients
    tools/torture --system standby --built-in --faults 5 --only two_at_once

Exit code 0: all claims hold; 1: a claim is violated, and the report names it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from itertools import repeat
from pathlib import Path
from typing import Any, NoReturn

import click

from joinproto.errors import EnvironmentProblem
from tools.faults import namespaces
from tools.faults.namespaces import Namespaces
from tools.faults.register import Register
from tools.faults.storm import Storm, StormVerdict, System

NAMES = "abcdef"
MEMORY = Path("/dev/shm")
SIZES = {"node": 3, "clusterer": 4, "standby": 3}

MUTANTS = (
    "acknowledge-by-majority",  # a rule of the sequencer; the other rules are those of the member
    "accepted-not-honoured",
    "active-before-all-are-ready",
    "ballots-not-persisted",
    "change-after-total-failure",
    "dirty-not-written",
    "frozen-goes-on",
    "goes-on-after-a-restart",
    "held-not-persisted",
    "minority",
    "promise-not-persisted",
    "update-in-place",
)
"""Rules whose absence shows in any storm."""
CLUSTERER_MUTANTS = ("older-wins", "ready-not-joined", "gospel-by-name")


@click.command(epilog="Example: tools/torture --minutes 10 --seed 7")
@click.option(
    "--system",
    type=click.Choice([*SIZES]),
    default="node",
    show_default=True,
    help="The system under test.",
)
@click.option(
    "--minutes", type=float, default=1.0, show_default=True, help="The minutes of the storm."
)
@click.option(
    "--faults", type=click.IntRange(0), help="The number of faults, in place of --minutes."
)
@click.option("--only", help="Cause only faults of this kind.")
@click.option("--seed", type=int, help="The seed of the storm; default: from the clock.")
@click.option(
    "--members",
    type=click.IntRange(2, len(NAMES)),
    help="The number of processes.  [default: 3; Clusterer: 4; with --register: 2]",
)
@click.option(
    "--register",
    type=click.Choice(["etcd"]),
    help="The outside register that chooses the views; it is cut off, killed and paused, too.",
)
@click.option("--built-in", is_flag=True, help="Let brokers of hot standby promote themselves.")
@click.option(
    "--mutant",
    type=click.Choice([*MUTANTS, *CLUSTERER_MUTANTS]),
    help="A rule that no node keeps, so that the run must fail.",
)
@click.option(
    "--network",
    type=click.Choice(["auto", "namespaces", "proxy"]),
    default="auto",
    show_default=True,
    help="The network between the nodes: network namespaces, or proxies on loopback.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Keep all files in this directory.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Do not print a line for each fault.")
def main(
    minutes: float,
    faults: int | None,
    only: str | None,
    seed: int | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Run processes, cause faults of every kind, and judge the claims."""
    seed = time.time_ns() % 1_000_000 if seed is None else seed
    _check_options(**options)
    is_alone = options["system"] != "node" or options["register"]
    try:
        kind = namespaces.choose_network("proxy" if is_alone else options["network"])
        if kind == "namespaces" and not namespaces.is_inside():
            namespaces.begin_inside("tools.torture", sys.argv[1:])
    except EnvironmentProblem as error:
        _give_up(error)
    top = Path(tempfile.mkdtemp(prefix="joinproto-torture-", dir=memory())) if out is None else out
    top.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    def say(line: str) -> None:
        if not quiet:
            click.echo(f"{time.monotonic() - began:7.1f} s  {line}", err=True)

    # A SIGTERM ends this process by `sys.exit`, so that it ends the other processes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        system = make_system(top, kind=kind, **options)
    except EnvironmentProblem as error:
        _give_up(error)
    try:
        storm = Storm(system, seed, say)
        if only is not None and only not in storm.faults:
            raise click.UsageError(
                f"there is no fault {only}; there are: {', '.join(storm.faults)}"
            )
        kinds = None
        if faults is not None or only is not None:
            some = storm.chance.choices([*storm.faults], k=faults or 1)
            kinds = some if only is None else [*repeat(only, faults or 1)]
        judged = storm.run(60 * minutes, kinds)
    except EnvironmentProblem as error:
        # The storm could not be made, which does not show a fault of the processes under test.
        _give_up(error)
    finally:
        system.close()
    _report(storm, judged, options["system"], seed=seed, top=top, kind=kind, as_json=as_json)
    if not judged.problems and out is None:
        shutil.rmtree(top)
    sys.exit(1 if judged.problems else 0)


def _check_options(
    *, system: str, members: int | None, register: str | None, built_in: bool, network: str,
    mutant: str | None,
) -> None:  # fmt: skip
    if members == 2 and system == "node" and not register:
        raise click.UsageError("--members 2 needs --register: two electors must both be alive")
    if register and network == "namespaces":
        raise click.UsageError(
            "--register needs --network proxy, because its links are on loopback"
        )
    if (register and system != "node") or (built_in and system != "standby"):
        raise click.UsageError(
            f"--register is for nodes and --built-in for standby, not for {system}"
        )
    fits = {"node": MUTANTS, "clusterer": CLUSTERER_MUTANTS}.get(system, ())
    if mutant is not None and mutant not in fits:
        raise click.UsageError(f"{system} has no mutant {mutant}; it has: {', '.join(fits)}")


def make_system(
    top: Path, *, system: str, kind: str, members: int | None, register: str | None,
    built_in: bool, mutant: str | None, **_network: object,
) -> System:  # fmt: skip
    """Return the system of a storm; its processes are not started."""
    names = NAMES[: members or (2 if register else SIZES[system])]
    if system == "clusterer":
        from tools.faults.storm_clusterer import Clusterer

        return Clusterer.make(top, names, mutant)
    if system == "standby":
        try:
            from tools.failover.storm import Brokers
        except ImportError as error:
            raise EnvironmentProblem(
                f"brokers of hot standby cannot run here: {error}",
                next="install joinproto[standby]",
            ) from error

        return Brokers.make(top, names, built_in=built_in)
    from tools.faults.storm_node import Nodes

    outside = Register.start(top, names) if register else None
    between = Namespaces if kind == "namespaces" else None
    return Nodes.make(top, names, mutant, between, outside)


def _give_up(error: EnvironmentProblem) -> NoReturn:
    click.echo(f"torture: {error.message}\n  next: {error.next}", err=True)
    sys.exit(error.code)


def memory() -> str | None:
    """Return a folder in memory, or None if there is none.

    Files in memory outlive a killed process, and a busy disk might be slower than the members'
    timeouts.
    """
    return str(MEMORY) if os.access(MEMORY, os.W_OK) else None


def _report(
    storm: Storm,
    judged: StormVerdict,
    system: str,
    *,
    seed: int,
    top: Path,
    kind: str,
    as_json: bool,
) -> None:
    kept = str(top) if judged.problems else None
    if as_json:
        tree = {
            "result": "violated" if judged.problems else "holds",
            "system": system,
            "seed": seed,
            "network": kind,
            "faults": {one: storm.counts[one] for one in storm.faults},
            **judged.facts,
            "problems": judged.problems,
            "kept": kept,
        }
        click.echo(json.dumps(tree))
        return
    faults = ", ".join(f"{storm.counts[one]} {one.replace('_', ' ')}" for one in storm.faults)
    click.echo(f"{system}, seed {seed}, {kind}: {storm.counts.total()} faults: {faults}")
    for name, fact in judged.facts.items():
        if name != "validate":
            click.echo(f"{name}: {fact}")
    for problem in judged.problems:
        click.echo(f"VIOLATED: {problem}")
    click.echo(storm.system.end if kept is None else f"all files are kept in {kept}")


if __name__ == "__main__":
    main()
