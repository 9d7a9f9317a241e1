"""The verdict on logs of other programs: which of their lines fit a world of the user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from attrs import frozen

from joinproto.check.follow import Follower, TooMany
from joinproto.check.world import World
from joinproto.cli.validate.patterns import Line, Patterns
from joinproto.codec.json_form import Absent
from joinproto.errors import UsageProblem

OPTIONS_MAX = 10
"""The most possible steps that are named."""


@frozen
class Rate:
    """One pattern."""

    action: Annotated[str, "the step that it tells, as the file of patterns has it"]
    lines: Annotated[int, "how many lines tell it"]
    fit: Annotated[int, "how many of them the world can do there"]


@frozen
class Differs:
    """The first line that does not fit."""

    place: Annotated[str, "file:line"]
    line: Annotated[str, "the line"]
    member: Annotated[str, "whose step it tells"]
    action: Annotated[str, "which step it tells"]
    possible: Annotated[tuple[str, ...], "what this member might have told there"]


@frozen(kw_only=True)
class Followed:
    """`joinproto validate LOG... --world WORLD --patterns FILE --json`"""

    result: Annotated[
        Literal["fits", "differs", "violated", "undetermined"],
        "`violated`: all lines fit, and a claim is false on the way",
    ]
    world: Annotated[str, "which world"]
    lines: Annotated[int, "in all logs"]
    steps: Annotated[int, "lines that report a step"]
    rates: Annotated[tuple[Rate, ...], "by pattern"]
    first: Annotated[Differs | None, "the first line that does not fit"]
    violated: Annotated[tuple[str, ...], "claims that are false, wherever the world is by then"]
    unlogged: Annotated[tuple[str, ...], "members without a log or a line: they may do anything"]
    why: Annotated[str | None, Absent(), "where it is undetermined: why"] = None

    @property
    def code(self) -> int:
        return {"fits": 0, "undetermined": 3}.get(self.result, 1)


def follow(world: World, patterns: Patterns, logs: Sequence[Path], *, states_max: int) -> Followed:
    """Follow the logs through the world.  A line that does not fit is reported, then skipped.

    Raises `UsageProblem` for logs and patterns, `ModelProblem` for the world.
    """
    found, count = patterns.told(logs)
    strangers = sorted({line.told.member for line in found} - {*world.members})
    if strangers:
        raise UsageProblem(
            f"the logs tell steps of {', '.join(strangers)}, and world {world.name} has no such"
            " member",
            next=f"members are {', '.join(world.members)}; [names] in the file of patterns maps"
            " names to them",
        )
    follower = Follower(world, patterns.is_logged, states_max=states_max)
    told, fit = Counter(line.kind for line in found), Counter[str]()
    first, why = None, None
    for line in found:
        try:
            if follower.take(line.told):
                fit[line.kind] += 1
            elif first is None:
                first = _differs(line, follower)
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
        rates=tuple(Rate(action, told[action], fit[action]) for action in actions),
        first=first,
        violated=tuple(follower.broken),
        unlogged=tuple(name for name in world.members if name not in patterns.members),
        why=why,
    )


def _differs(line: Line, follower: Follower) -> Differs:
    told = line.told
    action = told.action if told.content is None else f"{told.action} {told.content}"
    options = follower.options(told.member)
    more = [f"and {len(options) - OPTIONS_MAX} more"] if len(options) > OPTIONS_MAX else []
    return Differs(
        f"{line.log}:{line.number}",
        line.text,
        told.member,
        action,
        (*options[:OPTIONS_MAX], *more),
    )
