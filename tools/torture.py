"""Torture: real nodes, real faults, writing clients; at the end nothing acknowledged is lost.

    tools/torture --minutes 10 --seed 7           or: python -m tools.torture ...

Exit code 0: all holds; 1: something does not, and the report says what.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

import click

from joinproto.errors import EnvironmentProblem, JoinprotoError
from tools.faults import namespaces
from tools.faults.namespaces import Namespaces
from tools.faults.network import Network
from tools.faults.nodes import CLOCK, Fleet
from tools.faults.register import Register
from tools.faults.storm import Storm
from tools.faults.verdict import Judged, judge

NAMES = "abcde"
MEMORY = Path("/dev/shm")

MUTANTS = (
    "acknowledge-by-majority",  # the sequencer's own; the others are rules of the member
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
"""Rules whose lack shows in any storm; the lack of the others, in `joinproto check --mutant`."""


@click.command(epilog="Example: tools/torture --minutes 10 --seed 7")
@click.option("--minutes", type=float, default=1.0, show_default=True, help="How long it storms.")
@click.option("--seed", type=int, help="The same storm again; else one of the clock's.")
@click.option("--members", type=click.IntRange(2, 5), help="Usual: 3; with --register 2.")
@click.option(
    "--register",
    type=click.Choice(["etcd"]),
    help="What chooses the views instead of the electors, and is cut off, killed and hung, too.",
)
@click.option(
    "--mutant", type=click.Choice(MUTANTS), help="A rule that no node keeps: the run must fail."
)
@click.option(
    "--network",
    type=click.Choice(["auto", "namespaces", "proxy"]),
    default="auto",
    show_default=True,
    help="What lies between the nodes: a network of their own, or proxies on loopback.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Keep everything in this directory.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--quiet", is_flag=True, help="Do not tell each fault.")
def main(
    minutes: float,
    seed: int | None,
    members: int | None,
    register: str | None,
    mutant: str | None,
    network: str,
    out: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Let nodes run, and do to them what happens in a year."""
    seed = time.time_ns() % 1_000_000 if seed is None else seed
    members = members or (2 if register else 3)
    if members < 3 and not register:
        raise click.UsageError("--members 2 needs --register: of two electors both must live")
    if register and network == "namespaces":
        raise click.UsageError("--register has links on loopback: --network proxy")
    try:
        kind = namespaces.possible("proxy" if register else network)
        if kind == "namespaces" and not namespaces.is_inside():
            namespaces.begin_inside("tools.torture", sys.argv[1:])
    except EnvironmentProblem as error:
        _give_up(error)
    top = Path(tempfile.mkdtemp(prefix="joinproto-torture-", dir=_memory())) if out is None else out
    top.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()

    def say(line: str) -> None:
        if not quiet:
            click.echo(f"{time.monotonic() - began:7.1f} s  {line}", err=True)

    # Whoever ends this ends the nodes, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        outside = Register.start(top, NAMES[:members]) if register else None
        between = Namespaces if kind == "namespaces" else None
        fleet = make_fleet(top, members, mutant, between, outside)
    except EnvironmentProblem as error:
        _give_up(error)
    storm = Storm(fleet, seed, say=say)
    failure = ""
    try:
        try:
            storm.run(60 * minutes)
        except EnvironmentProblem as error:
            # The storm could not be made: that says nothing about the nodes.
            _give_up(error)
        except JoinprotoError as error:
            failure = str(error)
        judged = judge(fleet, storm.ledger)
    finally:
        fleet.close()
    holds = not judged.problems and not failure
    _report(storm, judged, failure, seed=seed, top=top, kind=kind, as_json=as_json)
    if holds and out is None:
        shutil.rmtree(top)
    sys.exit(0 if holds else 1)


def _give_up(error: EnvironmentProblem) -> NoReturn:
    click.echo(f"torture: {error.message}\n  next: {error.next}", err=True)
    sys.exit(error.code)


def make_fleet(
    top: Path,
    members: int,
    mutant: str | None,
    network: Callable[[Mapping[str, int]], Network] | None = None,
    register: Register | None = None,
) -> Fleet:
    """Return the nodes of a storm: quick to suspect each other, with clocks that can jump.

    The last one leaves when it is stopped; the others stay members.
    """
    # A heartbeat is to be longer than a register takes to answer (join protocol, 3.7).
    heard = (
        "heartbeat = 0.2\nsilence = 1.5" if register is None else "heartbeat = 0.5\nsilence = 2.0"
    )
    tables = f"[timing]\npatience = 0.4\n{heard}\n[testing]\n"
    tables += f'clock_offset = "{CLOCK}"'
    names = NAMES[:members]
    fleet = Fleet.make(
        top, names, leaves=names[-1], tables=tables, register=register, network=network
    )
    for node in fleet.nodes.values():
        node.mutant = mutant
    return fleet


def _memory() -> str | None:
    """Return a place in memory, if there is one: a kill is no loss of power, and the disk of a
    busy machine would be slower than the members' patience.
    """
    return str(MEMORY) if os.access(MEMORY, os.W_OK) else None


def _report(
    storm: Storm,
    judged: Judged,
    failure: str,
    *,
    seed: int,
    top: Path,
    kind: str,
    as_json: bool,
) -> None:
    ledger, logs = storm.ledger, judged.logs
    problems = [*([failure] if failure else []), *judged.problems]
    if as_json:
        tree = {
            "result": "violated" if problems else "holds",
            "seed": seed,
            "network": kind,
            "members": len(storm.names),
            "register": "votes" if storm.fleet.register is None else "etcd",
            "faults": {one: storm.counts[one] for one in storm.kinds},
            "recoveries": dict(storm.verdicts),
            "writes": {
                "acknowledged": len(ledger.acknowledged),
                "refused": len(ledger.refused),
                "open": len(ledger.open),
            },
            **judged.as_json(),
            "problems": problems,
            "kept": str(top) if problems else None,
        }
        click.echo(json.dumps(tree))
        return
    faults = ", ".join(f"{storm.counts[one]} {one.replace('_', ' ')}" for one in storm.kinds)
    click.echo(f"seed {seed}, {kind}: {storm.counts.total()} faults: {faults}")
    click.echo(f"recovered {sum(storm.verdicts.values())} times: {dict(storm.verdicts)}")
    click.echo(
        f"{len(ledger.acknowledged)} writes acknowledged, {len(ledger.refused)} refused,"
        f" {len(ledger.open)} without an answer; {judged.frames} frames in the log"
    )
    click.echo(
        f"event logs: {logs.runs} runs, {logs.lines} events, {logs.views} views,"
        f" {logs.openings} times active, {logs.committed} frames committed"
    )
    if not problems:
        click.echo("everything that was acknowledged is there, and all members kept to the rules")
    for problem in problems:
        click.echo(f"VIOLATED: {problem}")
    if problems:
        click.echo(f"everything is kept in {top}")


if __name__ == "__main__":
    main()
