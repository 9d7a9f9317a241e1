"""`joinproto simulate join --swarm`: random runs of real members, each with its own configuration.

0  all runs kept their claims, which is not a proof       2  usage
1  a run broke one: its seed and its shrunk story      3  ended by Ctrl-C; none was broken
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import click
from attrs import define, field, frozen

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
"""Seconds of runs where neither a number nor a time is given."""

SHRINKING_SECONDS = 20.0
"""For each claim that was broken; a quarter of it after a request to stop."""

STORY_LINES = 60
"""Lines of a story that are printed, the last ones; --json has all."""

INTERRUPTED = 3

NO_PROOF = "a simulation is not a proof: it says nothing of the runs it did not take"

Start = Callable[..., Member]


def member_of(target: str) -> Start:
    """Return the factory of the members: those of `join`, or of FILE.py::NAME."""
    if target == TARGET:
        return Member.start
    path, _, name = target.partition("::")
    if not is_file(path) or not name:
        raise click.UsageError(
            f"a swarm runs members of the join protocol, not {target!r}: say `{TARGET}`, or"
            " FILE.py::NAME, a function that takes and returns what `Member.start` does"
        )
    found = getattr(load_module(path)[0], name, None)
    if not callable(found):
        raise click.UsageError(f"{path}: has no function {name!r}")
    return found  # type: ignore[no-any-return]


@define
class Report:
    """The results of the runs, and for each broken claim its first failure, shrunk."""

    target: str
    seed: int
    jobs: int
    tally: Tally
    is_interrupted: bool = False
    shrunk: dict[str, Outcome] = field(factory=dict)

    @property
    def code(self) -> int:
        if self.tally.broken:
            return 1
        return INTERRUPTED if self.is_interrupted else 0

    def again(self, outcome: Outcome) -> str:
        return f"joinproto simulate {self.target} --swarm --seed {outcome.scenario.seed} --runs 1"


def simulate_swarm(
    target: str, *, seed: int, runs: int | None, seconds: float | None, jobs: int
) -> Report:
    """Play the runs, and shrink the first failure of each claim."""
    start = member_of(target)
    if runs is None and seconds is None:
        seconds = SECONDS
    with interruptible() as interrupt, Progress(error_stream()) as progress:
        found = many(
            seed=seed,
            runs=runs,
            seconds=seconds,
            jobs=jobs,
            start=start,
            tell=lambda tally: progress.say(tally.seconds, lambda: _counted(tally)),
            interrupted=interrupt.was_asked,
        )
    report = Report(target, seed, jobs, found, interrupt.asked)
    play = lambda scenario: run(scenario, start=start)  # noqa: E731
    seconds_each = SHRINKING_SECONDS / (4 if interrupt.asked else 1)
    for claim, failed in sorted(found.failed.items()):
        smallest = shrink(failed[0], play, seconds=seconds_each)
        told = run(smallest.scenario, start=start, tells=True)
        report.shrunk[claim] = told if told.claim == claim else smallest
    return report


def _counted(tally: Tally) -> str:
    return (
        f"{short(tally.runs)} runs, {short(tally.events)} events,"
        f" {short(tally.violations)} violations, {short(tally.stuck)} stuck,"
        f" {duration(tally.seconds)}"
    )


@frozen
class Claim:
    """One claim."""

    name: Annotated[str, "its name"]
    means: Annotated[str, "in words"]
    broken: Annotated[Count, "runs that broke it"]


@frozen
class Shrunk:
    """The run after shrinking."""

    what: Annotated[str, "what was seen"]
    events: Annotated[Count, "up to there"]
    deeds: Annotated[Count, "that were needed"]
    configuration: Annotated[tuple[str, ...], "the configuration"]
    story: Annotated[tuple[str, ...], "what happened"]


@frozen(kw_only=True)
class Failure:
    """The first run that broke a claim, and the same, shrunk."""

    claim: Annotated[str, "its name"]
    what: Annotated[str, "what was seen"]
    seed: Annotated[Count, "of the first run that broke it"]
    events: Annotated[Count, "up to there"]
    seeds: Annotated[tuple[Count, ...], "those that broke it, at most 20"]
    again: Annotated[str, "the command that plays the run again"]
    shrunk: Annotated[Shrunk, "What is left of the run."]


@frozen(kw_only=True)
class Swarm:
    """`joinproto simulate join --swarm --json`"""

    world: Annotated[str, "the target: `join`, or FILE.py::NAME"]
    result: Annotated[Literal["violated", "not-violated"], "`not-violated` is not a proof"]
    seed: Annotated[Count, "of the first run; each run is made of its seed alone"]
    jobs: Annotated[Count, "cores"]
    runs: Annotated[Count, "played"]
    events: Annotated[Count, "of all runs together"]
    violations: Annotated[Count, "runs that broke a claim of safety"]
    stuck: Annotated[Count, "runs in which a cluster did not serve, rest or end as it must"]
    configurations: Annotated[Count, "distinct ones among the runs"]
    opened: Annotated[Count, "times that a member began to serve"]
    acknowledged: Annotated[Count, "frames that a client was told are committed"]
    seconds: Annotated[Seconds, "of the clock"]
    interrupted: Annotated[bool, "whether Ctrl-C ended it"]
    claims: Annotated[tuple[Claim, ...], "every claim"]
    failures: Annotated[tuple[Failure, ...], "every claim that was broken"]
    notes: Annotated[tuple[str, ...], "what a simulation does not say"] = (NO_PROOF,)


def told(report: Report) -> Swarm:
    """Return the report for a program."""
    tally = report.tally
    return filled(
        Swarm,
        report,
        tally,
        world=report.target,
        result="violated" if tally.broken else "not-violated",
        acknowledged=tally.acked,
        interrupted=report.is_interrupted,
        claims=tuple(Claim(name, means, tally.broken[name]) for name, means in CLAIMS.items()),
        failures=tuple(
            Failure(
                claim=claim,
                what=failed[0].what,
                seed=failed[0].scenario.seed,
                events=failed[0].events,
                seeds=tuple(outcome.scenario.seed for outcome in failed),
                again=report.again(failed[0]),
                shrunk=_shrunk(report.shrunk[claim]),
            )
            for claim, failed in sorted(tally.failed.items())
        ),
    )


def _shrunk(outcome: Outcome) -> Shrunk:
    scenario = outcome.scenario
    actions = len(scenario.actions)
    return Shrunk(
        outcome.what, outcome.events, actions, tuple(scenario.words), tuple(outcome.story)
    )


def text_of(report: Report) -> str:
    """Return the report for a person."""
    tally = report.tally
    rate = round(tally.events / max(tally.seconds, 0.001))
    ended = ", ended by Ctrl-C" if report.is_interrupted else ""
    lines = [
        f"swarm of {report.target}: {'VIOLATED' if tally.broken else 'no violation met'}",
        f"  runs            {count(tally.runs)}, from seed {report.seed} on",
        f"  events          {count(tally.events)}, {count(rate)} a second",
        f"  configurations  {count(tally.configurations)}",
        f"  served          {count(tally.opened)} times by a member",
        f"  acknowledged    {plural(tally.acked, 'frame')}",
        f"  violations      {count(tally.violations)}",
        f"  stuck           {count(tally.stuck)}",
        f"  time            {duration(tally.seconds)}{ended}",
        "",
        "claims",
    ]
    for name, means in CLAIMS.items():
        broken = tally.broken[name]
        mark = f"VIOLATED in {plural(broken, 'run')}" if broken else "not violated"
        lines.append(f"  {name:<24}{mark:<22}{means}")
    for claim, failed in sorted(tally.failed.items()):
        lines += ["", *_story(report, claim, failed)]
    lines += ["", "notes", f"  {NO_PROOF}", "", "next"]
    after = report.seed + tally.runs
    lines.append(f"  joinproto simulate {report.target} --swarm --seed {after}  takes other runs")
    return "\n".join(lines)


def _story(report: Report, claim: str, failed: list[Outcome]) -> list[str]:
    first, told = failed[0], report.shrunk[claim]
    story = told.story[-STORY_LINES:]
    actions = plural(len(told.scenario.actions), "action")
    lines = [
        f"{claim}: {first.what}",
        f"  seed {first.scenario.seed}, at event {count(first.events)}:  {report.again(first)}",
        f"  also seeds {' '.join(str(one.scenario.seed) for one in failed[1:]) or '-'}",
        f"  shrunk to {plural(told.events, 'event')} and {actions}",
        *(f"  {text}" for text in told.scenario.words),
    ]
    if len(story) < len(told.story):
        lines.append(f"  (the last {len(story)} of {count(len(told.story))} lines)")
    return [*lines, *(f"  {text}" for text in story), f"  {told.what}"]
