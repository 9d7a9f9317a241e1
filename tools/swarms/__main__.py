"""Systems as they ship, in random orders: `python -m tools.swarms SYSTEM`, of the four below.

0  every claim held        1  one did not: its seed, the claim, and the shortest run found
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from itertools import count

import click

from tools.swarms.loop import silent
from tools.swarms.standby.run import Outcome, run, shrunk
from tools.swarms.standby.scenario import draw

BURSTS = 40


@click.group()
def main() -> None:
    """Play systems as they ship, in random orders and virtual time."""


@main.command()
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--events", type=click.IntRange(min=1), default=100, show_default=True)
@click.option("--runs", type=click.IntRange(min=1), default=None, help="[default: 1 or --seconds]")
@click.option("--seconds", type=click.FloatRange(min=0), default=None, help="No run begins later.")
@click.option(
    "--shrink", default=60.0, show_default=True, help="Seconds to shorten a run that fails."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def standby(
    seed: int, events: int, runs: int | None, seconds: float | None, shrink: float, as_json: bool
) -> None:
    """Play brokers of hot standby, from this seed on, with so many events in each run."""
    began, played, failed = time.process_time(), [], None
    seeds = count(seed) if seconds is not None and runs is None else range(seed, seed + (runs or 1))
    for each in seeds:
        if seconds is not None and time.process_time() - began > seconds:
            break
        found = run(draw(each, events))
        played.append(found)
        if found.claim:
            failed = found
            break
    spent = time.process_time() - began
    facts = {
        "runs": len(played),
        "seeds": [seed, seed + len(played) - 1],
        "steps": sum(one.steps for one in played),
        "ticks": sum(one.ticks for one in played),
        "cpu_seconds": round(spent, 1),
        "confirmed": sum(one.confirmed for one in played),
        "generations": sum(one.generations for one in played),
        "persons": sum(one.persons for one in played),
        "failed": None if failed is None else failed.what,
    }
    click.echo(json.dumps(facts) if as_json else "\n".join(f"{k}: {v}" for k, v in facts.items()))
    if failed is not None:
        if not as_json:
            _tell(shrunk(failed, shrink), events)
        raise SystemExit(1)


def _tell(outcome: Outcome, events: int) -> None:
    it = outcome.scenario
    click.echo(f"\n--seed {it.seed} --events {events}: {outcome.what}")
    click.echo(f"{it.names}, manager {'built in' if it.built_in else 'outside'}, shortened to:")
    for deed in it.deeds:
        click.echo(str(deed))


@main.command(epilog="Example: python -m tools.swarms clusterer --seed 7 --events 10000")
@click.option("--seed", type=int, default=1, show_default=True, help="Of the first run.")
@click.option("--events", type=click.IntRange(1), default=1_000, show_default=True)
@click.option("--steps", type=int, help="Until so many steps of nodes were taken, not events.")
@click.option(
    "--bursts", type=click.IntRange(1), default=BURSTS, show_default=True, help="In a run."
)
@click.option("--seconds", type=float, help="Stop after so many seconds.")
@click.option("--tell", is_flag=True, help="Tell all that was done in the run that fails.")
def clusterer(
    seed: int, events: int, steps: int | None, bursts: int, seconds: float | None, tell: bool
) -> None:
    """Nodes of the Clusterer: configs, kills, power cuts, resets, cuts, pauses."""
    from tools.swarms.clusterer import run

    kinds: Counter[str] = Counter()
    began, done, taken, runs, virtual = time.process_time(), 0, 0, 0, 0.0
    failed = None
    while (taken < steps if steps else done < events) and failed is None:
        if seconds is not None and time.process_time() - began > seconds:
            break
        with silent():
            found = run(seed + runs, bursts)
        runs, done, taken = runs + 1, done + found.events, taken + found.steps
        kinds, virtual = kinds + found.kinds, virtual + found.seconds
        failed = found if found.problems else None
    cpu = time.process_time() - began
    click.echo(
        f"seeds {seed} to {seed + runs - 1}: {done:,} events, {taken:,} steps,"
        f" {virtual / 3600:,.1f} hours of virtual time in {cpu:,.1f} s of CPU"
        f" ({taken / max(cpu, 0.001):,.0f} steps a second)"
    )
    click.echo(", ".join(f"{count} {name}" for name, count in sorted(kinds.items())))
    if failed is None:
        return
    for line in failed.told if tell else failed.told[-25:]:
        click.echo(line)
    for problem in failed.problems:
        click.echo(f"VIOLATED: {problem}")
    click.echo(
        f"again: python -m tools.swarms clusterer --seed {failed.seed} --bursts {bursts} --tell"
    )
    sys.exit(1)


@main.command(epilog="Example: python -m tools.swarms reconcile --seed 0 --runs 1000")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--events", type=click.IntRange(min=1), default=60, show_default=True)
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True)
@click.option(
    "--shrink", default=60.0, show_default=True, help="Seconds to shorten a run that fails."
)
def reconcile(seed: int, events: int, runs: int, shrink: float) -> None:
    """Play `reconcile run`, its loop and its file beside a broker, from this seed on."""
    from tools.swarms import reconcile as swarm

    began, played = time.process_time(), []
    for each in range(seed, seed + runs):
        played.append(swarm.run(swarm.draw(each, events)))
        if played[-1].problem:
            break
    steps, commands = sum(one.steps for one in played), sum(one.commands for one in played)
    cpu, hours = time.process_time() - began, sum(one.seconds for one in played) / 3600
    click.echo(
        f"seeds {seed} to {seed + len(played) - 1}: {steps:,} steps, {commands:,} commands,"
        f" {hours:,.1f} hours of virtual time in {cpu:,.1f} s of CPU"
    )
    if played[-1].problem:
        shorter = swarm.shrunk(played[-1], shrink)
        click.echo(f"--seed {each} --events {events}: {played[-1].problem}")
        click.echo(f"shortened to a run with: {shorter.problem}")
        for one in shorter.scenario.happenings:
            click.echo(str(one))
        raise SystemExit(1)


@main.command(epilog="Example: python -m tools.swarms discovery --seed 0 --runs 1000")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--events", type=click.IntRange(min=1), default=40, show_default=True)
@click.option("--runs", type=click.IntRange(min=1), default=1, show_default=True)
def discovery(seed: int, events: int, runs: int) -> None:
    """Start blank nodes by our rules, with the clients of Consul and etcd, from this seed on."""
    from tools.swarms.discovery import run

    began, played = time.process_time(), []
    for each in range(seed, seed + runs):
        played.append(run(each, events))
        if played[-1].problem:
            break
    cpu, hours = time.process_time() - began, sum(one.seconds for one in played) / 3600
    rounds, answers = sum(one.rounds for one in played), sum(one.answers for one in played)
    click.echo(
        f"seeds {seed} to {seed + len(played) - 1}: {rounds + answers:,} steps ({rounds:,} rounds,"
        f" {answers:,} answers), {sum(one.refused for one in played):,} refusals,"
        f" {hours:,.1f} hours of virtual time in {cpu:,.1f} s of CPU"
    )
    if played[-1].problem:
        click.echo(f"--seed {each} --events {events}: {played[-1].problem}")
        raise SystemExit(1)


if __name__ == "__main__":
    main()
