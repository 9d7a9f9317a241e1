"""`python -m tools.swarms standby`: brokers of hot standby in random orders.

0  every claim held        1  one did not: its seed, the claim, and the shortest run found
"""

from __future__ import annotations

import json
import time
from itertools import count

import click

from tools.swarms.standby.run import Outcome, run, shrunk
from tools.swarms.standby.scenario import draw


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


if __name__ == "__main__":
    main()
