"""`python -m tools.swarms SYSTEM`: random runs of one of the four shipped systems below.

The help names the exit codes.  Ctrl-C and SIGTERM end the program with a report about the runs
until then.
"""

from __future__ import annotations

import gc
import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count, islice

import click
from attrs import frozen

from tools.swarms.loop import silent


@frozen
class Played:
    """The result of one run.  `counts`: `steps` and other counts, which are added up over runs.

    `shorter`: given seconds, looks so long for a shorter run that fails in the same way, and
    returns its lines; for the Clusterer all lines of the run, for discovery none.
    """

    seed: int
    problem: str
    counts: dict[str, float]
    shorter: Callable[[float], Iterable[str]]


def standby(seed: int, events: int) -> Played:
    """Brokers of hot standby: killed, without power, cut off, promoted, on slow disks."""
    from tools.swarms.standby.run import run, shrunk
    from tools.swarms.standby.scenario import draw

    found = run(draw(seed, events))

    def shorter(seconds: float) -> Iterator[str]:
        it = shrunk(found, seconds).scenario
        yield f"{it.names}, manager {'built in' if it.built_in else 'outside'}"
        yield from map(str, it.actions)

    names = ("steps", "ticks", "confirmed", "generations", "persons")
    counts = {name: float(getattr(found, name)) for name in names}
    return Played(seed, found.error if found.claim else "", counts, shorter)


def clusterer(seed: int, bursts: int) -> Played:
    """Nodes of the Clusterer: configs, kills, power cuts, resets, cuts, pauses, in bursts."""
    from tools.swarms.clusterer import run

    found = run(seed, bursts)
    counts = {"steps": found.steps, "events": found.events, "messages": found.messages}
    return Played(
        seed,
        "; ".join(found.problems),
        {**counts, "hours": found.seconds / 3600, **found.kinds},
        lambda _seconds: found.log,
    )


def reconcile(seed: int, events: int) -> Played:
    """`reconcile run`, its loop and its file, with a broker whose lists are wrong."""
    from tools.swarms.reconcile import draw, run, shrunk

    found = run(draw(seed, events))

    def shorter(seconds: float) -> Iterator[str]:
        less = shrunk(found, seconds)
        yield less.problem
        yield from map(str, less.scenario.happenings)

    counts = {"steps": found.steps, "commands": found.commands, "hours": found.seconds / 3600}
    return Played(seed, found.problem, counts, shorter)


def discovery(seed: int, events: int) -> Played:
    """Blank nodes that start by our rules, with the clients of Consul and etcd."""
    from tools.swarms.discovery import run

    found = run(seed, events)
    counts = {
        "steps": found.rounds + found.answers,
        "rounds": found.rounds,
        "refused": found.refused,
        "hours": found.seconds / 3600,
    }
    return Played(seed, found.problem, counts, lambda _seconds: ())


SYSTEMS: dict[Callable[[int, int], Played], int] = {
    standby: 100, clusterer: 40, reconcile: 60, discovery: 40,
}  # fmt: skip
"""Each system with the default number of events in a run; for the Clusterer, of bursts."""


_AS_JSON = (
    "Print one JSON object: runs, seeds (first and last), steps, the system's other counts,"
    " cpu_seconds, and failed: the claim that did not hold, or null.  Nothing is shortened."
)


@click.group()
def main() -> None:
    """Play shipped systems in random orders and virtual time.

    Exit code 0: every claim held in all runs, even if Ctrl-C or SIGTERM ended them; 1: a claim did
    not hold, and the run's seed is printed; 2: wrong options.  Failed runs of standby and reconcile
    are shortened.
    """


def _play(
    play: Callable[[int, int], Played],
    seed: int,
    events: int,
    runs: int | None,
    seconds: float | None,
    steps: int | None,
    shrink: float,
    as_json: bool,
) -> None:
    began, sums, last, failed = time.process_time(), Counter[str](), seed - 1, None
    is_endless = runs is None and (seconds is not None or steps is not None)
    try:
        for each in islice(count(seed), None if is_endless else runs or 1):
            is_late = seconds is not None and time.process_time() - began > seconds
            if is_late or (steps is not None and sums["steps"] >= steps):
                break
            with silent():
                found = play(each, events)
            last = each
            sums.update(found.counts)
            if found.problem:
                failed = found
                break
    except KeyboardInterrupt:
        click.echo("ended by a signal", err=True)
    results = {
        "runs": last - seed + 1,
        "seeds": [seed, last],
        **{name: round(number, 1) if number % 1 else int(number) for name, number in sums.items()},
        "cpu_seconds": round(time.process_time() - began, 1),
        "failed": failed and failed.problem,
    }
    click.echo(
        json.dumps(results) if as_json else "\n".join(f"{k}: {v}" for k, v in results.items())
    )
    if failed is None:
        return
    if not as_json:
        click.echo(f"\n--seed {failed.seed} --events {events}: {failed.problem}\n")
        with silent():
            lines = [*failed.shorter(shrink)]
        click.echo("\n".join(["the run, shortened if possible:", *lines] if lines else []))
    raise SystemExit(1)


for _play_one, _usual in SYSTEMS.items():
    main.command(
        _play_one.__name__,
        help=_play_one.__doc__,
        epilog=f"Example: python -m tools.swarms {_play_one.__name__} --seed 7 --runs 100",
        params=[
            click.Option(
                ["--seed"],
                type=click.IntRange(min=0),
                default=0,
                help="The seed of the first run.",
                show_default=True,
            ),
            click.Option(
                ["--events"],
                type=click.IntRange(min=1),
                default=_usual,
                show_default=True,
                help="The number of events, or of bursts, in each run.",
            ),
            click.Option(
                ["--runs"],
                type=click.IntRange(min=1),
                help="The number of runs.  [default: 1, or no limit with --seconds or --steps]",
            ),
            click.Option(
                ["--seconds"],
                type=click.FloatRange(min=0),
                help="Begin no run after so many CPU seconds.",
            ),
            click.Option(
                ["--steps"], type=click.IntRange(min=1), help="Begin no run after so many steps."
            ),
            click.Option(
                ["--shrink"],
                type=float,
                default=60.0,
                help="Shorten a failed run for so many seconds.",
            ),
            click.Option(["--json", "as_json"], is_flag=True, help=_AS_JSON),
        ],
    )(partial(_play, _play_one))


if __name__ == "__main__":
    # A run leaves few cycles, and a search for them among all modules took a tenth of the time.
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    # A shell makes its background processes ignore SIGINT, but not SIGTERM.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    main()
