"""`joinproto simulate join --swarm`: random runs of real members, each with its own configuration.

0  no run broke a claim, which is not a proof             2  usage
1  a run broke a claim: its seed, and its shrunk story    3  ended by Ctrl-C, no claim broken
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import click
from attrs import frozen

from joinproto.check.files import is_file, load_module
from joinproto.cli.interrupting import interruptible
from joinproto.cli.output import error_stream
from joinproto.cli.show.amounts import count, duration, plural, short
from joinproto.cli.show.progress import Progress
from joinproto.codec.json_form import Count, Seconds, filled
from joinproto.join.member import Member
from joinproto.swarm.many import Tally, many
from joinproto.swarm.oracle import CLAIMS
from joinproto.swarm.run import Outcome, run
from joinproto.swarm.shrink import shrink

TARGET = "join"

SECONDS = 60.0
"""Seconds in which runs are begun if neither a number of runs nor a time is given."""

SHRINKING_SECONDS = 20.0
"""Seconds to shrink the run of each broken claim; a quarter of them after Ctrl-C."""

STORY_LINES = 60
"""The most lines of a story that are printed, from its end; --json has all."""

INTERRUPTED = 3

NO_PROOF = "a simulation is not a proof: it says nothing about runs that it did not take"

Start = Callable[..., Member]


def member_of(target: str) -> Start:
    """Return the function that makes members: `Member.start`, or the function FILE.py::NAME."""
    if target == TARGET:
        return Member.start
    path, _, name = target.partition("::")
    if not is_file(path) or not name:
        raise click.UsageError(
            f"a swarm runs members of the join protocol, not {target!r}: name `{TARGET}`, or"
            " FILE.py::NAME, a function with the arguments and the result of `Member.start`"
        )
    found = getattr(load_module(path)[0], name, None)
    if not callable(found):
        raise click.UsageError(f"{path}: has no function {name!r}")
    return found  # type: ignore[no-any-return]


@frozen
class SwarmClaim:
    """One claim."""

    name: Annotated[str, "the claim's name"]
    means: Annotated[str, "its meaning, in words"]
    broken: Annotated[Count, "runs that broke it"]


@frozen
class ShrunkRun:
    """The run after shrinking."""

    what: Annotated[str, "the observation that breaks the claim"]
    events: Annotated[Count, "events up to the violation"]
    deeds: Annotated[Count, "actions that the run needs"]
    configuration: Annotated[tuple[str, ...], "the configuration"]
    story: Annotated[tuple[str, ...], "the events, in words"]


@frozen(kw_only=True)
class SwarmFailure:
    """The first run that broke a claim, and this run, shrunk."""

    claim: Annotated[str, "the claim's name"]
    what: Annotated[str, "the observation that breaks the claim"]
    seed: Annotated[Count, "the seed of the first run that broke it"]
    events: Annotated[Count, "events up to the violation"]
    seeds: Annotated[tuple[Count, ...], "seeds of runs that broke it, at most 20"]
    again: Annotated[str, "the command that plays the run again"]
    shrunk: Annotated[ShrunkRun, "the run after shrinking"]


@frozen(kw_only=True)
class Swarm:
    """`joinproto simulate join --swarm --json`"""

    world: Annotated[str, "the target: `join`, or FILE.py::NAME"]
    result: Annotated[Literal["violated", "not-violated"], "`not-violated` is not a proof"]
    seed: Annotated[Count, "the seed of the first run; a run depends on its seed alone"]
    jobs: Annotated[Count, "cores that played runs"]
    runs: Annotated[Count, "runs that were played"]
    events: Annotated[Count, "events of all runs together"]
    violations: Annotated[Count, "runs that broke a claim of safety"]
    stuck: Annotated[Count, "runs in which a cluster did not serve, rest or end as it must"]
    configurations: Annotated[Count, "distinct configurations of the runs"]
    opened: Annotated[Count, "times that a member began to serve"]
    acknowledged: Annotated[Count, "frames whose commit was reported to a client"]
    seconds: Annotated[Seconds, "elapsed time"]
    interrupted: Annotated[bool, "whether Ctrl-C ended it"]
    claims: Annotated[tuple[SwarmClaim, ...], "every claim"]
    failures: Annotated[tuple[SwarmFailure, ...], "the first failed run of every broken claim"]
    notes: Annotated[tuple[str, ...], "limits of a simulation"] = (NO_PROOF,)

    @property
    def code(self) -> int:
        return 1 if self.failures else INTERRUPTED if self.interrupted else 0


def simulate_swarm(
    target: str, *, seed: int, runs: int | None, seconds: float | None, jobs: int
) -> Swarm:
    """Play the runs, and shrink the first run that breaks each claim."""
    start = member_of(target)
    if runs is None and seconds is None:
        seconds = SECONDS
    with interruptible() as interrupt, Progress(error_stream()) as progress:
        tally = many(
            seed=seed,
            runs=runs,
            seconds=seconds,
            jobs=jobs,
            start=start,
            tell=lambda tally: progress.say(tally.seconds, lambda: _counted(tally)),
            interrupted=interrupt.was_asked,
        )
    seconds_each = SHRINKING_SECONDS / (4 if interrupt.asked else 1)
    return filled(
        Swarm,
        tally,
        world=target,
        result="violated" if tally.broken else "not-violated",
        seed=seed,
        jobs=jobs,
        acknowledged=tally.acked,
        interrupted=interrupt.asked,
        claims=tuple(SwarmClaim(name, means, tally.broken[name]) for name, means in CLAIMS.items()),
        failures=tuple(
            _failure(target, failed, start, seconds_each)
            for _, failed in sorted(tally.failed.items())
        ),
    )


def _failure(target: str, failed: list[Outcome], start: Start, seconds: float) -> SwarmFailure:
    first = failed[0]
    smallest = shrink(first, lambda scenario: run(scenario, start=start), seconds=seconds)
    with_story = run(smallest.scenario, start=start, tells=True)
    last = with_story if with_story.claim == first.claim else smallest
    scenario = last.scenario
    return SwarmFailure(
        claim=first.claim,
        what=first.what,
        seed=first.scenario.seed,
        events=first.events,
        seeds=tuple(outcome.scenario.seed for outcome in failed),
        again=f"joinproto simulate {target} --swarm --seed {first.scenario.seed} --runs 1",
        shrunk=ShrunkRun(
            last.what,
            last.events,
            len(scenario.actions),
            tuple(scenario.words),
            tuple(last.story),
        ),
    )


def _counted(tally: Tally) -> str:
    return (
        f"{short(tally.runs)} runs, {short(tally.events)} events,"
        f" {short(tally.violations)} violations, {short(tally.stuck)} stuck,"
        f" {duration(tally.seconds)}"
    )


def text_of(found: Swarm) -> str:
    """Return the report for a person."""
    rate = round(found.events / max(found.seconds, 0.001))
    ended = ", ended by Ctrl-C" if found.interrupted else ""
    lines = [
        f"swarm of {found.world}: {'VIOLATED' if found.failures else 'no violation met'}",
        f"  runs            {count(found.runs)}, from seed {found.seed} on",
        f"  events          {count(found.events)}, {count(rate)} a second",
        f"  configurations  {count(found.configurations)}",
        f"  served          {count(found.opened)} times by a member",
        f"  acknowledged    {plural(found.acknowledged, 'frame')}",
        f"  violations      {count(found.violations)}",
        f"  stuck           {count(found.stuck)}",
        f"  time            {duration(found.seconds)}{ended}",
        "",
        "claims",
    ]
    for claim in found.claims:
        mark = f"VIOLATED in {plural(claim.broken, 'run')}" if claim.broken else "not violated"
        lines.append(f"  {claim.name:<24}{mark:<22}{claim.means}")
    for failure in found.failures:
        lines += ["", *_story(failure)]
    lines += ["", "notes", *(f"  {note}" for note in found.notes), "", "next"]
    after = found.seed + found.runs
    lines.append(f"  joinproto simulate {found.world} --swarm --seed {after}  takes other runs")
    return "\n".join(lines)


def _story(failure: SwarmFailure) -> list[str]:
    shrunk = failure.shrunk
    story = shrunk.story[-STORY_LINES:]
    lines = [
        f"{failure.claim}: {failure.what}",
        f"  seed {failure.seed}, at event {count(failure.events)}:  {failure.again}",
        f"  also seeds {' '.join(map(str, failure.seeds[1:])) or '-'}",
        f"  shrunk to {plural(shrunk.events, 'event')} and {plural(shrunk.deeds, 'action')}",
        *(f"  {text}" for text in shrunk.configuration),
    ]
    if len(story) < len(shrunk.story):
        lines.append(f"  (the last {len(story)} of {count(len(shrunk.story))} lines)")
    return [*lines, *(f"  {text}" for text in story), f"  {shrunk.what}"]
