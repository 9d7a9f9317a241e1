"""`joinproto simulate`: random runs of a world that is too large to search, or of real members.

0  no claim was violated, which is not a proof    2  usage, a bad model (file:line)
1  a claim was violated                        3  stopped at the memory limit, or by Ctrl-C
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import click
from attrs import evolve, frozen

from joinproto.check import catalogue
from joinproto.check.loaded import Loaded
from joinproto.check.simulate import SimulatedClaim, Simulation, Stride
from joinproto.check.simulate import simulate as walk
from joinproto.cli import loading
from joinproto.cli.options import AS_JSON, COUNT, option
from joinproto.cli.output import Terminal, alone_on_stdout
from joinproto.cli.searching import watched
from joinproto.cli.show.amounts import count, duration, plural, short
from joinproto.cli.show.layout import Text, claims, fact_line, heading, listed
from joinproto.cli.show.pieces import Piece, Role, line, visible
from joinproto.cli.warming import warm_up
from joinproto.codec.json_form import Merged, printed

EXAMPLE = """\b
Examples:
  joinproto simulate two-phase-commit --members 12 --runs 10000 --seed 7
  joinproto simulate path/to/my_model.py --steps 1000
  joinproto simulate dining-philosophers --of-all
  joinproto simulate join --swarm --seconds 600 --jobs 2
  joinproto simulate path/to/my_members.py::start --swarm --seed 7 --runs 1
"""

UNEXERCISED_MAX = 15
"""At most this many unexercised items are listed; --json has all."""

RUNS, STEPS = 1000, 100

STEPS_MOST = 1_000_000

COUNT_MAX = 1_000
"""The most states that are counted by default; counting them takes a fraction of a second."""

MARKS = {
    "violated": Piece("VIOLATED", Role.BAD),
    "not-violated": Piece("not violated", Role.PLAIN),
    "untested": Piece("UNTESTED", Role.WARN),
    "reached": Piece("reached", Role.GOOD),
    "not-reached": Piece("NOT REACHED", Role.WARN),
    "not-judged": Piece("not judged", Role.QUIET),
}


@frozen
class Simulated:
    """`joinproto simulate WORLD --json`"""

    found: Annotated[Simulation, Merged()]
    options: Annotated[Mapping[str, Any], "the world's options that were given"]


@click.command(epilog=EXAMPLE)
@loading.target()
@loading.world_options
@option(
    "--runs",
    "How many runs.",
    COUNT,
    metavar="N",
    show_default="1000; for a swarm: as many as the time allows",
)
@option("--seed", "The same seed gives the same runs.", click.IntRange(min=0), usual=0, metavar="S")
@option(
    "--steps",
    "The most steps of one run.",
    click.IntRange(min=1, max=STEPS_MOST),
    metavar="K",
    show_default="100",
)
@option(
    "--of-all",
    "Count all states, however many, to say which part of them the runs met.",
    is_flag=True,
)
@option("--swarm", "Run real members; each run draws its configuration.", is_flag=True)
@option(
    "--seconds",
    "For a swarm: begin runs for this many seconds.",
    click.FloatRange(min=0, min_open=True),
    metavar="T",
    show_default="60",
)
@option("--jobs", "For a swarm: use this many cores.", COUNT, metavar="J", show_default="1")
@AS_JSON
def simulate(
    target: str,
    runs: int | None,
    seed: int,
    steps: int | None,
    of_all: bool,
    swarm: bool,
    seconds: float | None,
    jobs: int | None,
    as_json: bool,
    **arguments: Any,
) -> int:
    """Walk through a world at random, and judge every state on the way.

    Each step is drawn among the steps that change the state, all equally likely.  A violation that
    no run met may still exist: only `joinproto check` looks at every state.

    With --swarm: real members, with their logs and stores, over a simulated network, disk and
    clock.  Each run draws its own configuration and faults; at its end faults stop, and the
    cluster must serve.  The target is `join`, or FILE.py::NAME, which makes the members as
    `Member.start` does.
    """
    options = loading.given(arguments)
    if swarm:
        if options or steps is not None or of_all:
            raise click.UsageError(
                "--swarm draws its configurations: leave out --steps, --of-all and the options of"
                " a world"
            )
        return _swarm(target, seed, runs, seconds, jobs or 1, as_json)
    if seconds is not None or jobs is not None:
        raise click.UsageError("--seconds and --jobs need --swarm: add it, or leave them out")
    runs, steps = runs or RUNS, steps or STEPS
    with alone_on_stdout(as_json):
        loaded = catalogue.load(target, options)
        found = _simulate_world(loaded, runs, seed, steps, of_all)
    click.echo(printed(Simulated(found, loaded.options)) if as_json else _text(loaded, found))
    if found.trace is not None:
        return 1
    return 3 if found.stopped_by else 0


def _swarm(
    target: str, seed: int, runs: int | None, seconds: float | None, jobs: int, as_json: bool
) -> int:
    from joinproto.cli.commands import (
        swarm,  # only a swarm needs the members and their logs
    )

    with alone_on_stdout(as_json):
        found = swarm.simulate_swarm(target, seed=seed, runs=runs, seconds=seconds, jobs=jobs)
    click.echo(printed(found) if as_json else swarm.text_of(found))
    return found.code


def _simulate_world(loaded: Loaded, runs: int, seed: int, steps: int, of_all: bool) -> Simulation:
    with watched() as (progress, _), loaded.at_work():
        warm_up()
        known = _known_count(loaded)
        found = walk(
            loaded.world,
            runs=runs,
            seed=seed,
            steps_max=steps,
            count_max=0 if known is not None else None if of_all else COUNT_MAX,
            progress=lambda stride: progress.say(stride.seconds, lambda: _progress_text(stride)),
        )
        return found if known is None else evolve(found, states=known)


def _known_count(loaded: Loaded) -> int | None:
    """Return how many states an earlier search of the same code counted; None without one."""
    if loaded.file is not None:
        return None
    from joinproto.check.engine.tables.answers import counts_of
    from joinproto.check.engine.tables.kept_values import Names

    file = counts_of(loaded.target, loaded.world.source)
    found = None if file is None else file.read(Names)
    return found if isinstance(found, int) else None


def _progress_text(stride: Stride) -> str:
    return (
        f"{short(stride.runs)} of {short(stride.runs_wanted)} runs"
        f", {short(stride.steps)} steps, {short(stride.distinct)} distinct"
        f", {duration(stride.seconds)}"
    )


# -- as text ---------------------------------------------------------------------------


def _text(loaded: Loaded, found: Simulation) -> str:
    terminal = Terminal.now()
    where = f"{visible(found.world)} with {plural(found.members, 'member')}: "
    is_broken = found.trace is not None
    result = Piece("VIOLATED", Role.BAD) if is_broken else Piece("no violation met", Role.PLAIN)
    head = terminal.paragraph(line(Piece(where, Role.TITLE), result), indent=2)
    # The run comes before the counts, as in `check`.
    run = [] if found.trace is None else ["", terminal.chart(found.trace), ""]
    return "\n".join([head, *run, terminal.lay_out(_texts(loaded, found))])


def _texts(loaded: Loaded, found: Simulation) -> Iterator[Text]:
    for name, words in _facts(found):
        yield fact_line(name, words)
    yield from claims(
        [(MARKS[one.result], one.kind, one.name, _remark(one, found)) for one in found.claims]
    )
    taken = sum(map(bool, found.coverage.actions.values()))
    yield from heading("exercised")
    yield Text(line(f"{plural(taken, 'kind')} of steps"))
    if found.coverage.never:
        yield from heading("within reach, but never exercised")
        yield from listed(found.coverage.never, UNEXERCISED_MAX)
    yield from heading("notes")
    for note in found.notes:
        yield Text(line(Piece(note, Role.WARN)), 2, 2)
    yield from heading("next")
    check = Piece(f"joinproto check {loaded.words}", Role.ACTION)
    yield Text(line(check, "  looks at every state"), 2, 6)
    if found.trace is None:
        again = f"joinproto simulate {loaded.words} --seed {found.seed + 1}"
        yield Text(line(Piece(again, Role.ACTION), "  takes other runs"), 2, 6)


def _facts(found: Simulation) -> Iterator[tuple[str, str]]:
    if found.stopped_by:
        yield "stopped", f"{found.stopped_by}, after {count(found.runs)} runs"
    most = plural(found.steps_max, "step")
    yield "runs", f"{count(found.runs)}, each of at most {most}, seed {found.seed}"
    yield "steps", f"{count(found.steps)} in all, {count(found.longest)} in the longest run"
    if found.rested:
        yield "ended", f"{plural(found.rested, 'run')}, because no step could change the state"
    part = ""
    if found.states is not None:
        part = f", {found.distinct / found.states:.1%} of all {count(found.states)}"
    yield "states", f"{count(found.distinct)} distinct{part}"
    yield "time", duration(found.seconds)
    yield "code", f"{plural(found.calls, 'call')} of members' code"


def _remark(claim: SimulatedClaim, found: Simulation) -> str:
    runs = plural(claim.runs, "run")
    match claim.result:
        case "violated":
            return f"in {runs}; the shortest has {plural(claim.trace_length or 0, 'step')}"
        case "not-violated" if claim.premise_runs is not None:
            return f"put to the test in {plural(claim.premise_runs, 'run')}"
        case "untested":
            return "no run met its premise, so the claim was not tested"
        case "reached":
            return f"in {runs}"
        case "not-reached":
            return f"reached in none of {plural(found.runs, 'run')}"
        case "not-judged":
            return f"a finite run cannot break this claim; its condition came true in {runs}"
    return ""
