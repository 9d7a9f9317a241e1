"""The verdict on logs of other programs: which of their lines fit a world of the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from attrs import frozen

from joinproto.check.follow import Follower, TooMany
from joinproto.check.world import World
from joinproto.cli.validate.patterns import Patterns, StepLine
from joinproto.codec.json_form import Absent
from joinproto.errors import UsageProblem

OPTIONS_MAX = 10
"""The most possible steps that are named."""


@frozen
class StepRate:
    """The lines that report one kind of step."""

    action: Annotated[str, "the step, as the file of patterns has it"]
    lines: Annotated[int, "how many lines report it"]
    fit: Annotated[int, "how many of these lines fit the world"]


@frozen
class UnfitLine:
    """The first line that does not fit."""

    place: Annotated[str, "file:line"]
    line: Annotated[str, "the line"]
    member: Annotated[str, "the member whose step it reports"]
    action: Annotated[str, "the step that it reports"]
    possible: Annotated[tuple[str, ...], "steps of this member that a line could report there"]


@frozen(kw_only=True)
class Followed:
    """`joinproto validate LOG... --world WORLD --patterns FILE --json`"""

    result: Annotated[
        Literal["fits", "differs", "violated", "undetermined"],
        "`violated`: all lines fit, and a claim is false in a state between them",
    ]
    world: Annotated[str, "the world's name"]
    lines: Annotated[int, "lines of all logs"]
    steps: Annotated[int, "lines that report a step"]
    rates: Annotated[tuple[StepRate, ...], "the lines by the step that they report"]
    first: Annotated[UnfitLine | None, "the first line that does not fit"]
    violated: Annotated[tuple[str, ...], "claims that are false in every state that fits a line"]
    unlogged: Annotated[tuple[str, ...], "members without a log or a line: they may do anything"]
    why: Annotated[str | None, Absent(), "why it is undetermined"] = None

    @property
    def code(self) -> int:
        return {"fits": 0, "undetermined": 3}.get(self.result, 1)


def follow(world: World, patterns: Patterns, logs: Sequence[Path], *, states_max: int) -> Followed:
    """Follow the logs through the world, without the lines that do not fit; report the first.

    Raises `UsageProblem` for logs and patterns, `ModelProblem` for the world.
    """
    found, count = patterns.step_lines(logs)
    unknown = sorted({line.step.member for line in found} - {*world.members})
    if unknown:
        raise UsageProblem(
            f"the logs report steps of {', '.join(unknown)}, and world {world.name} has no such"
            " member",
            next=f"map the names in [names] in the file of patterns; the world's members are"
            f" {', '.join(world.members)}",
        )
    follower = Follower(world, patterns.is_logged, states_max=states_max)
    lines, fit = Counter(line.kind for line in found), Counter[str]()
    first, why = None, None
    for line in found:
        try:
            if follower.take(line.step):
                fit[line.kind] += 1
            elif first is None:
                first = _unfit_line(line, follower)
        except TooMany as problem:
            why = f"{line.log}:{line.number}: {problem.message}; {problem.next}"
            break
    result: Literal["fits", "differs", "violated", "undetermined"] = "fits"
    if first is not None:
        result = "differs"
    elif follower.broken:
        result = "violated"
    elif why is not None or not found:
        result, why = "undetermined", why or "no line reports a step"
    actions = dict.fromkeys(pattern.action for pattern in patterns.file.step)
    return Followed(
        result=result,
        world=world.name,
        lines=count,
        steps=len(found),
        rates=tuple(StepRate(action, lines[action], fit[action]) for action in actions),
        first=first,
        violated=tuple(follower.broken),
        unlogged=tuple(name for name in world.members if name not in patterns.members),
        why=why,
    )


def _unfit_line(line: StepLine, follower: Follower) -> UnfitLine:
    step = line.step
    action = step.action if step.content is None else f"{step.action} {step.content}"
    options = follower.options(step.member)
    more = [f"and {len(options) - OPTIONS_MAX} more"] if len(options) > OPTIONS_MAX else []
    return UnfitLine(
        f"{line.log}:{line.number}",
        line.text,
        step.member,
        action,
        (*options[:OPTIONS_MAX], *more),
    )
