"""`joinproto simulate join --swarm`: random runs of real members, each with its own configuration.

0  all runs kept their claims, which is no proof       2  usage
1  a run broke one: its seed and its shrunk story      3  ended by Ctrl-C; none was broken
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click
from attrs import define, field

from joinproto.core.chain.member import Member
from joinproto.swarm.many import Tally, many
from joinproto.swarm.oracle import CLAIMS
from joinproto.swarm.run import Outcome, run
from joinproto.swarm.shrink import shrink
from models.files import is_file, load_module
from tools.cli.interrupting import interruptible
from tools.cli.output import error_stream
from tools.show.amounts import count, duration, plural, short

TARGET = "join"

SECONDS = 60.0
"""How long runs are played where neither a number nor a time is given."""

SHRINKING_SECONDS = 20.0
"""For each claim that was broken; a quarter of it where somebody wants to stop."""

STORY_LINES = 60
"""Of a story so many lines are printed, the last ones; --json has all."""

INTERRUPTED = 3

LINE_SECONDS = 10.0
"""So often a line tells how far it is where standard error is no terminal."""

NO_PROOF = "a simulation is no proof: it says nothing of the runs it did not take"

Start = Callable[..., Member]


def member_of(target: str) -> Start:
    """Return what makes the members: those of `join`, or of FILE.py::NAME."""
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
    """What the runs came to, and for each broken claim its first failure, shrunk."""

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
    progress = _Progress()
    with interruptible() as interrupt:
        found = many(
            seed=seed,
            runs=runs,
            seconds=seconds,
            jobs=jobs,
            start=start,
            tell=progress,
            interrupted=interrupt.was_asked,
        )
    report = Report(target, seed, jobs, found, interrupt.asked)
    play = lambda scenario: run(scenario, start=start)  # noqa: E731
    seconds_each = SHRINKING_SECONDS / (4 if interrupt.asked else 1)
    for claim, failed in sorted(found.failed.items()):
        smallest = shrink(failed[0], play, seconds=seconds_each)
        told = run(smallest.scenario, start=start, tells=True)
        report.shrunk[claim] = told if told.claim == claim else smallest
    progress.close()
    return report


@define
class _Progress:
    """How far it is, on standard error: one line on a terminal, else a line now and then."""

    _last: float = field(init=False, default=0.0)

    def __call__(self, tally: Tally) -> None:
        stream = error_stream()
        on_terminal = stream.isatty()
        if tally.seconds - self._last < (0.2 if on_terminal else LINE_SECONDS):
            return
        self._last = tally.seconds
        told = (
            f"{short(tally.runs)} runs, {short(tally.events)} events,"
            f" {short(tally.violations)} violations, {short(tally.stuck)} stuck,"
            f" {duration(tally.seconds)}"
        )
        stream.write(f"\r{told}  " if on_terminal else f"{told}\n")
        stream.flush()

    def close(self) -> None:
        if self._last and error_stream().isatty():
            error_stream().write("\n")


def to_json(report: Report) -> dict[str, Any]:
    """Return the report as JSON values."""
    tally = report.tally
    return {
        "world": report.target,
        "result": "violated" if tally.broken else "not-violated",
        "seed": report.seed,
        "jobs": report.jobs,
        "runs": tally.runs,
        "events": tally.events,
        "violations": tally.violations,
        "stuck": tally.stuck,
        "configurations": tally.configurations,
        "opened": tally.opened,
        "acknowledged": tally.acked,
        "seconds": round(tally.seconds, 3),
        "interrupted": report.is_interrupted,
        "claims": [
            {"name": name, "means": means, "broken": tally.broken[name]}
            for name, means in CLAIMS.items()
        ],
        "failures": [
            {
                "claim": claim,
                "what": failed[0].what,
                "seed": failed[0].scenario.seed,
                "events": failed[0].events,
                "seeds": [outcome.scenario.seed for outcome in failed],
                "again": report.again(failed[0]),
                "shrunk": _shrunk_to_json(report.shrunk[claim]),
            }
            for claim, failed in sorted(tally.failed.items())
        ],
        "notes": [NO_PROOF],
    }


def _shrunk_to_json(outcome: Outcome) -> Mapping[str, Any]:
    return {
        "what": outcome.what,
        "events": outcome.events,
        "deeds": len(outcome.scenario.deeds),
        "configuration": outcome.scenario.words,
        "story": list(outcome.story),
    }


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
    deeds = plural(len(told.scenario.deeds), "deed")
    lines = [
        f"{claim}: {first.what}",
        f"  seed {first.scenario.seed}, at event {count(first.events)}:  {report.again(first)}",
        f"  also seeds {' '.join(str(one.scenario.seed) for one in failed[1:]) or '-'}",
        f"  shrunk to {plural(told.events, 'event')} and {deeds}",
        *(f"  {text}" for text in told.scenario.words),
    ]
    if len(story) < len(told.story):
        lines.append(f"  (the last {len(story)} of {count(len(told.story))} lines)")
    return [*lines, *(f"  {text}" for text in story), f"  {told.what}"]
